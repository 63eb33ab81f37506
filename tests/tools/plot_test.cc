// Plots of benchmark results: what is read, what is drawn, what is refused.
#include "rlxgpu/tools/plot.h"

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"

namespace rlxgpu::core::tools {
namespace {

constexpr std::string_view kResults = R"({
  "context": {"host_name": "h"},
  "benchmarks": [
    {"name": "BM_Matmul<f32>/m:64/n:64/manual_time", "run_name": "BM_Matmul<f32>/m:64/n:64/manual_time", "run_type": "iteration",
     "real_time": 2.0, "time_unit": "us", "FLOP": 2.0e9, "bytes_per_second": 1.0e9, "label": "gpu / Vulkan / d"},
    {"name": "again", "run_name": "BM_Matmul<f32>/m:64/n:64/manual_time", "run_type": "iteration",
     "real_time": 1.0, "time_unit": "us", "FLOP": 4.0e9, "bytes_per_second": 2.0e9, "label": "gpu / Vulkan / d"},
    {"name": "mean", "run_name": "BM_Matmul<f32>/m:64/n:64/manual_time", "run_type": "aggregate", "real_time": 0.5, "time_unit": "us"},
    {"name": "peer/m:64/n:64", "real_time": 8.0, "time_unit": "us", "FLOP": 5.0e8, "bytes_per_second": 2.5e8},
    {"name": "broken/m:64/n:64", "error_occurred": true, "real_time": 0}
  ]
})";

TEST_CASE("the fastest of repetitions counts, and names become series and shape", "[plot]") {
  const auto rows = parse_benchmarks(kResults);
  REQUIRE(rows.ok());
  REQUIRE(rows->size() == 2);
  CHECK((*rows)[0].series == "BM_Matmul<f32>");
  CHECK((*rows)[0].shape == "m:64/n:64");
  CHECK((*rows)[0].seconds == 1e-6);
  CHECK((*rows)[0].flops_per_s == 4e9);
  CHECK((*rows)[1].series == "peer");
  CHECK((*rows)[1].bytes_per_s == 2.5e8);
}

TEST_CASE("limits are the calibration's, or else the best of the results", "[plot]") {
  const auto rows = parse_benchmarks(kResults);
  REQUIRE(rows.ok());
  const std::string without = plot_svg(*rows, {});
  CHECK(absl::StartsWith(without, "<svg "));
  CHECK(absl::EndsWith(without, "</svg>\n"));
  CHECK(absl::StrContains(without, "not calibrated"));
  CHECK(absl::StrContains(without, "BM_Matmul&lt;f32&gt;"));
  CHECK(!absl::StrContains(without, "nan"));
  Calibration calibration;
  calibration.f32_1024_gflops = 123;
  calibration.bandwidth_gb_per_s = 45;
  const std::string with = plot_svg(*rows, {{"gpu / Vulkan / d", calibration}});
  CHECK(absl::StrContains(with, "123 GFLOP/s"));
  CHECK(absl::StrContains(with, "45 GB/s"));
}

TEST_CASE("bars are ratios to a baseline", "[plot]") {
  const auto rows = parse_benchmarks(kResults);
  REQUIRE(rows.ok());
  const std::string svg = plot_svg(*rows, {}, "peer");
  CHECK(absl::StrContains(svg, "times peer"));
  CHECK(absl::StrContains(svg, ">8  BM_Matmul"));
}

TEST_CASE("results without counters are bars of runs a second", "[plot]") {
  const auto rows = parse_benchmarks(R"({"benchmarks": [{"name": "a/1", "real_time": 4, "time_unit": "ms"}]})");
  REQUIRE(rows.ok());
  const std::string svg = plot_svg(*rows, {});
  CHECK(!absl::StrContains(svg, "Roofline"));
  CHECK(absl::StrContains(svg, ">250  a<"));
}

TEST_CASE("what is no result of a benchmark is refused", "[plot]") {
  for (const std::string_view text :
       {"", "{", "[]", "{\"benchmarks\": [{\"name\": 3}]}", "{\"benchmarks\": [{\"name\": \"a\"}]}"}) {
    CAPTURE(text);
    CHECK(!parse_benchmarks(text).ok());
  }
}

}  // namespace
}  // namespace rlxgpu::core::tools
