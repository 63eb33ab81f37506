// Parts of complex numbers: conj real imag, complex(re, im); abs of floats, integers and complex numbers.
//
//   Tensor power = real(mul(z, conj(z)));      Tensor magnitude = abs(z);      // f32
#ifndef RLXGPU_KERNELS_ELEMENTWISE_COMPLEX_H_
#define RLXGPU_KERNELS_ELEMENTWISE_COMPLEX_H_

#include <source_location>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/form.h"
#include "rlxgpu/kernels/elementwise/reference.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace internal {

constexpr void complex_to_float_infer(Infer& infer) {
  if (infer.dtype(0) != c64) return infer.fail("takes c64, not ", name_of(infer.dtype(0)));
  infer.result(f32, infer.shape(0));
}

constexpr void complex_infer(Infer& infer) {
  if (infer.dtype(0) != f32 || infer.dtype(1) != f32) return infer.fail("both parts must be f32");
  Shape shape;
  if (infer_broadcast(infer, 0, shape)) infer.result(c64, shape);
}

constexpr void abs_infer(Infer& infer) {
  const DType dtype = infer.dtype(0);
  if (dtype == boolean) return infer.fail("takes numbers, not bool: cast the operand first");
  infer.result(dtype == c64 ? f32 : dtype, infer.shape(0));
}

// Complex: the greater part is taken out, so that no square overflows.
constexpr void abs_at(At& at) {
  if (at.operand_dtype(0) != c64) return form_at<Form{.floats = "abs(@0)", .integers = "abs(@0)", .wraps = true}>(at);
  const Name z = at.let("abs(", at.operand(0), ")");
  const Name most = at.let("max(", z, ".x, ", z, ".y)"), least = at.let("min(", z, ".x, ", z, ".y)");
  const Name ratio = at.let("select(", least, " / ", most, ", 0.0, ", least, " == 0.0)");
  at.result() << '(' << most << " * sqrt(1.0 + " << ratio << " * " << ratio << "))";
}

}  // namespace internal

inline constexpr OpDef kAbs = {
    .name = "abs",
    .infer = internal::abs_infer,
    .at = internal::abs_at,
    .reference = internal::map_reference<reference::abs, reference::abs_complex>,
};
// Of c64 an f32. Of the least i32 or i8: that number again.
constexpr Tensor abs(Tensor x, Site site = std::source_location::current()) { return apply(kAbs, {x}, site); }

inline constexpr OpDef kConj = elementwise<Form{.complexes = "vec2f(@0.x, -@0.y)"}, reference::conj>("conj");
constexpr Tensor conj(Tensor x, Site site = std::source_location::current()) { return apply(kConj, {x}, site); }

inline constexpr OpDef kReal = {
    .name = "real",
    .infer = internal::complex_to_float_infer,
    .at = [](At& at) { internal::fill(at, "@0.x"); },
    .reference = internal::map_reference<reference::real>,
};
constexpr Tensor real(Tensor x, Site site = std::source_location::current()) { return apply(kReal, {x}, site); }

inline constexpr OpDef kImag = {
    .name = "imag",
    .infer = internal::complex_to_float_infer,
    .at = [](At& at) { internal::fill(at, "@0.y"); },
    .reference = internal::map_reference<reference::imag>,
};
constexpr Tensor imag(Tensor x, Site site = std::source_location::current()) { return apply(kImag, {x}, site); }

inline constexpr OpDef kComplex = {
    .name = "complex",
    .infer = internal::complex_infer,
    .at = [](At& at) { internal::fill(at, "vec2f(@0, @1)"); },
    .reference = internal::map_reference<reference::complex>,
};
// The numbers re + i im, c64, of two f32.
constexpr Tensor complex(Tensor re, Rhs im) { return apply(kComplex, {re, operand_of(im, re)}, im.site); }

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::abs, core::complex, core::conj, core::imag, core::real;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ELEMENTWISE_COMPLEX_H_
