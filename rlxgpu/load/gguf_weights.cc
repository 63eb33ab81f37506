#include "rlxgpu/load/gguf_weights.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "rlxgpu/graph/storage.h"
#include "rlxgpu/load/stored_tensor.h"

namespace rlxgpu::core {
namespace {

constexpr int64_t kPiece = int64_t{16} << 20;  // bytes that are written at once, about

// What a type of the file is to us: one of elements, or blocks.
struct Known {
  std::optional<StoredType> plain;
  std::optional<Storage> storage;
};
Known known(std::string_view type) {
  for (int i = 0; i < static_cast<int>(std::size(kCodecs)); ++i) {
    if (kCodecs[i].name == type) return {.plain = {}, .storage = static_cast<Storage>(i)};
  }
  for (int i = 0; i < kStoredTypes; ++i) {
    if (name_of(static_cast<StoredType>(i)) == type) return {.plain = static_cast<StoredType>(i), .storage = {}};
  }
  return {};
}

Shape shape_of(const GgufTensor& tensor) {
  Shape shape;
  for (const int64_t extent : tensor.shape) shape.push_back(extent);
  return shape;
}
int64_t count_of(const GgufTensor& tensor) {
  int64_t count = 1;
  for (const int64_t extent : tensor.shape) count *= extent;
  return count;
}

const GgufTensor* find_or_fail(Builder& g, const Gguf& file, std::string_view name, Site site) {
  const GgufTensor* const tensor = file.find(name);
  if (tensor == nullptr) g.fail(site, "the GGUF file has no tensor \"", name, "\"");
  if (tensor != nullptr && !known(tensor->type).plain && !known(tensor->type).storage) {
    g.fail(site, "\"", name, "\": tensors of ", tensor->type, " cannot be used");
    return nullptr;
  }
  return tensor;
}

// How a tensor becomes a param.
struct Task {
  const GgufTensor* tensor = nullptr;
  DType dtype = f32;
  Shape shape;
  bool as_it_is = false;  // the param's bytes are the file's

  uint64_t bytes() const { return static_cast<uint64_t>(shape.count()) * static_cast<uint64_t>(bytes_of(dtype)); }
};

// What is wrong with it, or nothing.
std::string plan(Task& task) {
  const GgufTensor& tensor = *task.tensor;
  const Known type = known(tensor.type);
  if (type.storage && task.dtype == u32) {
    task.as_it_is = true;
    const auto words = static_cast<int64_t>((tensor.data.size() + 3) / 4);
    if (task.shape == Shape{words}) return {};
    return absl::StrCat("takes ", words, " words of ", tensor.type, ", not ", task.shape.count());
  }
  if (!type.storage && !type.plain) return absl::StrCat("is of ", tensor.type, ", which cannot be used");
  task.as_it_is = type.plain && *type.plain == stored_as(task.dtype);
  if (type.storage && !is_float(task.dtype)) return absl::StrCat("is of ", tensor.type, ", not ", name_of(task.dtype));
  if (task.shape == shape_of(tensor)) return {};
  return absl::StrCat("is [", absl::StrJoin(tensor.shape, ","), "], not of the param's shape");
}

// Elements [first, first + count) of a tensor in a plain type.
Result<std::vector<std::byte>> converted(const GgufTensor& tensor, DType dtype, int64_t first, int64_t count) {
  const Known type = known(tensor.type);
  StoredTensor piece{.name = std::string(tensor.name), .type = StoredType::f32, .shape = {count}, .data = {}};
  std::vector<float> unpacked;
  if (type.storage) {
    const Codec& codec = codec_of(*type.storage);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(tensor.data.data());
    for (int64_t i = first; i < first + count; ++i) {
      unpacked.push_back(codec.decode(bytes + i / codec.elements * codec.bytes, static_cast<int>(i % codec.elements)));
    }
    piece.data = std::as_bytes(std::span(unpacked));
  } else {
    const auto each = static_cast<size_t>(bytes_of(*type.plain));
    piece.type = *type.plain;
    piece.data = tensor.data.subspan(static_cast<size_t>(first) * each, static_cast<size_t>(count) * each);
  }
  return elements_of(piece, dtype);
}

// Writes pieces, and waits for each before the next but one, so that staging memory does not grow.
class Writer {
 public:
  Writer(const GgufLoading& options, uint64_t bytes) : options_(options), bytes_(bytes) {}

