// Adapters: the GPUs (and software drivers) of this machine, and what each can do.
//
//   for (const AdapterInfo& adapter : *list_adapters()) std::cout << adapter.label() << "\n";
//
// The first listing loads the drivers, some tens of milliseconds. Thread-safe.
#ifndef RLXGPU_RUNTIME_ADAPTER_H_
#define RLXGPU_RUNTIME_ADAPTER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/graph/target.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

enum class Backend : uint8_t { any, vulkan, metal, d3d12, d3d11, opengl, opengles, null };

constexpr std::string_view name_of(Backend backend) {
  constexpr std::string_view kNames[] = {"any", "Vulkan", "Metal", "D3D12", "D3D11", "OpenGL", "OpenGLES", "Null"};
  return kNames[static_cast<int>(backend)];
}

constexpr std::string_view name_of(AdapterClass adapter_class) {
  constexpr std::string_view kNames[] = {"unknown", "discrete GPU", "integrated GPU", "software"};
  return kNames[static_cast<int>(adapter_class)];
}

struct AdapterInfo {
  std::string name;          // "llvmpipe (LLVM 21.1.8, 256 bits)"
  std::string vendor;        // "mesa"
  std::string architecture;  // "ada-lovelace", when Dawn knows it
  std::string driver;        // "llvmpipe: Mesa 26.1.6 ..."
  Backend backend = Backend::any;
  Target target;  // all that it offers, before DeviceOptions::portable cuts it down
  bool timestamps = false;
  uint64_t max_buffer_bytes = 0;
  std::vector<std::string> features;  // all, as WebGPU spells them: "shader-f16"

  std::string label() const;  // "name / backend / driver"
};

// Every adapter that can run compute shaders, best first (see DeviceOptions::power). Dawn's Null backend is not one.
Result<std::vector<AdapterInfo>> list_adapters();

// Whether there is one, a GPU or a driver that works on the CPU: what open_device() needs. For programs that can do without.
bool is_available();

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::AdapterInfo, core::Backend, core::is_available, core::list_adapters;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_ADAPTER_H_
