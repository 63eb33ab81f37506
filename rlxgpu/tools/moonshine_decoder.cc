#include "rlxgpu/tools/moonshine_decoder.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/base/half.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/kv_cache/kv_append.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/quantize/quantize.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/rope/rope.h"
#include "rlxgpu/load/mapped_file.h"
#include "rlxgpu/load/onnx/model_def.h"
#include "rlxgpu/runtime/weights.h"

namespace rlxgpu::core::tools {
namespace {

constexpr int64_t kFrames = 512;   // caches of keys and values of the sound grow in such steps
constexpr int64_t kTokens = 448;   // of a text, at most
constexpr int64_t kTurned = 32;    // columns of a head that rope turns; checked against the file
constexpr RopeOptions kRope = {.base = 10000.0f, .columns = kTurned, .interleaved = true, .sequence_first = true};

// The file's weights, by name, and the weights of products, by the name of what they compute.
class File {
 public:
  static absl::StatusOr<File> open(const std::string& path) {
    File file;
    Result<MappedFile> mapped = MappedFile::open(path);
    if (!mapped.ok()) return mapped.status();
    Result<onnx::ModelDef> model = onnx::parse_model(mapped->bytes(), ".");
    if (!model.ok()) return model.status();
    file.collect(model->graph);
    for (auto& [name, tensor] : file.tensors_) {  // the mapping ends here
      tensor =
          onnx::HostTensor::of_bytes(tensor.type(), tensor.shape(), {tensor.bytes().begin(), tensor.bytes().end()});
    }
    return file;
  }

  absl::StatusOr<onnx::HostTensor> tensor(const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      return absl::NotFoundError(
          absl::StrCat("the model has no weight \"", name, "\": it is not a merged Moonshine decoder"));
    return found->second;
  }
  // Of the product "layers.0/self_attn/q_proj": the name of its weights without "_quantized".
  absl::StatusOr<std::string> product(const std::string& role) const {
    const auto found = products_.find(absl::StrCat("/model/decoder/", role, "/MatMul_output_0_output_quantized"));
    if (found == products_.end())
      return absl::NotFoundError(
          absl::StrCat("the model has no product \"", role, "\": it is not a merged Moonshine decoder"));
    return found->second;
  }
  int layers() const {
    int count = 0;
    while (tensors_.contains(absl::StrCat("model.decoder.layers.", count, ".input_layernorm.weight_merged_0"))) ++count;
    return count;
  }

 private:
  void collect(const onnx::GraphDef& graph) {
    for (const auto& [name, tensor] : graph.constants) tensors_[name] = tensor;
    for (const onnx::NodeDef& node : graph.nodes) {
      if (node.op == "MatMulInteger" && node.inputs.size() > 1 && node.outputs.size() == 1 &&
          absl::EndsWith(node.inputs[1], "_quantized")) {
        products_[node.outputs[0]] =
            node.inputs[1].substr(0, node.inputs[1].size() - std::string_view("_quantized").size());
      }
      for (const onnx::Attribute& attribute : node.attributes) {
        if (attribute.graph != nullptr) collect(*attribute.graph);
      }
    }
  }

