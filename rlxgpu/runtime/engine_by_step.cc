// run_by_step: a run whose steps are timed or looked at one by one, as switches.h asks.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "rlxgpu/graph/element.h"
#include "rlxgpu/runtime/engine_state.h"
#include "rlxgpu/runtime/platform.h"
#include "rlxgpu/runtime/switches.h"

namespace rlxgpu::core::internal {
namespace {

struct Seen {
  double largest = 0;  // magnitude
  size_t nans = 0, first_nan = 0, count = 0;
};

absl::StatusOr<Seen> look_at(DeviceState& device, const WrittenTensor& tensor) {
  Seen seen;
  seen.count = static_cast<size_t>(tensor.type.shape.count()) * (tensor.type.dtype == DType::c64 ? 2 : 1);
  std::vector<std::byte> bytes(tensor.slice.bytes);
  if (bytes.empty()) return seen;
  if (absl::Status status = device.read(tensor.slice.buffer, tensor.slice.offset, bytes); !status.ok()) return status;
  for (size_t i = 0; i < seen.count; ++i) {
    const double value = number_at(tensor.type.dtype, bytes, i);
    if (std::isnan(value)) {
      if (seen.nans++ == 0) seen.first_nan = i;
    } else {
      seen.largest = std::max(seen.largest, std::abs(value));
    }
  }
  return seen;
}

// A file in Chrome's trace format that is whole after every run.
class TraceFile {
 public:
  void add(const std::string& path, const std::vector<std::string>& events) {
    const std::lock_guard lock(mutex_);
    if (path != path_) {
      if (file_ != nullptr) std::fclose(file_);
      path_ = path;
      file_ = std::fopen(path.c_str(), "w");
      if (file_ == nullptr) switches().say(absl::StrCat(path, " cannot be written: there will be no trace"));
      end_ = -1;
    }
    if (file_ == nullptr) return;
    if (end_ >= 0) std::fseek(file_, end_, SEEK_SET);  // over the bracket
    for (const std::string& event : events) {
      std::fputs(end_ < 0 ? "[\n" : ",\n", file_);
      std::fputs(event.c_str(), file_);
      end_ = std::ftell(file_);
    }
    std::fputs("\n]\n", file_);
    std::fflush(file_);
  }

 private:
  std::mutex mutex_;
  std::string path_;
  std::FILE* file_ = nullptr;
  long end_ = -1;  // of the last event
};

TraceFile& trace_file() {
  static TraceFile* const file = new TraceFile;
  return *file;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 32 ? ' ' : c;
  }
  return result + "\"";
}

double now_us() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return 1e-3 * static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

std::string decimal(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

std::string event(std::string_view name, int track, double begin_us, double us, std::string_view args) {
  return absl::StrCat("{\"name\": ", quoted(name), ", \"ph\": \"X\", \"pid\": ", process_id(), ", \"tid\": ", track,
                      ", \"ts\": ", decimal(begin_us), ", \"dur\": ", decimal(us), ", \"args\": {", args, "}}");
}

std::string track_name(int track, std::string_view name) {
  return absl::StrCat("{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": ", process_id(), ", \"tid\": ", track,
                      ", \"args\": {\"name\": ", quoted(name), "}}");
}

// The GPU's clock has another zero: its first step is put where the host submitted the run.
void write_trace(const EngineState& engine, const std::vector<uint64_t>& stamps, double begin_us, double end_us) {
  constexpr int kHost = 1, kGpu = 2;
  std::vector<std::string> events = {track_name(kHost, "host"), track_name(kGpu, engine.device->adapter.name)};
  events.push_back(event(absl::StrCat("run of ", engine.label), kHost, begin_us, end_us - begin_us, ""));
  for (size_t i = 0; i < engine.steps.size() && 2 * i + 1 < stamps.size(); ++i) {
    const EngineStep& step = engine.steps[i];
    const double begin = begin_us + 1e-3 * (static_cast<double>(stamps[2 * i]) - static_cast<double>(stamps[0]));
    const double us = 1e-3 * (static_cast<double>(stamps[2 * i + 1]) - static_cast<double>(stamps[2 * i]));
    const double per_s = us > 0 ? 1e-3 / us : 0;  // times a count: 1e9 of them a second
    events.push_back(event(step.label, kGpu, begin, std::max(us, 0.0),
                           absl::StrCat("\"step\": ", i, ", \"GFLOP/s\": ", decimal(step.flops * per_s),
                                        ", \"GB/s\": ", decimal(step.bytes * per_s))));
  }
  trace_file().add(switches().trace, events);
}

absl::Status run_step(EngineState& engine, const EngineStep& step) {
  DeviceState& device = *engine.device;
  ErrorCapture errors(device);
  const wgpu::CommandEncoder encoder = device.device.CreateCommandEncoder();
  const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
  engine.dispatch(pass, step);
  pass.End();
  const wgpu::CommandBuffer commands = encoder.Finish();
  device.submit(commands);
  return errors.status(engine.label);
}

// Says what the switches ask for. `nan_found`: said already.
absl::Status look_at_step(EngineState& engine, size_t i, bool& nan_found) {
  const EngineStep& step = engine.steps[i];
  for (const WrittenTensor& tensor : step.writes) {
    const absl::StatusOr<Seen> seen = look_at(*engine.device, tensor);
    if (!seen.ok()) return seen.status();
    const std::string what =
        absl::StrCat("step ", i, " of ", engine.label, ", ", step.label, ", ", text_of(tensor.type), ": ");
    if (switches().maxima) {
      switches().say(absl::StrCat(what, "at most ", seen->largest,
                                  seen->nans > 0 ? absl::StrCat(", and ", seen->nans, " NaN") : ""));
    }
    if (switches().trace_nan && seen->nans > 0 && !nan_found) {
      nan_found = true;
      switches().say(absl::StrCat(what, "the first NaN of this run, ", seen->nans, " of ", seen->count,
                                  " elements, the first at ", seen->first_nan));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status run_by_step(EngineState& engine) {
  const bool traced = !switches().trace.empty() && engine.device->timestamps, looks = switches().reads_steps();
  std::vector<uint64_t> stamps;
  const double begin_us = now_us();
  bool nan_found = false;
  StepChecker* const checker = engine.checker.get();
  if (checker != nullptr) checker->begin_run(engine);
  if (traced && !looks && checker == nullptr) {
    if (absl::Status status = time_steps(engine, 0, engine.steps.size(), stamps); !status.ok()) return status;
  } else {
    for (size_t i = 0; i < engine.steps.size(); ++i) {
      absl::Status status = checker != nullptr ? checker->before_step(engine, i) : absl::OkStatus();
      if (status.ok()) status = traced ? time_steps(engine, i, 1, stamps) : run_step(engine, engine.steps[i]);
      if (status.ok() && looks) status = look_at_step(engine, i, nan_found);
      if (status.ok() && checker != nullptr) status = checker->after_step(engine, i);
      if (!status.ok()) return status;
    }
  }
  if (traced) write_trace(engine, stamps, begin_us, now_us());
  return checker != nullptr ? checker->end_run(engine) : absl::OkStatus();
}

}  // namespace rlxgpu::core::internal
