// sample(logits, seed): the next token of every row, drawn from the softmax of its logits.
//
//   Tensor token = sample(logits, g.scalar("seed", u32), {.temperature = 0.8f, .top_k = 40, .top_p = 0.95f});
//
// Cut down in this order: logits over the temperature; the top_k greatest; of these the fewest, most probable first,
// whose probabilities reach top_p; of these the ones with at least min_p times the greatest probability. Among what is
// left the greatest logit + Gumbel noise wins, which draws from their softmax. The noise of a token depends on seed,
// row and token only (random.h), so the same seed gives the same token on every adapter, unless two scores agree to six
// digits. Temperature 0 takes the greatest logit. It is topk and draw, or argmax where all tokens may be drawn.
#ifndef RLXGPU_KERNELS_SAMPLE_SAMPLE_H_
#define RLXGPU_KERNELS_SAMPLE_SAMPLE_H_

#include <limits>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/random/random.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/sample/draw.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/kernels/sort/sort.h"

namespace rlxgpu::core {

struct SampleOptions {
  float temperature = 1;
  int64_t top_k = 0;    // 0: all
  float top_p = 1;      // 1: all
  float min_p = 0;      // 0: all
  uint32_t stream = 0;  // of random numbers
};

// logits: [..., vocabulary], any float. The tokens are i32[...].
constexpr Tensor sample(Tensor logits, Tensor seed, const SampleOptions& options = {},
                        Site site = std::source_location::current()) {
  Builder& g = logits.builder();
  const Shape& shape = logits.shape();
  const Site here = site.as("sample");
  const bool right = options.temperature >= 0 && options.top_k >= 0 && options.top_p > 0 && options.top_p <= 1 &&
                     options.min_p >= 0 && options.min_p <= 1;
  if (!right)
    g.fail(site, "sample: temperature and top_k are at least 0, top_p is above 0 and at most 1, min_p from 0 to 1");
  if (logits.valid() && shape.rank() == 0) g.fail(site, "sample([]): takes rows of logits");
  if (!g.ok()) return {&g, -1};
  if (options.temperature == 0) return argmax(logits, -1, {}, here);

  const int64_t vocabulary = shape[shape.rank() - 1];
  const bool cut = options.top_k > 0 && options.top_k < vocabulary, nucleus = options.top_p < 1;
  if (cut || nucleus) {
    const TopK best = topk(logits, cut ? options.top_k : vocabulary, -1, true, here);
    return draw(
        best.values, best.indices, seed,
        {.temperature = options.temperature, .top_p = options.top_p, .min_p = options.min_p, .stream = options.stream},
        here);
  }
  const Tensor tokens = expand(iota(g, i32, shape.dim(shape.rank() - 1), 0, 1, here), shape, here);
  const Tensor scores = cast(logits, f32, here) * (1 / options.temperature);
  const Tensor noise = neg(log(neg(log(rng_at(seed, tokens, Draw::open, options.stream, 0, here)))));
  Tensor total = scores + noise;
  if (options.min_p > 0) {
    const Tensor p = softmax(scores, -1, here), infinite = g.literal(-std::numeric_limits<float>::infinity(), f32);
    total = where(ge(p, reduce_max(p, -1, {.keep_dims = true}, here) * options.min_p), total, infinite);
  }
  return argmax(total, -1, {}, here);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::SampleOptions, core::sample;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SAMPLE_SAMPLE_H_
