// What each step of a run took: as a table with bars, or as a trace for Perfetto (ui.perfetto.dev) and
// chrome://tracing.
//
//   Result<std::vector<StepProfile>> steps = best_profile(engine, 5);
//   out << profile_table(*steps);
//   write_trace("run.json", *steps);
//
// `named`, where given, says what a step belongs to (a model's node).
#ifndef RLXGPU_TOOLS_PROFILE_TABLE_H_
#define RLXGPU_TOOLS_PROFILE_TABLE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core::tools {

using StepName = std::function<std::string_view(const StepProfile&)>;

// Each step's shortest time of so many runs.
Result<std::vector<StepProfile>> best_profile(Engine& engine, int runs);
std::string profile_table(const std::vector<StepProfile>& steps, const StepName& named = {});
Status write_trace(const std::string& path, const std::vector<StepProfile>& steps, const StepName& named = {});

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_PROFILE_TABLE_H_
