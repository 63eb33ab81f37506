// What a speech recogniser hears: 80 mel bands of ten seconds at 16 kHz, in three dispatches. See docs/signal.md.
#ifndef RLXGPU_DOCS_EXAMPLES_LOG_MEL_H_
#define RLXGPU_DOCS_EXAMPLES_LOG_MEL_H_

#include "rlxgpu/kernels/signal/signal.h"

namespace examples {

struct LogMel {
  static constexpr void build(rlxgpu::Builder& g) {
    rlxgpu::Tensor x = g.input("samples", rlxgpu::f32, {160000});
    g.output("bands", rlxgpu::log_mel(x));  // (1001, 80)
  }
};

}  // namespace examples

#endif  // RLXGPU_DOCS_EXAMPLES_LOG_MEL_H_
