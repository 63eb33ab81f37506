// embedding(table, tokens): the rows of a table that the tokens name.
//
//   Tensor x = embedding(words, tokens) + embedding(places, positions);     // one dispatch
//
// table: (vocabulary, width), any type. tokens: i32 or u32, any shape; result: that shape and (width). A token that is
// not in the vocabulary is taken as the nearest that is.
#ifndef RLXGPU_KERNELS_EMBEDDING_EMBEDDING_H_
#define RLXGPU_KERNELS_EMBEDDING_EMBEDDING_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/movement/gather.h"

namespace rlxgpu::core {

constexpr Tensor embedding(Tensor table, Tensor tokens, Site site = std::source_location::current()) {
  if (table.valid() && table.shape().rank() != 2) {
    table.builder().fail(site, "embedding(", table.shape(), ", ", tokens.shape(),
                         "): the table is not (vocabulary, width)");
    return {&table.builder(), -1};
  }
  return gather(table, tokens, 0, site.as("embedding"));
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::embedding;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_EMBEDDING_EMBEDDING_H_
