// make_layers: the same few ops two or three times, each time almost the same.
//
// Equal groups of ops share kernels and are lowered once: what may go wrong there is to take for equal what
// differs in an attribute, in the order of operands, or in which of them are one tensor.
#ifndef RLXGPU_TESTS_FUZZ_LAYER_MAKERS_H_
#define RLXGPU_TESTS_FUZZ_LAYER_MAKERS_H_

#include <cstdint>

#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/matmul.h"
#include "kernels/movement/movement.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"
#include "tests/fuzz/generator.h"

namespace rlxgpu::fuzz {

inline Tensor make_layer(Generator& f, Tensor x) {
  const Tensor other = f.random.chance(0.4) ? x : f.source(x.dtype(), x.shape());
  const int64_t combination = f.random.below(4);
  const Tensor h = combination == 0 ? x * other : combination == 1 ? x - other : combination == 2 ? other - x : max(x, other);
  const Dim last = x.shape().dim(x.shape().rank() - 1);
  switch (f.random.below(6)) {
    case 0: return softmax(h, f.random.chance(0.5) ? -1 : 0) + x;
    case 1: return leaky_relu(h, f.random.pick({0.25f, 0.5f}));
    case 2: return last.symbol < 0 ? roll(h, f.random.pick({-1, 1, 2}), -1) * x : h;
    case 3: return h - mean(h, f.random.pick({-1, 0}), {.keep_dims = true});
    case 4: {
      const Tensor w = f.source(x.dtype(), {last, last});
      return matmul(h, f.random.chance(0.5) ? transpose(w) : w) * 0.5 + f.source(x.dtype(), {last});
    }
    default: return where(gt(h, f.random.pick({0.0, 0.5})), h, x);
  }
}

inline Tensor make_layers(Generator& f) {
  Tensor x = f.any_float();
  if (x.shape().rank() == 0 || x.shape().count() > 600) return x;
  const int64_t layers = f.random.between(2, 4);
  Random fresh(f.random.next());
  const uint64_t choices = fresh.next();
  for (int64_t layer = 0; layer < layers; ++layer) {
    f.random = Random(fresh.chance(0.7) ? choices : fresh.next());  // as the first, or by new choices
    x = make_layer(f, x);
  }
  f.random = fresh;
  return x;
}

}  // namespace rlxgpu::fuzz

#endif  // RLXGPU_TESTS_FUZZ_LAYER_MAKERS_H_