  std::map<std::string, onnx::HostTensor> tensors_;
  std::map<std::string, std::string> products_;
};

// Bytes without their zero point: whole numbers that f16 holds exactly; and their scale.
struct Centred {
  std::vector<int64_t> shape;
  std::vector<uint16_t> values;
  float scale = 1;
};
absl::StatusOr<Centred> centred(const File& file, const std::string& base) {
  absl::StatusOr<onnx::HostTensor> bytes = file.tensor(base + "_quantized"), scale = file.tensor(base + "_scale"),
                                   zero = file.tensor(base + "_zero_point");
  for (const auto* part : {&bytes, &scale, &zero}) {
    if (!part->ok()) return part->status();
  }
  if (onnx::bits_of(bytes->type()) != 8 || scale->count() != 1 || zero->count() != 1) {
    return absl::UnimplementedError(absl::StrCat("weight \"", base, "\" is not of bytes with one scale"));
  }
  Centred weight{.shape = bytes->shape(),
                 .values = std::vector<uint16_t>(static_cast<size_t>(bytes->count())),
                 .scale = static_cast<float>(scale->number(0))};
  uint16_t halves[512] = {};
  const int64_t middle = zero->integer(0), lowest = bytes->type() == onnx::ElementType::u8 ? 0 : -128;
  for (int64_t i = 0; i < 256; ++i) halves[i] = half_bits(static_cast<float>(lowest + i - middle));
  for (int64_t i = 0; i < bytes->count(); ++i) {
    weight.values[static_cast<size_t>(i)] =
        halves[static_cast<size_t>((static_cast<int64_t>(bytes->bytes()[static_cast<size_t>(i)]) - lowest) & 255)];
  }
  return weight;
}

// Several products of one operand as one: columns side by side, a scale for each.
struct Product {
  int64_t rows = 0, columns = 0;
  std::vector<uint16_t> values;
  std::vector<float> scales;
};
absl::StatusOr<Product> joined(const File& file, const std::vector<std::string>& roles) {
  std::vector<Centred> parts;
  Product product;
  for (const std::string& role : roles) {
    absl::StatusOr<std::string> base = file.product(role);
    if (!base.ok()) return base.status();
    absl::StatusOr<Centred> part = centred(file, *base);
    if (!part.ok()) return part.status();
    if (part->shape.size() != 2 || (product.rows != 0 && part->shape[0] != product.rows))
      return absl::UnimplementedError(absl::StrCat("product \"", role, "\" has another shape than its neighbours"));
    product.rows = part->shape[0], product.columns += part->shape[1];
    product.scales.insert(product.scales.end(), static_cast<size_t>(part->shape[1]), part->scale);
    parts.push_back(*std::move(part));
  }
  for (int64_t row = 0; row < product.rows; ++row) {
    for (const Centred& part : parts) {
      const auto first = part.values.begin() + row * part.shape[1];
      product.values.insert(product.values.end(), first, first + part.shape[1]);
    }
  }
  return product;
}

}  // namespace

struct MoonshineDecoder::State {
  Device device;
  int layers = 0;
  int64_t width = 0, heads = 8, hidden = 0, vocabulary = 0;
  float embedding_scale = 1;
  std::map<std::string, Shape> shapes;  // of weights
  Weights weights;
  struct Programs {  // for sounds of up to so many frames
    States states;
    Executable<DynamicGraph> cross, step;
  };
  std::map<int64_t, Programs> programs;
  Programs* current = nullptr;
  uint32_t position = 0;

  absl::Status load(const File& file);
  absl::Status give(const std::string& name, DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
    shapes[name] = shape;
    return weights.set(name, dtype, shape, bytes);
  }
  absl::Status give(const std::string& name, const Product& product) {
    if (absl::Status status =
            give(name, f16, {product.rows, product.columns}, std::as_bytes(std::span(product.values)));
        !status.ok())
      return status;
    return give(name + ".scale", f32, {product.columns}, std::as_bytes(std::span(product.scales)));
  }
  absl::Status give_floats(const File& file, const std::string& name, const std::string& in_file) {
    absl::StatusOr<onnx::HostTensor> tensor = file.tensor(in_file);
    if (!tensor.ok()) return tensor.status();
    if (tensor->type() != onnx::ElementType::f32)
      return absl::UnimplementedError(absl::StrCat("\"", in_file, "\" is not of f32"));
    return give(name, f32, onnx::shape_of(tensor->shape()), tensor->bytes());
  }
  Tensor weight(Builder& g, const std::string& name, DType dtype = f32) const {
    return g.param(name, dtype, shapes.at(name));
  }

