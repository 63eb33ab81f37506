// validate_kernels: lets tint and Dawn's Null backend look at every kernel that a test is about to run.
//
//   open_device({.inspect = validate_kernels})       // device_or_skip() does
//
// So every specialisation that any test instantiates is valid SPIR-V and keeps WebGPU's default limits, whatever the
// adapter at hand puts up with. Texts that passed before are remembered in $RLXGPU_CACHE_DIR.
#ifndef RLXGPU_TESTS_SUPPORT_VALIDATE_H_
#define RLXGPU_TESTS_SUPPORT_VALIDATE_H_

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/tools/validate.h"

namespace rlxgpu::core::testing {

inline absl::Status validate_kernels(const ProgramView& program, std::span<const std::string_view> kernels) {
  static tools::Validator& validator = *[] {  // never destroyed: devices outlive main()
    const char* folder = std::getenv("RLXGPU_CACHE_DIR");
    return new tools::Validator(folder == nullptr ? std::string() : std::string(folder) + "/validated-kernels");
  }();
  return validator.check(program, kernels);
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_SUPPORT_VALIDATE_H_
