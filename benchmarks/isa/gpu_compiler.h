// GpuCompiler: a Vulkan driver's compiler, for hardware that need not be there.
//
//   absl::StatusOr<GpuCompiler> compiler = GpuCompiler::open();      // the first Vulkan device: see ./dev isa
//   absl::StatusOr<CompiledKernel> kernel = compiler->compile(spirv, {.bindings = 3});
//   kernel->statistic("VGPRs");   kernel->listing;
//
// Nothing is executed. Needs VK_KHR_pipeline_executable_properties, which Mesa's drivers have.
#ifndef BENCHMARKS_ISA_GPU_COMPILER_H_
#define BENCHMARKS_ISA_GPU_COMPILER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace rlxgpu::core::isa {

struct KernelLayout {
  uint32_t bindings = 0;  // storage buffers of group 0
  uint32_t immediate_bytes = 0;
  uint32_t subgroup_size = 0;  // 0: the driver decides
  const char* entry = "main";
};

struct CompiledKernel {
  std::map<std::string, uint64_t> statistics;  // as the driver names them
  uint32_t subgroup_size = 0;
  std::string listing;  // its instructions

  uint64_t statistic(const std::string& name) const {
    const auto found = statistics.find(name);
    return found == statistics.end() ? 0 : found->second;
  }
};

class GpuCompiler {
 public:
  static absl::StatusOr<GpuCompiler> open();

  const std::string& device() const;
  absl::StatusOr<CompiledKernel> compile(std::span<const uint32_t> spirv, const KernelLayout& layout) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace rlxgpu::core::isa

#endif  // BENCHMARKS_ISA_GPU_COMPILER_H_
