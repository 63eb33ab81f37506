#include "rlxgpu/tools/profile_table.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace rlxgpu::core::tools {

Result<std::vector<StepProfile>> best_profile(Engine& engine, int runs) {
  std::vector<StepProfile> best;
  for (int run = 0; run < runs; ++run) {
    Result<std::vector<StepProfile>> profile = engine.profile();
    if (!profile.ok()) return profile.status();
    if (best.empty()) best = *profile;
    for (size_t i = 0; i < best.size(); ++i) best[i].seconds = std::min(best[i].seconds, (*profile)[i].seconds);
  }
  return best;
}

std::string profile_table(const std::vector<StepProfile>& steps, const StepName& named) {
  double total = 0, longest = 0;
  for (const StepProfile& step : steps) total += step.seconds, longest = std::max(longest, step.seconds);
  std::string table = absl::StrFormat("%4s  %-34s %9s %-22s %9s %9s%s\n", "step", "kernel", "GPU us", "", "GFLOP/s",
                                      "KB", named ? "  node" : "");
  for (size_t i = 0; i < steps.size(); ++i) {
    const StepProfile& step = steps[i];
    const auto bar = static_cast<size_t>(longest > 0 ? std::lround(20 * step.seconds / longest) : 0);
    absl::StrAppend(&table,
                    absl::StrFormat("%4d  %-34.34s %9.1f %-22s %9.2f %9.1f", i, step.label, step.seconds * 1e6,
                                    std::string(bar, '#'), step.seconds > 0 ? step.flops / step.seconds * 1e-9 : 0.0,
                                    step.bytes / 1024));
    absl::StrAppend(&table, named ? absl::StrCat("  ", named(step)) : "", "\n");
  }
  absl::StrAppend(&table, absl::StrFormat("%4s  %-34s %9.1f\n", "", "all", total * 1e6));
  return table;
}

Status write_trace(const std::string& path, const std::vector<StepProfile>& steps, const StepName& named) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  double at = 0;  // one step after another: what lies between them is not known
  for (const StepProfile& step : steps) {
    const double us = step.seconds * 1e6;
    events.push_back(
        {{"name", step.label},
         {"ph", "X"},
         {"pid", 1},
         {"tid", 1},
         {"ts", at},
         {"dur", us},
         {"args", {{"flops", step.flops}, {"bytes", step.bytes}, {"node", named ? std::string(named(step)) : ""}}}});
    at += us;
  }
  std::ofstream out(path);
  out << nlohmann::ordered_json{{"displayTimeUnit", "ns"}, {"traceEvents", events}}.dump() << "\n";
  out.close();
  if (!out) return absl::UnavailableError(absl::StrCat(path, " cannot be written"));
  return {};
}

}  // namespace rlxgpu::core::tools
