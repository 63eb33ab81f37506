// check: what must hold of every program, and neither Tint nor pipeline creation can see. Empty text
// when all is well; otherwise one sentence that names the step. Run on every program in tests, and by
// compile() in debug builds.
//
// - Indices and ranges lie inside what they point to (check_indices.h).
// - A dispatch binds no buffer both to read and to write, and none twice to write.
// - No step reads bytes nobody wrote, or that were overwritten since (found by playing the steps).
// - Only scratch, outputs and states are written; every output is written.
// - Bindings match what their kernel declares; sizes, offsets, grids and immediates keep the limits.
#ifndef RLXGPU_COMPILE_CHECK_H_
#define RLXGPU_COMPILE_CHECK_H_

#include "rlxgpu/compile/check_indices.h"
#include "rlxgpu/compile/program.h"

namespace rlxgpu::core {

class ProgramChecker {
 public:
  constexpr explicit ProgramChecker(const ProgramView& program) : program_(program) {}

  constexpr Text run() {
    error_ = check_indices(program_, program_.kernels.specs.size());
    if (!error_.empty()) return static_cast<Text&&>(error_);
    holds_.resize(program_.buffers.size(), -1);
    for (size_t t = 0; t < program_.tensors.size(); ++t) placement(static_cast<int32_t>(t));
    if (!error_.empty()) return static_cast<Text&&>(error_);  // steps could not be followed
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      step_ = static_cast<int32_t>(s);
      step(program_.steps[s]);
    }
    step_ = -1;
    for (const Port& port : program_.ports) {
      const TensorDecl& tensor = program_.tensors[static_cast<size_t>(port.tensor)];
      if (port.role == BufferRole::output && tensor.bytes > 0 && !holds(port.tensor)) {
        fail("output \"", program_.name(port.name), "\" is never written");
      }
    }
    return static_cast<Text&&>(error_);
  }

 private:
  template <typename... Parts>
  constexpr void fail(const Parts&... parts) {
    if (!error_.empty()) return;
    if (step_ >= 0)
      error_ << "step " << step_ << " (" << program_.name(program_.steps[static_cast<size_t>(step_)].label) << "): ";
    ((error_ << parts), ...);
  }

  constexpr const BufferDecl& buffer_of(const TensorDecl& tensor) const {
    return program_.buffers[static_cast<size_t>(tensor.buffer)];
  }
  constexpr bool holds(int32_t tensor) const {
    return holds_[static_cast<size_t>(program_.tensors[static_cast<size_t>(tensor)].buffer)] == tensor;
  }

  constexpr void placement(int32_t id) {
    const TensorDecl& tensor = program_.tensors[static_cast<size_t>(id)];
    if (tensor.offset % program_.target.offset_alignment != 0) fail("tensor ", id, " is not aligned");
    if (tensor.bytes > program_.target.max_binding_bytes) fail("tensor ", id, " is larger than a binding may be");
  }

  constexpr void step(const Step& step) {
    const KernelSpec& kernel = program_.kernels.specs[static_cast<size_t>(step.kernel)];
    const auto bindings = slice(program_.bindings, step.bindings);
    const auto types = slice(program_.kernels.bindings, kernel.bindings);
    if (bindings.size() != types.size()) return fail(bindings.size(), " bindings for a kernel with ", types.size());
    if (bindings.size() > program_.target.max_storage_buffers) fail(bindings.size(), " bindings");
    if (step.immediates.count != kernel.immediates.count) fail("immediates do not match the kernel's");
    if (static_cast<uint32_t>(step.immediates.count) * 4 > program_.target.max_immediate_bytes)
      fail("too many immediates");
    for (const uint32_t groups : step.grid) {
      if (groups == 0 || groups > program_.target.max_groups) fail("a grid of ", groups, " groups along one axis");
    }
    for (size_t i = 0; i < bindings.size(); ++i) {
      const TensorDecl& tensor = program_.tensors[static_cast<size_t>(bindings[i].tensor)];
      if (bindings[i].writes != types[i].writes) fail("binding ", i, " is not used as the kernel declares it");
      for (size_t j = 0; j < i; ++j) {
        const TensorDecl& other = program_.tensors[static_cast<size_t>(bindings[j].tensor)];
        if (tensor.buffer == other.buffer && (bindings[i].writes || bindings[j].writes)) {
          fail("buffer ", tensor.buffer, " is bound twice, as bindings ", j, " and ", i,
               ", once at least to be written");
        }
      }
      if (!bindings[i].writes) reads(bindings[i].tensor, tensor);
    }
    for (const StepBinding& binding : bindings) {
      if (binding.writes) writes(binding.tensor, program_.tensors[static_cast<size_t>(binding.tensor)]);
    }
  }

  constexpr void reads(int32_t id, const TensorDecl& tensor) {
    const BufferRole role = buffer_of(tensor).role;
    const bool given = role != BufferRole::scratch && role != BufferRole::output;
    if (!given && tensor.bytes > 0 && !holds(id))
      fail("reads tensor ", id, ", which is not in its buffer at that time");
  }
  constexpr void writes(int32_t id, const TensorDecl& tensor) {
    const BufferRole role = buffer_of(tensor).role;
    if (role != BufferRole::scratch && role != BufferRole::output && role != BufferRole::state)
      fail("writes tensor ", id, ", which is given");
    holds_[static_cast<size_t>(tensor.buffer)] = id;
  }

  const ProgramView& program_;
  Vec<int32_t> holds_;  // by buffer: the tensor whose bytes are in it, or -1
  int32_t step_ = -1;
  Text error_;
};

constexpr Text check(const ProgramView& program) { return ProgramChecker(program).run(); }

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_CHECK_H_
