// All of kernels/signal: windows, short-time spectra, mel bands, filters; and the Fourier transforms.
#ifndef KERNELS_SIGNAL_SIGNAL_H_
#define KERNELS_SIGNAL_SIGNAL_H_

#include "kernels/fft/fft.h"
#include "kernels/signal/filter.h"
#include "kernels/signal/frames.h"
#include "kernels/signal/mel.h"
#include "kernels/signal/stft.h"
#include "kernels/signal/window.h"

#endif  // KERNELS_SIGNAL_SIGNAL_H_
