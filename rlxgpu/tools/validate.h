// Validator: kernels checked without running them, by tint (SPIR-V) and by Dawn's Null backend with default limits.
//
//   Validator validator;
//   absl::Status status = validator.check(program, kernel_texts);        // names the kernel and quotes the tool
//   open_device({.inspect = [&](const auto& program, auto texts) { return validator.check(program, texts); }});
//
// Each distinct text is checked once: about 15 ms for tint, 2 ms for Dawn. With a memory file, texts that passed in
// earlier processes are not checked again; several processes may share it. Thread-safe.
#ifndef RLXGPU_TOOLS_VALIDATE_H_
#define RLXGPU_TOOLS_VALIDATE_H_

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "absl/status/status.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::tools {

class Validator {
 public:
  explicit Validator(std::string memory_file = "");

  // `kernels[k]` is the WGSL of kernel k of the program.
  absl::Status check(const ProgramView& program, std::span<const std::string_view> kernels);

  // A WGSL file by itself: its bindings are those it declares, in group 0, numbered from 0.
  absl::Status check_text(std::string_view wgsl);

  // Texts checked by this object, without those that were known.
  int checked() const { return checked_; }

 private:
  absl::Status check_kernel(const ProgramView& program, size_t kernel, std::string_view wgsl);
  absl::Status null_accepts(const ProgramView& program, const Step& step, std::string_view wgsl);

  std::mutex mutex_;
  const std::string memory_file_;
  std::unordered_set<std::string> passed_;  // hashes
  Device null_;                             // opened when first needed
  int checked_ = 0;
};

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_VALIDATE_H_
