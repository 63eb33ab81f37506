// The cases of ONNX's own conformance suite: a model with inputs and the outputs that it must give.
//
//   for (const std::string& folder : suite_cases()) {
//     const Outcome outcome = run_case(device, folder);      // passed, refused with a reason, or failed
//   }
//
// Compared as ONNX's own runner does: |y - golden| <= 1e-5 + 1e-3 |golden|; of Fourier transforms relative to the
// greatest element, of f16 and bf16 at least one unit in the last place; other types exactly.
#ifndef RLXGPU_TESTS_ONNX_SUITE_H_
#define RLXGPU_TESTS_ONNX_SUITE_H_

#include <string>
#include <vector>

#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::testing {

struct Outcome {
  enum class Kind {
    passed,
    refused,
    disputed,
    failed
  };  // disputed: the golden result is not what ONNX's own text says
  Kind kind = Kind::passed;
  std::string why;
  double seconds = 0;
};

// Folders of all cases: those of single nodes, small models, and layers that PyTorch has written.
std::vector<std::string> suite_cases();
// "test_relu": the last part of a folder's name.
std::string case_name(const std::string& folder);
// The op that a case is about.
std::string case_op(const std::string& folder);
Outcome run_case(const Device& device, const std::string& folder);

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_ONNX_SUITE_H_
