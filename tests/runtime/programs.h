// Small programs made by hand, with their WGSL: what the runtime tests run.
//
//   HandMade p;
//   p.tensor("x", BufferRole::input, f32, {4});   p.tensor("y", BufferRole::output, f32, {4});
//   p.step(kDouble, {{"x"}, {"y", true}}, {1, 1, 1});
//   absl::StatusOr<Engine> engine = p.engine(device);
#ifndef RLXGPU_TESTS_RUNTIME_PROGRAMS_H_
#define RLXGPU_TESTS_RUNTIME_PROGRAMS_H_

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/runtime/engine.h"

namespace rlxgpu::core::testing {

inline constexpr std::string_view kDouble = R"(
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] = 2.0 * x[id.x]; }
})";

inline constexpr std::string_view kAdd = R"(
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] = a[id.x] + b[id.x]; }
})";

// state += x
inline constexpr std::string_view kAccumulate = R"(
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> state: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&state)) { state[id.x] += x[id.x]; }
})";

// y = scale * x + shift
inline constexpr std::string_view kScale = R"(
struct Scalars { scale: f32, shift: i32 }
var<immediate> scalars: Scalars;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] = scalars.scale * x[id.x] + f32(scalars.shift); }
})";

// y[group] = 1
inline constexpr std::string_view kMark = R"(
@group(0) @binding(0) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(workgroup_id) group: vec3u) { y[group.x] = 1u; })";

struct Bind {
  std::string_view tensor;
  bool writes = false;
};

class HandMade {
 public:
  int tensor(std::string_view name, BufferRole role, DType dtype, Shape shape) {
    const uint64_t bytes = storage_bytes(dtype, shape.count());
    program.buffers.push_back({role, bytes < 16 ? 16 : (bytes + 15) / 16 * 16});
    TensorDecl tensor;
    tensor.dtype = dtype;
    tensor.shape = shape;
    tensor.buffer = static_cast<int32_t>(program.buffers.size()) - 1;
    tensor.bytes = bytes;
    program.tensors.push_back(tensor);
    tensors_[std::string(name)] = static_cast<int32_t>(program.tensors.size()) - 1;
    if (role == BufferRole::scratch || role == BufferRole::constant) return -1;
    program.ports.push_back({role, text(name), static_cast<int32_t>(program.tensors.size()) - 1});
    return static_cast<int>(program.ports.size()) - 1;
  }
  int scalar(std::string_view name, DType dtype, int64_t most = -1) {
    program.scalars.push_back({text(name), dtype, most});
    return static_cast<int>(program.scalars.size()) - 1;
  }
  Step& step(std::string_view wgsl, std::initializer_list<Bind> bound, std::initializer_list<uint32_t> grid,
             std::initializer_list<int32_t> immediates = {}) {
    Step step;
    step.kernel = kernel(wgsl);
    int axis = 0;
    for (const uint32_t groups : grid) step.grid[axis++] = groups;
    step.bindings = {static_cast<int32_t>(program.bindings.size()), static_cast<int32_t>(bound.size())};
    for (const Bind& b : bound) program.bindings.push_back({tensors_.at(std::string(b.tensor)), b.writes});
    step.immediates = {static_cast<int32_t>(program.step_immediates.size()), static_cast<int32_t>(immediates.size())};
    for (const int32_t scalar : immediates) program.step_immediates.push_back(scalar);
    step.label = text("test/step" + std::to_string(program.steps.size()));
    program.steps.push_back(step);
    return program.steps.back();
  }

  absl::StatusOr<Engine> engine(const Device& device, const EngineOptions& options = {}) const {
    const std::vector<std::string_view> texts(kernels_.begin(), kernels_.end());
    EngineOptions with = options;
    with.zero_inputs = true;  // most tests look at something else than what is computed
    return Engine::create(device, view_of(program, kPortable), texts, with);
  }

  Program program;

 private:
  Range text(std::string_view name) {
    const Range range = {static_cast<int32_t>(program.names.size()), static_cast<int32_t>(name.size())};
    program.names << name;
    return range;
  }
  int32_t kernel(std::string_view wgsl) {
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (kernels_[i] == wgsl) return static_cast<int32_t>(i);
    }
    kernels_.emplace_back(wgsl);
    return static_cast<int32_t>(kernels_.size()) - 1;
  }

  std::map<std::string, int32_t> tensors_;
  std::vector<std::string> kernels_;
};

// y = 2 x: ports 0 (x) and 1 (y).
inline HandMade doubler(int64_t n) {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {n});
  p.tensor("y", BufferRole::output, f32, {n});
  p.step(kDouble, {{"x"}, {"y", true}}, {static_cast<uint32_t>((n + 63) / 64), 1, 1});
  return p;
}

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}
template <typename T>
std::span<std::byte> room_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_RUNTIME_PROGRAMS_H_
