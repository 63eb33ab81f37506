// compare: whether an array is what it must be, as far as rounding lets anyone say.
//
//   std::vector<Array> samples = ...;                     // outcomes of the same computation, shaken (shaker.h)
//   Comparison c = compare(got, exact, samples);
//   if (!c.right()) std::cerr << c.text();                // "3 of 64 elements; first [0,7]: 1.5, expected 2.5 within
//   1e-06"
//
// The bound of an element is kSafety times what the samples show: its own largest deviation, and that of three quarters
// of the elements of its magnitude, since a few samples may by chance all lie close. kSafety is there because sums are
// rounded in an order that samples only imitate; what a mistake does to an element is larger by orders of magnitude.
// Where no sample deviates at all (integers, moved and chosen numbers) and no ulps are granted the array must agree
// exactly; so it must without samples.
//
// Some results jump (an index, a comparison, rounding to integers behind them): samples show that, but not for every
// element that may. Elements beyond their bounds are excused, and counted as unsure, when samples judged by the others
// have about as many (kSafety times) of about that size.
#ifndef RLXGPU_REFERENCE_COMPARISON_H_
#define RLXGPU_REFERENCE_COMPARISON_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "rlxgpu/base/text.h"
#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core::reference {

inline constexpr int kSamples = 4;
inline constexpr double kSafety = 4;

struct Comparison {
  struct Element {
    std::string place;  // "[0,7]"
    double got = 0, expected = 0, bound = 0;
  };
  size_t count = 0, wrong = 0;
  size_t unsure = 0;           // elements that a rounding may turn into something else
  size_t undefined = 0;        // elements that are NaN by the reference and a number here: not compared
  Element worst;               // the furthest beyond its bound, or the nearest to it
  std::vector<Element> first;  // of the wrong ones

  bool right() const { return wrong == 0; }
  bool nothing_compared() const { return count > 0 && undefined == count; }
  std::string text() const;
};

// An ulp of the type that it is stored in.
inline double storage_ulp(double value, DType dtype) {
  if (!is_float(dtype) && dtype != c64) return 0;
  const double relative = dtype == f16 ? 0x1p-10 : dtype == bf16 ? 0x1p-7 : 0x1p-23;
  const double least = dtype == f16 ? 0x1p-24 : 0x1p-126;
  return std::max(relative * std::fabs(value), least);
}

// Not a number, or the same infinity, or finite: what must agree whatever the bound.
inline bool same_kind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::isinf(a) || std::isinf(b) ? a == b : true;
}

// Infinite where one of them is no finite number like the other.
inline double distance(double a, double b) {
  if (!same_kind(a, b)) return std::numeric_limits<double>::infinity();
  return std::isfinite(a) ? std::fabs(a - b) : 0;
}

class Comparer {
 public:
  Comparer(const Array& exact, std::span<const Array> samples, double ulps)
      : exact_(exact), samples_(samples), ulps_(ulps), deviation_(exact.data.size()), second_(exact.data.size()) {
    for (const Array& sample : samples_) {
      for (size_t i = 0; i < deviation_.size(); ++i) {
        const double by = distance(sample.data[i], exact_.data[i]);
        second_[i] = std::max(second_[i], std::min(by, deviation_[i]));
        deviation_[i] = std::max(deviation_[i], by);
      }
    }
    if (!samples_.empty()) find_usual_deviations();
    for (const Array& sample : samples_) judge(sample);
  }

  Comparison run(const Array& got) const {
    Comparison result;
    result.count = exact_.data.size();
    double worst = -1;
    bool excusable = true;
    for (size_t i = 0; i < result.count; ++i) {
      const double by = distance(got.data[i], exact_.data[i]), bound = bound_of(i, deviation_[i]);
      if (std::isnan(exact_.data[i]) && !samples_.empty() && by > 0) {  // WGSL lets drivers reckon that there is no NaN
        ++result.undefined;
        continue;
      }
      result.unsure += jumps(i);
      const double excess = by == 0 ? 0 : bound > 0 ? by / bound : std::numeric_limits<double>::infinity();
      if (std::isinf(bound)) continue;
      if (excess > worst) worst = excess, result.worst = element(got, i, bound);
      if (by <= bound) continue;
      ++result.wrong;
      excusable = excusable && by <= kSafety * largest_surprise_;
      if (result.first.size() < 4) result.first.push_back(element(got, i, bound));
    }
    if (excusable && static_cast<double>(result.wrong) <= kSafety * static_cast<double>(surprises_)) {
      result.unsure += result.wrong;
      result.wrong = 0;
      result.first.clear();
    }
    return result;
  }

 private:
  static constexpr int kNone = -5000;  // the magnitude of what is zero or not finite

