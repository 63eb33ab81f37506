#include "rlxgpu/runtime/device.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/switches.h"
#include "rlxgpu/runtime/tuning_file.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu {
namespace internal {
namespace {

thread_local ErrorCapture* innermost = nullptr;

absl::StatusCode code_of(wgpu::ErrorType type) {
  switch (type) {
    case wgpu::ErrorType::Validation:
      return absl::StatusCode::kInvalidArgument;
    case wgpu::ErrorType::OutOfMemory:
      return absl::StatusCode::kResourceExhausted;
    case wgpu::ErrorType::Internal:
      return absl::StatusCode::kInternal;
    default:
      return absl::StatusCode::kUnknown;
  }
}

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

void on_log(wgpu::LoggingType, wgpu::StringView message, DeviceState* state) {
  if (state->log) state->log(std::string_view(message));
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

constexpr uint64_t kCacheBytes = uint64_t{256} << 20;
constexpr uint64_t kReadPiece = uint64_t{32} << 20;   // of staging memory for one read, a power of two
constexpr size_t kFreeStaging = 4;                    // staging buffers kept between reads
constexpr uint64_t kWritePiece = uint64_t{16} << 20;  // between flushes of Dawn's own staging memory

}  // namespace

ErrorCapture::ErrorCapture() : outer_(innermost) { innermost = this; }
ErrorCapture::~ErrorCapture() { innermost = outer_; }

bool ErrorCapture::report(wgpu::ErrorType type, std::string_view message) {
  if (innermost == nullptr) return false;
  if (innermost->code_ == absl::StatusCode::kOk) {
    innermost->code_ = code_of(type);
    innermost->message_ = message;
  }
  return true;
}

absl::Status ErrorCapture::status(std::string_view what) {
  if (code_ == absl::StatusCode::kOk) return absl::OkStatus();
  absl::Status status(code_, absl::StrCat(what, ": ", message_));
  code_ = absl::StatusCode::kOk;
  return status;
}

DeviceState::~DeviceState() {
  pipelines.clear();
  free_staging.clear();
  queue = nullptr;
  if (device) device.Destroy();
  device = nullptr;
  instance = nullptr;
}

absl::Status DeviceState::loss_status() {
  if (!lost) return absl::OkStatus();
  const std::lock_guard lock(mutex);
  return loss;
}

absl::Status DeviceState::wait(wgpu::Future future) {
  if (instance.WaitAny(future, UINT64_MAX) == wgpu::WaitStatus::Success) return absl::OkStatus();
  if (absl::Status status = loss_status(); !status.ok()) return status;
  return absl::InternalError("Dawn's WaitAny failed");
}

absl::StatusOr<wgpu::Buffer> DeviceState::create_buffer(uint64_t bytes, std::string_view label) {
  if (absl::Status status = loss_status(); !status.ok()) return status;
  bytes = round_up(std::max<uint64_t>(bytes, 16), 16);
  if (bytes > max_buffer_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "buffer \"", label, "\": needs ", bytes, " bytes, this device allows ", max_buffer_bytes, " in one buffer"));
  }
  ErrorCapture errors;
  wgpu::BufferDescriptor descriptor{};
  descriptor.label = label;
  descriptor.size = bytes;
  descriptor.usage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;
  wgpu::Buffer buffer = device.CreateBuffer(&descriptor);
  if (absl::Status status = errors.status(absl::StrCat("buffer \"", label, "\" of ", bytes, " bytes")); !status.ok())
    return status;
  return buffer;
}

absl::Status DeviceState::write(const wgpu::Buffer& buffer, uint64_t offset, std::span<const std::byte> data) {
  if (absl::Status status = loss_status(); !status.ok()) return status;
  ErrorCapture errors;
  const size_t whole = data.size() / 4 * 4;
  for (size_t at = 0; at < whole; at += kWritePiece) {
    const size_t piece = std::min<size_t>(kWritePiece, whole - at);
    queue.WriteBuffer(buffer, offset + at, data.data() + at, piece);
    if (piece == kWritePiece) queue.Submit(0, nullptr);
  }
  if (whole < data.size()) {
    uint32_t last = 0;
    std::memcpy(&last, data.data() + whole, data.size() - whole);
    queue.WriteBuffer(buffer, offset + whole, &last, 4);
  }
  return errors.status("write");
}

