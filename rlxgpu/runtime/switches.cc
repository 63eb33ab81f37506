#include "rlxgpu/runtime/switches.h"

#include <algorithm>
#include <utility>

#include "rlxgpu/graph/parameter.h"
#include "rlxgpu/runtime/log.h"
#include "rlxgpu/runtime/platform.h"

namespace rlxgpu::core {
namespace internal {
namespace {

// Of ./dev, tests and tools.
constexpr std::string_view kOtherNames[] = {
    "RLXGPU_DAWN",        "RLXGPU_FUZZ_GRAPHS",  "RLXGPU_FUZZ_SEED",       "RLXGPU_IGNORE_HOST",
    "RLXGPU_IN_ROOT",     "RLXGPU_LAVAPIPE_ICD", "RLXGPU_MODELS",          "RLXGPU_NETWORKS",
    "RLXGPU_REQUIRE_GPU", "RLXGPU_ROBUSTNESS",   "RLXGPU_SWIFTSHADER_ICD", "RLXGPU_TEST_ADAPTER",
    "RLXGPU_TEST_ALL",    "RLXGPU_TINT",
};

bool is_known(std::string_view name) {
  const auto same = [&](const SwitchName& known) { return known.name == name; };
  return std::any_of(std::begin(kSwitches), std::end(kSwitches), same) ||
         std::find(std::begin(kOtherNames), std::end(kOtherNames), name) != std::end(kOtherNames);
}

bool fits_pattern(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

using Warn = std::function<void(std::string_view)>;

// The comma that ends an item: those between braces do not.
size_t end_of_item(std::string_view value) {
  bool inside = false;
  for (size_t i = 0; i < value.size(); ++i) {
    if (value[i] == '{') inside = true;
    if (value[i] == '}') inside = false;
    if (value[i] == ',' && !inside) return i;
  }
  return value.size();
}

void parse_patterns(std::string_view name, std::string_view value, std::vector<VariantPattern>& out, const Warn& warn) {
  while (!value.empty()) {
    const size_t comma = end_of_item(value);
    const std::string_view item = value.substr(0, comma);
    value.remove_prefix(std::min(comma + 1, value.size()));
    const size_t slash = item.find('/');
    if (slash == std::string_view::npos || slash == 0 || slash + 1 == item.size()) {
      warn(std::string(name) + ": \"" + std::string(item) + "\" is no op/variant");
    } else {
      const VariantName variant(item.substr(slash + 1));
      out.push_back({std::string(item.substr(0, slash)), std::string(variant.name), std::string(variant.parameters)});
    }
  }
}

void parse_flag(std::string_view name, std::string_view value, bool& out, const Warn& warn) {
  if (value == "1" || value == "0") {
    out = value == "1";
  } else if (!value.empty()) {
    warn(std::string(name) + " is \"" + std::string(value) + "\"; it must be 0 or 1");
  }
}

Switches& current() {
  static Switches* const made = [] {
    std::vector<std::string_view> names;
    for (const SwitchName& one : kSwitches) names.push_back(one.name);
    return new Switches(parse_switches(environment(names), [](std::string_view line) {
      log_line_as_asked(Severity::warning, line);
    }));
  }();
  return *made;
}

}  // namespace
}  // namespace internal

bool VariantPattern::matches(std::string_view of_op, std::string_view of_variant) const {
  return internal::fits_pattern(op, of_op) && internal::fits_pattern(variant, of_variant);
}

void Switches::say(std::string_view line) const {
  print ? print(line) : internal::log_line_as_asked(Severity::info, line);
}

Switches parse_switches(std::span<const std::string_view> environment,
                        const std::function<void(std::string_view)>& warn) {
  Switches result;
  for (const std::string_view entry : environment) {
    if (!entry.starts_with("RLXGPU_")) continue;
    const size_t equals = std::min(entry.find('='), entry.size());
    const std::string_view name = entry.substr(0, equals), value = entry.substr(std::min(equals + 1, entry.size()));
    const std::pair<std::string_view, bool*> flags[] = {
        {"RLXGPU_TUNING", &result.tuning},         {"RLXGPU_LISTING", &result.listing},
        {"RLXGPU_DISPATCHES", &result.dispatches}, {"RLXGPU_NO_READ_BACK", &result.no_read_back},
        {"RLXGPU_MAXIMA", &result.maxima},         {"RLXGPU_TRACE_NAN", &result.trace_nan},
        {"RLXGPU_VERIFY", &result.verify},         {"RLXGPU_RECOGNISE", &result.recognise},
    };
    for (const auto& [flag, out] : flags) {
      if (flag == name) internal::parse_flag(name, value, *out, warn);
    }
    if (name == "RLXGPU_FORCE") internal::parse_patterns(name, value, result.force, warn);
    if (name == "RLXGPU_FORBID") internal::parse_patterns(name, value, result.forbid, warn);
    if (name == "RLXGPU_TRACE") result.trace = value;
    if (!internal::is_known(name))
      warn("the environment variable " + std::string(name) + " means nothing: see docs/switches.md");
  }
  return result;
}

const Switches& switches() { return internal::current(); }

ScopedSwitches::ScopedSwitches(Switches other) : before_(std::exchange(internal::current(), std::move(other))) {}
ScopedSwitches::~ScopedSwitches() { internal::current() = std::move(before_); }

}  // namespace rlxgpu::core
