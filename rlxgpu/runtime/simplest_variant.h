// SimplestVariant: one op of a graph on the device, by the last variant that accepts it, without anything fused to it.
//
//   auto plain = SimplestVariant::create(device, target, graph, node, "packed");   // null: "packed" is the simplest
//   reference::run(graph, inputs, {.compute = [&](const Node& n, reference::Call& c) { return (*plain)->compute(n, c);
//   }})
//
// What verification compares large kernels with, where the reference on the host would take too long.
#ifndef RLXGPU_RUNTIME_SIMPLEST_VARIANT_H_
#define RLXGPU_RUNTIME_SIMPLEST_VARIANT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/target.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/session.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core::internal {

// Takes the op's last variant, and notes which there were for the first call asked for; none: nothing to choose.
struct SimplestChooser {
  std::vector<std::string> accepted;
  std::string simplest;
  static int choose(void* context, const Call& call, std::span<const Variant* const> accepted, ParameterValues&);
};

class SimplestVariant {
 public:
  // Null when the op has no variant but `chosen`. `graph` must live as long.
  static Result<std::unique_ptr<SimplestVariant>> create(const Device& device, const Target& target, const Graph& graph,
                                                         int32_t node, std::string_view chosen,
                                                         const reference::Numbers& numbers);

  const std::string& name() const { return name_; }  // "matmul/plain"
  // Fills in the results if it is this op; false for others. When the device fails they are zero, and status() says
  // why.
  bool compute(const Node& node, reference::Call& call);
  const Status& status() const { return status_; }

 private:
  struct Operand {
    int port = -1;     // of the session
    size_t index = 0;  // among the op's operands
  };
  std::string name_;
  const Node* node_ = nullptr;
  Session session_;
  std::vector<Operand> operands_;
  std::vector<int> results_;  // ports
  Status status_;
};

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_SIMPLEST_VARIANT_H_