absl::Status DeviceState::read(const wgpu::Buffer& buffer, uint64_t offset, std::span<std::byte> out) {
  if (absl::Status status = loss_status(); !status.ok()) return status;
  if (out.empty()) return absl::OkStatus();
  ErrorCapture errors;
  const uint64_t size = std::bit_ceil(std::clamp<uint64_t>(out.size(), 4096, kReadPiece));
  wgpu::Buffer staging;
  {
    const std::lock_guard lock(staging_mutex);
    const auto fits = [size](const wgpu::Buffer& buffer) { return buffer.GetSize() == size; };
    const auto found = std::find_if(free_staging.begin(), free_staging.end(), fits);
    if (found != free_staging.end()) {
      staging = std::move(*found);
      free_staging.erase(found);
    }
  }
  if (!staging) {
    wgpu::BufferDescriptor descriptor{};
    descriptor.label = "read";
    descriptor.size = size;
    descriptor.usage = wgpu::BufferUsage::MapRead | wgpu::BufferUsage::CopyDst;
    staging = device.CreateBuffer(&descriptor);
  }
  for (uint64_t at = 0; at < out.size(); at += kReadPiece) {
    const uint64_t piece = std::min<uint64_t>(kReadPiece, out.size() - at), words = round_up(piece, 4);
    const wgpu::CommandEncoder encoder = device.CreateCommandEncoder();
    encoder.CopyBufferToBuffer(buffer, offset + at, staging, 0, words);
    const wgpu::CommandBuffer commands = encoder.Finish();
    queue.Submit(1, &commands);
    if (absl::Status status = errors.status("read"); !status.ok()) return status;
    wgpu::MapAsyncStatus mapped = wgpu::MapAsyncStatus::Error;
    std::string message;
    const absl::Status waited = wait(staging.MapAsync(wgpu::MapMode::Read, 0, words, wgpu::CallbackMode::WaitAnyOnly,
                                                      [&](wgpu::MapAsyncStatus status, wgpu::StringView text) {
                                                        mapped = status;
                                                        message = std::string_view(text);
                                                      }));
    if (!waited.ok()) return waited;
    if (mapped != wgpu::MapAsyncStatus::Success) {
      if (absl::Status status = loss_status(); !status.ok()) return status;
      return absl::InternalError(absl::StrCat("read: ", message));
    }
    const void* const memory = staging.GetConstMappedRange(0, words);
    if (memory == nullptr) return absl::InternalError("read: the staging buffer has no memory");
    std::memcpy(out.data() + at, memory, piece);
    staging.Unmap();
  }
  const std::lock_guard lock(staging_mutex);
  if (free_staging.size() == kFreeStaging) free_staging.erase(free_staging.begin());
  free_staging.push_back(std::move(staging));
  return absl::OkStatus();
}

}  // namespace internal

namespace {

using internal::DeviceState;

std::string list_of(const std::vector<internal::FoundAdapter>& adapters) {
  std::string text;
  for (const auto& adapter : adapters) absl::StrAppend(&text, "\n  ", adapter.info.label());
  return text;
}

// Index of the adapter to open.
absl::StatusOr<size_t> choose(const std::vector<internal::FoundAdapter>& adapters, const DeviceOptions& options) {
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
  const absl::StatusOr<size_t> chosen = choose(found.adapters, options);
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
  state->log = options.log;
  state->inspect = options.inspect;
  state->device.SetLoggingCallback(internal::on_log, state.get());  // without one, Dawn writes to stderr
  state->timestamps = state->adapter.timestamps;
  if (options.portable) {
    state->target.adapter_class = state->adapter.target.adapter_class;
  } else {
    state->target = state->adapter.target;
    state->max_buffer_bytes = state->adapter.max_buffer_bytes;
  }
  end_at_exit(state);
  return Device(std::move(state));
}

const AdapterInfo& Device::adapter() const {
  static const AdapterInfo* const none = new AdapterInfo;
  return state_ ? state_->adapter : *none;
}

const Target& Device::target() const { return state_ ? state_->target : kPortable; }

std::string Device::label() const { return state_ ? state_->adapter.label() : "no device"; }

Status Device::status() const {
  if (!state_) return absl::FailedPreconditionError("no device: use open_device()");
  const std::lock_guard lock(state_->mutex);
  return state_->loss.ok() ? state_->unclaimed : state_->loss;
}

Status Device::wait_idle() const {
  if (absl::Status status = this->status(); !status.ok()) return status;
  const absl::Status waited = state_->wait(state_->queue.OnSubmittedWorkDone(
      wgpu::CallbackMode::WaitAnyOnly, [](wgpu::QueueWorkDoneStatus, wgpu::StringView) {}));
  return waited.ok() ? status() : Status(waited);
}

void Device::destroy() const {
  if (state_) state_->device.Destroy();
}

}  // namespace rlxgpu
