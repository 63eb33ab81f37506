// make_layers: the same few ops two or three times, each time almost the same. make_accumulate: states.
//
// Equal groups of ops share kernels and are lowered once: what may go wrong there is to take for equal what
// differs in an attribute, in the order of operands, or in which of them are one tensor.
#ifndef RLXGPU_TESTS_FUZZ_LAYER_MAKERS_H_
#define RLXGPU_TESTS_FUZZ_LAYER_MAKERS_H_

#include <cstdint>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "tests/executable/accumulate.h"
#include "tests/fuzz/generator.h"

namespace rlxgpu::core::fuzz {

// `structure` decides the ops, `details` their attributes and operands.
inline Tensor make_layer(Generator& f, Tensor x, Random structure, Random& details) {
  const Tensor other = details.chance(0.3) ? x : f.source(x.dtype(), x.shape());
  const int64_t combination = structure.below(3);
  const bool swapped = details.chance(0.3);
  const Tensor a = swapped ? other : x, b = swapped ? x : other;
  const Tensor h = combination == 0 ? a * b : combination == 1 ? a - b : max(a, b);
  const Dim last = x.shape().dim(x.shape().rank() - 1);
  switch (structure.below(6)) {
    case 0:
      return softmax(h, details.chance(0.7) ? -1 : 0) + x;
    case 1:
      return leaky_relu(h, details.pick({0.25f, 0.5f}));
    case 2:
      return last.symbol < 0 ? roll(h, details.pick({-1, 1, 2}), -1) * x : h;
    case 3:
      return h - mean(h, details.pick({-1, 0}), {.keep_dims = true});
    case 4: {
      const Tensor w = f.source(x.dtype(), {last, last});
      return matmul(h, details.chance(0.5) ? transpose(w) : w) * 0.5 + f.source(x.dtype(), {last});
    }
    default:
      return where(gt(h, details.pick({0.0, 0.5})), h, x);
  }
}

inline Tensor make_layers(Generator& f) {
  Tensor x = f.any_float();
  if (x.shape().rank() == 0 || x.shape().count() > 600) return x;
  const int64_t layers = f.random.between(2, 4);
  const uint64_t structure = f.random.next();
  Random details(f.random.next());
  for (int64_t layer = 0; layer < layers; ++layer) x = make_layer(f, x, Random(structure), details);
  return x;
}

// Adds something to a state in place; what was computed from the state before keeps its value.
inline Tensor make_accumulate(Generator& f) {
  const Tensor state = f.any_state();
  const Tensor old = f.random.chance(0.5) ? transpose(sin(state)) : state * 0.5;
  if (f.random.chance(0.5)) f.add(old);
  const int64_t what = f.random.below(6);
  const Tensor x = what == 0 ? cos(state) : what == 1 ? state : what == 2 ? state * 1.0 : f.source(f32, state.shape());
  if (f.random.chance(0.1)) return testing::accumulate(reverse(state) * 2.0, x);  // changes a copy
  const Tensor result = testing::accumulate(state, x);
  f.replace_state(state, result);
  return f.random.chance(0.5) ? result : result * 2.0;
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_LAYER_MAKERS_H_
