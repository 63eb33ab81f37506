// Says which choices and switches do nothing for a program, and what there is instead: most likely they are misspelt.
// Choices to DeviceOptions::log, RLXGPU_FORCE and RLXGPU_FORBID where switches report, each sentence once for a device.
#ifndef RLXGPU_RUNTIME_SAY_CHOICES_H_
#define RLXGPU_RUNTIME_SAY_CHOICES_H_

#include <span>
#include <string_view>

#include "rlxgpu/compile/choice.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::internal {

// `label`: of the engine.
void say_choices(const Device& device, const Graph& graph, const ProgramView& program, std::span<const Choice> choices,
                 std::string_view label);

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_SAY_CHOICES_H_
