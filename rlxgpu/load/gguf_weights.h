// Weights of a GGUF file: params of a graph as the file has them, and the file's tensors on the device, packed.
//
//   Weight up = gguf_weight(g, *file, "blk.0.ffn_up.weight");        // packed or plain: matmul takes both
//   Tensor norm = gguf_tensor(g, *file, "blk.0.ffn_norm.weight");    // in f32, whatever the file has
//   ...
//   Status status = load_weights(*file, graph, weights);             // each param gets the tensor of its name
//
// Blocks go to the device as they lie in the mapped file; what is turned into another type is so in pieces. So the host
// needs little memory beside the mapping (pieces of 16 MiB, and Dawn's copy of them).
#ifndef RLXGPU_LOAD_GGUF_WEIGHTS_H_
#define RLXGPU_LOAD_GGUF_WEIGHTS_H_

#include <cstdint>
#include <functional>
#include <source_location>
#include <string_view>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/kernels/blocks/weight.h"
#include "rlxgpu/load/gguf.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/runtime/weights.h"

namespace rlxgpu::core {

// A matrix of the file, or one for each expert, as a param of the same name, shape and type (f64 becomes f32). What the
// file does not have, or has in a form that is not known, is the graph's error.
Weight gguf_weight(Builder& g, const Gguf& file, std::string_view name, Site site = std::source_location::current());

// A tensor of any shape as a plain param. Packed ones are unpacked when they are loaded.
Tensor gguf_tensor(Builder& g, const Gguf& file, std::string_view name, DType dtype = f32,
                   Site site = std::source_location::current());

struct GgufLoading {
  // Called from time to time with what has been written; false stops, with a status that says so.
  std::function<bool(uint64_t done, uint64_t bytes)> progress = {};
};

// Gives every param of the graph the file's tensor of its name. Those that `weights` has already are left alone, so
// that graphs can share them. All that is missing or does not fit is in the message, and then nothing is loaded. After
// any other error `weights` holds part of it and should be dropped.
Status load_weights(const Gguf& file, const Graph& graph, const Weights& weights, const GgufLoading& options = {});

// Device memory of the file's tensors, all in the form that gguf_weight gives them.
uint64_t device_bytes(const Gguf& file);

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::device_bytes, core::gguf_tensor, core::gguf_weight, core::GgufLoading, core::load_weights;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_GGUF_WEIGHTS_H_