  Status write(const DeviceTensor& to, int64_t first, int64_t count, std::span<const std::byte> data) {
    const Result<DeviceTensor> rows = to.rows(first, count);
    if (!rows.ok()) return rows.status();
    Transfer next = rows->write(data);
    if (Status status = last_.wait(); started_ && !status.ok()) return status;
    last_ = std::move(next), started_ = true;
    done_ += data.size();
    if (options_.progress && !options_.progress(std::min(done_, bytes_), bytes_)) {
      return absl::CancelledError("loading was stopped");
    }
    return {};
  }
  Status finish() { return started_ ? last_.wait() : Status(); }

 private:
  const GgufLoading& options_;
  const uint64_t bytes_;
  uint64_t done_ = 0;
  Transfer last_;
  bool started_ = false;
};

Status upload(const Task& task, const DeviceTensor& tensor, Writer& writer) {
  const int64_t count = task.shape.count(), each = bytes_of(task.dtype);
  const Result<DeviceTensor> flat = tensor.reshaped({count});
  if (!flat.ok()) return flat.status();
  const int64_t step = kPiece / each;
  for (int64_t first = 0; first < count; first += step) {
    const int64_t here = std::min(step, count - first);
    const std::span<const std::byte> from = task.tensor->data;
    const auto begin = static_cast<size_t>(first * each), size = static_cast<size_t>(here * each);
    if (task.as_it_is && begin + size <= from.size()) {
      if (Status status = writer.write(*flat, first, here, from.subspan(begin, size)); !status.ok()) return status;
      continue;
    }
    Result<std::vector<std::byte>> data = std::vector<std::byte>();
    if (task.as_it_is) {  // the last word of blocks is not full
      data->assign(from.begin() + static_cast<ptrdiff_t>(begin), from.end());
      data->resize(size);
    } else {
      data = converted(*task.tensor, task.dtype, first, here);
    }
    if (!data.ok()) return data.status();
    if (Status status = writer.write(*flat, first, here, *data); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Weight gguf_weight(Builder& g, const Gguf& file, std::string_view name, Site site) {
  const GgufTensor* const tensor = find_or_fail(g, file, name, site);
  if (tensor == nullptr) return {{&g, -1}, {}};
  const Known type = known(tensor->type);
  if (type.storage) return weight_param(g, name, *type.storage, shape_of(*tensor), site);
  const bool half = *type.plain == StoredType::f16, brain = *type.plain == StoredType::bf16;
  return weight_param(g, name, half ? f16 : brain ? bf16 : f32, shape_of(*tensor), site);
}

Tensor gguf_tensor(Builder& g, const Gguf& file, std::string_view name, DType dtype, Site site) {
  const GgufTensor* const tensor = find_or_fail(g, file, name, site);
  return tensor == nullptr ? Tensor(&g, -1) : g.param(name, dtype, shape_of(*tensor), site);
}

Status load_weights(const Gguf& file, const Graph& graph, const Weights& weights, const GgufLoading& options) {
  std::vector<Task> tasks;
  std::string wrong;
  uint64_t bytes = 0, room = 0;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::param) continue;
    const std::string_view name = graph.name(node.name);
    if (weights.has(name)) continue;
    const Value& value = graph.value(node.results.first);
    Task task{.tensor = file.find(name), .dtype = value.dtype, .shape = value.shape};
    const std::string why = task.tensor == nullptr ? "is not there" : plan(task);
    if (!why.empty()) absl::StrAppend(&wrong, "\n  \"", name, "\" ", why);
    tasks.push_back(task);
    bytes += task.bytes(), room += (task.bytes() + 255) / 256 * 256;
  }
  if (!wrong.empty()) return invalid_argument(absl::StrCat("the file does not fit the graph:", wrong));
  weights.reserve(room);
  Writer writer(options, bytes);
  for (const Task& task : tasks) {
    const Result<DeviceTensor> tensor = weights.add(task.tensor->name, task.dtype, task.shape);
    if (!tensor.ok()) return tensor.status();
    if (Status status = upload(task, *tensor, writer); !status.ok()) return status;
  }
  return writer.finish();
}

uint64_t device_bytes(const Gguf& file) {
  uint64_t bytes = 0;
  for (const GgufTensor& tensor : file.tensors()) {
    const bool wide = tensor.type == "F64";
    const uint64_t here = wide ? static_cast<uint64_t>(count_of(tensor)) * 4 : tensor.data.size();
    bytes += (here + 255) / 256 * 256;
  }
  return bytes;
}

}  // namespace rlxgpu::core
