// Sampler: the next token, drawn from logits, with the numbers, order and meaning that users of llama.cpp know.
//
//   Sampler sampler({.temperature = 0.8, .top_k = 40, .top_p = 0.95, .min_p = 0.05, .seed = 7});
//   Token token = sampler.draw(logits, tokens_so_far);
//
// First penalties for tokens among the last ones; then all but the top_k likeliest are struck out, then all but the
// fewest that together reach top_p, then those less likely than min_p times the likeliest; what is left is divided by
// the temperature, and one is drawn by std::mt19937. A temperature of 0 or less takes the likeliest, after penalties.
#ifndef RLXGPU_GENERATE_SAMPLER_H_
#define RLXGPU_GENERATE_SAMPLER_H_

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "rlxgpu/text/vocabulary.h"

namespace rlxgpu::core {

struct SamplerOptions {
  double temperature = 0.8;
  int64_t top_k = 40;  // 0 or less: all
  double top_p = 0.95;
  double min_p = 0.05;
  double repeat_penalty = 1;     // logits of tokens that were there are divided by it, or multiplied if negative
  double frequency_penalty = 0;  // subtracted as often as a token was there
  double presence_penalty = 0;   // subtracted once
  int64_t penalty_last = 64;     // tokens that penalties look at; less than 0: all
  uint32_t seed = 0;
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options = {}) : options_(options), random_(options.seed) {}
  // `before`: all tokens so far.
  Token draw(std::span<const float> logits, std::span<const Token> before);
  // The tokens that may be drawn, the likeliest first, with their probabilities.
  struct Candidate {
    Token token;
    float logit;
    double probability;
  };
  std::vector<Candidate> candidates(std::span<const float> logits, std::span<const Token> before) const;

 private:
  SamplerOptions options_;
  std::mt19937 random_;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Sampler, core::SamplerOptions;
}  // namespace rlxgpu

#endif  // RLXGPU_GENERATE_SAMPLER_H_
