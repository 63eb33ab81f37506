#include "rlxgpu/models/net.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "rlxgpu/kernels/blocks/blocks.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/embedding/embedding.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace rlxgpu::models {
namespace {

Shape shape_of(const GgufTensor& tensor) {
  Shape shape;
  for (const int64_t extent : tensor.shape) shape.push_back(Dim(extent));
  return shape;
}

}  // namespace

namespace internal {

bool plain_type(const GgufTensor& tensor, DType& dtype) {
  constexpr std::pair<std::string_view, DType> kPlain[] = {{"F32", f32}, {"F16", f16}, {"BF16", bf16}};
  for (const auto& [name, type] : kPlain) {
    if (tensor.type == name) return dtype = type, true;
  }
  return false;
}

bool block_storage(const GgufTensor& tensor, Storage& storage) {
  for (size_t i = 0; i < std::size(kCodecs); ++i) {
    if (kCodecs[i].gguf_type == tensor.gguf_type) return storage = static_cast<Storage>(i), true;
  }
  return false;
}

}  // namespace internal

using internal::block_storage;
using internal::plain_type;

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
  Builder& g = net_.g();
  DType dtype = f32;
  if (found == nullptr) {
    g.fail(std::source_location::current(), "the file has no tensor ", this->name(name));
    return {&g, -1};
  }
  if (!plain_type(*found, dtype)) {
    g.fail(std::source_location::current(), found->name, " is of type ", found->type, ", and must be F32, F16 or BF16");
    return {&g, -1};
  }
  return cast(net_.param(found->name, dtype, shape_of(*found)), f32);
}

Tensor Part::linear(Tensor x, std::string_view name) const {
  const GgufTensor* const found = stored(name);
  Builder& g = net_.g();
  if (found == nullptr || found->shape.size() != 2) {
    g.fail(std::source_location::current(), "the file has no matrix ", this->name(name));
    return {&g, -1};
  }
  DType dtype = f32;
  Storage storage = Storage::q8_0;
  Tensor y;
  if (plain_type(*found, dtype)) {
    y = matmul(x, transpose(net_.param(found->name, dtype, shape_of(*found)), {1, 0}));
  } else if (block_storage(*found, storage)) {
    const int64_t rows = found->shape[0], columns = found->shape[1];
    y = matmul(x, Blocks{net_.param(found->name, u32, {blocks::words_of(storage, rows, columns)}), storage, rows, columns});
  } else {
    g.fail(std::source_location::current(), found->name, ": there is no product with ", found->type);
    return {&g, -1};
  }
  if (const std::string scale = absl::StrCat(name, ".scale"); has(scale)) y = y * weight(scale);
  if (const std::string bias = absl::StrCat(name, ".bias"); has(bias)) y = y + weight(bias);
  return y;
}

Tensor Part::rms_norm(Tensor x, std::string_view name) const {
  const float epsilon = static_cast<float>(meta().number("attention.layer_norm_rms_epsilon", 1e-6));
  const Tensor normal = rlxgpu::rms_norm(x, weight(name), {.epsilon = epsilon});
  const std::string bias = absl::StrCat(name, ".bias");
  return has(bias) ? normal + weight(bias) : normal;
}

Tensor Part::layer_norm(Tensor x, std::string_view name) const {
  const float epsilon = static_cast<float>(meta().number("attention.layer_norm_epsilon", 1e-5));
  const std::string bias = absl::StrCat(name, ".bias");
  return rlxgpu::layer_norm(x, weight(name), has(bias) ? weight(bias) : Tensor(), {.epsilon = epsilon});
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

Tensor Net::param(std::string_view name, DType dtype, const Shape& shape) {
  if (const auto known = params_.find(name); known != params_.end()) return known->second;
  return params_.emplace(std::string(name), g_.param(name, dtype, shape)).first->second;
}

Tensor Net::state(std::string_view name, const Shape& shape) {
  Shape whole = {plan_.texts};
  for (int axis = 0; axis < shape.rank(); ++axis) whole.push_back(shape.dim(axis));
  return g_.state(name, f32, whole);
}

Tensor Net::embedded() {
  const GgufTensor* const table = stored("token_embd");
  Storage storage = Storage::q8_0;
  DType dtype = f32;
  if (table != nullptr && table->shape.size() == 2 && !plain_type(*table, dtype) && block_storage(*table, storage)) {
    const int64_t rows = table->shape[0], columns = table->shape[1];
    const Tensor words = param(table->name, u32, {blocks::words_of(storage, rows, columns)});
    return embedding(Blocks{words, storage, rows, columns}, tokens_input_);
  }
  if (table != nullptr && plain_type(*table, dtype)) {
    return cast(embedding(param(table->name, dtype, shape_of(*table)), tokens_input_), f32);
  }
  return weight("token_embd");  // says what is wrong
}

Tensor Net::learned_places() {
  const Tensor table = weight("position_embd");
  return table.valid() ? embedding(table, reshape(places_, {rows()})) : table;
}

Tensor Net::heads(Tensor x, int64_t count, int64_t size) const {
  return reshape(x, {Dim(plan_.texts), tokens_, Dim(count), Dim(size)});
}

Tensor Net::flat(Tensor heads) const {
  return reshape(heads, {rows(), Dim(heads.shape()[2] * heads.shape()[3])});
}

Tensor Net::last(Tensor x) const {
  if (plan_.embeddings || !x.valid() || plan_.texts > 1 || x.shape()[0] == 1) return x;
  if (!plan_.any_count) return narrow(x, 0, plan_.tokens - 1, 1);
  const Tensor only = eq(unsqueeze(iota(g_, u32, tokens_), {1}), g_.extent_value(tokens_) - 1);
  return sum(where(only, x, 0.0f), 0, {.keep_dims = true});
}

void Net::finish(Tensor x, Norm norm, const Finish& finish) {
  x = last(x);
  if (finish.final_norm) x = this->norm(x, "output_norm", norm);
  if (plan_.embeddings) return g_.output("embeddings", x);
  Tensor logits = linear(x, has("output") ? "output" : "token_embd");
  if (finish.scale != 1) logits = logits * finish.scale;
  g_.output("logits", softcapped(logits, finish.softcap));
}

}  // namespace rlxgpu::models
