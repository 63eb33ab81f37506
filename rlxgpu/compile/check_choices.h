// What is wrong with choices between variants: names that mean nothing, and choices that change nothing.
//
//   std::string error = unknown_choice(graph, options.choices);       // "": all of them mean something
//   bool changes_nothing = !is_used(choice, program);
#ifndef RLXGPU_COMPILE_CHECK_CHOICES_H_
#define RLXGPU_COMPILE_CHECK_CHOICES_H_

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/choice.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/parameter.h"

namespace rlxgpu::core {

// Kernel ops of a graph, each once.
inline std::vector<const OpDef*> kernel_ops(const Graph& graph) {
  std::vector<const OpDef*> ops;
  for (const Node& node : graph.nodes) {
    bool known = node.kind != NodeKind::op || node.op->variants.empty();
    for (const OpDef* const op : ops) known = known || op->name == node.op->name;
    if (!known) ops.push_back(node.op);
  }
  return ops;
}

// "matmul/packed, matmul/plain"
inline std::string variants_of(std::span<const OpDef* const> ops) {
  std::string list;
  for (const OpDef* const op : ops) {
    for (const Variant& variant : op->variants)
      list += (list.empty() ? "" : ", ") + std::string(op->name) + "/" + std::string(variant.name);
  }
  return list;
}

// A variant that an op of the graph does not have. An op that the graph does not have is no mistake: choices are often
// made for many graphs.
inline std::string unknown_choice(const Graph& graph, std::span<const Choice> choices) {
  const std::vector<const OpDef*> ops = kernel_ops(graph);
  for (const Choice& choice : choices) {
    for (const OpDef* const op : ops) {
      if (op->name != choice.op) continue;
      bool known = false;
      const std::string_view wanted = VariantName(choice.variant).name;
      for (const Variant& variant : op->variants) known = known || variant.name == wanted;
      if (!known) {
        return "choices: there is no " + std::string(choice.op) + "/" + std::string(choice.variant) + "; there are " +
               variants_of({&op, 1});
      }
    }
  }
  return "";
}

// Whether a step has this label: ops that share its kernel, joined by +, then types, then the variant and perhaps its
// parameters.
inline bool is_label_of(std::string_view label, std::string_view op, std::string_view variant) {
  const std::string_view ops = label.substr(0, label.find('/'));
  const std::string_view last = label.substr(label.rfind('/') + 1);
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (!last.starts_with(variant) || (last.size() > variant.size() && is_word(last[variant.size()]))) return false;
  for (size_t at = 0; at < ops.size();) {
    const size_t end = std::min(ops.find('+', at), ops.size());
    if (ops.substr(at, end - at) == op) return true;
    at = end + 1;
  }
  return false;
}

inline bool is_used(const Choice& choice, const ProgramView& program) {
  for (const Step& step : program.steps) {
    if (is_label_of(program.name(step.label), choice.op, VariantName(choice.variant).name)) return true;
  }
  return false;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_CHECK_CHOICES_H_
