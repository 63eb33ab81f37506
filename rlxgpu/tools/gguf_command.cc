#include "rlxgpu/tools/gguf_command.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "rlxgpu/graph/storage.h"
#include "rlxgpu/load/gguf.h"
#include "rlxgpu/load/gguf_weights.h"
#include "rlxgpu/load/gguf_writer.h"
#include "rlxgpu/load/quantize.h"
#include "rlxgpu/load/safetensors.h"
#include "rlxgpu/load/stored_tensor.h"
#include "rlxgpu/runtime/calibration.h"
#include "rlxgpu/tools/progress_bar.h"

namespace rlxgpu::core::tools {
namespace {

std::string size_text(uint64_t bytes) {
  const double mib = static_cast<double>(bytes) / (1 << 20);
  return mib < 1024 ? absl::StrFormat("%.1f MiB", mib) : absl::StrFormat("%.2f GiB", mib / 1024);
}

// Keys and values of f16 for so many tokens; nothing when the file does not say how large they are.
std::optional<uint64_t> cache_bytes(const Gguf& file, int64_t context) {
  const std::string a(file.text("general.architecture").value_or(""));
  const auto key = [&](std::string_view name) { return absl::StrCat(a, ".", name); };
  const std::optional<int64_t> layers = file.integer(key("block_count"));
  const std::optional<int64_t> width = file.integer(key("embedding_length"));
  auto heads = file.integers(key("attention.head_count"));
  if (!layers || !width || !heads || heads->empty() || *layers < 0 || *layers > 100000) return std::nullopt;
  auto kv_heads = file.integers(key("attention.head_count_kv")).value_or(*heads);
  double bytes = 0;
  for (int64_t layer = 0; layer < *layers; ++layer) {
    const auto of = [&](const std::vector<int64_t>& each) {
      return each.empty() ? 0 : each[std::min(each.size() - 1, static_cast<size_t>(layer))];
    };
    if (of(*heads) <= 0) continue;  // a layer without attention
    const int64_t own = *width / of(*heads);
    const int64_t k = file.integer(key("attention.key_length")).value_or(own);
    const int64_t v = file.integer(key("attention.value_length")).value_or(own);
    bytes += 2.0 * static_cast<double>(of(kv_heads)) * static_cast<double>(k + v) * static_cast<double>(context);
  }
  return bytes < 1e18 ? std::optional(static_cast<uint64_t>(bytes)) : std::nullopt;
}

// A matrix of the model, whose rows products read: these are what is packed. Norms, biases and routers stay.
bool is_packed_kind(std::string_view name, std::span<const int64_t> shape) {
  return shape.size() >= 2 && name.ends_with(".weight") && !absl::StrContains(name, "norm") &&
         !absl::StrContains(name, "ffn_gate_inp") && !absl::StrContains(name, "ssm_conv1d");
}

// One tensor of either kind of file.
struct Source {
  std::string name, type;  // type as GGUF names it, or as safetensors does
  std::vector<int64_t> shape;
  std::span<const std::byte> data;
  bool packed = false;  // blocks already
};

std::optional<StoredType> plain_type(std::string_view type) {
  for (int i = 0; i < kStoredTypes; ++i) {
    if (name_of(static_cast<StoredType>(i)) == type) return static_cast<StoredType>(i);
  }
  return std::nullopt;
}

Result<std::vector<float>> floats_of(const Source& source) {
  std::vector<float> x;
  if (source.packed) {
    const Codec& codec = codec_of(*storage_of(source.type));
    const auto* const bytes = reinterpret_cast<const uint8_t*>(source.data.data());
    for (size_t b = 0; b < source.data.size(); b += static_cast<size_t>(codec.bytes)) {
      for (int j = 0; j < codec.elements; ++j) x.push_back(codec.decode(bytes + b, j));
    }
    return x;
  }
  const std::optional<StoredType> type = plain_type(source.type);
  if (!type) return invalid_argument(absl::StrCat(source.name, ": of ", source.type, ", which cannot be read"));
  const Result<std::vector<std::byte>> elements =
      elements_of({.name = source.name, .type = *type, .shape = source.shape, .data = source.data}, f32);
  if (!elements.ok()) return elements.status();
  x.resize(elements->size() / sizeof(float));
  std::copy(elements->begin(), elements->end(), std::as_writable_bytes(std::span(x)).begin());
  return x;
}

}  // namespace

int inspect_gguf_command(const InspectGgufCommand& command, std::ostream& out, std::ostream& err) {
  const Result<Gguf> file = Gguf::open(command.model);
  if (!file.ok()) return err << file.status().ToString() << "\n", 1;
  const std::string a(file->text("general.architecture").value_or("(not said)"));
  out << command.model << ": GGUF version " << file->version() << ", architecture " << a << "\n";
  if (const auto name = file->text("general.name")) out << "name: " << *name << "\n";
  constexpr std::string_view kSizes[] = {"block_count",
                                         "embedding_length",
                                         "feed_forward_length",
                                         "attention.head_count",
                                         "attention.head_count_kv",
                                         "attention.key_length",
                                         "context_length",
                                         "expert_count",
                                         "expert_used_count"};
  for (const std::string_view key : kSizes) {
    const auto values = file->integers(absl::StrCat(a, ".", key));
    if (!values || values->empty()) continue;
    const bool same = std::all_of(values->begin(), values->end(), [&](int64_t v) { return v == values->front(); });
    out << key << ": " << (same ? absl::StrCat(values->front()) : absl::StrJoin(*values, " ")) << "\n";
  }
  if (const GgufEntry* const tokens = file->metadata("tokenizer.ggml.tokens")) {
    out << "tokenizer: " << file->text("tokenizer.ggml.model").value_or("?") << ", " << tokens->values.size()
        << " tokens\n";
  }
  struct Kind {
    int64_t tensors = 0;
    double elements = 0;
    uint64_t bytes = 0;
  };
  std::map<std::string_view, Kind> kinds;
  Kind all;
  uint64_t table = 0, head = 0;
  for (const GgufTensor& tensor : file->tensors()) {
    double elements = 1;
    for (const int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
    for (Kind* const kind : {&kinds[tensor.type], &all}) {
      ++kind->tensors, kind->elements += elements, kind->bytes += tensor.data.size();
    }
    if (tensor.name == "token_embd.weight") table = tensor.data.size();
    if (tensor.name == "output.weight") head = tensor.data.size();
    if (command.tensors) {
      out << absl::StreamFormat("  %-40s %-8s [%s]\n", tensor.name, tensor.type, absl::StrJoin(tensor.shape, ","));
    }
  }
  out << absl::StreamFormat("%-8s %8s %12s %12s %8s\n", "type", "tensors", "elements", "memory", "bits");
  const auto row = [&](std::string_view name, const Kind& kind) {
    out << absl::StreamFormat("%-8s %8d %12.4g %12s %8.2f\n", name, kind.tensors, kind.elements, size_text(kind.bytes),
                              kind.elements > 0 ? 8.0 * static_cast<double>(kind.bytes) / kind.elements : 0.0);
  };
  for (const auto& [name, kind] : kinds) row(name, kind);
  row("all", all);
  const uint64_t weights = device_bytes(*file);
  const std::optional<uint64_t> cache = cache_bytes(*file, command.context);
  out << "device memory: weights " << size_text(weights);
  if (cache) {
    out << ", cache of " << command.context << " tokens " << size_text(*cache) << " (f16), together "
        << size_text(weights + *cache);
  }
  out << ", beside what kernels need between them\n";
  // A token reads every weight once, but of a table that is not also the head one row.
  const double read = static_cast<double>(all.bytes) - (head > 0 ? static_cast<double>(table) : 0.0);
  bool calibrated = false;
  for (const auto& [adapter, measured] : load_calibrations()) {
    if (!measured.known() || measured.bandwidth_gb_per_s <= 0 || all.bytes == 0) continue;
    calibrated = true;
    out << absl::StreamFormat("decoding on %s: at most %.1f tokens/s, by the memory it reads\n", adapter,
                              1e9 * measured.bandwidth_gb_per_s / read);
  }
  if (!calibrated) out << "decoding: `rlxgpu calibrate` measures what an estimate needs\n";
  return 0;
}

int quantize_command(const QuantizeCommand& command, std::ostream& out, std::ostream& err, bool on_terminal) {
  const std::optional<Storage> storage = storage_of(command.type);
  if (!storage || !can_quantize(*storage)) {
    err << "--type " << command.type << ": one of";
    for (size_t i = 0; i < std::size(kCodecs); ++i) {
      if (can_quantize(static_cast<Storage>(i))) err << " " << kCodecs[i].name;
    }
    err << "\n";
    return 2;
  }
  std::vector<Source> sources;
  std::optional<Gguf> gguf;
  std::optional<Safetensors> safetensors;
  GgufWriter writer;
  if (command.in.ends_with(".safetensors")) {
    Result<Safetensors> file = Safetensors::open(command.in);
    if (!file.ok()) return err << file.status().ToString() << "\n", 1;
    safetensors = *std::move(file);
    for (const StoredTensor& tensor : safetensors->tensors()) {
      sources.push_back({tensor.name, std::string(name_of(tensor.type)), tensor.shape, tensor.data, false});
    }
  } else {
    Result<Gguf> file = Gguf::open(command.in);
    if (!file.ok()) return err << file.status().ToString() << "\n", 1;
    gguf = *std::move(file);
    for (const GgufEntry& entry : gguf->metadata()) {
      const bool stays = !entry.key.starts_with("split.") && entry.key != "general.file_type" &&
                         entry.key != "general.quantization_version" && entry.key != "general.alignment";
      if (stays) writer.set(entry);
    }
    for (const GgufTensor& tensor : gguf->tensors()) {
      sources.push_back({std::string(tensor.name), std::string(tensor.type), tensor.shape, tensor.data,
                         storage_of(tensor.type).has_value()});
    }
  }
  writer.set("general.quantization_version", uint32_t{2});
  const Codec& codec = codec_of(*storage);
  std::vector<bool> packs;
  uint64_t before = 0;
  for (const Source& source : sources) {
    const bool packs_it = is_packed_kind(source.name, source.shape) && source.shape.back() % codec.elements == 0;
    const bool known = gguf_type_size(source.type).number >= 0;
    packs.push_back(packs_it);
    before += source.data.size();
    writer.add(source.name, packs_it ? codec.name : known ? std::string_view(source.type) : "F32", source.shape);
  }
  if (Status status = writer.begin(command.out); !status.ok()) return err << status.ToString() << "\n", 1;
  ProgressBar bar(err, on_terminal);
  int64_t packed = 0;
  for (size_t i = 0; i < sources.size(); ++i) {
    const Source& source = sources[i];
    const auto show = [&] { bar.show(static_cast<int>(i), static_cast<int>(sources.size()), source.name); };
    show();
    Status status;
    if (!packs[i] && gguf_type_size(source.type).number >= 0) {
      status = writer.write(source.data);
    } else {
      const Result<std::vector<float>> x = floats_of(source);
      if (!x.ok()) return err << x.status().ToString() << "\n", 1;
      if (packs[i]) {
        const Result<std::vector<std::byte>> blocks =
            quantize(*x, source.shape.back(), *storage, {.threads = command.threads, .progress = [&](int64_t, int64_t) {
                                                           show();
                                                           return true;
                                                         }});
        if (!blocks.ok()) return err << source.name << ": " << blocks.status().ToString() << "\n", 1;
        status = writer.write(*blocks);
        ++packed;
      } else {
        status = writer.write(std::as_bytes(std::span(*x)));
      }
    }
    if (!status.ok()) return err << status.ToString() << "\n", 1;
  }
  if (Status status = writer.end(); !status.ok()) return err << status.ToString() << "\n", 1;
  out << command.out << ": " << packed << " of " << sources.size() << " tensors are " << codec.name << " now; "
      << size_text(before) << " became ";
  const Result<Gguf> made = Gguf::open(command.out);
  if (!made.ok()) return err << made.status().ToString() << "\n", 1;
  uint64_t after = 0;
  for (const GgufTensor& tensor : made->tensors()) after += tensor.data.size();
  out << size_text(after) << "\n";
  return 0;
}

}  // namespace rlxgpu::core::tools