  // x (rows, k), quantised to bytes, times a product's weights.
  Tensor linear(Builder& g, Tensor x, const std::string& name) const {
    const Quantized bytes = dynamic_quantize(x);
    const Tensor whole = cast(bytes.values, f32) - cast(bytes.zero_point, f32);
    return matmul(whole, weight(g, name, f16)) * (weight(g, name + ".scale") * bytes.scale);
  }
  Tensor norm(Builder& g, Tensor x, const std::string& name) const { return layer_norm(x, weight(g, name), Tensor()); }
  Tensor cache(Builder& g, const std::string& name, int64_t rows) const {
    return g.state(name, f32, {2, 1, rows, heads, width / heads});
  }
  Tensor part(Tensor cached, int which) const {  // keys or values: (1, rows, head, d)
    const Shape shape = cached.shape();
    return reshape(narrow(cached, 0, which, 1), {1, shape[2], shape[3], shape[4]});
  }
  void build_cross(Builder& g, int64_t frames) const;
  void build_step(Builder& g, int64_t frames) const;
  absl::StatusOr<Programs*> programs_for(int64_t frames);
};

absl::Status MoonshineDecoder::State::load(const File& file) {
  weights = Weights(device);
  layers = file.layers();
  if (layers == 0) return absl::NotFoundError("the model has no layers: it is not a merged Moonshine decoder");
  absl::StatusOr<onnx::HostTensor> turned = file.tensor("/model/decoder/rotary_emb/Cast_1_output_0");
  if (!turned.ok()) return turned.status();
  if (turned->count() * 2 != kTurned)
    return absl::UnimplementedError(absl::StrCat("rope turns ", turned->count() * 2, " columns, not ", kTurned));
  std::vector<std::string> cross;
  for (int layer = 0; layer < layers; ++layer) {
    const std::string at = absl::StrCat("layers.", layer, "/"), key = absl::StrCat(layer, ".");
    const std::string dotted = absl::StrCat("model.decoder.layers.", layer, ".");
    const std::pair<std::string, std::vector<std::string>> products[] = {
        {"qkv", {at + "self_attn/q_proj", at + "self_attn/k_proj", at + "self_attn/v_proj"}},
        {"o", {at + "self_attn/dense"}},
        {"cross_q", {at + "encoder_attn/q_proj"}},
        {"cross_o", {at + "encoder_attn/dense"}},
        {"up", {at + "mlp/up_proj"}},
        {"down", {at + "mlp/down_proj"}},
    };
    for (const auto& [name, roles] : products) {
      absl::StatusOr<Product> product = joined(file, roles);
      if (!product.ok()) return product.status();
      if (name == "o") width = product->columns;
      if (name == "down") hidden = product->rows;
      if (absl::Status status = give(key + name, *product); !status.ok()) return status;
    }
    for (const auto& [name, in_file] : {std::pair{"norm1", "input_layernorm.weight_merged_0"},
                                        {"norm2", "post_attention_layernorm.weight_merged_0"},
                                        {"norm3", "final_layernorm.weight_merged_0"},
                                        {"up.bias", "mlp.up_proj.bias_merged_0"},
                                        {"down.bias", "mlp.down_proj.bias_merged_0"}}) {
      if (absl::Status status = give_floats(file, key + name, dotted + in_file); !status.ok()) return status;
    }
    cross.push_back(at + "encoder_attn/k_proj"), cross.push_back(at + "encoder_attn/v_proj");
  }
  if (absl::Status status = give_floats(file, "norm", "model.decoder.norm.weight_merged_0"); !status.ok())
    return status;
  absl::StatusOr<Product> both = joined(file, cross);
  if (!both.ok()) return both.status();
  if (absl::Status status = give("cross", *both); !status.ok()) return status;
  absl::StatusOr<Centred> words = centred(file, "model.decoder.embed_tokens.weight_merged_0");
  if (!words.ok()) return words.status();
  if (words->shape.size() != 2 || words->shape[1] != width || width % heads != 0)
    return absl::UnimplementedError("the embedding has another width than the layers");
  vocabulary = words->shape[0], embedding_scale = words->scale;
  return give("words", f16, {vocabulary, width}, std::as_bytes(std::span(words->values)));
}

// Keys and values of the sound, for all layers. Rows beyond the last frame are zeros, which no scale depends on.
void MoonshineDecoder::State::build_cross(Builder& g, int64_t frames) const {
  const Tensor all = linear(g, g.input("hidden", f32, {frames, width}), "cross");
  for (int layer = 0; layer < layers; ++layer) {
    const Tensor kv = reshape(narrow(all, 1, 2 * layer * width, 2 * width), {1, frames, 2, heads, width / heads});
    const Tensor kept = kv_append(cache(g, absl::StrCat(layer, ".sound"), frames), transpose(kv, {2, 0, 1, 3, 4}),
                                  g.literal(0, u32), 2);
    g.output(absl::StrCat("sound", layer), narrow(reshape(kept, {-1}), 0, 0, 1));
  }
}

void MoonshineDecoder::State::build_step(Builder& g, int64_t frames) const {
  const Tensor token = g.scalar("token", i32), position = g.scalar("position", u32), known = g.scalar("frames", u32);
  const int64_t d = width / heads;
  const Tensor words = weight(g, "words", f16);
  Tensor x = reshape(cast(gather(words, reshape(token, {1}), 0), f32), {1, width}) * embedding_scale;
  const Tensor place = reshape(position, {1});
  for (int layer = 0; layer < layers; ++layer) {
    const auto name = [&](const char* of) { return absl::StrCat(layer, ".", of); };
    const Tensor qkv = linear(g, norm(g, x, name("norm1")), name("qkv"));
    const auto heads_of = [&](Tensor from, int64_t first) {
      return reshape(narrow(from, 1, first * width, width), {1, 1, heads, d});
    };
    const Tensor q = rope(heads_of(qkv, 0), place, kRope), k = rope(heads_of(qkv, 1), place, kRope),
                 v = heads_of(qkv, 2);
    const Tensor text = kv_append(cache(g, name("text"), kTokens), stack({k, v}, 0), position, 2);
    const Tensor mixed = attention(q, part(text, 0), part(text, 1), {.length = position + 1, .sequence_first = true});
    x = x + linear(g, reshape(mixed, {1, width}), name("o"));
    const Tensor asked = heads_of(linear(g, norm(g, x, name("norm2")), name("cross_q")), 0);
    const Tensor sound = cache(g, name("sound"), frames);
    const Tensor heard = attention(asked, part(sound, 0), part(sound, 1), {.length = known, .sequence_first = true});
    x = x + linear(g, reshape(heard, {1, width}), name("cross_o"));
    const Tensor up = linear(g, norm(g, x, name("norm3")), name("up")) + weight(g, name("up.bias"));
    const Tensor inner = silu(narrow(up, 1, hidden, hidden)) * narrow(up, 1, 0, hidden);
    x = x + (linear(g, inner, name("down")) + weight(g, name("down.bias")));
  }
  // The scale of the embedding changes no order.
  g.output("next", argmax(matmul(norm(g, x, "norm"), transpose(words))));
}

absl::StatusOr<MoonshineDecoder::State::Programs*> MoonshineDecoder::State::programs_for(int64_t frames) {
  const int64_t rows = (frames + kFrames - 1) / kFrames * kFrames;
  const auto found = programs.find(rows);
  if (found != programs.end()) return &found->second;
  Programs made;
  made.states = States(device);
  DynamicOptions options;
  options.sizes = Sizes::baked;
  options.engine.weights = weights, options.engine.states = made.states;
  DynamicGraph cross, step;
  build_cross(*cross, rows), build_step(*step, rows);
  Result<Executable<DynamicGraph>> first = Executable<DynamicGraph>::create(device, cross, options);
  if (!first.ok()) return first.status();
  Result<Executable<DynamicGraph>> second = Executable<DynamicGraph>::create(device, step, options);
  if (!second.ok()) return second.status();
  made.cross = *std::move(first), made.step = *std::move(second);
  return &programs.emplace(rows, std::move(made)).first->second;
}

absl::StatusOr<MoonshineDecoder> MoonshineDecoder::open(const Device& device, const std::string& path) {
  absl::StatusOr<File> file = File::open(path);
  if (!file.ok()) return absl::Status(file.status().code(), absl::StrCat(path, ": ", file.status().message()));
  auto state = std::make_shared<State>();
  state->device = device;
  if (absl::Status status = state->load(*file); !status.ok())
    return absl::Status(status.code(), absl::StrCat(path, ": ", status.message()));
  return MoonshineDecoder(std::move(state));
}

int64_t MoonshineDecoder::width() const { return state_->width; }
int64_t MoonshineDecoder::most_tokens() const { return kTokens; }
Executable<DynamicGraph>& MoonshineDecoder::step_executable() { return state_->current->step; }

absl::Status MoonshineDecoder::start(std::span<const float> hidden, int64_t frames) {
  State& s = *state_;
  if (frames < 1 || static_cast<int64_t>(hidden.size()) != frames * s.width) {
    return absl::InvalidArgumentError(
        absl::StrCat("the decoder wants frames of ", s.width, " numbers, and one at least"));
  }
  absl::StatusOr<State::Programs*> programs = s.programs_for(frames);
  if (!programs.ok()) return programs.status();
  s.current = *programs, s.position = 0;
  std::vector<float> padded(hidden.begin(), hidden.end());
  padded.resize(static_cast<size_t>((frames + kFrames - 1) / kFrames * kFrames * s.width));
  if (Status status = s.current->cross.set("hidden", padded); !status.ok()) return status;
  if (Status status = s.current->step.set("frames", static_cast<double>(frames)); !status.ok()) return status;
  return s.current->cross.run().wait();
}

absl::Status MoonshineDecoder::submit(int32_t token) {
  State& s = *state_;
  if (s.current == nullptr) return absl::FailedPreconditionError("submit() before start()");
  if (s.position >= kTokens)
    return absl::ResourceExhaustedError(absl::StrCat("a text has at most ", kTokens, " tokens"));
  Executable<DynamicGraph>& step = s.current->step;
  if (Status status = step.set("token", static_cast<double>(token)); !status.ok()) return status;
  if (Status status = step.set("position", static_cast<double>(s.position)); !status.ok()) return status;
  step.run();
  ++s.position;
  return absl::OkStatus();
}

absl::StatusOr<int32_t> MoonshineDecoder::next() {
  if (state_->position == 0) return absl::FailedPreconditionError("next() before submit()");
  Result<std::vector<int32_t>> next = state_->current->step.get<int32_t>("next");
  if (!next.ok()) return next.status();
  return (*next)[0];
}

}  // namespace rlxgpu::core::tools
