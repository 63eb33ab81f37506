// sin cos tan and their inverses, of floats, in radians.
//
//   Tensor y = sin(x);      Tensor phi = atan2(y, x);
//
// Accurate for every finite argument (trigonometry.h says how); sines of infinities are NaN.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_ANGLES_H_
#define RLXGPU_KERNELS_ELEMENTWISE_ANGLES_H_

#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/form.h"
#include "rlxgpu/kernels/elementwise/reference.h"
#include "rlxgpu/kernels/elementwise/trigonometry.h"

namespace rlxgpu::core {

inline constexpr OpDef kSin =
    elementwise<Form{.floats = "rlx_sin(@0)"}, reference::sin>("sin", {kTrigonometricFunctions});
constexpr Tensor sin(Tensor x, Site site = std::source_location::current()) { return apply(kSin, {x}, site); }

inline constexpr OpDef kCos =
    elementwise<Form{.floats = "rlx_cos(@0)"}, reference::cos>("cos", {kTrigonometricFunctions});
constexpr Tensor cos(Tensor x, Site site = std::source_location::current()) { return apply(kCos, {x}, site); }

inline constexpr OpDef kTan =
    elementwise<Form{.floats = "rlx_tan(@0)"}, reference::tan>("tan", {kTrigonometricFunctions});
constexpr Tensor tan(Tensor x, Site site = std::source_location::current()) { return apply(kTan, {x}, site); }

inline constexpr OpDef kAsin =
    elementwise<Form{.floats = "rlx_asin(@0)"}, reference::asin>("asin", {kInverseTrigonometricFunctions});
constexpr Tensor asin(Tensor x, Site site = std::source_location::current()) { return apply(kAsin, {x}, site); }

inline constexpr OpDef kAcos =
    elementwise<Form{.floats = "rlx_acos(@0)"}, reference::acos>("acos", {kInverseTrigonometricFunctions});
constexpr Tensor acos(Tensor x, Site site = std::source_location::current()) { return apply(kAcos, {x}, site); }

inline constexpr OpDef kAtan =
    elementwise<Form{.floats = "rlx_atan(@0)"}, reference::atan>("atan", {kInverseTrigonometricFunctions});
constexpr Tensor atan(Tensor x, Site site = std::source_location::current()) { return apply(kAtan, {x}, site); }

inline constexpr OpDef kAtan2 =
    elementwise<Form{.floats = "rlx_atan2(@0, @1)"}, reference::atan2>("atan2", {kInverseTrigonometricFunctions});
// The angle of the point (b, a), in every quadrant.
constexpr Tensor atan2(Tensor a, Rhs b) { return apply(kAtan2, {a, operand_of(b, a)}, b.site); }

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::acos, core::asin, core::atan, core::atan2, core::cos, core::sin, core::tan;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ELEMENTWISE_ANGLES_H_
