// Bert and Llama once more, in plain C++ and double, straight from their definitions: nothing of rlxgpu is used but the
// names and sizes of the weights. Llama has no cache: it computes everything again for every token.
#ifndef RLXGPU_TESTS_MODELS_PLAIN_H_
#define RLXGPU_TESTS_MODELS_PLAIN_H_

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "docs/examples/bert.h"
#include "docs/examples/llama.h"

namespace rlxgpu::core::testing::plain {

using Row = std::vector<double>;
using Rows = std::vector<Row>;
using WeightMap = std::map<std::string, std::vector<float>>;

inline Row times(const Row& x, const std::vector<float>& w, size_t columns) {
  Row y(columns, 0.0);
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < columns; ++j) y[j] += x[i] * static_cast<double>(w[i * columns + j]);
  }
  return y;
}
inline Row plus(Row x, const Row& y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  return x;
}
inline Row plus(Row x, const std::vector<float>& y, size_t first = 0) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += static_cast<double>(y[first + i]);
  return x;
}
inline Row part(const Row& x, size_t first, size_t count) {
  return Row(x.begin() + static_cast<std::ptrdiff_t>(first), x.begin() + static_cast<std::ptrdiff_t>(first + count));
}

// Softmax of one query's scores, times the values; keys and values that `hidden` says are not there are skipped.
template <typename Hidden>
Row attend(const Row& query, const Rows& keys, const Rows& values, const Hidden& hidden) {
  Row scores, y(values[0].size(), 0.0);
  double most = -HUGE_VAL, sum = 0;
  for (size_t j = 0; j < keys.size(); ++j) {
    double score = 0;
    for (size_t c = 0; c < query.size(); ++c) score += query[c] * keys[j][c];
    scores.push_back(hidden(j) ? -HUGE_VAL : score / std::sqrt(static_cast<double>(query.size())));
    most = std::max(most, scores.back());
  }
  for (double& score : scores) sum += score = std::exp(score - most);
  for (size_t j = 0; j < keys.size(); ++j) {
    for (size_t c = 0; c < y.size(); ++c) y[c] += scores[j] / sum * values[j][c];
  }
  return y;
}

inline Row layer_normed(const Row& x, const std::vector<float>& g, const std::vector<float>& s, double epsilon) {
  double mean = 0, square = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (const double v : x) square += (v - mean) * (v - mean) / static_cast<double>(x.size());
  Row y;
  for (size_t i = 0; i < x.size(); ++i) {
    y.push_back((x[i] - mean) / std::sqrt(square + epsilon) * static_cast<double>(g[i]) + static_cast<double>(s[i]));
  }
  return y;
}

// Every row of (queries, keys, values) attends to all rows that are not hidden.
template <typename Hidden>
Rows attended(const Rows& qkv, size_t heads, const Hidden& hidden) {
  const size_t d = qkv[0].size() / 3, head = d / heads;
  Rows mixed(qkv.size());
  for (size_t h = 0; h < heads; ++h) {
    Rows keys, values;
    for (const Row& row : qkv)
      keys.push_back(part(row, d + h * head, head)), values.push_back(part(row, 2 * d + h * head, head));
    for (size_t i = 0; i < qkv.size(); ++i) {
      const Row y = attend(part(qkv[i], h * head, head), keys, values, hidden);
      mixed[i].insert(mixed[i].end(), y.begin(), y.end());
    }
  }
  return mixed;
}

inline Row gelu_of(Row x) {
  for (double& v : x) v = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
  return x;
}
inline double silu_of(double v) { return v / (1 + std::exp(-v)); }

