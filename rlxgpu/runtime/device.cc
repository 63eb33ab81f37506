#include "rlxgpu/runtime/device.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/switches.h"
#include "rlxgpu/runtime/tuning_file.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::core {
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
constexpr uint64_t kReadPiece = uint64_t{32} << 20;    // of staging memory for one read, a power of two
constexpr uint64_t kStagingKept = uint64_t{64} << 20;  // bytes of staging buffers kept for later
constexpr size_t kStagingBuffers = 256;                // and their number
constexpr uint64_t kWritePiece = uint64_t{16} << 20;   // between flushes of Dawn's own staging memory

}  // namespace

ErrorCapture::ErrorCapture(DeviceState& device) : device_(device), outer_(innermost) {
  innermost = this;
  if (device_.adopted) push_scopes();
}

ErrorCapture::~ErrorCapture() {
  if (device_.adopted) pop_scopes();
  innermost = outer_;
}

bool ErrorCapture::report(wgpu::ErrorType type, std::string_view message) {
  if (innermost == nullptr) return false;
  innermost->keep(type, message);
  return true;
}

void ErrorCapture::keep(wgpu::ErrorType type, std::string_view message) {
  if (code_ != absl::StatusCode::kOk) return;
  code_ = code_of(type);
  message_ = message;
}

constexpr wgpu::ErrorFilter kFilters[] = {wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory,
                                          wgpu::ErrorFilter::Internal};

void ErrorCapture::push_scopes() const {
  for (const wgpu::ErrorFilter filter : kFilters) device_.device.PushErrorScope(filter);
}

void ErrorCapture::pop_scopes() {
  for (size_t i = 0; i < std::size(kFilters); ++i) {
    struct Popped {
      wgpu::ErrorType type = wgpu::ErrorType::NoError;
      std::string message;
    };
    const auto popped = std::make_shared<Popped>();  // the callback may come late, when the device is lost
    const wgpu::Future future = device_.device.PopErrorScope(
        wgpu::CallbackMode::WaitAnyOnly,
        [popped](wgpu::PopErrorScopeStatus status, wgpu::ErrorType type, wgpu::StringView message) {
          if (status != wgpu::PopErrorScopeStatus::Success) return;
          popped->type = type;
          popped->message = std::string_view(message);
        });
    device_.instance.WaitAny(future, 0);
    if (popped->type != wgpu::ErrorType::NoError) keep(popped->type, popped->message);
  }
}

absl::Status ErrorCapture::status(std::string_view what) {
  if (device_.adopted) {
    pop_scopes();
    push_scopes();
  }
  if (code_ == absl::StatusCode::kOk) return absl::OkStatus();
  absl::Status status(code_, absl::StrCat(what, ": ", message_));
  code_ = absl::StatusCode::kOk;
  return status;
}

DeviceState::~DeviceState() {
  done_thread->stop();
  pipelines.clear();
  for (const Staging& staging : free_staging) memory->give_back(MemoryKind::staging, staging.bytes);
  free_staging.clear();
  queue = nullptr;
  if (device && !adopted) device.Destroy();
  device = nullptr;
  instance = nullptr;
}

absl::Status DeviceState::loss_status() {
  if (adopted && !lost && instance.WaitAny(device.GetLostFuture(), 0) == wgpu::WaitStatus::Success) {
    const std::lock_guard lock(mutex);
    loss = absl::UnavailableError("the adopted device is lost");
    lost = true;
  }
  if (!lost) return absl::OkStatus();
  const std::lock_guard lock(mutex);
  return loss;
}

wgpu::WaitStatus DeviceState::wait_any(std::span<wgpu::FutureWaitInfo> waits, uint64_t nanoseconds) {
  if (timed_waits) return instance.WaitAny(waits.size(), waits.data(), nanoseconds);
  const auto begin = std::chrono::steady_clock::now();
  for (;;) {
    const wgpu::WaitStatus waited = instance.WaitAny(waits.size(), waits.data(), 0);
    const auto passed = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin);
    if (waited != wgpu::WaitStatus::TimedOut || passed.count() >= static_cast<double>(nanoseconds)) return waited;
    device.Tick();
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

absl::Status DeviceState::wait(wgpu::Future future, uint64_t nanoseconds) {
  wgpu::FutureWaitInfo wait{future, false};
  const wgpu::WaitStatus waited = wait_any({&wait, 1}, nanoseconds);
  if (waited == wgpu::WaitStatus::Success) return absl::OkStatus();
  if (absl::Status status = loss_status(); !status.ok()) return status;
  if (waited == wgpu::WaitStatus::TimedOut)
    return absl::DeadlineExceededError("the device is not done after the time that was given");
  return absl::InternalError("Dawn's WaitAny failed");
}

namespace {

// One buffer in a ledger; with its last slice it goes.
struct Lease {
  Lease(std::shared_ptr<MemoryLedger> of, MemoryKind for_what, uint64_t size)
      : ledger(std::move(of)), kind(for_what), bytes(size) {}
  ~Lease() {
    if (buffer) buffer.Destroy();  // bind groups that are kept for later may still refer to it
    ledger->give_back(kind, bytes);
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  const std::shared_ptr<MemoryLedger> ledger;
  const MemoryKind kind;
  const uint64_t bytes;
  wgpu::Buffer buffer;
};

}  // namespace

absl::StatusOr<Slice> DeviceState::create_buffer(uint64_t bytes, std::string_view label, MemoryKind kind) {
  if (absl::Status status = loss_status(); !status.ok()) return status;
  bytes = round_up(std::max<uint64_t>(bytes, 16), 16);
  if (bytes > max_buffer_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "buffer \"", label, "\": needs ", bytes, " bytes, this device allows ", max_buffer_bytes, " in one buffer"));
  }
  const std::string what = absl::StrCat("buffer \"", label, "\"");
  if (absl::Status status = check_memory(bytes, what); !status.ok()) return status;
  if (absl::Status status = memory->take(kind, bytes, what); !status.ok()) return status;
  const auto lease = std::make_shared<Lease>(memory, kind, bytes);
  ErrorCapture errors(*this);
  wgpu::BufferDescriptor descriptor{};
  descriptor.label = label;
  descriptor.size = bytes;
  descriptor.usage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;
  lease->buffer = device.CreateBuffer(&descriptor);
  if (absl::Status status = errors.status(absl::StrCat(what, " of ", bytes, " bytes")); !status.ok()) return status;
  return Slice{lease->buffer, 0, bytes, lease};
}

