// Pipelines: the compute pipelines of a device and their layouts, shared by its engines. Internal to runtime/.
//
// A layout is known by its signature: which bindings are written and how many bytes of immediates there
// are. A pipeline is known by its WGSL and its signature, and is kept for a while after the last engine
// that used it: software drivers compile at the first dispatch, which is the slow part. Thread-safe.
#ifndef RLXGPU_RUNTIME_PIPELINES_H_
#define RLXGPU_RUNTIME_PIPELINES_H_

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/statusor.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::core::internal {

struct DeviceState;

struct Signature {
  std::string writes;  // one character for each binding: 'r' or 'w'
  uint32_t immediate_bytes = 0;
  auto operator<=>(const Signature&) const = default;
};

struct Layout {
  wgpu::BindGroupLayout group;
  wgpu::PipelineLayout pipeline;
};

struct KernelRequest {
  std::string_view wgsl;
  Signature signature;
  std::string label;
};

class Pipelines {
 public:
  absl::StatusOr<Layout> layout(DeviceState& device, const Signature& signature);

  // One pipeline for each request, in order; all that are new compile at once. `progress(done, label)` is called on
  // this thread after each, and `cancelled()` before each is begun. The first failure is returned, with the kernel's
  // label and Dawn's message.
  absl::StatusOr<std::vector<wgpu::ComputePipeline>> create(DeviceState& device,
                                                            std::span<const KernelRequest> requests,
                                                            const std::function<void(int, std::string_view)>& progress,
                                                            const std::function<bool()>& cancelled);

  void clear();  // before the device goes

 private:
  static constexpr size_t kKept = 1024;  // pipelines

  wgpu::ComputePipeline find(const std::string& key);
  void keep(const std::string& key, const wgpu::ComputePipeline& pipeline);

  struct Kept {
    wgpu::ComputePipeline pipeline;
    std::list<std::string>::iterator use;
  };
  std::mutex mutex_;
  std::map<Signature, Layout> layouts_;
  std::list<std::string> uses_;  // keys, last used first
  std::unordered_map<std::string, Kept> kept_;
};

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_PIPELINES_H_
