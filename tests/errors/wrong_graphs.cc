// Does not compile: errors_test.cc gives it to compilers and reads what they print.
#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/matmul.h"
#include "kernels/movement/movement.h"
#include "kernels/reduce/arg.h"
#include "kernels/reduce/reduce.h"
#include "kernels/scan/scan.h"
#include "kernels/scatter/scatter.h"
#include "kernels/softmax/softmax.h"
#include "rlxgpu/compile/freeze.h"
#include "tests/errors/inputs.h"

namespace rlxgpu::wrong {

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

}  // namespace rlxgpu::wrong
