#include "rlxgpu/tools/kernels_command.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/targets.h"
#include "rlxgpu/tools/kernel_families.h"

namespace rlxgpu::core::tools {
namespace {

using Json = nlohmann::ordered_json;

// The variants that accept a call, and the defaults of their parameters.
struct Defaults {
  const Target& target;
  std::vector<std::pair<const Variant*, ParameterValues>> of = {};

  static int choose(void* context, const Call& call, std::span<const Variant* const> accepted, ParameterValues&) {
    Defaults& self = *static_cast<Defaults*>(context);
    for (const Variant* const variant : accepted) {
      ParameterValues values;
      if (complete_parameters(*variant, call, self.target, values)) self.of.emplace_back(variant, values);
    }
    return -1;
  }
};

Json json_of(const KernelFamily& family, const Target& target) {
  Builder g;
  family.build(g);
  Defaults defaults{target};
  compile(g.graph(), target, {.chooser = {Defaults::choose, &defaults}});
  Json variants = Json::array();
  for (const Variant& variant : family.op->variants) {
    Json parameters = Json::array();
    const ParameterValues* values = nullptr;
    for (const auto& [accepting, given] : defaults.of) {
      if (accepting->name == variant.name) values = &given;
    }
    for (size_t i = 0; i < variant.parameters.list.size(); ++i) {
      const Parameter& p = variant.parameters.list[i];
      Text range;
      range << p;
      parameters.push_back({{"name", p.name},
                            {"least", p.least},
                            {"most", p.most},
                            {"range", range.view()},
                            {"default", values == nullptr ? Json() : Json(values->value[i])},
                            {"meaning", p.meaning}});
    }
    variants.push_back({{"variant", variant.name}, {"accepts", values != nullptr}, {"parameters", parameters}});
  }
  return {{"op", family.op->name}, {"call", family.call}, {"variants", variants}};
}

void print(const Json& family, std::ostream& out) {
  out << family["op"].get<std::string>() << "   defaults of " << family["call"].get<std::string>() << "\n";
  for (const Json& variant : family["variants"]) {
    out << "  " << variant["variant"].get<std::string>() << (variant["accepts"] ? "" : "   (not for that call there)")
        << "\n";
    for (const Json& p : variant["parameters"]) {
      out << absl::StrFormat("    %-11s %5s   of %-24s %s\n", p["name"].get<std::string>(),
                             p["default"].is_null() ? "-" : absl::StrCat(p["default"].get<int>()),
                             p["range"].get<std::string>(), p["meaning"].get<std::string>());
    }
  }
}

}  // namespace

int kernels_command(const KernelsCommand& command, std::ostream& out, std::ostream& err) {
  Target target = kPortable;
  if (!command.target.empty()) {
    const NamedTarget* const named = find_target(command.target);
    if (named == nullptr) {
      err << "there is no target \"" << command.target << "\"; there are";
      for (const NamedTarget& known : kTargets) err << " " << known.name;
      err << "\n";
      return 2;
    }
    target = named->target;
  }
  Json all = Json::array();
  for (const KernelFamily& family : kernel_families()) {
    if (command.op.empty() || command.op == family.op->name) all.push_back(json_of(family, target));
  }
  if (all.empty()) {
    err << "no op \"" << command.op << "\" has kernels with parameters; there are";
    for (const KernelFamily& family : kernel_families()) err << " " << family.op->name;
    err << "\n";
    return 2;
  }
  if (command.json) {
    out << all.dump(2) << "\n";
    return 0;
  }
  for (const Json& family : all) print(family, out);
  return 0;
}

}  // namespace rlxgpu::core::tools
