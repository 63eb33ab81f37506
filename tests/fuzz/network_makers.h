// Makers of what networks are made of: attention, norms, rope, convolutions, pools, gated units, sorts.
//
// Their operands are finite and of moderate size: whether a key that is masked may be infinite is not the question
// here. Sizes come from short lists, since drivers take long over these kernels.
#ifndef RLXGPU_TESTS_FUZZ_NETWORK_MAKERS_H_
#define RLXGPU_TESTS_FUZZ_NETWORK_MAKERS_H_

#include <cstdint>
#include <initializer_list>

#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/embedding/embedding.h"
#include "rlxgpu/kernels/glu/glu.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/movement/depth.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"
#include "rlxgpu/kernels/pool/pool.h"
#include "rlxgpu/kernels/rope/rope.h"
#include "rlxgpu/kernels/sort/sort.h"
#include "tests/fuzz/generator.h"

namespace rlxgpu::core::fuzz {

// Floats of this shape: given ones, or the first of those that are there already, seen as this shape.
inline Tensor floats(Generator& f, DType dtype, const Shape& shape) {
  const Tensor x = f.random.chance(0.4) ? f.any_float() : Tensor();
  if (!x.given() || x.shape().dynamic() || x.shape().count() < shape.count()) return f.source(dtype, shape);
  return reshape(narrow(reshape(x, {x.shape().count()}), 0, 0, shape.count()), shape);
}

inline Tensor make_attention(Generator& f) {
  Random& r = f.random;
  const DType dtype = f.float_type();
  const int64_t batch = r.pick({1, 1, 2}), kv_heads = r.pick({1, 2}), heads = kv_heads * r.pick({1, 1, 2, 3});
  const int64_t queries = r.pick({1, 3, 9}), keys = r.pick({1, 5, 9, 17}), size = r.pick({5, 8, 8}),
                value_size = r.pick({3, 8, 8});
  AttentionOptions options;
  options.sequence_first = r.chance(0.4);
  options.causal = r.chance(0.5);
  options.window = r.chance(0.3) ? r.pick({1, 2, 4}) : 0;
  options.scale = r.chance(0.3) ? 0.25f : 0.0f;
  options.softcap = r.chance(0.3) ? 2.0f : 0.0f;
  const auto tensor = [&](int64_t head_count, int64_t rows, int64_t columns) {
    const bool turned = r.chance(0.2);  // stored in the other order
    const bool rows_first = options.sequence_first != turned;
    const Tensor x = floats(
        f, dtype, rows_first ? Shape{batch, rows, head_count, columns} : Shape{batch, head_count, rows, columns});
    return turned ? transpose(x, IntList{0, 2, 1, 3}) : x;
  };
  Tensor q = tensor(heads, queries, size);
  const Tensor k = tensor(kv_heads, keys, size), v = tensor(kv_heads, keys, value_size);
  if (r.chance(0.25)) options.length = r.chance(0.5) ? f.source(r.pick({i32, u32}), {batch}) : f.number(u32);
  const Shape scores = {batch, heads, queries, keys};
  if (r.chance(0.3)) options.mask = f.source(boolean, f.narrower(scores));
  if (r.chance(0.3)) options.bias = f.source(f.float_type(), f.narrower(scores));
  if (!f.moderate({q, k, v}) || (options.bias.given() && !f.moderate({options.bias}))) return q;
  if (r.chance(0.3)) q = q * 0.5;
  return attention(q, k, v, options);
}

inline Tensor make_norm(Generator& f) {
  Random& r = f.random;
  const Tensor x = f.any_float();
  const int rank = x.shape().rank();
  if (rank == 0 || x.shape().dynamic() || x.shape().count() == 0 || !f.moderate({x})) return x;
  const int axes = rank > 1 && r.chance(0.2) ? 2 : 1;
  Shape row;
  for (int axis = rank - axes; axis < rank; ++axis) row.push_back(x.shape().dim(axis));
  const auto some = [&](const Shape& shape) { return r.chance(0.5) ? f.source(f32, shape) : Tensor(); };
  const auto by_channel = [&](DType dtype) {
    return r.chance(0.5) ? f.source(dtype, {x.shape().dim(rank > 1 ? 1 : 0)}) : Tensor();
  };
  const NormOptions options = {.axes = axes, .epsilon = r.pick({1e-5f, 0.125f})};
  Tensor y;
  switch (r.below(rank > 1 ? 6 : 3)) {
    case 0: {
      const Tensor weight = some(row), bias = some(row);
      y = layer_norm(x, weight, bias, options);
      break;
    }
    case 1:
      y = rms_norm(x, some(row), options);
      break;
    case 2: {
      const Tensor other = f.source(x.dtype(), x.shape());
      const NormedSum both =
          r.chance(0.5) ? add_layer_norm(x, other, some(row), {}, options) : add_rms_norm(x, other, some(row), options);
      f.add(both.sum);
      y = both.normal;
      break;
    }
    case 3: {
      const Tensor weight = by_channel(x.dtype()), bias = by_channel(x.dtype());
      y = layer_norm_2d(x, weight, bias, options.epsilon);
      break;
    }
    case 4: {
      const Tensor weight = by_channel(x.dtype()), bias = by_channel(x.dtype());
      y = r.chance(0.5) ? instance_norm(x, weight, bias, options.epsilon)
                        : group_norm(x, x.shape()[1] % 2 == 0 ? 2 : 1, weight, bias, options.epsilon);
      break;
    }
    default: {
      const Tensor mean = f.source(f32, {x.shape().dim(1)}), variance = abs(f.source(f32, {x.shape().dim(1)}));
      y = batch_norm(cast(x, f32), mean, variance, by_channel(f32), {}, options.epsilon);
    }
  }
  return y;
}

inline Tensor make_rope(Generator& f) {
  Random& r = f.random;
  const bool sequence_first = r.chance(0.4);
  const int64_t rows = r.pick({1, 3, 5});
  const Shape shape = sequence_first ? Shape{rows, 2, 8} : Shape{2, rows, 8};
  const Tensor x = floats(f, f.float_type(), shape), positions = f.source(r.pick({i32, u32}), {rows});
  if (!f.moderate({x})) return x;
  return rope(x, positions,
              {.base = r.pick({10000.0f, 100.0f}),
               .columns = r.pick({0, 0, 4}),
               .interleaved = r.chance(0.5),
               .sequence_first = sequence_first});
}

// One number for each spatial axis.
inline IntList per_axis(Generator& f, int axes, std::initializer_list<int64_t> choices) {
  IntList list;
  for (int axis = 0; axis < axes; ++axis) list.push_back(f.random.pick(choices));
  return list;
}
// A tensor of images, rows or pixels, 9 to 12 along an axis.
inline Tensor images(Generator& f, int axes, int64_t channels) {
  Shape shape = {f.random.pick({1, 2}), channels};
  for (int axis = 0; axis < axes; ++axis) shape.push_back(axis == 0 ? 9 : 12);
  return floats(f, f.float_type(), shape);
}

inline Tensor make_conv(Generator& f) {
  Random& r = f.random;
  const int axes = static_cast<int>(r.pick({1, 2, 2}));
  const int64_t groups = r.pick({1, 1, 2, 4}), each_in = r.pick({1, 2}), each_out = r.pick({1, 2, 3});
  const Tensor x = images(f, axes, groups * each_in);
  Shape kernel = {groups * each_out, each_in};
  for (int axis = 0; axis < axes; ++axis) kernel.push_back(r.pick({1, 3, 3, 2}));
  const Tensor w = f.source(x.dtype(), kernel);
  const ConvOptions options = {.strides = per_axis(f, axes, {1, 1, 2}),
                               .dilations = per_axis(f, axes, {1, 1, 2}),
                               .before = per_axis(f, axes, {0, 1}),
                               .after = per_axis(f, axes, {0, 1, 2}),
                               .groups = groups};
  if (!f.moderate({x, w})) return x;
  return r.chance(0.5) ? conv(x, w, options) : relu(conv(x, w, f.source(x.dtype(), {groups * each_out}), options));
}

inline Tensor make_pool(Generator& f) {
  Random& r = f.random;
  const int axes = static_cast<int>(r.pick({1, 2, 2}));
  const Tensor x = images(f, axes, 2);
  PoolOptions options;
  options.kernel = per_axis(f, axes, {2, 3});
  options.strides = per_axis(f, axes, {1, 2});
  options.dilations = per_axis(f, axes, {1, 1, 2});
  options.before = per_axis(f, axes, {0, 1});
  options.after = per_axis(f, axes, {0, 1});
  options.ceil = r.chance(0.3);
  options.count_pads = r.chance(0.5);
  if (!f.moderate({x})) return x;
  return r.chance(0.5) ? max_pool(x, options) : average_pool(x, options);
}

// Blocks of pixels as channels and back; parts; rows of a table.
inline Tensor make_rearranged(Generator& f) {
  Random& r = f.random;
  const DepthOrder order = r.chance(0.5) ? DepthOrder::DCR : DepthOrder::CRD;
  switch (r.below(4)) {
    case 0:
      return depth_to_space(floats(f, f.float_type(), {2, 8, 3, 2}), 2, order);
    case 1:
      return space_to_depth(floats(f, f.float_type(), {1, 3, 4, 6}), 2, order);
    case 2: {
      const Vec<Tensor> parts = split(floats(f, f.float_type(), {4, 6, 2}), {1, 3, 2}, 1);
      f.add(parts[0]), f.add(parts[2]);
      return parts[1];
    }
    default:
      return embedding(floats(f, f.float_type(), {8, 5}),
                       f.source(r.pick({i32, u32}), f.random.chance(0.5) ? Shape{4} : Shape{2, 3}));
  }
}

inline Tensor make_gated(Generator& f) {
  Random& r = f.random;
  const int64_t k = r.pick({5, 8}), n = r.pick({6, 16});
  const Tensor x = floats(f, f.float_type(), {r.pick({1, 5, 17}), k}), gate = f.source(f32, {k, n}),
               up = f.source(f32, {k, n});
  if (!f.moderate({x, gate, up})) return x;
  const Activation activation = r.pick({Activation::none, Activation::gelu, Activation::silu});
  switch (r.below(4)) {
    case 0:
      return r.chance(0.5) ? swiglu(matmul(x, gate)) : geglu(matmul(x, gate), matmul(x, up));
    case 1:
      return gated_matmul(x, gate, up, activation);
    case 2:
      return normed_linear(x, gate, {.norm = {.centred = r.chance(0.5)}, .up = up, .activation = activation}).y;
    default: {
      const NormedLinear both = normed_linear(
          x, gate,
          {.norm = {.weight = f.source(f32, {k})}, .bias = f.source(f32, {n}), .activation = activation, .keep = true});
      f.add(both.normal);
      return both.y;
    }
  }
}

// Numbers that the reference and a device may order differently have no bound.
inline Tensor make_sort(Generator& f) {
  Random& r = f.random;
  const Tensor x = r.chance(0.7) ? f.any_float() : f.any_of(f.integer_type());
  if (x.shape().rank() == 0 || x.shape().dynamic() || !f.moderate({x})) return x;
  const int axis = f.axis_of(x);
  const bool flag = r.chance(0.5);
  switch (r.below(3)) {
    case 0:
      return sort(x, axis, {.descending = flag});
    case 1:
      return argsort(x, axis, {.descending = flag});
    default: {
      const TopK best = topk(x, r.between(0, x.shape()[axis]), axis, flag);
      f.add(best.indices);
      return best.values;
    }
  }
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_NETWORK_MAKERS_H_