absl::Status DeviceState::check_memory(uint64_t bytes, std::string_view what) {
  absl::Status status = memory->check(bytes, what);
  if (status.ok()) return status;
  {
    const std::lock_guard lock(staging_mutex);
    for (const Staging& staging : free_staging) memory->give_back(MemoryKind::staging, staging.bytes);
    free_staging.clear();
  }
  return memory->check(bytes, what);
}

void DeviceState::submit(const wgpu::CommandBuffer& commands) {
  ++submits;
  queue.Submit(1, &commands);
}

absl::StatusOr<Staging> DeviceState::take_staging(uint64_t bytes) {
  const uint64_t size = bytes <= kReadPiece ? std::bit_ceil(std::max<uint64_t>(bytes, 256)) : round_up(bytes, 1 << 20);
  {
    const std::lock_guard lock(staging_mutex);
    for (auto it = free_staging.rbegin(); it != free_staging.rend(); ++it) {
      if (it->bytes != size) continue;
      Staging staging = std::move(*it);
      free_staging.erase(std::next(it).base());
      return staging;
    }
  }
  if (size > max_buffer_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("a copy of ", bytes, " bytes for the host: this device allows ",
                                                     max_buffer_bytes, " in one buffer"));
  }
  constexpr std::string_view kWhat = "a staging buffer, through which the host reads,";
  if (absl::Status status = check_memory(size, kWhat); !status.ok()) return status;
  if (absl::Status status = memory->take(MemoryKind::staging, size, kWhat); !status.ok()) return status;
  ErrorCapture errors(*this);
  wgpu::BufferDescriptor descriptor{};
  descriptor.label = "staging";
  descriptor.size = size;
  descriptor.usage = wgpu::BufferUsage::MapRead | wgpu::BufferUsage::CopyDst;
  Staging staging{device.CreateBuffer(&descriptor), size};
  if (absl::Status status = errors.status("staging buffer"); !status.ok()) {
    memory->give_back(MemoryKind::staging, size);
    return status;
  }
  return staging;
}

void DeviceState::give_back(Staging staging) {
  const std::lock_guard lock(staging_mutex);
  free_staging.push_back(std::move(staging));
  uint64_t kept = 0;
  for (const Staging& other : free_staging) kept += other.bytes;
  while (lost || kept > kStagingKept || free_staging.size() > kStagingBuffers) {
    kept -= free_staging.front().bytes;
    memory->give_back(MemoryKind::staging, free_staging.front().bytes);
    free_staging.erase(free_staging.begin());
    if (free_staging.empty()) break;
  }
}

absl::Status DeviceState::write(const wgpu::Buffer& buffer, uint64_t offset, std::span<const std::byte> data) {
  if (absl::Status status = loss_status(); !status.ok()) return status;
  ErrorCapture errors(*this);
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
  ErrorCapture errors(*this);
  absl::StatusOr<Staging> taken = take_staging(std::min<uint64_t>(round_up(out.size(), 4), kReadPiece));
  if (!taken.ok()) return taken.status();
  struct GiveBack {  // also when something fails
    DeviceState& device;
    Staging& staging;
    ~GiveBack() {
      staging.buffer.Unmap();
      device.give_back(std::move(staging));
    }
  } const give_back{*this, *taken};
  const wgpu::Buffer& staging = taken->buffer;
  for (uint64_t at = 0; at < out.size(); at += kReadPiece) {
    const uint64_t piece = std::min<uint64_t>(kReadPiece, out.size() - at), words = round_up(piece, 4);
    const wgpu::CommandEncoder encoder = device.CreateCommandEncoder();
    encoder.CopyBufferToBuffer(buffer, offset + at, staging, 0, words);
    const wgpu::CommandBuffer commands = encoder.Finish();
    submit(commands);
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
  state->memory = std::make_shared<internal::MemoryLedger>(options.memory_limit);
  state->log = options.log;
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

MemoryUse Device::memory() const { return state_ ? state_->memory->use() : MemoryUse(); }

void Device::destroy() const {
  if (state_) state_->device.Destroy();
}

}  // namespace rlxgpu::core
