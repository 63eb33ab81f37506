// What calibration decides: the order of adapters, and of an application's backends.
#include "rlxgpu/runtime/calibration.h"

#include <cmath>
#include <limits>
#include <vector>

#include "absl/status/status.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/backend_preference.h"
#include "rlxgpu/runtime/best_of.h"

namespace rlxgpu::core {
namespace {

Calibration rated(double gflops) {
  Calibration calibration;
  calibration.f32_1024_gflops = gflops;
  calibration.bandwidth_gb_per_s = 10;
  calibration.launch_us = calibration.submit_us = 10;
  calibration.read_back_us = 20;
  return calibration;
}

TEST_CASE("an estimate is the slower of arithmetic and memory, and the latencies", "[calibration]") {
  CHECK(estimated_seconds({}, {.flops = 1e9}) == 0);
  const Calibration on = rated(100);
  CHECK(std::abs(estimated_seconds(on, {.flops = 1e9}) - (0.01 + 20e-6)) < 1e-12);
  CHECK(std::abs(estimated_seconds(on, {.flops = 1e6, .bytes = 1e9}) - (0.1 + 20e-6)) < 1e-12);
  CHECK(std::abs(estimated_seconds(on, {.launches = 5, .read_backs = 2}) - 80e-6) < 1e-12);
}

TEST_CASE("the first measurement does not count, not even when it is the only bad one", "[calibration]") {
  struct Row {
    std::vector<double> times;
    BestOfOptions options;
    double best;
    size_t runs;
  };
  const double kNever = std::numeric_limits<double>::infinity();
  for (const Row& row : {Row{{100, 1, 2, 3}, {.runs = 3}, 1, 4}, Row{{0.001, 5, 4, 3}, {.runs = 2}, 4, 3},
                         Row{{7, 8}, {.seconds = 0}, 8, 2}, Row{{7, 8}, {.runs = 0}, 8, 2},
                         Row{{100, 31, 1}, {.seconds = kNever, .rival = 10}, 31, 2},
                         Row{{1000, 29, 9, 8}, {.runs = 3, .seconds = kNever, .rival = 10}, 8, 4}}) {
    size_t runs = 0;
    const absl::StatusOr<double> best =
        best_after_warm_up([&]() -> absl::StatusOr<double> { return row.times.at(runs++); }, row.options);
    REQUIRE(best.ok());
    CHECK(*best == row.best);
    CHECK(runs == row.runs);
  }
  CHECK(!best_after_warm_up([]() -> absl::StatusOr<double> { return absl::InternalError("lost"); }, {}).ok());
}

TEST_CASE("calibrated adapters change places among themselves", "[calibration]") {
  const Calibration slow = rated(10), fast = rated(1000);
  using Order = std::vector<size_t>;
  CHECK(ranked_by_calibration({}) == Order{});
  CHECK(ranked_by_calibration({nullptr, nullptr}) == Order{0, 1});
  CHECK(ranked_by_calibration({&slow, &fast}) == Order{1, 0});
  CHECK(ranked_by_calibration({&fast, &slow}) == Order{0, 1});
  CHECK(ranked_by_calibration({&slow, nullptr, &fast}) == Order{2, 1, 0});
  CHECK(ranked_by_calibration({nullptr, &slow}) == Order{0, 1});
}

TEST_CASE("a preference is read and written", "[calibration]") {
  CHECK(BackendPreference::parse(" CUDA, webgpu ,cpu")->text() == "cuda,webgpu,cpu");
  CHECK(BackendPreference::parse("auto")->order.empty());
  CHECK(BackendPreference::parse("")->text() == "auto");
  CHECK(BackendPreference::parse("cuda,vulkan").status().message() ==
        "\"vulkan\" is no backend: there are cuda, rocm, metal, opencl, webgpu and cpu");
  CHECK(!BackendPreference::parse("cpu,cpu").ok());
  CHECK(!BackendPreference::parse("cpu,").ok());
}

TEST_CASE("the first backend that is there is chosen", "[calibration]") {
  using enum ComputeBackend;
  const Calibration unknown, known = rated(100);
  const auto chosen = [](const char* text, const std::vector<OfferedBackend>& offered, const Calibration* webgpu) {
    const Result<ComputeBackend> result =
        internal::choose_backend(*BackendPreference::parse(text), offered, {.flops = 1e9}, webgpu);
    return result.ok() ? name_of(*result) : "none";
  };
  CHECK(chosen("cuda,webgpu,cpu", {}, &unknown) == "webgpu");
  CHECK(chosen("cuda,webgpu,cpu", {{cuda}}, &unknown) == "cuda");
  CHECK(chosen("cuda,webgpu,cpu", {}, nullptr) == "cpu");
  CHECK(chosen("cpu,webgpu", {{cuda}}, &unknown) == "cpu");
  CHECK(chosen("cuda,rocm", {}, &unknown) == "none");
  CHECK(chosen("", {}, &unknown) == "webgpu");
  CHECK(chosen("", {}, nullptr) == "cpu");
  CHECK(chosen("", {{opencl, 1.0}}, &unknown) == "opencl");
  CHECK(chosen("", {{opencl, 1.0}}, &known) == "webgpu");  // 10 ms
  CHECK(chosen("", {{opencl, 0.001}}, &known) == "opencl");
  CHECK(chosen("", {{opencl}}, &known) == "opencl");  // how fast it is is not known
}

}  // namespace
}  // namespace rlxgpu::core
