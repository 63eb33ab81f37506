// fold(n): shape arithmetic, done while the model is loaded.
//
// The rule: a node is computed on the host when its op is one that shape arithmetic is made of (Gather, Concat, Cast,
// Add, Slice...), all its operands are known, and each has at most kMostKnown elements. Known is what follows from
// shapes, initialisers and constants alone, never from what a run is given, so no data of a run is ever computed here.
// Integers are exact in 64 bits; floats are computed in double and rounded to their type.
#ifndef RLXGPU_LOAD_ONNX_FOLD_H_
#define RLXGPU_LOAD_ONNX_FOLD_H_

#include <cstdint>

#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {

inline constexpr int64_t kMostKnown = 1024;

// False: not computed, the op's importer has to do it.
bool fold(Node& n);

}  // namespace rlxgpu::core::onnx

#endif  // RLXGPU_LOAD_ONNX_FOLD_H_
