// corners_of: sets of parameters at the ends of their ranges, for all variants that accept a graph's first kernel op.
//
//   for (const std::string& point : corners_of(graph, target)) ...     // "tiled{rows_each=1,cols_each=4,tile_k=16}"
#ifndef RLXGPU_TESTS_SUPPORT_CORNERS_H_
#define RLXGPU_TESTS_SUPPORT_CORNERS_H_

#include <string>
#include <vector>

#include "rlxgpu/compile/compile.h"

namespace rlxgpu::core::testing {

// The corners of all variants of the first call that a chooser is asked for.
struct Corners {
  const Target& target;
  std::vector<std::string> found = {};

  static int choose(void* context, const Call& call, std::span<const Variant* const> accepted, ParameterValues&) {
    Corners& self = *static_cast<Corners*>(context);
    if (!self.found.empty()) return -1;
    for (const Variant* const variant : accepted) {
      self.found.emplace_back(variant->name);  // with its defaults
      for (const Parameter& parameter : variant->parameters.list) {
        const auto first = self.nearest(*variant, call, parameter, true),
                   last = self.nearest(*variant, call, parameter, false);
        if (!first.empty()) self.found.push_back(first);
        if (!last.empty() && last != first) self.found.push_back(last);
      }
    }
    return -1;
  }
  // "tiled{rows_each=1,...}" with the least, or the greatest, valid value.
  std::string nearest(const Variant& variant, const Call& call, const Parameter& parameter, bool least) const {
    std::string best;
    for (int32_t value = parameter.least; value <= parameter.most; value = parameter.next(value)) {
      Parameters p(variant.parameters.list);
      p.set(parameter.name, value);
      ParameterValues values = p.values();
      if (!complete_parameters(variant, call, target, values)) continue;
      Text text;
      text << variant.name;
      append_parameters(text, Parameters(variant.parameters.list, values));
      best = text.view();
      if (least) break;
      if (parameter.most > 1000 && parameter.step == 1 && value > 64) break;  // enough of a long range
    }
    return best;
  }
};

inline std::vector<std::string> corners_of(const Graph& graph, const Target& target) {
  Corners corners{target};
  compile(graph, target, {.chooser = {Corners::choose, &corners}});
  return corners.found;
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_SUPPORT_CORNERS_H_
