// report: the kernels that the library uses by default on this adapter, as its driver compiles them.
//
//   ./dev gpus report [GPU...] [FILTER]     # makes the tables; this program does one GPU and writes JSON, or prints
//   rows
//   ./dev gpus navi31 //benchmarks/gpus:report [--json] [FILTER]
//
// Nothing is executed: the adapter is one of ./dev gpus. The statistics are those of statistics_layer.cc, which writes
// them into the file that RLXGPU_STATISTICS names. FILTER: a part of a case's name.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/gpus/cases.h"
#include "benchmarks/gpus/kernel_report.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/graph/targets.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/engine.h"

namespace rlxgpu::core::gpus {
namespace {

using nlohmann::ordered_json;

// A program of this step only, with 16 bytes for each of its tensors: all that a pipeline needs.
Program one_step(const ProgramView& program, const Step& step) {
  Program small;
  for (const StepBinding& binding : slice(program.bindings, step.bindings)) {
    TensorDecl tensor;
    tensor.shape = {4};
    tensor.buffer = static_cast<int32_t>(small.buffers.size());
    tensor.bytes = 16;
    small.buffers.push_back({BufferRole::scratch, 16});
    small.bindings.push_back({static_cast<int32_t>(small.tensors.size()), binding.writes});
    small.tensors.push_back(tensor);
  }
  for (int32_t i = 0; i < step.immediates.count; ++i) {
    small.step_immediates.push_back(i);
    small.scalars.push_back({});
  }
  Step only;
  only.kernel = 0;
  only.bindings = {0, step.bindings.count};
  only.immediates = {0, step.immediates.count};
  small.steps.push_back(only);
  return small;
}

// What the process prints to its standard output while this lives: Asahi's driver gives no other listing, and prints it
// where AGX_MESA_DEBUG=shaders asks for it.
class Capture {
 public:
  explicit Capture(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    std::fflush(stdout);
    const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    kept_ = dup(1);
    dup2(file, 1);
    close(file);
  }
  ~Capture() {
    if (kept_ < 0) return;
    std::fflush(stdout);
    dup2(kept_, 1);
    close(kept_);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  std::string text() const {
    if (kept_ < 0) return {};
    std::fflush(stdout);
    std::ifstream file(path_);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

 private:
  const std::string path_;
  int kept_ = -1;
};

class Reporter {
 public:
  Reporter(Device device, std::string statistics) : device_(std::move(device)), statistics_(std::move(statistics)) {}

  // A row for each kernel of the case's plan that no row before it has.
  absl::Status add(const Case& c) {
    Builder builder;
    c.build(builder);
    if (!builder.ok()) return absl::InvalidArgumentError(std::string(builder.graph().error.view()));
    const Target& target = device_.target();
    Program program = compile(builder.graph(), target);
    if (!program.error.empty()) return absl::InternalError(std::string(program.error.view()));
    const RenderedProgram rendered =
        c.free ? render_free(std::move(program), target) : render(std::move(program), target);
    const ProgramView view = rendered.view();
    std::set<int32_t> done;
    for (const Step& step : view.steps) {
      if (!done.insert(step.kernel).second) continue;
      const std::string& wgsl = rendered.kernels[static_cast<size_t>(step.kernel)];
      if (!texts_.insert(wgsl).second) continue;
      ordered_json row = {{"gpu", device_.adapter().name}, {"case", c.name}, {"kernel", view.name(step.label)}};
      row["groups"] = uint64_t{step.grid[0]} * step.grid[1] * step.grid[2];
      row["units"] = units_of(target);
      add_statistics(view, step, wgsl, row);
      rows_.push_back(std::move(row));
    }
    return absl::OkStatus();
  }

  const std::vector<ordered_json>& rows() const { return rows_; }

 private:
  // NVK's cache may grow between Dawn's two questions how large it is and what is in it.
  absl::Status create(const Program& program, std::string_view wgsl) {
    absl::Status status;
    for (int tries = 0; tries < 20; ++tries) {
      status = Engine::create(device_, view_of(program, device_.target()), {&wgsl, 1}).status();
      if (status.ok() || status.message().find("VK_INCOMPLETE") == std::string_view::npos) break;
    }
    return status;
  }

  void add_statistics(const ProgramView& view, const Step& step, std::string_view wgsl, ordered_json& row) {
    std::ofstream(statistics_, std::ios::trunc).close();
    const Program small = one_step(view, step);
    const auto begin = std::chrono::steady_clock::now();
    absl::Status status;
    std::string printed;
    {
      const Capture capture(device_.target().vendor == Vendor::apple ? statistics_ + ".printed" : std::string());
      status = create(small, wgsl);
      printed = capture.text();
    }
    row["compile_ms"] = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (!status.ok()) {
      row["error"] = status.message();
      return;
    }
    std::ifstream file(statistics_);
    std::string line;
    if (!std::getline(file, line)) {
      row["error"] = "the driver's statistics are missing: is the layer loaded?";
      return;
    }
    nlohmann::json statistics = nlohmann::json::parse(line);
    if (!printed.empty()) statistics["listing"] = printed;
    const absl::StatusOr<KernelReport> report = report_of(statistics, device_.target());
    if (!report.ok()) {
      row["error"] = report.status().message();
      return;
    }
    row.update(json_of(*report));
    if (const char* const folder = std::getenv("RLXGPU_LISTINGS")) {
      const std::string name = absl::StrCat(folder, "/", rows_.size());
      std::ofstream(name + ".txt") << statistics.at("listing").get<std::string>();
      std::ofstream(name + ".wgsl") << wgsl;
    }
  }

  Device device_;
  std::string statistics_;
  std::set<std::string> texts_;
  std::vector<ordered_json> rows_;
};

void print(const ordered_json& row) {
  const std::string name = absl::StrCat(row["case"].get<std::string>(), ": ", row["kernel"].get<std::string>());
  if (row.contains("error")) {
    absl::PrintF("%-72s %s\n", name, row["error"].get<std::string>());
    return;
  }
  const auto& counts = row.contains("loop") ? row["loop"] : row["whole"];
  absl::PrintF(
      "%-72s groups %6d  sub %3d  regs %3d  spills %4d  scratch %4d  occ %4d  KB %5.1f  %c products %5d matrix %3d "
      "memory %3d shared %3d scratch %3d all %5d slots %5d  %3.0f %%\n",
      name, row["groups"].get<int64_t>(), row["subgroup"].get<int>(), row["registers"].get<int>(),
      row["spills"].get<int>(), row["scratch"].get<int>(), row["occupancy"].get<int>(),
      row["code_bytes"].get<double>() / 1024, row.contains("loop") ? 'L' : 'W', counts["products"].get<int>(),
      counts["matrix"].get<int>(), counts["memory"].get<int>(), counts["shared"].get<int>(),
      counts["scratch"].get<int>(), counts["instructions"].get<int>(), counts["slots"].get<int>(),
      100 * counts["efficiency"].get<double>());
}

int run(bool json, std::string_view filter) {
  const char* const statistics = std::getenv("RLXGPU_STATISTICS");
  if (statistics == nullptr) {
    std::fputs("report: run it by `./dev gpus report`, which loads the layer that asks the driver\n", stderr);
    return 1;
  }
  absl::StatusOr<Device> device = open_device({.disk_cache = false});
  if (!device.ok()) {
    std::fprintf(stderr, "report: %s\n", std::string(device.status().message()).c_str());
    return 1;
  }
  Reporter reporter(*std::move(device), statistics);
  int failures = 0;
  size_t shown = 0;
  for (const Case& c : cases()) {
    if (std::string_view(c.name).find(filter) == std::string_view::npos) continue;
    if (const absl::Status status = reporter.add(c); !status.ok()) {
      std::fprintf(stderr, "report: %s: %s\n", std::string(c.name).c_str(), std::string(status.message()).c_str());
      ++failures;
    }
    for (; !json && shown < reporter.rows().size(); ++shown) print(reporter.rows()[shown]);
    std::fflush(stdout);
  }
  if (json) {
    for (const ordered_json& row : reporter.rows()) std::cout << row.dump() << "\n";
  }
  return failures > 0;
}

}  // namespace
}  // namespace rlxgpu::core::gpus

int main(int argc, char** argv) {
  bool json = false;
  std::string_view filter;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--json") {
      json = true;
    } else {
      filter = argv[i];
    }
  }
  return rlxgpu::core::gpus::run(json, filter);
}
