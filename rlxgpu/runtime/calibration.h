// Calibration: what an adapter was measured to do, and what that says of work not yet done.
//
//   std::map<std::string, Calibration> known = load_calibrations();         // by AdapterInfo::label()
//   double seconds = estimated_seconds(known[device.label()], {.flops = 2e9, .bytes = 12e6});
//
// `rlxgpu calibrate` measures; the numbers live in the tuner's file (tuning_file.h). Units are in the names.
#ifndef RLXGPU_RUNTIME_CALIBRATION_H_
#define RLXGPU_RUNTIME_CALIBRATION_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rlxgpu::core {

struct Calibration {
  // Products of square matrices, storage type and size in the name; 1 GFLOP/s = 1e9 operations a second.
  double f32_256_gflops = 0, f32_512_gflops = 0, f32_1024_gflops = 0;
  double f16_256_gflops = 0, f16_512_gflops = 0, f16_1024_gflops = 0;
  double bandwidth_gb_per_s = 0;  // read and written by a kernel that copies; 1 GB = 1e9 bytes
  double launch_us = 0;           // one more dispatch in a run
  double submit_us = 0;           // a run of one small kernel, until the host knows that it is done
  double read_back_us = 0;        // the same, and four bytes back on the host
  std::string date;               // "2026-11-16"

  bool known() const { return f32_1024_gflops > 0; }
};

struct CalibrationField {
  std::string_view name, unit;
  double Calibration::* value;
};
inline constexpr CalibrationField kCalibrationFields[] = {
    {"f32_256_gflops", "GFLOP/s", &Calibration::f32_256_gflops},
    {"f32_512_gflops", "GFLOP/s", &Calibration::f32_512_gflops},
    {"f32_1024_gflops", "GFLOP/s", &Calibration::f32_1024_gflops},
    {"f16_256_gflops", "GFLOP/s", &Calibration::f16_256_gflops},
    {"f16_512_gflops", "GFLOP/s", &Calibration::f16_512_gflops},
    {"f16_1024_gflops", "GFLOP/s", &Calibration::f16_1024_gflops},
    {"bandwidth_gb_per_s", "GB/s", &Calibration::bandwidth_gb_per_s},
    {"launch_us", "us", &Calibration::launch_us},
    {"submit_us", "us", &Calibration::submit_us},
    {"read_back_us", "us", &Calibration::read_back_us},
};

struct Work {
  double flops = 0, bytes = 0;
  int launches = 1, read_backs = 0;
};

// Arithmetic and memory overlap, the rest adds up. 0 when the adapter is not calibrated.
inline double estimated_seconds(const Calibration& on, const Work& work) {
  if (!on.known()) return 0;
  const double compute = work.flops / (1e9 * on.f32_1024_gflops);
  const double memory = on.bandwidth_gb_per_s > 0 ? work.bytes / (1e9 * on.bandwidth_gb_per_s) : 0;
  const double latency =
      on.launch_us * work.launches + on.submit_us + (on.read_back_us - on.submit_us) * work.read_backs;
  return (compute > memory ? compute : memory) + 1e-6 * latency;
}

// The order in which to prefer adapters that are listed best guess first: those that are calibrated change places among
// themselves, the fastest at a typical run first; the others stay where they are. Null: not calibrated.
std::vector<size_t> ranked_by_calibration(const std::vector<const Calibration*>& adapters);

// By AdapterInfo::label(). `cache_dir` as in DeviceOptions. A file that is missing or unreadable has none.
std::map<std::string, Calibration> load_calibrations(std::string_view cache_dir = {});

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Calibration, core::Work, core::estimated_seconds, core::load_calibrations, core::ranked_by_calibration;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_CALIBRATION_H_
