// Generator: a graph in the making, and the choices that ops need: some tensor, one that fits beside another.
//
//   Tensor a = generator.any_float();      Tensor b = generator.beside(a);      generator.add(a * b);
//
// Values are known while the graph grows, so that tensors which are mostly NaN, infinite or huge are seldom
// used again: they would hide every later mistake. Extents come from a small pool, since every new shape is
// a new kernel for the driver to compile.
#ifndef RLXGPU_TESTS_FUZZ_GENERATOR_H_
#define RLXGPU_TESTS_FUZZ_GENERATOR_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/cast.h"
#include "tests/fuzz/evaluate.h"
#include "tests/fuzz/random.h"

namespace rlxgpu::core::fuzz {

inline constexpr int64_t kMostElements = 20000;
inline constexpr int64_t kMostWork = 48'000'000;  // multiply-adds of a graph's large layers

class Generator {
 public:
  Generator(Builder& builder, uint64_t seed) : g(builder), random(seed), values_(builder.graph(), seed) {
    extent_ = random.chance(0.15) ? g.extent("n", random.pick({3, 5, 8})) : Dim(0);
  }

  Builder& g;
  Random random;

  // ------------------------------------------------------------------------------------------- types
  DType float_type() { return random.pick({f32, f32, f32, f32, f16, bf16}); }
  DType integer_type() { return random.pick({i32, i32, u32, i8, u8}); }
  DType any_type() {
    const int64_t roll = random.below(20);
    return roll < 13 ? float_type() : roll < 17 ? integer_type() : roll < 19 ? boolean : c64;
  }

  Shape any_shape() {
    if (random.chance(0.03)) return random.pick({Shape{0}, Shape{3, 0}, Shape{0, 4}});
    if (random.chance(0.01))
      return random.pick({Shape{2, 8200}, Shape{9000}, Shape{300, 3}});  // several workgroups, split reductions
    const int rank = static_cast<int>(random.pick({0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 5, 6, 8}));
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t extent = rank <= 3 ? random.pick({1, 2, 3, 4, 5, 8, 17}) : random.pick({1, 2, 3});
      shape.push_back(shape.count() * extent <= 600 ? extent : 1);
    }
    if (extent_.symbol >= 0 && rank > 0 && random.chance(0.7)) shape.set(static_cast<int>(random.below(rank)), extent_);
    return shape;
  }
  // A shape that broadcasts to `shape`.
  Shape narrower(const Shape& shape) {
    const int first = random.chance(0.3) ? static_cast<int>(random.below(shape.rank() + 1)) : 0;
    Shape result;
    for (int axis = first; axis < shape.rank(); ++axis) result.push_back(random.chance(0.2) ? Dim(1) : shape.dim(axis));
    return result;
  }

  // ----------------------------------------------------------------------------------------- tensors
  Tensor source(DType dtype, const Shape& shape, double is_weight = 0.2) {
    const std::string name = "x" + std::to_string(sources_++);
    const bool weight = random.chance(is_weight) && !shape.dynamic();
    return keep(weight ? g.param(name, dtype, shape) : g.input(name, dtype, shape));
  }
  // One of the states, kept from run to run, or a new one.
  Tensor any_state() {
    if (!states_.empty() && random.chance(0.7)) return random.pick(states_);
    Shape shape = any_shape();
    while (shape.dynamic() || shape.count() == 0) shape = any_shape();
    states_.push_back(keep(g.state("state" + std::to_string(sources_++), f32, shape)));
    return states_.back();
  }
  // An op has changed the state in place: from now on it is `result`.
  void replace_state(Tensor state, Tensor result) {
    std::erase_if(pool_, [&](Tensor t) { return t.id() == state.id(); });
    for (Tensor& known : states_) {
      if (known.id() == state.id()) known = result;
    }
  }

