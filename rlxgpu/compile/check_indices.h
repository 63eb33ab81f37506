// check_indices: that every index and range of a program lies inside what it points to. Programs may come from files:
// nothing else looks at one before. Empty text when all is well, otherwise one sentence.
#ifndef RLXGPU_COMPILE_CHECK_INDICES_H_
#define RLXGPU_COMPILE_CHECK_INDICES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/compile/program.h"

namespace rlxgpu::core {

class IndexChecker {
 public:
  // `kernels`: how many texts there are.
  constexpr IndexChecker(const ProgramView& program, size_t kernels) : program_(program), kernels_(kernels) {}

  constexpr Text run() {
    for (size_t i = 0; i < program_.scalars.size(); ++i) scalar(i);
    for (size_t i = 0; i < program_.buffers.size(); ++i) buffer(i);
    for (size_t i = 0; i < program_.tensors.size(); ++i) tensor(i);
    if (!error_.empty()) return static_cast<Text&&>(error_);
    port_of_.resize(program_.buffers.size(), -1);
    for (size_t i = 0; i < program_.ports.size(); ++i) port(i);
    for (size_t i = 0; i < program_.kernels.specs.size(); ++i) kernel(i);
    for (size_t i = 0; i < program_.bindings.size(); ++i) {
      if (!within(program_.bindings[i].tensor, program_.tensors.size())) fail("binding ", i, " is of no tensor");
    }
    for (size_t i = 0; i < program_.step_immediates.size(); ++i) {
      if (!within(program_.step_immediates[i], program_.scalars.size())) fail("immediate ", i, " is no scalar");
    }
    for (size_t i = 0; i < program_.steps.size(); ++i) step(i);
    return static_cast<Text&&>(error_);
  }

 private:
  static constexpr uint64_t kMostBytes = uint64_t{1} << 40;  // of a buffer: sums of them do not overflow

  template <typename... Parts>
  constexpr void fail(const Parts&... parts) {
    if (error_.empty()) ((error_ << parts), ...);
  }
  static constexpr bool within(Range range, size_t size) {
    return range.first >= 0 && range.count >= 0 &&
           static_cast<size_t>(range.first) + static_cast<size_t>(range.count) <= size;
  }
  static constexpr bool within(int32_t index, size_t size) { return index >= 0 && static_cast<size_t>(index) < size; }

  constexpr void scalar(size_t i) {
    const ScalarDecl& decl = program_.scalars[i];
    if (!within(decl.name, program_.names.size())) fail("scalar ", i, " has no name");
    if (decl.dtype != DType::f32 && decl.dtype != DType::i32 && decl.dtype != DType::u32)
      fail("scalar ", i, " is of type ", name_of(decl.dtype));
    if (decl.most < -1 || decl.most > INT32_MAX) fail("the largest value of scalar ", i, " is ", decl.most);
  }
  constexpr void buffer(size_t i) {
    const BufferDecl& decl = program_.buffers[i];
    if (decl.bytes < 16 || decl.bytes % 16 != 0 || decl.bytes > kMostBytes)
      fail("buffer ", i, " of ", decl.bytes, " bytes: they are a multiple of 16, and at most 2^40");
    if (!within(decl.words, program_.words.size()) || static_cast<uint64_t>(decl.words.count) * 4 > decl.bytes)
      fail("buffer ", i, " has words that are not there, or more than it holds");
  }
  constexpr void tensor(size_t i) {
    const TensorDecl& decl = program_.tensors[i];
    if (!within(decl.buffer, program_.buffers.size())) return fail("tensor ", i, " has no buffer");
    const uint64_t size = program_.buffers[static_cast<size_t>(decl.buffer)].bytes;
    if (decl.offset > size || decl.bytes > size - decl.offset) return fail("tensor ", i, " reaches beyond its buffer");
    if (decl.shape.rank() < 0 || decl.shape.rank() > kMaxRank || !is_sized(decl.shape))
      return fail("tensor ", i, " has no shape that can be");
    for (int axis = 0; axis < decl.shape.rank(); ++axis) {
      const int symbol = decl.shape.symbol(axis);
      if (symbol < 0) continue;
      if (!within(symbol, program_.scalars.size())) return fail("an extent of tensor ", i, " is no scalar");
      const int64_t most = program_.scalars[static_cast<size_t>(symbol)].most;
      if (most < 0 || most > decl.shape[axis]) return fail("an extent of tensor ", i, " may be larger than its memory");
    }
  }
  constexpr void port(size_t i) {
    const Port& decl = program_.ports[i];
    if (!within(decl.name, program_.names.size())) return fail("port ", i, " has no name");
    if (!within(decl.tensor, program_.tensors.size())) return fail("port ", i, " has no tensor");
    const TensorDecl& tensor = program_.tensors[static_cast<size_t>(decl.tensor)];
    if (storage_bytes(tensor.dtype, tensor.shape.count()) > tensor.bytes)
      return fail("port ", i, " is larger than its tensor");
    if (tensor.offset != 0) return fail("port ", i, " begins inside a buffer");
    const BufferRole role = program_.buffers[static_cast<size_t>(tensor.buffer)].role;
    if (role != decl.role || role == BufferRole::constant || role == BufferRole::scratch)
      return fail("port ", i, " has another role than its buffer, or one that no port has");
    int32_t& of_buffer = port_of_[static_cast<size_t>(tensor.buffer)];
    if (of_buffer >= 0) return fail("ports ", of_buffer, " and ", i, " share a buffer");
    of_buffer = static_cast<int32_t>(i);
  }
  constexpr void kernel(size_t i) {
    const KernelSpec& spec = program_.kernels.specs[i];
    if (!within(spec.bindings, program_.kernels.bindings.size()) ||
        !within(spec.immediates, program_.kernels.immediates.size()))
      fail("kernel ", i, " has bindings or immediates that are not there");
  }
  constexpr void step(size_t i) {
    const Step& step = program_.steps[i];
    if (!within(step.kernel, kernels_)) fail("step ", i, " has no kernel");
    if (!within(step.bindings, program_.bindings.size())) fail("step ", i, " has bindings that are not there");
    if (!within(step.immediates, program_.step_immediates.size()))
      fail("step ", i, " has immediates that are not there");
    if (!within(step.label, program_.names.size())) fail("step ", i, " has a label that is not there");
    if (step.grid_scalar == -1) return;
    if (!within(step.grid_scalar, program_.scalars.size()) ||
        program_.scalars[static_cast<size_t>(step.grid_scalar)].most < 0)
      fail("the grid of step ", i, " depends on what is no extent");
  }

  const ProgramView& program_;
  const size_t kernels_;
  Vec<int32_t> port_of_;  // by buffer
  Text error_;
};

constexpr Text check_indices(const ProgramView& program, size_t kernels) {
  return IndexChecker(program, kernels).run();
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_CHECK_INDICES_H_
