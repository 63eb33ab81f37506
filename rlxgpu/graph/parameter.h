// Parameters of a kernel variant: named numbers that decide how fast it is, never what it computes.
//
//   inline constexpr Parameter kTiledParameters[] = {
//       {"rows_each", 1, 4, kPowersOfTwo, "rows that an invocation computes"},
//       {"cols_each", 1, 4, kPowersOfTwo, "columns that an invocation computes"}};
//   constexpr void tiled_defaults(const Call& call, const Target& target, Parameters& p) {
//     p.fill("rows_each", rows_for(call));      // what a choice has given stays; later defaults may depend on it
//     p.fill("cols_each", 4);
//   }
//   constexpr bool tiled_valid(const Call&, const Target& target, const Parameters& p) {
//     return p["rows_each"] * p["cols_each"] <= 16;
//   }
//   ... {"tiled", accepts, emit, prefers, nullptr, {kTiledParameters, tiled_defaults, tiled_valid}} ...
//   constexpr void emit(Emit& e) { const int64_t rows = e.parameter("rows_each"); ... }
//
// Whoever names a variant may name values: choices (compile/choice.h), RLXGPU_FORCE, tuning.json, sweeps, all as
// "tiled{rows_each=2,cols_each=4}"; what is not named has its default. A value out of range is an error. Values that
// are in range but that `valid` refuses for a call on a target are as if the variant did not accept the call. Defaults
// are always valid. Ranges are those that can ever be of use: the tuner and our tests go through them.
#ifndef RLXGPU_GRAPH_PARAMETER_H_
#define RLXGPU_GRAPH_PARAMETER_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "rlxgpu/base/text.h"

namespace rlxgpu::core {

struct Call;
struct Target;

inline constexpr int32_t kPowersOfTwo = 0;  // as a step: each value is twice the one before it

struct Parameter {
  std::string_view name;
  int32_t least = 0, most = 0;  // the range, both included
  int32_t step = 1;             // between neighbouring values, from `least` on
  std::string_view meaning;     // what it counts, for people

  constexpr int32_t next(int32_t value) const { return step == kPowersOfTwo ? 2 * value : value + step; }
  constexpr bool contains(int32_t value) const {
    if (value < least || value > most) return false;
    if (step != kPowersOfTwo) return (value - least) % step == 0;
    int32_t power = least;
    while (power < value) power *= 2;
    return power == value;
  }
};
constexpr Text& operator<<(Text& out, const Parameter& p) {
  if (p.step == kPowersOfTwo) {
    for (int32_t value = p.least; value <= p.most; value = p.next(value)) out << (value > p.least ? ", " : "") << value;
    return out;
  }
  out << p.least << " to " << p.most;
  if (p.step != 1) out << " in steps of " << p.step;
  return out;
}

inline constexpr int kMaxParameters = 12;

// The values of a variant's parameters, in the order in which it declares them. Structural.
struct ParameterValues {
  static constexpr int32_t kNotGiven = INT32_MIN;
  int32_t value[kMaxParameters] = {kNotGiven, kNotGiven, kNotGiven, kNotGiven, kNotGiven, kNotGiven,
                                   kNotGiven, kNotGiven, kNotGiven, kNotGiven, kNotGiven, kNotGiven};
  constexpr bool operator==(const ParameterValues&) const = default;
};

// Values with their names. A name that the variant does not declare is a mistake of its author: unknown() has it.
class Parameters {
 public:
  constexpr explicit Parameters(std::span<const Parameter> declared, const ParameterValues& values = {})
      : declared_(declared), values_(values) {}