inline Rows bert(const examples::BertSize& size, const WeightMap& w, const std::vector<uint32_t>& tokens,
                 const std::vector<uint32_t>& types, const std::vector<uint8_t>& mask) {
  const auto d = static_cast<size_t>(size.width);
  Rows x;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const Row sum =
        plus(plus(plus(Row(d, 0.0), w.at("words"), tokens[i] * d), w.at("places"), i * d), w.at("kinds"), types[i] * d);
    x.push_back(layer_normed(sum, w.at("g0"), w.at("s0"), 1e-12));
  }
  for (int layer = 0; layer < size.layers; ++layer) {
    const auto of = [&](const char* name) -> const std::vector<float>& {
      return w.at(std::to_string(layer) + "." + name);
    };
    Rows qkv;
    for (const Row& row : x) qkv.push_back(plus(times(row, of("wqkv"), 3 * d), of("bqkv")));
    const Rows mixed = attended(qkv, static_cast<size_t>(size.heads), [&](size_t j) { return mask[j] == 0; });
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = layer_normed(plus(x[i], plus(times(mixed[i], of("wo"), d), of("bo"))), of("g1"), of("s1"), 1e-12);
      const Row hidden = gelu_of(plus(times(x[i], of("w1"), static_cast<size_t>(size.hidden)), of("b1")));
      x[i] = layer_normed(plus(x[i], plus(times(hidden, of("w2"), d), of("b2"))), of("g2"), of("s2"), 1e-12);
    }
  }
  return x;
}

inline Row rms_normed(const Row& x, const std::vector<float>& g) {
  double square = 0;
  for (const double v : x) square += v * v / static_cast<double>(x.size());
  Row y;
  for (size_t i = 0; i < x.size(); ++i) y.push_back(x[i] / std::sqrt(square + 1e-5) * static_cast<double>(g[i]));
  return y;
}

// Column c and column c + half are turned together.
inline Row turned(Row x, size_t position) {
  const size_t half = x.size() / 2;
  for (size_t c = 0; c < half; ++c) {
    const double angle =
        static_cast<double>(position) * std::pow(10000.0, -static_cast<double>(c) / static_cast<double>(half));
    const double a = x[c], b = x[c + half];
    x[c] = a * std::cos(angle) - b * std::sin(angle);
    x[c + half] = b * std::cos(angle) + a * std::sin(angle);
  }
  return x;
}

// Logits after each token.
inline Rows llama(const examples::LlamaSize& size, const WeightMap& w, const std::vector<uint32_t>& tokens) {
  const auto d = static_cast<size_t>(size.width), head = static_cast<size_t>(size.head),
             heads = static_cast<size_t>(size.heads);
  const auto kv_heads = static_cast<size_t>(size.kv_heads), hidden_size = static_cast<size_t>(size.hidden);
  Rows x;
  for (const uint32_t token : tokens) x.push_back(plus(Row(d, 0.0), w.at("words"), token * d));
  for (int layer = 0; layer < size.layers; ++layer) {
    const auto of = [&](const char* name) -> const std::vector<float>& {
      return w.at(std::to_string(layer) + "." + name);
    };
    Rows qkv, mixed(x.size());
    for (const Row& row : x) qkv.push_back(times(rms_normed(row, of("g1")), of("wqkv"), (heads + 2 * kv_heads) * head));
    for (size_t h = 0; h < heads; ++h) {
      const size_t shared = h / (heads / kv_heads);
      Rows keys, values;
      for (size_t i = 0; i < x.size(); ++i) {
        keys.push_back(turned(part(qkv[i], (heads + shared) * head, head), i));
        values.push_back(part(qkv[i], (heads + kv_heads + shared) * head, head));
      }
      for (size_t i = 0; i < x.size(); ++i) {
        const Row y = attend(turned(part(qkv[i], h * head, head), i), keys, values, [&](size_t j) { return j > i; });
        mixed[i].insert(mixed[i].end(), y.begin(), y.end());
      }
    }
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = plus(x[i], times(mixed[i], of("wo"), d));
      const Row y = rms_normed(x[i], of("g2"));
      Row gate = times(y, of("wgate"), hidden_size);
      const Row up = times(y, of("wup"), hidden_size);
      for (size_t c = 0; c < gate.size(); ++c) gate[c] = silu_of(gate[c]) * up[c];
      x[i] = plus(x[i], times(gate, of("wdown"), d));
    }
  }
  Rows logits;
  for (const Row& row : x)
    logits.push_back(times(rms_normed(row, w.at("g")), w.at("out"), static_cast<size_t>(size.vocabulary)));
  return logits;
}

}  // namespace rlxgpu::core::testing::plain

#endif  // RLXGPU_TESTS_MODELS_PLAIN_H_
