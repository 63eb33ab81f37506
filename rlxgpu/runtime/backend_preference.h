// BackendPreference: which way of computing an application wants, first choice first.
//
//   Result<BackendPreference> wanted = BackendPreference::parse("cuda,webgpu,cpu");      // a user's setting
//   Result<OpenBackend> use = open_backend(*wanted, {{ComputeBackend::cuda, cuda_seconds}});
//   if (use.ok() && use->backend == ComputeBackend::webgpu) run_on(use->device);
//
// rlxgpu provides two of them: webgpu (Device, Executable) and cpu (reference/interpreter.h, right and slow). An
// application that has others of its own offers them. Without a list of its own it takes what calibration says is
// fastest, when it knows how fast its own are.
#ifndef RLXGPU_RUNTIME_BACKEND_PREFERENCE_H_
#define RLXGPU_RUNTIME_BACKEND_PREFERENCE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/runtime/calibration.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

enum class ComputeBackend : uint8_t { cuda, rocm, metal, opencl, webgpu, cpu };

constexpr std::string_view name_of(ComputeBackend backend) {
  constexpr std::string_view kNames[] = {"cuda", "rocm", "metal", "opencl", "webgpu", "cpu"};
  return kNames[static_cast<int>(backend)];
}

struct BackendPreference {
  // Those not named are not used. Empty: whatever is there, best first.
  std::vector<ComputeBackend> order = {};

  // "cuda, webgpu, cpu", in any case; "" or "auto": empty. A name that is none, or twice, is an error.
  static Result<BackendPreference> parse(std::string_view text);
  std::string text() const;
};

// A backend of the application's.
struct OfferedBackend {
  ComputeBackend backend = ComputeBackend::cpu;
  double seconds = 0;  // what `work` takes on it; 0: not known
};

// The first of the preference that is offered or provided. With an empty preference: native ones before webgpu before
// cpu, but webgpu first where it is calibrated and `work` is estimated to be faster there than on every offered one.
// NotFound when nothing of the list is there. Loads the GPU drivers when it comes to webgpu.
Result<ComputeBackend> choose_backend(const BackendPreference& preference,
                                      const std::vector<OfferedBackend>& offered = {},
                                      const Work& work = {
                                          .flops = 2e9, .bytes = 64e6, .launches = 50, .read_backs = 1});

struct OpenBackend {
  ComputeBackend backend = ComputeBackend::cpu;
  Device device = {};  // open where the backend is webgpu; others are the application's to open
};
// The same, and opens it. Where a list names webgpu but its device cannot be opened, the next one of the list is taken.
Result<OpenBackend> open_backend(const BackendPreference& preference, const std::vector<OfferedBackend>& offered = {},
                                 const DeviceOptions& options = {},
                                 const Work& work = {.flops = 2e9, .bytes = 64e6, .launches = 50, .read_backs = 1});

namespace internal {
// The same with a given answer to what webgpu is: null when there is no adapter, else its calibration.
Result<ComputeBackend> choose_backend(const BackendPreference& preference, const std::vector<OfferedBackend>& offered,
                                      const Work& work, const Calibration* webgpu);
}  // namespace internal

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::BackendPreference, core::ComputeBackend, core::OfferedBackend, core::OpenBackend, core::choose_backend,
    core::open_backend;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_BACKEND_PREFERENCE_H_
