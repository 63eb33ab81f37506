#include "rlxgpu/models/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace rlxgpu::core {
namespace {

// Which pair turns `turns` times in the context that the model was trained with.
double pair_of(double turns, const RopeTableOptions& options, double trained) {
  return static_cast<double>(options.columns) * std::log(trained / (2 * std::numbers::pi * turns)) /
         (2 * std::log(options.base));
}

// 1 for pairs that keep their speed, 0 for those that are slowed down, between them in proportion.
double kept_share(double pair, const RopeTableOptions& options, double trained) {
  constexpr double kFast = 32, kSlow = 1;
  const double low = std::max(0.0, std::floor(pair_of(kFast, options, trained)));
  const double high = std::min(static_cast<double>(options.columns - 1), std::ceil(pair_of(kSlow, options, trained)));
  return 1 - std::clamp((pair - low) / std::max(0.001, high - low), 0.0, 1.0);
}

}  // namespace

RopeTable rope_table(const Metadata& meta, std::span<const float> factors, const RopeTableOptions& options) {
  const std::string_view type = options.scaled ? meta.text("rope.scaling.type", "linear") : "none";
  double factor = meta.number("rope.scaling.factor", meta.number("rope.scale_linear"));
  if (factor == 0 || type == "none" || type == "longrope") factor = 1;
  const bool yarn = type == "yarn";
  const double trained = meta.number("rope.scaling.original_context_length", meta.number("context_length"));
  const double attention = meta.number("rope.scaling.attn_factor", 1);
  RopeTable table = {.radians = {}, .magnitude = options.scaled && attention != 0 ? attention : 1};
  for (int64_t pair = 0; 2 * pair + 1 < options.columns; ++pair) {
    const double place = static_cast<double>(pair);
    double angle = std::pow(options.base, -2 * place / static_cast<double>(options.columns));
    if (static_cast<size_t>(pair) < factors.size()) angle /= static_cast<double>(factors[static_cast<size_t>(pair)]);
    const double kept = yarn ? kept_share(place, options, trained) : 0;
    table.radians.push_back(angle / factor * (1 - kept) + angle * kept);
  }
  // A file with this number has it in the scale of its scores instead.
  if (yarn && factor > 1 && meta.number("rope.scaling.yarn_log_multiplier") == 0)
    table.magnitude *= 1 + 0.1 * std::log(factor);
  return table;
}

}  // namespace rlxgpu::core
