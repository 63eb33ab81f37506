// open_device: chooses an adapter, opens a device with all that it offers, and ends it when the process ends.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/switches.h"
#include "rlxgpu/runtime/tuning_file.h"

namespace rlxgpu::core {
namespace internal {
namespace {

constexpr uint64_t kCacheBytes = uint64_t{256} << 20;

void on_error(const wgpu::Device&, wgpu::ErrorType type, wgpu::StringView message, DeviceState* state) {
  const std::string_view text = message;
  if (ErrorCapture::report(type, text)) return;
  const std::lock_guard lock(state->mutex);
  if (state->unclaimed.ok()) state->unclaimed = absl::Status(code_of(type), text);
}

void on_loss(const wgpu::Device&, wgpu::DeviceLostReason reason, wgpu::StringView message, DeviceState* state) {
  const std::string_view text = message;
  const bool destroyed = reason == wgpu::DeviceLostReason::Destroyed;
  const std::lock_guard lock(state->mutex);
  if (state->loss.ok()) {
    state->loss =
        absl::UnavailableError(destroyed ? "the device was destroyed" : absl::StrCat("the device is lost: ", text));
  }
  state->lost = true;
}

void on_log(wgpu::LoggingType type, wgpu::StringView message, DeviceState* state) {
  if (state->logs_itself) return state->log(std::string_view(message));
  const Severity severity = type == wgpu::LoggingType::Error     ? Severity::error
                            : type == wgpu::LoggingType::Warning ? Severity::warning
                                                                 : Severity::info;
  log_line(severity, std::string_view(message));
}

size_t load_blob(std::span<const std::byte> key, std::span<std::byte> value, BlobCache* cache) {
  // Dawn asks twice, for the size and for the bytes. The entry may change in between: then give nothing of it.
  const std::string blob = cache->load({reinterpret_cast<const char*>(key.data()), key.size()});
  if (!value.empty()) {
    if (blob.size() != value.size()) return 0;
    std::memcpy(value.data(), blob.data(), blob.size());
  }
  return blob.size();
}

void store_blob(std::span<const std::byte> key, std::span<const std::byte> value, BlobCache* cache) {
  cache->store({reinterpret_cast<const char*>(key.data()), key.size()},
               {reinterpret_cast<const char*>(value.data()), value.size()});
}

}  // namespace
}  // namespace internal

namespace {

using internal::DeviceState;

std::string list_of(const std::vector<internal::FoundAdapter>& adapters) {
  std::string text;
  for (const auto& adapter : adapters) absl::StrAppend(&text, "\n  ", adapter.info.label());
  return text;
}

// Index of the adapter to open.
absl::StatusOr<size_t> choose_adapter(const std::vector<internal::FoundAdapter>& adapters,
                                      const DeviceOptions& options) {
  if (adapters.empty()) {
    return absl::NotFoundError(options.backend == Backend::any
                                   ? "no adapter: Dawn found no Vulkan, Metal, D3D or OpenGL driver on this machine"
                                   : absl::StrCat("no adapter with backend ", name_of(options.backend)));
  }
  std::string wanted = options.adapter, source = "";
  if (wanted.empty() && options.backend != Backend::null) {
    const char* const variable = std::getenv("RLXGPU_ADAPTER");
    wanted = variable ? variable : "";
    source = " (from RLXGPU_ADAPTER)";
  }
  for (size_t i = 0; i < adapters.size(); ++i) {
    std::string label = adapters[i].info.label();
    if (absl::StrContains(label, "llvmpipe")) label += " lavapipe";  // the name that people know it by
    if (absl::StrContainsIgnoreCase(label, wanted)) return i;
  }
  return absl::NotFoundError(
      absl::StrCat("no adapter named like \"", wanted, "\"", source, "; there are:", list_of(adapters)));
}

// A Device may be a global, but a driver's own globals go first, and then nothing of it can be called any more. So at
// exit, while drivers still work, every device that lives is ended and its state kept for ever: what is destroyed later
// finds a dead device, as after any other loss.
struct LiveDevices {
  std::mutex mutex;
  std::vector<std::weak_ptr<DeviceState>> devices;
  std::vector<std::shared_ptr<DeviceState>> kept;
};
LiveDevices& live_devices() {
  static LiveDevices* const devices = new LiveDevices;
  return *devices;
}

void end_devices_at_exit() {
  LiveDevices& live = live_devices();
  const std::lock_guard lock(live.mutex);
  for (const std::weak_ptr<DeviceState>& weak : live.devices) {
    const std::shared_ptr<DeviceState> device = weak.lock();
    if (!device) continue;
    device->done_thread->stop();
    device->device.Destroy();
    live.kept.push_back(device);
  }
  live.devices.clear();
}

void end_at_exit(const std::shared_ptr<DeviceState>& device) {
  LiveDevices& live = live_devices();
  const std::lock_guard lock(live.mutex);
  std::erase_if(live.devices, [](const std::weak_ptr<DeviceState>& other) { return other.expired(); });
  live.devices.push_back(device);
  std::atexit(end_devices_at_exit);  // each time: a driver loaded since the last time registered its own end after ours
}

std::vector<const char*> pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> result;
  for (const std::string& string : strings) result.push_back(string.c_str());
  return result;
}

}  // namespace

