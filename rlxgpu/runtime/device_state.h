// DeviceState: what a Device shares with everything that runs on it. Internal to runtime/: includes Dawn.
//
//   ErrorCapture errors(device);               // Dawn reports on the calling thread, before the call returns
//   wgpu::Buffer buffer = device.device.CreateBuffer(&descriptor);
//   if (absl::Status status = errors.status("buffer \"x\""); !status.ok()) return status;
//
// Whoever holds Dawn objects of a device holds its shared_ptr<DeviceState> too and declares it first, so
// that the device outlives them: Dawn destroys a device with its last reference, whatever still uses it.
#ifndef RLXGPU_RUNTIME_DEVICE_STATE_H_
#define RLXGPU_RUNTIME_DEVICE_STATE_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rlxgpu/runtime/adapter.h"
#include "rlxgpu/runtime/blob_cache.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/done_thread.h"
#include "rlxgpu/runtime/log.h"
#include "rlxgpu/runtime/memory_ledger.h"
#include "rlxgpu/runtime/pipelines.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::core::internal {

absl::StatusCode code_of(wgpu::ErrorType type);

// Collects the errors that Dawn reports on this thread while it exists. Nests: the innermost collects. Of an adopted
// device, whose callbacks are the caller's, by error scopes.
class ErrorCapture {
 public:
  explicit ErrorCapture(DeviceState& device);
  ~ErrorCapture();
  ErrorCapture(const ErrorCapture&) = delete;
  ErrorCapture& operator=(const ErrorCapture&) = delete;

  // The first error so far, "what: Dawn's message", or ok; forgets it.
  absl::Status status(std::string_view what);

  // False when no capture is active on this thread.
  static bool report(wgpu::ErrorType type, std::string_view message);

 private:
  void push_scopes() const;
  void pop_scopes();
  void keep(wgpu::ErrorType type, std::string_view message);

  DeviceState& device_;
  const std::unique_lock<std::recursive_mutex> lock_;  // see DeviceState::guard
  ErrorCapture* const outer_;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::string message_;
};

// A piece of a device buffer. The last one of a buffer that runtime/ made destroys it, also while submitted work uses
// it.
struct Slice {
  wgpu::Buffer buffer;
  uint64_t offset = 0, bytes = 0;
  std::shared_ptr<const void> lease = {};  // null: the caller's buffer
};

// A buffer that the host can map: MapRead and CopyDst.
struct Staging {
  wgpu::Buffer buffer;
  uint64_t bytes = 0;
};

struct DeviceState {
  // Written by Dawn's callbacks, so they come first: they must outlive the device.
  std::mutex mutex;
  absl::Status loss;       // guarded by mutex
  absl::Status unclaimed;  // guarded by mutex; the first error outside any ErrorCapture
  std::atomic<bool> lost = false;
  std::unique_ptr<BlobCache> cache;
  std::function<void(std::string_view)> log;  // the caller's, else to the process's sink
  bool logs_itself = false;                   // it is the caller's
  void set_log(const std::function<void(std::string_view)>& given) {
    logs_itself = given != nullptr;
    log = given ? given : [](std::string_view line) { log_line(Severity::warning, line); };
  }
  std::function<Status(const ProgramView&, std::span<const std::string_view>)> inspect;
  std::string tuning_path;  // "": none
  std::once_flag tuning_read;
  std::mutex tuning_mutex;                   // guards tuned
  std::map<std::string, std::string> tuned;  // variants by call, of this adapter: see compile/choice.h

  std::mutex trust_mutex;               // guards trusted
  std::map<std::string, bool> trusted;  // by the texts of a probe's kernels: see trust.cc

  std::mutex said_mutex;       // guards said
  std::set<std::string> said;  // sentences that are worth saying once: see say_choices.h

  AdapterInfo adapter;
  Target target;
  uint64_t max_buffer_bytes = uint64_t{256} << 20;
  bool timestamps = false;
  bool adopted = false;      // the caller's device: it is not destroyed, and its callbacks are the caller's
  bool timed_waits = true;   // the instance has TimedWaitAny
  bool synchronised = true;  // the device has ImplicitDeviceSynchronization
  std::recursive_mutex use_mutex;
  std::shared_ptr<MemoryLedger> memory = std::make_shared<MemoryLedger>(0);
  std::shared_ptr<DoneThread> done_thread = std::make_shared<DoneThread>();

  wgpu::Instance instance;
  wgpu::Device device;
  wgpu::Queue queue;
  Pipelines pipelines;
  std::atomic<uint64_t> submits = 0;  // so far, of command buffers
  std::mutex staging_mutex;
  std::vector<Staging> free_staging;  // the last used one last

  ~DeviceState();

  // Dawn objects of a device without ImplicitDeviceSynchronization are used by one thread at a time.
  std::unique_lock<std::recursive_mutex> guard() {
    return synchronised ? std::unique_lock<std::recursive_mutex>() : std::unique_lock(use_mutex);
  }

  absl::Status loss_status();
  // Blocks until the future is complete and its callback has run, or for so many nanoseconds: DeadlineExceeded.
  absl::Status wait(wgpu::Future future, uint64_t nanoseconds = UINT64_MAX);
  // Until one of them is complete.
  wgpu::WaitStatus wait_any(std::span<wgpu::FutureWaitInfo> waits, uint64_t nanoseconds = UINT64_MAX);
  // Storage, CopySrc and CopyDst; zero at first; at least 16 bytes. Beyond the memory limit: ResourceExhausted.
  absl::StatusOr<Slice> create_buffer(uint64_t bytes, std::string_view label, MemoryKind kind);
  void submit(const wgpu::CommandBuffer& commands);
  // At least so many bytes. Kept ones are used again; whoever took one gives it back unmapped.
  absl::StatusOr<Staging> take_staging(uint64_t bytes);
  void give_back(Staging staging);
  // Whether so much more fits into the limit, without what is kept for later.
  absl::Status check_memory(uint64_t bytes, std::string_view what);
  // Copies into a buffer in order with submits. The buffer must have room for `data` rounded up to 4 bytes.
  absl::Status write(const wgpu::Buffer& buffer, uint64_t offset, std::span<const std::byte> data);
  // Copies out of a buffer, after all that was submitted; blocks.
  absl::Status read(const wgpu::Buffer& buffer, uint64_t offset, std::span<std::byte> out);
};

// What a device offers that is open already.
AdapterInfo describe(const wgpu::Device& device);

// An adapter and its description, as enumerated.
struct FoundAdapter {
  wgpu::Adapter adapter;
  AdapterInfo info;
};
struct Found {
  wgpu::Instance instance;
  std::vector<FoundAdapter> adapters;  // best first
};
// `cache_dir`: of the calibration that ranks them.
Found find_adapters(Backend backend, Power power, bool experimental, std::string_view cache_dir);

constexpr uint64_t round_up(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_DEVICE_STATE_H_
