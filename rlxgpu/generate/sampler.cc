#include "rlxgpu/generate/sampler.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace rlxgpu::core {
namespace {

void penalise(std::vector<Sampler::Candidate>& all, std::span<const Token> before, const SamplerOptions& o) {
  const size_t looked_at =
      o.penalty_last < 0 ? before.size() : std::min(before.size(), static_cast<size_t>(o.penalty_last));
  std::unordered_map<Token, int> counts;
  for (const Token token : before.last(looked_at)) ++counts[token];
  for (const auto& [token, count] : counts) {
    if (token >= all.size()) continue;
    float& logit = all[token].logit;
    logit = logit <= 0 ? logit * static_cast<float>(o.repeat_penalty) : logit / static_cast<float>(o.repeat_penalty);
    logit -= static_cast<float>(count * o.frequency_penalty + o.presence_penalty);
  }
}

void set_probabilities(std::vector<Sampler::Candidate>& sorted) {
  double total = 0;
  for (Sampler::Candidate& c : sorted)
    total += c.probability = std::exp(static_cast<double>(c.logit - sorted[0].logit));
  for (Sampler::Candidate& c : sorted) c.probability /= total;
}

}  // namespace

std::vector<Sampler::Candidate> Sampler::candidates(std::span<const float> logits,
                                                    std::span<const Token> before) const {
  std::vector<Candidate> all;
  all.reserve(logits.size());
  for (Token token = 0; token < logits.size(); ++token) all.push_back({token, logits[token], 0});
  if (all.empty()) return all;
  penalise(all, before, options_);
  const auto likelier = [](const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
  };
  size_t kept = options_.top_k > 0 ? std::min(all.size(), static_cast<size_t>(options_.top_k)) : all.size();
  if (options_.temperature <= 0) kept = 1;
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(), likelier);
  all.resize(kept);
  set_probabilities(all);
  if (options_.top_p < 1) {
    double sum = 0;
    size_t count = 0;
    while (count < all.size() && (count == 0 || sum < options_.top_p)) sum += all[count++].probability;
    all.resize(count);
  }
  if (options_.min_p > 0) {
    const float least = all[0].logit + static_cast<float>(std::log(options_.min_p));
    const auto beyond = std::find_if(all.begin() + 1, all.end(), [&](const Candidate& c) { return c.logit < least; });
    all.erase(beyond, all.end());
  }
  for (Candidate& c : all) {
    if (options_.temperature > 0) c.logit /= static_cast<float>(options_.temperature);
  }
  set_probabilities(all);
  return all;
}

Token Sampler::draw(std::span<const float> logits, std::span<const Token> before) {
  const std::vector<Candidate> left = candidates(logits, before);
  if (left.empty()) return kNoToken;
  if (options_.temperature <= 0) return left[0].token;
  const double drawn = std::uniform_real_distribution<double>(0, 1)(random_);
  double sum = 0;
  for (const Candidate& c : left) {
    sum += c.probability;
    if (sum >= drawn) return c.token;
  }
  return left.back().token;
}

}  // namespace rlxgpu::core