Result<Device> open_device(const DeviceOptions& options) {
  internal::Found found =
      internal::find_adapters(options.backend, options.power, options.experimental, options.cache_dir);
  const absl::StatusOr<size_t> chosen = choose_adapter(found.adapters, options);
  if (!chosen.ok()) return chosen.status();
  internal::FoundAdapter& adapter = found.adapters[*chosen];

  auto state = std::make_shared<DeviceState>();
  state->instance = std::move(found.instance);
  state->adapter = std::move(adapter.info);
  if (options.disk_cache) {
    const std::string dir = default_cache_dir(options.cache_dir);
    state->cache = std::make_unique<BlobCache>(dir.empty() ? dir : dir + "/kernels", internal::kCacheBytes);
  }

  if (options.tuning && switches().tuning) state->tuning_path = tuning_path(options.cache_dir);

  using Feature = wgpu::FeatureName;
  std::vector<Feature> features = {Feature::TimestampQuery, Feature::ImplicitDeviceSynchronization};
  if (!options.portable) {
    for (const Feature feature : {Feature::ShaderF16, Feature::Subgroups, Feature::SubgroupSizeControl})
      features.push_back(feature);
    if (options.experimental) features.push_back(Feature::ChromiumExperimentalSubgroupMatrix);
  }
  std::erase_if(features, [&](Feature feature) { return !adapter.adapter.HasFeature(feature); });
  wgpu::Limits limits{};
  if (!options.portable) adapter.adapter.GetLimits(&limits);

  wgpu::DawnCacheDeviceDescriptor cache{};
  cache.isolationKey = "rlxgpu-1";
  if (state->cache) {
    cache.SetDawnLoadCacheDataCallback(internal::load_blob, state->cache.get());
    cache.SetDawnStoreCacheDataCallback(internal::store_blob, state->cache.get());
  }
  const std::vector<const char*> enabled = pointers(options.enable_toggles);
  std::vector<const char*> disabled = pointers(options.disable_toggles);
  disabled.push_back("timestamp_quantization");
  // SwiftShader makes of that extension a store for each element of workgroup memory, and takes 1.6 s to compile a
  // kernel with 16 KB of it, 0.07 s without. Lavapipe is a few per cent faster with it.
  if (state->adapter.architecture == "swiftshader") {
    disabled.push_back("use_vulkan_zero_initialize_workgroup_memory_extension");
  }
  wgpu::DawnTogglesDescriptor toggles{};
  toggles.nextInChain = state->cache ? &cache : nullptr;
  toggles.enabledToggleCount = enabled.size();
  toggles.enabledToggles = enabled.data();
  toggles.disabledToggleCount = disabled.size();
  toggles.disabledToggles = disabled.data();

  wgpu::DeviceDescriptor descriptor{};
  descriptor.nextInChain = &toggles;
  descriptor.label = "rlxgpu";
  descriptor.requiredFeatureCount = features.size();
  descriptor.requiredFeatures = features.data();
  descriptor.requiredLimits = &limits;
  descriptor.SetUncapturedErrorCallback(internal::on_error, state.get());
  descriptor.SetDeviceLostCallback(wgpu::CallbackMode::AllowSpontaneous, internal::on_loss, state.get());
  std::string message;
  const absl::Status waited = state->wait(
      adapter.adapter.RequestDevice(&descriptor, wgpu::CallbackMode::WaitAnyOnly,
                                    [&](wgpu::RequestDeviceStatus, wgpu::Device device, wgpu::StringView text) {
                                      state->device = std::move(device);
                                      message = std::string_view(text);
                                    }));
  if (!waited.ok()) return waited;
  if (!state->device) return absl::UnavailableError(absl::StrCat(state->adapter.label(), ": no device: ", message));
  state->queue = state->device.GetQueue();
  state->synchronised = state->device.HasFeature(Feature::ImplicitDeviceSynchronization);
  state->memory = std::make_shared<internal::MemoryLedger>(options.memory_limit);
  state->set_log(options.log);
  state->inspect = options.inspect;
  state->device.SetLoggingCallback(internal::on_log, state.get());  // without one, Dawn writes to stderr
  state->timestamps = state->adapter.timestamps;
  if (options.portable) {
    const Target& all = state->adapter.target;  // what prefers one kernel to another stays
    state->target.adapter_class = all.adapter_class;
    state->target.vendor = all.vendor, state->target.architecture = all.architecture;
    state->target.units = all.units, state->target.dot4 = all.dot4;
  } else {
    state->target = state->adapter.target;
    state->max_buffer_bytes = state->adapter.max_buffer_bytes;
  }
  end_at_exit(state);
  return Device(std::move(state));
}

}  // namespace rlxgpu::core
