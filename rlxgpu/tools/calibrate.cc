#include "rlxgpu/tools/calibrate.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <iostream>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/runtime/best_of.h"
#include "rlxgpu/runtime/tuning_file.h"
#include "rlxgpu/tools/progress_bar.h"

namespace rlxgpu::core::tools {
namespace {

using Clock = std::chrono::steady_clock;
double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

using Exe = Executable<DynamicGraph>;

template <typename Call>
absl::StatusOr<double> best_of(double seconds, const Call& run) {
  return best_after_warm_up(run, {.seconds = seconds});
}

absl::StatusOr<double> host_seconds(Exe& exe) {
  const Clock::time_point begin = Clock::now();
  if (Status status = exe.run().wait(); !status.ok()) return status;
  return since(begin);
}

absl::StatusOr<double> device_seconds(Exe& exe) {
  if (!exe.engine().device().adapter().timestamps) return host_seconds(exe);
  const absl::StatusOr<std::vector<StepProfile>> profile = exe.engine().profile();
  if (!profile.ok()) return profile.status();
  double seconds = 0;
  for (const StepProfile& step : *profile) seconds += step.seconds;
  return seconds;
}

Status fill(Exe& exe, std::string_view name, DType dtype) {
  const int64_t count = exe.count(name);
  if (dtype == f16) {
    std::vector<Half> data(static_cast<size_t>(count));
    for (size_t i = 0; i < data.size(); ++i) data[i] = Half(static_cast<float>(i % 17) * 0.125f - 1.0f);
    return exe.set(name, data);
  }
  std::vector<float> data(static_cast<size_t>(count));
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 17) * 0.125f - 1.0f;
  return exe.set(name, data);
}

absl::StatusOr<double> matmul_gflops(const Device& device, DType dtype, int64_t n, double seconds) {
  DynamicGraph graph;
  graph->output("y", matmul(graph->input("a", dtype, {n, n}), graph->input("b", dtype, {n, n})));
  absl::StatusOr<Exe> exe = Exe::create(device, graph, {.sizes = Sizes::baked});
  if (!exe.ok()) return exe.status();
  for (const std::string_view name : {"a", "b"}) {
    if (Status status = fill(*exe, name, dtype); !status.ok()) return status;
  }
  const absl::StatusOr<double> time = best_of(seconds, [&] { return device_seconds(*exe); });
  if (!time.ok()) return time;
  return 2e-9 * static_cast<double>(n * n * n) / std::max(*time, 1e-9);
}

absl::StatusOr<double> bandwidth_gb_per_s(const Device& device, double seconds) {
  constexpr int64_t kElements = int64_t{1} << 23;  // 32 MiB in, 32 MiB out: more than caches hold
  DynamicGraph graph;
  graph->output("y", graph->input("x", f32, {kElements}) + 1.0f);
  absl::StatusOr<Exe> exe = Exe::create(device, graph, {.engine = {.zero_inputs = true}, .sizes = Sizes::baked});
  if (!exe.ok()) return exe.status();
  const absl::StatusOr<double> time = best_of(seconds, [&] { return device_seconds(*exe); });
  if (!time.ok()) return time;
  return 1e-9 * 8.0 * static_cast<double>(kElements) / std::max(*time, 1e-9);
}

// y = x + 1 in `steps` dispatches that depend on each other.
absl::StatusOr<Exe> chain(const Device& device, int steps) {
  DynamicGraph graph;
  Tensor x = graph->input("x", f32, {1});
  for (int i = 0; i < steps; ++i) x = x + 1.0f;
  graph->output("y", x);
  DynamicOptions options;
  options.compile.fuse.fuse = false;
  options.compile.simplify = false;
  options.sizes = Sizes::baked;
  options.engine.zero_inputs = true;
  return Exe::create(device, graph, options);
}

absl::Status measure_latencies(const Device& device, double seconds, Calibration& found) {
  constexpr int kFew = 1, kMany = 201;
  absl::StatusOr<Exe> few = chain(device, kFew), many = chain(device, kMany);
  if (!few.ok()) return few.status();
  if (!many.ok()) return many.status();
  const absl::StatusOr<double> one = best_of(seconds, [&] { return host_seconds(*few); });
  if (!one.ok()) return one.status();
  const absl::StatusOr<double> all = best_of(seconds, [&] { return host_seconds(*many); });
  if (!all.ok()) return all.status();
  const absl::StatusOr<double> back = best_of(seconds, [&]() -> absl::StatusOr<double> {
    const Clock::time_point begin = Clock::now();
    few->run();
    const absl::StatusOr<std::vector<float>> y = few->get<float>("y");
    if (!y.ok()) return y.status();
    return since(begin);
  });
  if (!back.ok()) return back.status();
  found.launch_us = 1e6 * std::max(*all - *one, 0.0) / (kMany - kFew);
  found.submit_us = 1e6 * *one;
  found.read_back_us = 1e6 * *back;
  return absl::OkStatus();
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  gmtime_r(&now, &parts);
  return absl::StrFormat("%04d-%02d-%02d", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

}  // namespace

Result<Calibration> calibrate(const Device& device, const CalibrateOptions& options) {
  Calibration found;
  found.date = today();
  struct Rate {
    DType dtype;
    int64_t n;
    double Calibration::* value;
  };
  const Rate rates[] = {
      {f32, 256, &Calibration::f32_256_gflops},   {f32, 512, &Calibration::f32_512_gflops},
      {f32, 1024, &Calibration::f32_1024_gflops}, {f16, 256, &Calibration::f16_256_gflops},
      {f16, 512, &Calibration::f16_512_gflops},   {f16, 1024, &Calibration::f16_1024_gflops},
  };
  const int total = static_cast<int>(std::size(rates)) + 2;
  int done = 0;
  const auto show = [&](const std::string& what) {
    if (options.progress) options.progress(done, total, what);
  };
  for (const Rate& rate : rates) {
    show(absl::StrCat(name_of(rate.dtype), " matmul ", rate.n));
    const absl::StatusOr<double> gflops = matmul_gflops(device, rate.dtype, rate.n, options.seconds);
    if (!gflops.ok()) return gflops.status();
    found.*rate.value = *gflops;
    ++done;
  }
  show("memory bandwidth");
  const absl::StatusOr<double> bandwidth = bandwidth_gb_per_s(device, options.seconds);
  if (!bandwidth.ok()) return bandwidth.status();
  found.bandwidth_gb_per_s = *bandwidth;
  ++done;
  show("latencies");
  if (absl::Status status = measure_latencies(device, options.seconds, found); !status.ok()) return status;
  ++done;
  show("");
  return found;
}

Result<Calibration> load_or_measure(const Device& device, const CalibrateOptions& options, std::string_view cache_dir) {
  if (!device) return absl::FailedPreconditionError("calibration of no device");
  if (const Calibration known = load_calibrations(cache_dir)[device.label()]; known.known()) return known;
  Result<Calibration> found = calibrate(device, options);
  if (!found.ok()) return found;
  const TuningFile file(tuning_path(cache_dir), [](std::string_view) {});  // a damaged file is measured anew
  const Status stored =
      file.update([&](TuningData& data) { data.adapters[device.label()].calibration = *found; });
  if (!stored.ok()) return stored;
  return load_calibrations(cache_dir)[device.label()];  // rounded, as the next call gives it
}

int calibrate_command(const CalibrateCommand& command, std::ostream& out, std::ostream& err) {
  std::vector<std::string> names = {command.adapter};
  if (command.all) {
    names.clear();
    const absl::StatusOr<std::vector<AdapterInfo>> adapters = list_adapters();
    if (adapters.ok()) {
      for (const AdapterInfo& adapter : *adapters) names.push_back(adapter.label());
    }
  }
  for (const std::string& name : names) {
    const absl::StatusOr<Device> device = open_device({.adapter = name});
    if (!device.ok()) {
      err << device.status().message() << "\n";
      return 1;
    }
    absl::StatusOr<Calibration> found = absl::UnknownError("");
    {
      ProgressBar bar(err, &err == &std::cerr && isatty(2) != 0);
      found = calibrate(*device,
                        {.seconds = command.seconds,
                         .progress = [&](int done, int total, std::string_view what) { bar.show(done, total, what); }});
    }
    if (!found.ok()) {
      err << device->label() << ": " << found.status().message() << "\n";
      return 1;
    }
    out << device->label() << "\n";
    for (const CalibrationField& field : kCalibrationFields) {
      out << absl::StrFormat("  %-20s %10.2f %s\n", field.name, *found.*field.value, field.unit);
    }
    const TuningFile file(tuning_path(), [&](std::string_view warning) { err << warning << "\n"; });
    if (Status status = file.update([&](TuningData& data) { data.adapters[device->label()].calibration = *found; });
        !status.ok()) {
      err << "not stored: " << status.message() << "\n";
      return 1;
    }
    out << "stored in " << file.path() << "\n";
  }
  return names.empty() ? 1 : 0;
}

}  // namespace rlxgpu::core::tools
