#include "rlxgpu/models/net.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/embedding/embedding.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/load/gguf_weights.h"

namespace rlxgpu::core::models {
Tensor softcapped(Tensor x, double cap) { return cap == 0 ? x : tanh(x * (1 / cap)) * cap; }

// --- Part ---------------------------------------------------------------------------------------------------------

const Metadata& Part::meta() const { return net_.metadata(); }

const GgufTensor* Part::stored(std::string_view name) const {
  const std::string whole = this->name(name);
  const GgufTensor* const found = net_.file().find(whole + ".weight");
  return found != nullptr ? found : net_.file().find(whole);
}

bool Part::has(std::string_view name) const { return stored(name) != nullptr; }

Tensor Part::weight(std::string_view name) const {
  const GgufTensor* const found = stored(name);
  return net_.plain(found != nullptr ? std::string(found->name) : this->name(name));
}

Tensor Part::linear(Tensor x, std::string_view name, bool biased) const {
  const Weight& w = net_.matrix(this->name(name) + ".weight");
  Tensor y = matmul(x, w);
  if (const std::string scale = absl::StrCat(name, ".scale"); has(scale)) y = y * weight(scale);
  if (const std::string bias = absl::StrCat(name, ".bias"); biased && has(bias)) y = y + weight(bias);
  return y;
}

Tensor Part::expert_linear(Tensor x, std::string_view name, Tensor expert) const {
  const Weight& w = net_.matrix(this->name(name) + ".weight");
  Tensor y = grouped_matmul(x, w, expert);
  if (const std::string scale = absl::StrCat(name, ".scale"); has(scale))
    y = y * unsqueeze(gather(weight(scale), expert), {-1});
  if (const std::string bias = absl::StrCat(name, ".bias"); has(bias)) y = y + gather(weight(bias), expert);
  return y;
}

Tensor Part::rms_norm(Tensor x, std::string_view name) const {
  const float epsilon = static_cast<float>(meta().number("attention.layer_norm_rms_epsilon", 1e-6));
  const Tensor normal = core::rms_norm(x, weight(name), {.epsilon = epsilon});
  const std::string bias = absl::StrCat(name, ".bias");
  return has(bias) ? normal + weight(bias) : normal;
}

Tensor Part::layer_norm(Tensor x, std::string_view name) const {
  const float epsilon = static_cast<float>(meta().number("attention.layer_norm_epsilon", 1e-5));
  const std::string bias = absl::StrCat(name, ".bias");
  return core::layer_norm(x, weight(name), has(bias) ? weight(bias) : Tensor(), {.epsilon = epsilon});
}

Tensor Part::norm(Tensor x, std::string_view name, Norm kind) const {
  return kind == Norm::rms ? rms_norm(x, name) : layer_norm(x, name);
}

namespace internal {

Tensor activated(Tensor x, Gate act) {
  switch (act) {
    case Gate::silu:
      return silu(x);
    case Gate::gelu:
      return gelu_tanh(x);
    case Gate::relu:
      return relu(x);
    case Gate::relu_squared:
      break;
  }
  const Tensor positive = relu(x);
  return positive * positive;
}

}  // namespace internal

Tensor Part::gated(Tensor x, Gate act, std::string_view ending) const {
  const std::string gate = absl::StrCat("ffn_gate", ending), down = absl::StrCat("ffn_down", ending);
  const Tensor up = linear(x, absl::StrCat("ffn_up", ending));
  if (has(gate)) return linear(internal::activated(linear(x, gate), act) * up, down);
  const GgufTensor* const narrow_to = stored(down);
  const int64_t hidden = narrow_to == nullptr ? 0 : narrow_to->shape.back();
  if (up.valid() && up.shape()[1] == 2 * hidden) {  // both in one matrix, the gate first
    return linear(internal::activated(narrow(up, 1, 0, hidden), act) * narrow(up, 1, hidden, hidden), down);
  }
  const Tensor wide = internal::activated(up, act);
  return linear(has("ffn.act.scales") ? wide / weight("ffn.act.scales") : wide, down);
}

// --- Net -----------------------------------------------------------------------------------------------------------

Net::Net(Builder& g, const Gguf& file, const Metadata& meta, const NetPlan& plan)
    : Part(*this, ""), g_(g), file_(file), meta_(meta), plan_(plan) {
  tokens_ = plan.any_count ? g.extent("count", plan.tokens) : Dim(plan.tokens);
  tokens_input_ = g.input("tokens", u32, {rows()});
  before_ = g.input("before", u32, {plan.texts});
  places_ = unsqueeze(before_, {1}) + unsqueeze(iota(g, u32, tokens_), {0});  // (text, token)
}

std::vector<Layer> Net::layers(int64_t count) {
  if (count < 0) count = meta_.integer("block_count") - meta_.integer("nextn_predict_layers");
  std::vector<Layer> all;
  for (int i = 0; i < count; ++i) all.emplace_back(*this, i);
  return all;
}

const Weight& Net::matrix(std::string_view name) {
  if (const auto known = matrices_.find(name); known != matrices_.end()) return known->second;
  return matrices_.emplace(std::string(name), gguf_weight(g_, file_, name)).first->second;
}

Tensor Net::plain(std::string_view name) {
  if (const auto known = plain_.find(name); known != plain_.end()) return known->second;
  return plain_.emplace(std::string(name), gguf_tensor(g_, file_, name)).first->second;
}

Tensor Net::state(std::string_view name, const Shape& shape) {
  Shape whole = {plan_.texts};
  for (int axis = 0; axis < shape.rank(); ++axis) whole.push_back(shape.dim(axis));
  return g_.state(name, f32, whole);
}

Tensor Net::embedded() { return embedding(matrix("token_embd.weight"), tokens_input_); }

Tensor Net::learned_places() {
  const Tensor table = weight("position_embd");
  return table.valid() ? embedding(table, reshape(places_, {rows()})) : table;
}

Tensor Net::heads(Tensor x, int64_t count, int64_t size) const {
  return reshape(x, {Dim(plan_.texts), tokens_, Dim(count), Dim(size)});
}

Tensor Net::flat(Tensor heads) const { return reshape(heads, {rows(), Dim(heads.shape()[2] * heads.shape()[3])}); }

Tensor Net::last(Tensor x) const {
  if (plan_.embeddings || !x.valid() || plan_.texts > 1 || x.shape()[0] == 1) return x;
  if (!plan_.any_count) return narrow(x, 0, plan_.tokens - 1, 1);
  const Tensor only = eq(unsqueeze(iota(g_, u32, tokens_), {1}), g_.extent_value(tokens_) - 1);
  return sum(where(only, x, 0.0f), 0, {.keep_dims = true});
}

void Net::finish(Tensor x, Norm norm, const Finish& finish) {
  x = last(x);
  x = this->norm(x, "output_norm", norm);
  if (plan_.embeddings) return g_.output("embeddings", x);
  Tensor logits = linear(x, has("output") ? "output" : "token_embd");
  if (finish.scale != 1) logits = logits * finish.scale;
  g_.output("logits", softcapped(logits, finish.softcap));
}

}  // namespace rlxgpu::core::models
