// RopeTable: how fast each pair of columns turns in a model, from its file: base, linear scaling, YaRN, Llama 3's
// factors and longrope's.
//
//   const RopeTable table = rope_table(meta, factors, {.columns = 128, .base = 10000, .context = 4096});
//
// Angles are kept in double precision. A table is decided when a context is made: longrope's factors depend on its
// length, and what is in a cache has been turned already.
#ifndef RLXGPU_MODELS_ROPE_SCALING_H_
#define RLXGPU_MODELS_ROPE_SCALING_H_

#include <cstdint>
#include <span>
#include <vector>

#include "rlxgpu/models/metadata.h"

namespace rlxgpu::core {

struct RopeTable {
  std::vector<double> radians;  // of each pair, a position
  double magnitude = 1;         // of what was turned
};

struct RopeTableOptions {
  int64_t columns = 0;
  double base = 10000;
  bool scaled = true;  // layers with a window often are not
};

// `factors` divide the angles; there may be none.
RopeTable rope_table(const Metadata& meta, std::span<const float> factors, const RopeTableOptions& options);

}  // namespace rlxgpu::core

#endif  // RLXGPU_MODELS_ROPE_SCALING_H_