  // The size of an element, of a complex number's part that of the number: rounding goes by it.
  double size_of(size_t i) const {
    const std::vector<double>& x = exact_.data;
    return exact_.dtype == c64 ? std::hypot(x[i & ~size_t{1}], x[i | 1]) : std::fabs(x[i]);
  }
  int magnitude_of(size_t i) const {
    const double x = size_of(i);
    return std::isfinite(x) && x != 0 ? std::ilogb(x) : kNone;
  }
  // What three quarters of the elements of a magnitude stay below, by magnitude.
  void find_usual_deviations() {
    constexpr size_t kEnough = 32;
    std::map<int, std::vector<double>> by_magnitude;
    for (size_t i = 0; i < deviation_.size(); ++i) {
      if (std::isfinite(deviation_[i])) by_magnitude[magnitude_of(i)].push_back(deviation_[i]);
    }
    // Too few elements of a magnitude are judged with those of the next larger one, the last ones with the next
    // smaller.
    std::vector<double> pool;
    std::vector<int> pooled;
    double last = 0;
    const auto close = [&] {
      const auto middle = pool.begin() + static_cast<std::ptrdiff_t>(3 * pool.size() / 4);
      std::nth_element(pool.begin(), middle, pool.end());
      last = *middle;
      for (const int magnitude : pooled) usual_[magnitude] = last;
      pool.clear(), pooled.clear();
    };
    for (const auto& [magnitude, deviations] : by_magnitude) {
      if (magnitude == kNone) {  // zeros have nothing in common with small numbers
        pool = deviations, pooled = {magnitude};
        close();
        last = 0;
        continue;
      }
      pool.insert(pool.end(), deviations.begin(), deviations.end());
      pooled.push_back(magnitude);
      if (pool.size() >= kEnough) close();
    }
    if (!pool.empty()) {
      const double before = last;
      const std::vector<int> rest = pooled;
      close();
      for (const int magnitude : rest) usual_[magnitude] = std::max(usual_[magnitude], before);
    }
    for (const auto& [magnitude, deviation] : usual_) largest_usual_ = std::max(largest_usual_, deviation);
  }
  double usual(size_t i) const {
    const auto found = usual_.find(magnitude_of(i));
    return found == usual_.end() ? 0 : found->second;
  }
  // Off by far more than is usual for elements of any size.
  bool jumps(size_t i) const { return deviation_[i] > 64 * (largest_usual_ + storage_ulp(size_of(i), exact_.dtype)); }
  double bound_of(size_t i, double deviation) const {
    if (samples_.empty()) return 0;
    const double shown = kSafety * (deviation + usual(i)), x = size_of(i);
    const bool computed = is_float(exact_.dtype) || exact_.dtype == c64;
    if (!computed || (shown == 0 && ulps_ == 0)) return shown;
    return shown + storage_ulp(x, exact_.dtype) + ulps_ * 0x1p-23 * (std::isfinite(x) ? x : 0);
  }

  // Elements of a sample that the other samples do not explain.
  void judge(const Array& sample) {
    size_t beyond = 0;
    for (size_t i = 0; i < deviation_.size(); ++i) {
      const double by = distance(sample.data[i], exact_.data[i]);
      if (by <= bound_of(i, by == deviation_[i] ? second_[i] : deviation_[i])) continue;
      ++beyond;
      largest_surprise_ = std::max(largest_surprise_, by);
    }
    surprises_ = std::max(surprises_, beyond);
  }

  Comparison::Element element(const Array& got, size_t i, double bound) const {
    Text place;
    const Index index = exact_.index_of(static_cast<int64_t>(exact_.dtype == c64 ? i / 2 : i));
    place << '[';
    for (int axis = 0; axis < exact_.shape.rank(); ++axis) place << (axis > 0 ? "," : "") << index[axis];
    place << ']';
    return {std::string(place.view()), got.data[i], exact_.data[i], bound};
  }

  const Array& exact_;
  std::span<const Array> samples_;
  double ulps_;
  std::vector<double> deviation_, second_;  // by element: the largest, and the largest but one
  std::map<int, double> usual_;
  double largest_usual_ = 0;
  size_t surprises_ = 0;  // of the sample that has most
  double largest_surprise_ = 0;
};

// `ulps`: of f32, which every computed element is granted besides.
inline Comparison compare(const Array& got, const Array& exact, std::span<const Array> samples, double ulps = 0) {
  if (got.data.size() == exact.data.size()) return Comparer(exact, samples, ulps).run(got);
  Comparison result;
  result.count = std::max(got.data.size(), exact.data.size());
  result.wrong = result.count;
  result.worst = {"their number", static_cast<double>(got.data.size()), static_cast<double>(exact.data.size()), 0};
  result.first.push_back(result.worst);
  return result;
}

inline std::string Comparison::text() const {
  const auto number = [](double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.9g", value);
    return std::string(digits);
  };
  std::string text = std::to_string(wrong) + " of " + std::to_string(count) + " elements";
  for (size_t i = 0; i < first.size(); ++i) {
    char bound[32];
    std::snprintf(bound, sizeof bound, "%.2g", first[i].bound);
    text += std::string(i == 0 ? "; first " : ", ") + first[i].place + ": " + number(first[i].got) + ", expected " +
            number(first[i].expected) + " within " + bound;
  }
  return text;
}

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_REFERENCE_COMPARISON_H_
