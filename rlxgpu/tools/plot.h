// rlxgpu plot: the results of a benchmark as SVG. On top a roofline: speed over arithmetic intensity, under the limits
// that `rlxgpu calibrate` measured. Below it bars: for each shape one for each benchmark that ran it, peers among them.
//
// Reads Google Benchmark's JSON. "BM_Matmul<f32>/m:64/n:64/k:64" is shape m:64/n:64/k:64 of series BM_Matmul<f32>; the
// counter FLOP is operations a second; of repetitions the fastest counts.
#ifndef RLXGPU_TOOLS_PLOT_H_
#define RLXGPU_TOOLS_PLOT_H_

#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "rlxgpu/runtime/calibration.h"

namespace rlxgpu::core::tools {

struct BenchmarkRow {
  std::string series, shape;
  std::string label;                        // the adapter's, by our benchmarks
  double seconds = 0;                       // of one iteration
  double flops_per_s = 0, bytes_per_s = 0;  // 0: not counted
};

// InvalidArgument when the text is not what Google Benchmark writes.
absl::StatusOr<std::vector<BenchmarkRow>> parse_benchmarks(std::string_view json);

// `baseline`: a series; bars are then ratios of speed to it. Limits are those of the adapter that the rows are labelled
// with.
std::string plot_svg(const std::vector<BenchmarkRow>& rows, const std::map<std::string, Calibration>& calibrations,
                     std::string_view baseline = {});

struct PlotCommand {
  std::string results = {}, out = {}, baseline = {}, filter = {};
};

// Returns the exit code.
int plot_command(const PlotCommand& command, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_PLOT_H_
