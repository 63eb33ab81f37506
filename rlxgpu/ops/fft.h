// The ops of the family fft: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_FFT_H_
#define RLXGPU_OPS_FFT_H_

#include "rlxgpu/kernels/fft/fft.h"

#endif  // RLXGPU_OPS_FFT_H_