  Tensor number(DType dtype) {
    const double value = dtype == boolean                  ? static_cast<double>(random.below(2))
                         : is_float(dtype) || dtype == c64 ? random.pick({0.5, 2.0, -1.25, 1.0, 0.0, 3.0})
                                                           : random.pick({1.0, 2.0, 0.0, 3.0});
    if ((dtype == f32 || dtype == i32 || dtype == u32) && random.chance(0.4))
      return keep(g.scalar("s" + std::to_string(sources_++), dtype));
    return g.literal(value, dtype);
  }

  Tensor any() {
    return pick([](Tensor) { return true; }, [&] { return source(any_type(), any_shape()); });
  }
  Tensor any_float() {
    return pick([](Tensor t) { return is_float(t.dtype()); }, [&] { return source(float_type(), any_shape()); });
  }
  Tensor any_of(DType dtype) {
    return pick([&](Tensor t) { return t.dtype() == dtype; }, [&] { return source(dtype, any_shape()); });
  }
  Tensor any_with_axis() {
    return pick([](Tensor t) { return t.shape().rank() > 0; },
                [&] {
                  Shape shape = any_shape();
                  if (shape.rank() == 0) shape = {4};
                  return source(any_type(), shape);
                });
  }
  // A shape that broadcasts with the given ones.
  Tensor beside(std::initializer_list<Tensor> others, DType dtype) {
    if (random.chance(0.2)) return number(dtype);
    Shape all;
    for (const Tensor other : others) {
      const Shape before = all;
      broadcast(before, other.shape(), all);
    }
    return pick(
        [&](Tensor t) {
          Shape both;
          return t.dtype() == dtype && broadcast(t.shape(), all, both) && both.count() <= kMostElements;
        },
        [&] { return source(dtype, narrower(all)); }, 0.5);
  }
  Tensor beside(Tensor a) { return beside({a}, a.dtype()); }

  // Takes so many multiply-adds from what is left to this graph; false: there are not enough.
  bool afford(int64_t work) {
    if (work > work_left_) return false;
    work_left_ -= work;
    return true;
  }

  int axis_of(Tensor t) { return static_cast<int>(random.below(t.shape().rank())); }

  // Takes a result into the pool when it is worth going on with.
  void add(Tensor result) {
    if (!result.valid()) return;
    values_.run();
    if (useful(values_.value(result.id())) || random.chance(0.1)) pool_.push_back(result);
    last_ = result;
  }
  // Floats that are all finite and none of them large; whatever else it is.
  bool moderate(std::initializer_list<Tensor> tensors) {
    values_.run();
    for (const Tensor t : tensors) {
      if (!t.valid()) return false;
      for (const double v : values_.value(t.id()).data) {
        if (is_float(t.dtype()) && !(std::fabs(v) <= 20)) return false;
      }
    }
    return true;
  }
  Tensor last() const { return last_; }
  const std::vector<Tensor>& pool() const { return pool_; }

 private:
  Tensor keep(Tensor source) {
    pool_.push_back(source);
    values_.run();
    return source;
  }

  // Late tensors more often than early ones, so that chains get long.
  Tensor pick(const std::function<bool(Tensor)>& fits, const std::function<Tensor()>& make, double fresh = 0.15) {
    if (random.chance(fresh)) return make();
    std::vector<Tensor> candidates;
    for (const Tensor t : pool_) {
      if (fits(t)) candidates.push_back(t);
    }
    if (candidates.empty()) return make();
    const auto n = static_cast<int64_t>(candidates.size());
    const int64_t recent = n - 1 - random.below(std::min<int64_t>(n, 3));
    return candidates[static_cast<size_t>(random.chance(0.6) ? recent : random.below(n))];
  }

  static bool useful(const Array& array) {
    if (!is_float(array.dtype) && array.dtype != c64) return true;
    const double most = array.dtype == f16 ? 1e3 : 1e6;
    size_t bad = 0;
    for (const double v : array.data) bad += !(std::fabs(v) <= most);
    return bad * 5 <= array.data.size();
  }

  Evaluator values_;
  std::vector<Tensor> pool_, states_;
  Tensor last_;
  Dim extent_;
  int sources_ = 0;
  int64_t work_left_ = kMostWork;
};

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_GENERATOR_H_
