// Does not compile: errors_test.cc gives it to compilers and reads what they print.
#include "rlxgpu/compile/freeze.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/scan/scan.h"
#include "rlxgpu/kernels/scatter/scatter.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "tests/errors/inputs.h"

namespace rlxgpu::core::wrong {

template <int kLine>
struct Case;

#define WRONG(text, ...)                      \
  template <>                                 \
  struct Case<__LINE__> {                     \
    static constexpr void build(Builder& g) { \
      [[maybe_unused]] const Inputs in(g);    \
      static_cast<void>(__VA_ARGS__);         \
    }                                         \
  };                                          \
  static_assert(Frozen<Case<__LINE__>>::sizes.error != 0);
#include "tests/errors/cases.inc"

}  // namespace rlxgpu::core::wrong
