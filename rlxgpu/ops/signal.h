// The ops of the family signal: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_SIGNAL_H_
#define RLXGPU_OPS_SIGNAL_H_

#include "rlxgpu/kernels/signal/filter.h"
#include "rlxgpu/kernels/signal/frames.h"
#include "rlxgpu/kernels/signal/mel.h"
#include "rlxgpu/kernels/signal/stft.h"
#include "rlxgpu/kernels/signal/window.h"

#endif  // RLXGPU_OPS_SIGNAL_H_
