// How close a result must be, derived in one place from the type it is stored in and the arithmetic behind it.
//
//   CHECK_THAT(actual, CloseTo(expected, dot_bound(f16, k, 4.0)));   // sums of k products of at most 4 each
//
// Rounding the result costs an ulp of its type; adding k terms in f32 up to k ulps of a term in f32, and the
// square root of k ulps of the sum (errors of either sign). Integers and booleans are exact. A NaN is close
// only to a NaN, an infinity only to itself.
#ifndef RLXGPU_TESTS_SUPPORT_TOLERANCE_H_
#define RLXGPU_TESTS_SUPPORT_TOLERANCE_H_

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "catch2/catch_tostring.hpp"
#include "catch2/matchers/catch_matchers.hpp"
#include "rlxgpu/graph/dtype.h"

// A long list of numbers hides the sentence that matters.
template <>
struct Catch::StringMaker<std::vector<double>> {
  static std::string convert(const std::vector<double>& values) {
    std::ostringstream out;
    out.precision(9);
    for (size_t i = 0; i < values.size() && i < 8; ++i) out << (i ? ", " : "{") << values[i];
    out << (values.size() > 8 ? ", ...}" : values.empty() ? "{}" : "}");
    return out.str();
  }
};

namespace rlxgpu::core::testing {

// Half the distance between neighbours around 1; the least normal number.
inline double epsilon_of(DType dtype) {
  return dtype == f16 ? 0x1p-11 : dtype == bf16 ? 0x1p-8 : is_integer(dtype) || dtype == boolean ? 0.0 : 0x1p-24;
}
inline double least_normal(DType dtype) {
  return is_integer(dtype) || dtype == boolean ? 0.0 : dtype == f16 ? 0x1p-14 : 0x1p-126;
}
// |actual - expected| <= absolute + relative |expected|.
struct Bound {
  double absolute = 0, relative = 0;
  double at(double expected) const { return absolute + relative * std::fabs(expected); }
  friend Bound operator+(Bound a, Bound b) { return {a.absolute + b.absolute, a.relative + b.relative}; }
};

// Stored once: one ulp. Numbers below the normal range may be flushed to zero.
inline Bound rounding(DType dtype) { return {dtype == f16 ? 0x1p-24 : least_normal(dtype), 2 * epsilon_of(dtype)}; }

// `ulps` ulps of f32 on the way, then stored.
inline Bound ulp_bound(DType dtype, double ulps) {
  return is_integer(dtype) || dtype == boolean ? Bound{} : rounding(dtype) + Bound{0, ulps * 0x1p-23};
}

// A sum of k terms of at most `magnitude` each.
inline Bound sum_bound(DType dtype, int64_t k, double magnitude) {
  if (is_integer(dtype) || dtype == boolean) return {};
  const double terms = static_cast<double>(k);
  return rounding(dtype) + Bound{0x1p-23 * terms * magnitude, 0x1p-23 * (1 + std::sqrt(terms))};
}
inline Bound dot_bound(DType dtype, int64_t k, double magnitude) { return sum_bound(dtype, k, magnitude); }

// Says which element is worst: its index, both values, the bound.
class CloseTo : public Catch::Matchers::MatcherBase<std::vector<double>> {
 public:
  CloseTo(std::vector<double> expected, Bound bound) : expected_(std::move(expected)), bound_(bound) {}

  bool match(const std::vector<double>& actual) const override {
    std::ostringstream out;
    out.precision(9);
    if (actual.size() != expected_.size()) {
      out << "has " << expected_.size() << " elements, not " << actual.size();
      description_ = out.str();
      return false;
    }
    double worst = 1.0;  // error over bound
    size_t where = actual.size(), wrong = 0;
    for (size_t i = 0; i < actual.size(); ++i) {
      const double excess = excess_of(actual[i], expected_[i]);
      wrong += excess > 1.0;
      if (excess > worst) worst = excess, where = i;
    }
    if (where == actual.size()) return true;
    out << "is close: " << wrong << " of " << actual.size() << " elements are not; worst at " << where << ": "
        << actual[where] << ", expected " << expected_[where] << " +- " << bound_.at(expected_[where]);
    description_ = out.str();
    return false;
  }
  std::string describe() const override { return description_; }

 private:
  double excess_of(double actual, double expected) const {
    if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual) ? 0.0 : HUGE_VAL;
    if (actual == expected) return 0.0;
    if (std::isinf(expected) || std::isinf(actual)) return HUGE_VAL;
    const double bound = bound_.at(expected), error = std::fabs(actual - expected);
    return bound > 0 ? error / bound : HUGE_VAL;
  }

  std::vector<double> expected_;
  Bound bound_;
  mutable std::string description_;
};

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_SUPPORT_TOLERANCE_H_
