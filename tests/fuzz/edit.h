// rebuild: a graph built again with one thing changed. What nothing needs any more is left out.
//
//   DynamicGraph smaller;
//   if (rebuild(graph, {.replace = 7}, smaller)) ...      // value 7 is an input now
//
// False when the change does not fit: a shape rule of what follows says no.
#ifndef RLXGPU_TESTS_FUZZ_EDIT_H_
#define RLXGPU_TESTS_FUZZ_EDIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "rlxgpu/dynamic.h"
#include "rlxgpu/graph/builder.h"

namespace rlxgpu::core::fuzz {

struct Edit {
  int32_t output = -1;   // keep this output only
  int32_t replace = -1;  // this value becomes...
  int32_t by = -1;       // ...another one before it; -1: an input of the same type
  int32_t resize = -1;   // this source's `axis` becomes `extent`
  int axis = 0;
  int64_t extent = 1;
  int32_t retype = -1;  // this source becomes f32
};

class Rebuilder {
 public:
  Rebuilder(const Graph& from, const Edit& edit, Builder& to) : from_(from), edit_(edit), to_(to) {}

  bool run() {
    find_live();
    made_.resize(from_.values.size());
    for (size_t n = 0; n < from_.nodes.size(); ++n) {
      if (live_[n]) copy(from_.nodes[n]);
    }
    for (size_t k = 0; k < from_.outputs.size(); ++k) {
      if (kept(k))
        to_.output(from_.name(from_.outputs[k].name), made_[static_cast<size_t>(meant(from_.outputs[k].value))]);
    }
    return to_.ok();
  }

 private:
  bool kept(size_t output) const { return edit_.output < 0 || edit_.output == static_cast<int32_t>(output); }
  int32_t meant(int32_t value) const { return value == edit_.replace && edit_.by >= 0 ? edit_.by : value; }
  bool cut(int32_t value) const { return value == edit_.replace && edit_.by < 0; }

  void find_live() {
    live_.assign(from_.nodes.size(), false);
    const auto use = [&](int32_t value) {
      const Value& used = from_.value(meant(value));
      live_[static_cast<size_t>(used.node)] = true;
      if (!used.shape.dynamic()) return;  // symbols count the scalars: keep them all
      for (const int32_t scalar : from_.scalars) live_[static_cast<size_t>(scalar)] = true;
    };
    for (size_t k = 0; k < from_.outputs.size(); ++k) {
      if (kept(k)) use(from_.outputs[k].value);
    }
    for (size_t n = from_.nodes.size(); n-- > 0;) {
      const Node& node = from_.nodes[n];
      if (node.kind == NodeKind::op && node.op->in_place >= 0 && node.results.first != edit_.replace)
        live_[n] = true;  // as simplify does
      if (!live_[n] || cut(node.results.first)) continue;
      for (int k = 0; k < node.operands.count; ++k) use(from_.operand(node, k));
    }
  }

  std::string fresh_name() const {
    for (int i = 0;; ++i) {
      const std::string name = "cut" + std::to_string(i);
      bool taken = false;
      for (const Node& node : from_.nodes) taken = taken || from_.name(node.name) == name;
      if (!taken) return name;
    }
  }

  void copy(const Node& node) {
    const int32_t id = node.results.first;
    Value type = from_.value(id);
    const std::string name(from_.name(node.name));
    if (id == edit_.resize) type.shape.set(edit_.axis, Dim(edit_.extent));
    if (id == edit_.retype) type.dtype = f32;
    Tensor made;
    if (cut(id)) {
      made = to_.input(fresh_name(), type.dtype, type.shape);
    } else if (node.kind == NodeKind::op) {
      std::vector<Tensor> operands;
      for (int k = 0; k < node.operands.count; ++k)
        operands.push_back(made_[static_cast<size_t>(meant(from_.operand(node, k)))]);
      made = Tensor(&to_, to_.append(*node.op, operands, from_.attributes(node), node.site));
    } else if (node.kind == NodeKind::input) {
      made = to_.input(name, type.dtype, type.shape);
    } else if (node.kind == NodeKind::param) {
      made = to_.param(name, type.dtype, type.shape);
    } else if (node.kind == NodeKind::state) {
      made = to_.state(name, type.dtype, type.shape);
    } else if (node.kind == NodeKind::scalar) {
      made = node.attrs.count > 0 ? to_.extent_value(to_.extent(name, from_.attributes(node)[0]))
                                  : to_.scalar(name, type.dtype);
    } else {
      made = to_.constant(type.dtype, type.shape,
                          {from_.words.data() + node.words.first, static_cast<size_t>(node.words.count)});
    }
    for (int k = 0; k < node.results.count; ++k) made_[static_cast<size_t>(id + k)] = result_of(made, k);
  }

  const Graph& from_;
  const Edit& edit_;
  Builder& to_;
  std::vector<bool> live_;
  std::vector<Tensor> made_;  // by old value
};

inline bool rebuild(const Graph& from, const Edit& edit, DynamicGraph& to) { return Rebuilder(from, edit, *to).run(); }

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_EDIT_H_
