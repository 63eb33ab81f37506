// Mamba 1 and 2, and hybrids of them and attention: Jamba, Granite 4, Falcon H1. What a layer knows of the tokens
// before is the last inputs of its convolution and the state of its recurrence, whatever their number.
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/kv_cache/kv_append.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/state_space/state_space.h"
#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core::models {
namespace {

// silu of sums over each channel's last tokens. x: (text, token, channel)
Tensor causal_convolution(const Layer& l, Tensor x) {
  Net& n = l.net();
  if (!x.valid()) return x;
  const int64_t kernel = l.meta().integer("ssm.conv_kernel"), channels = x.shape()[2], tokens = x.shape()[1];
  const Tensor before = n.state(l.name("window"), {kernel - 1, channels}), taps = l.weight("ssm_conv1d");
  const Tensor window = concat({before, x}, 1);
  Tensor y;
  for (int64_t k = 0; k < kernel; ++k) {
    const Tensor part = narrow(window, 1, k, tokens) * squeeze(narrow(taps, 1, k, 1), {1});
    y = k == 0 ? part : y + part;
  }
  if (l.has("ssm_conv1d.bias")) y = y + l.weight("ssm_conv1d.bias");
  y = silu(y);  // before the window moves on
  kv_append(before, narrow(window, 1, tokens, kernel - 1), n.g().literal(0, u32), 1);
  return y;
}

Tensor by_text(const Net& n, Tensor x) { return x.valid() ? reshape(x, {n.texts(), n.tokens(), x.shape().dim(1)}) : x; }

Tensor mamba_mixer(const Layer& l, Tensor x) {
  Net& n = l.net();
  const Metadata& meta = l.meta();
  const int64_t inner = meta.integer("ssm.inner_size"), states = meta.integer("ssm.state_size"),
                rank = meta.integer("ssm.time_step_rank");
  const Tensor both = l.linear(x, "ssm_in");  // channels and gates
  const Tensor channels = causal_convolution(l, by_text(n, narrow(both, 1, 0, inner)));
  const Tensor rows = reshape(channels, {n.rows(), Dim(inner)});
  const Tensor found = l.linear(rows, "ssm_x");  // steps, b, c
  const auto part = [&](int64_t first, int64_t count, std::string_view name) {
    const Tensor own = narrow(found, 1, first, count);
    if (l.has(name)) return l.rms_norm(own, name);
    return meta.flag("ssm.dt_b_c_rms")
               ? rms_norm(own, {}, {.epsilon = static_cast<float>(meta.number("attention.layer_norm_rms_epsilon"))})
               : own;
  };
  const Tensor steps = softplus(l.linear(part(0, rank, "ssm_dt_norm"), "ssm_dt"));
  const Tensor b = part(rank, states, "ssm_b_norm"), c = part(rank + states, states, "ssm_c_norm");
  const Tensor y = selective_scan(channels, by_text(n, steps), l.weight("ssm_a"), by_text(n, b), by_text(n, c),
                                  {.skip = l.weight("ssm_d"), .state = n.state(l.name("ssm"), {inner, states})});
  return l.linear(reshape(y, {n.rows(), Dim(inner)}) * silu(narrow(both, 1, inner, inner)), "ssm_out");
}

Tensor mamba2_mixer(const Layer& l, Tensor x) {
  Net& n = l.net();
  const Metadata& meta = l.meta();
  const int64_t inner = meta.integer("ssm.inner_size"), states = meta.integer("ssm.state_size");
  const int64_t heads = meta.integer("ssm.time_step_rank"),
                groups = std::max<int64_t>(1, meta.integer("ssm.group_count"));
  const int64_t convolved = inner + 2 * groups * states;
  const Tensor all = l.linear(x, "ssm_in");  // gates; channels, b, c; steps
  const Tensor xbc = causal_convolution(l, by_text(n, narrow(all, 1, inner, convolved)));
  const Tensor steps = softplus(narrow(all, 1, inner + convolved, heads) + l.weight("ssm_dt.bias"));
  const auto of_heads = [&](int64_t first, int64_t count, int64_t size) {
    return reshape(narrow(xbc, 2, first, count * size), {n.texts(), n.tokens(), Dim(count), Dim(size)});
  };
  Tensor y = mamba2(
      of_heads(0, heads, inner / heads), by_text(n, steps), reshape(l.weight("ssm_a"), {heads}),
      of_heads(inner, groups, states), of_heads(inner + groups * states, groups, states),
      {.skip = reshape(l.weight("ssm_d"), {heads}), .state = n.state(l.name("ssm"), {heads, inner / heads, states})});
  y = reshape(y, {n.rows(), Dim(inner)}) * silu(narrow(all, 1, 0, inner));
  if (l.has("ssm_norm")) {
    const float epsilon = static_cast<float>(meta.number("attention.layer_norm_rms_epsilon"));
    const Tensor in_groups = reshape(y, {n.rows(), Dim(groups), Dim(inner / groups)});
    const Tensor weights = reshape(l.weight("ssm_norm"), {groups, inner / groups});
    y = reshape(rms_norm(in_groups, {}, {.epsilon = epsilon}) * weights, {n.rows(), Dim(inner)});
  }
  return l.linear(y, "ssm_out");
}

Tensor units(const Layer& l, Tensor x) {
  return l.has("ffn_gate_inp") ? l.mixture(x, {.normalised = false}) : l.gated(x, Gate::silu);
}

}  // namespace

void mamba(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) x = x + mamba_mixer(l, l.rms_norm(x, "attn_norm"));
  n.finish(x, Norm::rms);
}

void mamba2(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) x = x + mamba2_mixer(l, l.rms_norm(x, "attn_norm"));
  n.finish(x, Norm::rms);
}

// Either of both in a layer; attention without positions.
void jamba(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    const Tensor normal = l.rms_norm(x, "attn_norm");
    x = x + (l.has("ssm_in") ? mamba_mixer(l, normal) : l.attention(normal, {}));
    x = x + units(l, l.rms_norm(x, "ffn_norm"));
  }
  n.finish(x, Norm::rms);
}

// Both in every layer, side by side.
void falcon_h1(Net& n) {
  Tensor x = n.embedded();
  for (const Layer& l : n.layers()) {
    const Tensor normal = l.rms_norm(x, "attn_norm");
    x = x + l.attention(normal, {.rope = Rope::halves, .rope_scaled = false, .output_bias = false}) +
        mamba2_mixer(l, normal);
    x = x + units(l, l.rms_norm(x, "ffn_norm"));
  }
  n.finish(x, Norm::rms);
}

Tensor recurrent_mixer(const Layer& l, Tensor x) { return mamba2_mixer(l, x); }

}  // namespace rlxgpu::core::models
