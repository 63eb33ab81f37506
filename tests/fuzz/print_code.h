// code_of: a graph as the C++ that builds it, ready to be pasted into a test.
//
//   DynamicGraph graph;
//   Builder& g = *graph;
//   Tensor t0 = g.input("x0", f16, {3, 4});
//   Tensor t1 = apply(kExp, {t0}, {}, here);
//   g.output("y0", t1);
//
// Ops are named as their definitions are: "leaky_relu" is kLeakyRelu.
#ifndef RLXGPU_TESTS_FUZZ_PRINT_CODE_H_
#define RLXGPU_TESTS_FUZZ_PRINT_CODE_H_

#include <cctype>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/compile/fold.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/graph.h"
#include "tests/fuzz/trial.h"

namespace rlxgpu::core::fuzz {

inline std::string definition_name(std::string_view op) {
  std::string name = "k";
  bool upper = true;
  for (const char c : op) {
    if (c == '_') {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name;
}

class CodePrinter {
 public:
  explicit CodePrinter(const Graph& graph) : graph_(graph) {}

  std::string run() {
    out_ = "DynamicGraph graph;\nBuilder& g = *graph;\nconst Site here = std::source_location::current();\n";
    for (const Node& node : graph_.nodes) line(node);
    for (const Output& output : graph_.outputs) {
      absl::StrAppend(&out_, "g.output(\"", std::string(graph_.name(output.name)), "\", t", output.value, ");\n");
    }
    return out_;
  }

 private:
  static std::string type_name(DType dtype) { return dtype == boolean ? "boolean" : std::string(name_of(dtype)); }
  std::string shape(const Shape& shape) const {
    std::string text;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      absl::StrAppend(&text, axis ? ", " : "");
      if (shape.symbol(axis) >= 0) {
        absl::StrAppend(&text, "e", shape.symbol(axis));
      } else {
        absl::StrAppend(&text, shape[axis]);
      }
    }
    return absl::StrCat("{", text, "}");
  }

  void line(const Node& node) {
    const int32_t id = node.results.first;
    const Value& value = graph_.value(id);
    const std::string name(graph_.name(node.name)), type = type_name(value.dtype);
    switch (node.kind) {
      case NodeKind::input:
      case NodeKind::param:
      case NodeKind::state: {
        const char* how = node.kind == NodeKind::input ? "input" : node.kind == NodeKind::param ? "param" : "state";
        absl::StrAppendFormat(&out_, "Tensor t%d = g.%s(\"%s\", %s, %s);\n", id, how, name, type, shape(value.shape));
        break;
      }
      case NodeKind::scalar:
        if (node.attrs.count > 0) {
          absl::StrAppendFormat(&out_, "Dim e%d = g.extent(\"%s\", %d);\nTensor t%d = g.extent_value(e%d);\n",
                                node.scalar, name, graph_.attributes(node)[0], id, node.scalar);
        } else {
          absl::StrAppendFormat(&out_, "Tensor t%d = g.scalar(\"%s\", %s);\n", id, name, type);
        }
        break;
      case NodeKind::constant:
        constant(node, value);
        break;
      case NodeKind::op:
        op(node);
        break;
    }
  }

  void constant(const Node& node, const Value& value) {
    const uint32_t first = node.words.count > 0 ? graph_.words[static_cast<size_t>(node.words.first)] : 0;
    const double number = number_of(first, value.dtype);
    if (value.shape.rank() == 0 && value.dtype != c64 && std::isfinite(number)) {
      absl::StrAppendFormat(&out_, "Tensor t%d = g.literal(%.17g, %s);\n", node.results.first, number,
                            type_name(value.dtype));
      return;
    }
    std::string words;
    for (int i = 0; i < node.words.count; ++i) {
      absl::StrAppendFormat(&words, "%s0x%08x", i ? ", " : "", graph_.words[static_cast<size_t>(node.words.first + i)]);
    }
    absl::StrAppendFormat(&out_, "Tensor t%d = g.constant(%s, %s, std::vector<uint32_t>{%s});\n", node.results.first,
                          type_name(value.dtype), shape(value.shape), words);
  }

  void op(const Node& node) {
    std::string operands, attrs;
    for (int k = 0; k < node.operands.count; ++k) absl::StrAppend(&operands, k ? ", t" : "t", graph_.operand(node, k));
    for (int i = 0; i < node.attrs.count; ++i)
      absl::StrAppend(&attrs, i ? ", " : "", graph_.attributes(node)[static_cast<size_t>(i)]);
    const int32_t id = node.results.first;
    const std::string name = definition_name(node.op->name);
    if (node.operands.count == 0) {
      absl::StrAppendFormat(&out_, "Tensor t%d(&g, g.append(%s, {}, std::vector<int64_t>{%s}, here));", id, name,
                            attrs);
    } else if (node.operands.count == 0 || attrs.empty()) {
      absl::StrAppendFormat(&out_, "Tensor t%d = apply(%s, {%s}, here);", id, name, operands);
    } else {
      absl::StrAppendFormat(&out_, "Tensor t%d = apply(%s, {%s}, {%s}, here);", id, name, operands, attrs);
    }
    Text type;
    type << graph_.value(id).shape;
    absl::StrAppend(&out_, "  // ", type_name(graph_.value(id).dtype), std::string(type.view()), "\n");
    for (int k = 1; k < node.results.count; ++k)
      absl::StrAppendFormat(&out_, "Tensor t%d = result_of(t%d, %d);\n", id + k, id, k);
  }

  const Graph& graph_;
  std::string out_;
};

inline std::string code_of(const Graph& graph) { return CodePrinter(graph).run(); }

// The call that shows the problem again.
inline std::string code_of(const Setting& setting) {
  std::string choices;
  for (const Choice& choice : setting.choices) {
    absl::StrAppend(&choices, choices.empty() ? "" : ", ", "{\"", std::string(choice.op), "\", \"",
                    std::string(choice.variant), "\"}");
  }
  return absl::StrFormat(
      "Verdict verdict = Trial(device).run(graph, {.seed = %uu, .fuse = %v, .simplify = %v, .portable = %v, .baked = "
      "%v, .choices = "
      "{%s}});\n"
      "CHECK(verdict.problem == \"\");\n",
      setting.seed, setting.fuse, setting.simplify, setting.portable, setting.baked, choices);
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_PRINT_CODE_H_
