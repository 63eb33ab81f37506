// calibrate: how fast an adapter is, measured. The `calibrate` subcommand, which stores that in tuning.json.
#ifndef RLXGPU_TOOLS_CALIBRATE_H_
#define RLXGPU_TOOLS_CALIBRATE_H_

#include <functional>
#include <ostream>
#include <string>
#include <string_view>

#include "rlxgpu/runtime/calibration.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core::tools {

struct CalibrateOptions {
  double seconds = 1;  // for each number, after warm-up
  std::function<void(int done, int total, std::string_view what)> progress = {};
};

// Rates are of the device's clock where there are timestamps, latencies of the host's; the best of several runs counts.
Result<Calibration> calibrate(const Device& device, const CalibrateOptions& options = {});

// What is known of the device's adapter; measured and stored the first time. `cache_dir` as in DeviceOptions.
//
//   Result<Calibration> speed = load_or_measure(device);      // some seconds once for each adapter and driver
//   if (speed.ok() && estimated_seconds(*speed, {.flops = 2e9}) < 0.01) ...
Result<Calibration> load_or_measure(const Device& device, const CalibrateOptions& options = {},
                                    std::string_view cache_dir = {});

struct CalibrateCommand {
  std::string adapter = {};  // part of a name; "": the default one
  bool all = false;          // every adapter
  double seconds = 1;
};

// Returns the exit code.
int calibrate_command(const CalibrateCommand& command, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

namespace rlxgpu {
using core::tools::CalibrateOptions, core::tools::load_or_measure;
}  // namespace rlxgpu

#endif  // RLXGPU_TOOLS_CALIBRATE_H_
