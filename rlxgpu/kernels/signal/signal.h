// All of rlxgpu/kernels/signal: windows, short-time spectra, mel bands, filters; and the Fourier transforms.
#ifndef RLXGPU_KERNELS_SIGNAL_SIGNAL_H_
#define RLXGPU_KERNELS_SIGNAL_SIGNAL_H_

#include "rlxgpu/kernels/fft/fft.h"
#include "rlxgpu/kernels/signal/filter.h"
#include "rlxgpu/kernels/signal/frames.h"
#include "rlxgpu/kernels/signal/mel.h"
#include "rlxgpu/kernels/signal/stft.h"
#include "rlxgpu/kernels/signal/window.h"

#endif  // RLXGPU_KERNELS_SIGNAL_SIGNAL_H_
