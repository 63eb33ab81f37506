// Whether a model's results are right: its outputs against the double reference, and every step by itself.
//
//   check_outputs(loaded, got, out, err);                                // "check     y differs ...: right"
//   auto steps = verify_steps(device, loaded, sizes, err);
//   report_steps(*steps, loaded.model, out);                             // "steps     37 compared ...: all right"
#ifndef RLXGPU_TOOLS_MODEL_CHECK_H_
#define RLXGPU_TOOLS_MODEL_CHECK_H_

#include <ostream>
#include <vector>

#include "rlxgpu/dynamic.h"
#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/tools/model_input.h"

namespace rlxgpu::tools {

// True when every output is what the ops' references give, as far as rounding explains the difference: the references
// are evaluated again with every op as wrong as rounding makes it (reference/comparison.h). Slow; `err` has a bar.
bool check_outputs(const LoadedModel& loaded, const onnx::HostTensors& got, std::ostream& out, std::ostream& err);

// One run with verification (runtime/verify.h). Steps that are wrong are no error here; DataLoss is one of a program
// that prepares weights.
Result<std::vector<StepVerdict>> verify_steps(const Device& device, const LoadedModel& loaded, Sizes sizes,
                                              std::ostream& err);

// A line when all are right; else one for each that is not, and the switches that avoid them. True: none is wrong.
bool report_steps(const std::vector<StepVerdict>& steps, const onnx::Model& model, std::ostream& out);

}  // namespace rlxgpu::tools

#endif  // RLXGPU_TOOLS_MODEL_CHECK_H_
