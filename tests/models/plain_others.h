// Vit, Mamba and a mixture of experts once more, in plain C++ and double. Mamba computes everything again for every
// token: no state.
#ifndef RLXGPU_TESTS_MODELS_PLAIN_OTHERS_H_
#define RLXGPU_TESTS_MODELS_PLAIN_OTHERS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "docs/examples/mamba.h"
#include "docs/examples/mixture.h"
#include "docs/examples/vit.h"
#include "tests/models/plain.h"

namespace rlxgpu::core::testing::plain {

inline Row vit(const examples::VitSize& size, const WeightMap& w, const std::vector<float>& image) {
  const auto d = static_cast<size_t>(size.width), p = static_cast<size_t>(size.patch),
             side = static_cast<size_t>(size.image);
  Rows x = {plus(plus(Row(d, 0.0), w.at("token")), w.at("places"))};
  for (size_t row = 0; row < side; row += p) {
    for (size_t col = 0; col < side; col += p) {
      Row pixels;
      for (size_t i = 0; i < static_cast<size_t>(size.channels) * p * p; ++i) {
        pixels.push_back(image[(i / (p * p) * side + row + i / p % p) * side + col + i % p]);
      }
      x.push_back(plus(plus(times(pixels, w.at("wpatch"), d), w.at("bpatch")), w.at("places"), x.size() * d));
    }
  }
  for (int layer = 0; layer < size.layers; ++layer) {
    const auto of = [&](const char* name) -> const std::vector<float>& {
      return w.at(std::to_string(layer) + "." + name);
    };
    Rows qkv;
    for (const Row& row : x)
      qkv.push_back(plus(times(layer_normed(row, of("g1"), of("s1"), 1e-6), of("wqkv"), 3 * d), of("bqkv")));
    const Rows mixed = attended(qkv, static_cast<size_t>(size.heads), [](size_t) { return false; });
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = plus(x[i], plus(times(mixed[i], of("wo"), d), of("bo")));
      const Row normal = layer_normed(x[i], of("g2"), of("s2"), 1e-6);
      const Row hidden = gelu_of(plus(times(normal, of("w1"), static_cast<size_t>(size.hidden)), of("b1")));
      x[i] = plus(x[i], plus(times(hidden, of("w2"), d), of("b2")));
    }
  }
  return plus(times(layer_normed(x[0], w.at("g"), w.at("s"), 1e-6), w.at("head"), static_cast<size_t>(size.classes)),
              w.at("bhead"));
}

// Logits after each token.
inline Rows mamba(const examples::MambaSize& size, const WeightMap& w, const std::vector<uint32_t>& tokens) {
  const auto d = static_cast<size_t>(size.width), inner = static_cast<size_t>(size.inner),
             n = static_cast<size_t>(size.state);
  const auto rank = static_cast<size_t>(size.rank), kernel = static_cast<size_t>(size.kernel);
  Rows x;
  for (const uint32_t token : tokens) x.push_back(plus(Row(d, 0.0), w.at("words"), token * d));
  for (int layer = 0; layer < size.layers; ++layer) {
    const auto of = [&](const char* name) -> const std::vector<float>& {
      return w.at(std::to_string(layer) + "." + name);
    };
    const auto number = [&](const char* name, size_t i) { return static_cast<double>(of(name)[i]); };
    Rows both;
    for (const Row& row : x) both.push_back(times(rms_normed(row, of("g")), of("win"), 2 * inner));
    Row h(inner * n, 0.0);
    for (size_t t = 0; t < x.size(); ++t) {
      Row channels(inner);
      for (size_t c = 0; c < inner; ++c) {
        double sum = number("bconv", c);
        for (size_t k = 0; k < kernel; ++k) {  // tap k sees the token that is kernel - 1 - k before
          if (t + k + 1 >= kernel) sum += number("conv", k * inner + c) * both[t + k + 1 - kernel][c];
        }
        channels[c] = silu_of(sum);
      }
      const Row found = times(channels, of("wx"), rank + 2 * n);
      const Row steps = plus(times(part(found, 0, rank), of("wdelta"), inner), of("bdelta"));
      Row y(inner);
      for (size_t c = 0; c < inner; ++c) {
        const double delta = std::log1p(std::exp(steps[c]));
        y[c] = number("skip", c) * channels[c];
        for (size_t s = 0; s < n; ++s) {
          double& state = h[c * n + s];
          state = std::exp(-delta * std::exp(number("a", c * n + s))) * state + delta * found[rank + s] * channels[c];
          y[c] += found[rank + n + s] * state;
        }
        y[c] *= silu_of(both[t][inner + c]);
      }
      x[t] = plus(x[t], times(y, of("wout"), d));
    }
  }
  Rows logits;
  for (const Row& row : x)
    logits.push_back(times(rms_normed(row, w.at("g")), w.at("out"), static_cast<size_t>(size.vocabulary)));
  return logits;
}

// One token. Groups are judged by their two best experts.
inline Row mixture(const examples::MixtureSize& size, const WeightMap& w, const Row& x) {
  const auto d = static_cast<size_t>(size.width), hidden = static_cast<size_t>(size.hidden),
             n = static_cast<size_t>(size.experts);
  const auto groups = static_cast<size_t>(size.groups), each = n / groups;
  Row scores = times(x, w.at("0.choice"), n);
  for (double& score : scores) score = 1 / (1 + std::exp(-score));
  const auto best_first = [](const Row& of, size_t count) {
    std::vector<size_t> order(of.size());
    for (size_t i = 0; i < of.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return of[a] > of[b]; });
    order.resize(count);
    return order;
  };
  Row group_scores, allowed(n, -1.0);
  for (size_t group = 0; group < groups; ++group) {
    Row members = part(scores, group * each, each);
    std::sort(members.rbegin(), members.rend());
    group_scores.push_back(members[0] + members[1]);
  }
  for (const size_t group : best_first(group_scores, static_cast<size_t>(size.top_groups))) {
    for (size_t i = group * each; i < (group + 1) * each; ++i) allowed[i] = scores[i];
  }
  const std::vector<size_t> chosen = best_first(allowed, static_cast<size_t>(size.top_k));
  double sum = 0;
  for (const size_t expert : chosen) sum += scores[expert];
  const auto matrix = [&](const char* name, size_t expert) {
    const std::vector<float>& all = w.at(name);
    const auto count = static_cast<std::ptrdiff_t>(d * hidden), first = static_cast<std::ptrdiff_t>(expert) * count;
    return std::vector<float>(all.begin() + first, all.begin() + first + count);
  };
  Row y(d, 0.0);
  for (const size_t expert : chosen) {
    Row gate = times(x, matrix("0.wgate", expert), hidden);
    const Row up = times(x, matrix("0.wup", expert), hidden);
    for (size_t i = 0; i < hidden; ++i) gate[i] = silu_of(gate[i]) * up[i];
    const Row down = times(gate, matrix("0.wdown", expert), d);
    for (size_t i = 0; i < d; ++i) y[i] += scores[expert] / sum * down[i];
  }
  return y;
}

}  // namespace rlxgpu::core::testing::plain

#endif  // RLXGPU_TESTS_MODELS_PLAIN_OTHERS_H_
