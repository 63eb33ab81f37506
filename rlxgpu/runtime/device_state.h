// DeviceState: what a Device shares with everything that runs on it. Internal to runtime/: includes Dawn.
//
//   ErrorCapture errors;                       // Dawn reports on the calling thread, before the call returns
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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rlxgpu/runtime/adapter.h"
#include "rlxgpu/runtime/blob_cache.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/pipelines.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::internal {

// Collects the errors that Dawn reports on this thread while it exists. Nests: the innermost collects.
class ErrorCapture {
 public:
  ErrorCapture();
  ~ErrorCapture();
  ErrorCapture(const ErrorCapture&) = delete;
  ErrorCapture& operator=(const ErrorCapture&) = delete;

  // The first error so far, "what: Dawn's message", or ok; forgets it.
  absl::Status status(std::string_view what);

  // False when no capture is active on this thread.
  static bool report(wgpu::ErrorType type, std::string_view message);

 private:
  ErrorCapture* const outer_;
  absl::StatusCode code_ = absl::StatusCode::kOk;
  std::string message_;
};

struct DeviceState {
  // Written by Dawn's callbacks, so they come first: they must outlive the device.
  std::mutex mutex;
  absl::Status loss;       // guarded by mutex
  absl::Status unclaimed;  // guarded by mutex; the first error outside any ErrorCapture
  std::atomic<bool> lost = false;
  std::unique_ptr<BlobCache> cache;
  std::function<void(std::string_view)> log;
  std::function<Status(const ProgramView&, std::span<const std::string_view>)> inspect;
  std::string tuning_path;             // "": none
  std::once_flag tuning_read;
  std::mutex tuning_mutex;             // guards tuned
  std::map<std::string, std::string> tuned;  // variants by call, of this adapter: see compile/choice.h

  std::mutex trust_mutex;               // guards trusted
  std::map<std::string, bool> trusted;  // by the texts of a probe's kernels: see trust.h

  AdapterInfo adapter;
  Target target;
  uint64_t max_buffer_bytes = uint64_t{256} << 20;
  bool timestamps = false;

  wgpu::Instance instance;
  wgpu::Device device;
  wgpu::Queue queue;
  Pipelines pipelines;
  std::mutex staging_mutex;
  std::vector<wgpu::Buffer> free_staging;  // for read()

  ~DeviceState();

  absl::Status loss_status();
  // Blocks until the future is complete and its callback has run.
  absl::Status wait(wgpu::Future future);
  // Storage, CopySrc and CopyDst; zero at first; at least 16 bytes.
  absl::StatusOr<wgpu::Buffer> create_buffer(uint64_t bytes, std::string_view label);
  // Copies into a buffer in order with submits. The buffer must have room for `data` rounded up to 4 bytes.
  absl::Status write(const wgpu::Buffer& buffer, uint64_t offset, std::span<const std::byte> data);
  // Copies out of a buffer, after all that was submitted; blocks.
  absl::Status read(const wgpu::Buffer& buffer, uint64_t offset, std::span<std::byte> out);
};

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

}  // namespace rlxgpu::internal

#endif  // RLXGPU_RUNTIME_DEVICE_STATE_H_
