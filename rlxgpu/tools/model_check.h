// Whether a model's results are right: its outputs against the double reference, and every step by itself.
//
//   ModelReference reference(loaded);                     // for as many runs as one likes
//   check_outputs(reference, got, out, err);              // "check     y differs ...: right"
//   auto steps = verify_steps(device, loaded, sizes, err);
//   report_steps(*steps, loaded.model, out);              // "steps     37 compared ...: all right"
#ifndef RLXGPU_TOOLS_MODEL_CHECK_H_
#define RLXGPU_TOOLS_MODEL_CHECK_H_

#include <ostream>
#include <vector>

#include "rlxgpu/dynamic.h"
#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/reference/comparison.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/tools/model_input.h"

namespace rlxgpu::core::tools {

// What a model gives on its inputs, by the ops' references: as defined, and with every op as wrong as rounding makes it
// (reference/comparison.h). Evaluated when it is first asked for, which is slow, and kept. `loaded` must outlive it.
class ModelReference {
 public:
  explicit ModelReference(const LoadedModel& loaded);
  const onnx::Model& model() const { return loaded_.model; }
  // Of each output. `err` has a bar while references are evaluated.
  std::vector<reference::Comparison> compare(const onnx::HostTensors& got, std::ostream& err);

 private:
  const LoadedModel& loaded_;
  reference::Arrays data_, exact_;
  std::vector<reference::Arrays> samples_;
};

// True when every output is what it must be, as far as rounding explains the difference. An output that is NaN throughout
// by the reference, but not here, cannot be compared: that is said, and is no success.
bool check_outputs(ModelReference& reference, const onnx::HostTensors& got, std::ostream& out, std::ostream& err);

// One run with verification (runtime/verify.h). Steps that are wrong are no error here; DataLoss is one of a program
// that prepares weights.
Result<std::vector<StepVerdict>> verify_steps(const Device& device, const LoadedModel& loaded, Sizes sizes,
                                              std::ostream& err);

// A line when all are right; else one for each that is not, and the switches that avoid them. True: none is wrong.
bool report_steps(const std::vector<StepVerdict>& steps, const onnx::Model& model, std::ostream& out);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_MODEL_CHECK_H_