  constexpr std::span<const Parameter> declared() const { return declared_; }
  constexpr const ParameterValues& values() const { return values_; }
  constexpr bool has(std::string_view name) const { return index_of(name) >= 0; }
  constexpr bool given(std::string_view name) const {
    const int i = index_of(name);
    return i >= 0 && values_.value[i] != ParameterValues::kNotGiven;
  }
  constexpr int64_t operator[](std::string_view name) const {
    const int i = index_of(name);
    return i >= 0 ? values_.value[i] : 0;
  }
  // The default of one that is not given.
  constexpr void fill(std::string_view name, int64_t value) {
    const int i = index_of(name);
    if (i < 0) {
      unknown_ = name;
    } else if (values_.value[i] == ParameterValues::kNotGiven) {
      values_.value[i] = static_cast<int32_t>(value);
    }
  }
  constexpr void set(std::string_view name, int64_t value) {
    if (const int i = index_of(name); i >= 0) values_.value[i] = static_cast<int32_t>(value);
  }
  constexpr std::string_view unknown() const { return unknown_; }

  constexpr int index_of(std::string_view name) const {
    for (size_t i = 0; i < declared_.size() && i < kMaxParameters; ++i) {
      if (declared_[i].name == name) return static_cast<int>(i);
    }
    return -1;
  }

 private:
  std::span<const Parameter> declared_;
  ParameterValues values_;
  std::string_view unknown_;
};

// What a variant says of its parameters.
struct ParameterRules {
  std::span<const Parameter> list = {};
  void (*defaults)(const Call&, const Target&, Parameters&) = nullptr;     // fills in all that are not given
  bool (*valid)(const Call&, const Target&, const Parameters&) = nullptr;  // null: every combination in range is valid
};

// "" or what is wrong with the values that are given, whatever the call.
constexpr bool check_range(std::string_view variant, const Parameters& p, Text& error) {
  for (size_t i = 0; i < p.declared().size(); ++i) {
    const int32_t value = p.values().value[i];
    if (value == ParameterValues::kNotGiven || p.declared()[i].contains(value)) continue;
    error << variant << ": " << p.declared()[i].name << " is " << value << "; it may be " << p.declared()[i];
    return false;
  }
  return true;
}

// "{rows_each=2,cols_each=4}"; nothing where no value is given.
constexpr void append_parameters(Text& out, const Parameters& p) {
  bool first = true;
  for (size_t i = 0; i < p.declared().size(); ++i) {
    if (p.values().value[i] == ParameterValues::kNotGiven) continue;
    out << (first ? "{" : ",") << p.declared()[i].name << '=' << p.values().value[i];
    first = false;
  }
  if (!first) out << '}';
}

namespace internal {

constexpr bool read_number(std::string_view& text, int32_t& value) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  int64_t number = 0;
  size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9' && number < INT32_MAX) {
    number = 10 * number + (text[digits++] - '0');
  }
  text.remove_prefix(digits);
  value = static_cast<int32_t>(negative ? -number : number);
  return digits > 0 && number <= INT32_MAX;
}

}  // namespace internal

// Reads "rows_each=2,cols_each=4" (what is between the braces). False with a sentence when a name or value is none of
// the variant's.
constexpr bool parse_parameters(std::string_view variant, std::string_view text, Parameters& p, Text& error) {
  while (!text.empty()) {
    const size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals == std::string_view::npos ? text.size() : equals);
    if (!p.has(name)) {
      error << variant << " has no parameter \"" << name << "\"";
      for (size_t i = 0; i < p.declared().size(); ++i) error << (i == 0 ? "; it has " : ", ") << p.declared()[i].name;
      return false;
    }
    text.remove_prefix(equals == std::string_view::npos ? text.size() : equals + 1);
    int32_t value = 0;
    if (!internal::read_number(text, value) || (!text.empty() && text[0] != ',')) {
      error << variant << ": " << name << " needs a whole number";
      return false;
    }
    p.set(name, value);
    if (!text.empty()) text.remove_prefix(1);
  }
  return check_range(variant, p, error);
}

// The two parts of "tiled{rows_each=2}".
struct VariantName {
  std::string_view name, parameters;
  constexpr explicit VariantName(std::string_view text) : name(text) {
    const size_t brace = text.find('{');
    if (brace == std::string_view::npos || !text.ends_with('}')) return;
    name = text.substr(0, brace);
    parameters = text.substr(brace + 1, text.size() - brace - 2);
  }
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_GRAPH_PARAMETER_H_
