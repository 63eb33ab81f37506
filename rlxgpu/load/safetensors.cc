#include "rlxgpu/load/safetensors.h"
#include "rlxgpu/runtime/platform.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"

// The format: 8 bytes with the header's length, little-endian; the header, a JSON object; then the data, to which
// offsets are relative. {"name": {"dtype": "F16", "shape": [2, 3], "data_offsets": [0, 12]}, "__metadata__": {...}}

namespace rlxgpu::core {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian, and read as they are");

constexpr uint64_t kMostHeaderBytes = 100'000'000;
constexpr std::string_view kMetadata = "__metadata__";

// A name as it may stand in a message, whatever the file holds.
std::string shown(std::string_view name) {
  return absl::StrCat("\"", absl::CHexEscape(name.substr(0, 60)), name.size() > 60 ? "..." : "", "\"");
}

struct HeaderEntry {
  StoredTensor tensor;
  std::vector<uint64_t> offsets;
  bool has_type = false, has_shape = false, has_offsets = false;
};

// Takes the header's parts as nlohmann's parser meets them, and stops it at the first that does not belong there: so
// nothing is kept of a hostile header, and a name that comes twice is seen.
class HeaderReader {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  std::vector<HeaderEntry> entries;
  Metadata metadata;
  std::string error;

  bool null() { return fail("null"); }
  bool boolean(bool) { return fail("a bool"); }
  bool number_integer(number_integer_t) { return fail("a negative number"); }
  bool number_float(number_float_t, const string_t&) { return fail("a fraction, or a number beyond 64 bits"); }
  bool binary(binary_t&) { return fail("binary data"); }
  bool number_unsigned(number_unsigned_t value) {
    if (place_ == Place::shape) {
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return fail("a number beyond 63 bits");
      entries.back().tensor.shape.push_back(static_cast<int64_t>(value));
    } else if (place_ == Place::offsets) {
      if (entries.back().offsets.size() == 2) return fail("a third offset");
      entries.back().offsets.push_back(value);
    } else {
      return fail("a number");
    }
    return true;
  }
  bool string(string_t& value) {
    if (place_ == Place::metadata_value) {
      metadata.back().second = value;
      place_ = Place::metadata;
    } else if (place_ == Place::type) {
      for (int i = 0; i < kStoredTypes; ++i) {
        if (name_of(static_cast<StoredType>(i)) != value) continue;
        entries.back().tensor.type = static_cast<StoredType>(i);
        place_ = Place::tensor;
        return true;
      }
      return fail(absl::StrCat("the unknown type ", shown(value)));
    } else {
      return fail("a string");
    }
    return true;
  }
  bool start_object(size_t) {
    if (place_ == Place::start) {
      place_ = Place::header;
    } else if (place_ == Place::named) {
      place_ = Place::tensor;
    } else if (place_ == Place::metadata_named) {
      place_ = Place::metadata;
    } else {
      return fail("an object");
    }
    return true;
  }
  bool key(string_t& name) {
    if (place_ == Place::header) return header_key(name);
    if (place_ == Place::metadata) {
      metadata.emplace_back(name, "");
      place_ = Place::metadata_value;
      return true;
    }
    HeaderEntry& entry = entries.back();
    if (name == "dtype" && !entry.has_type) {
      entry.has_type = true, place_ = Place::type;
    } else if (name == "shape" && !entry.has_shape) {
      entry.has_shape = true, place_ = Place::before_shape;
    } else if (name == "data_offsets" && !entry.has_offsets) {
      entry.has_offsets = true, place_ = Place::before_offsets;
    } else {
      return fail(absl::StrCat("the key ", shown(name), ", unknown or a second time"));
    }
    return true;
  }
  bool end_object() {
    if (place_ == Place::tensor) {
      const HeaderEntry& entry = entries.back();
      if (!entry.has_type || !entry.has_shape || entry.offsets.size() != 2)
        return fail("an end without dtype, shape and two data_offsets");
    }
    place_ = Place::header;
    return true;
  }
  bool start_array(size_t) {
    if (place_ == Place::before_shape) {
      place_ = Place::shape;
    } else if (place_ == Place::before_offsets) {
      place_ = Place::offsets;
    } else {
      return fail("an array");
    }
    return true;
  }
  bool end_array() {
    place_ = Place::tensor;
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::json::exception&) {
    if (error.empty()) error = absl::StrCat("it is not JSON at byte ", position);
    return false;
  }

 private:
  enum class Place {
    start,
    header,
    named,
    tensor,
    type,
    before_shape,
    shape,
    before_offsets,
    offsets,
    metadata_named,
    metadata,
    metadata_value
  };

  bool header_key(const std::string& name) {
    if (name == kMetadata) {
      if (has_metadata_) return fail("a second __metadata__");
      has_metadata_ = true;
      place_ = Place::metadata_named;
      return true;
    }
    entries.emplace_back().tensor.name = name;
    place_ = Place::named;
    return true;
  }
  bool fail(std::string_view what) {
    const bool inside = !entries.empty() && place_ != Place::header && place_ < Place::metadata_named;
    error = absl::StrCat(inside                            ? absl::StrCat("tensor ", shown(entries.back().tensor.name))
                         : place_ >= Place::metadata_named ? std::string(kMetadata)
                                                           : "the header",
                         " holds ", what, " where it should not");
    return false;
  }

  Place place_ = Place::start;
  bool has_metadata_ = false;
};

// The bytes of a tensor, or none when they are beyond 64 bits.
std::optional<uint64_t> size_of(const StoredTensor& tensor) {
  uint64_t bytes = static_cast<uint64_t>(bytes_of(tensor.type));
  bool overflow = false;
  for (const int64_t extent : tensor.shape) {
    if (extent == 0) return 0;
    overflow = overflow || bytes > std::numeric_limits<uint64_t>::max() / static_cast<uint64_t>(extent);
    bytes *= static_cast<uint64_t>(extent);
  }
  if (overflow) return std::nullopt;
  return bytes;
}

// Gives the tensors their bytes. Every byte of the data belongs to exactly one tensor.
std::string place_tensors(std::vector<HeaderEntry>& entries, std::span<const std::byte> data) {
  std::sort(entries.begin(), entries.end(),
            [](const HeaderEntry& a, const HeaderEntry& b) { return a.offsets < b.offsets; });
  uint64_t end = 0;
  for (HeaderEntry& entry : entries) {
    StoredTensor& tensor = entry.tensor;
    const std::optional<uint64_t> bytes = size_of(tensor);
    const uint64_t first = entry.offsets[0], last = entry.offsets[1];
    if (last < first || last > data.size()) {
      return absl::StrCat("tensor ", shown(tensor.name), " is at bytes ", first, " to ", last, " of ", data.size());
    }
    if (bytes != last - first) {
      return absl::StrCat("tensor ", shown(tensor.name), " of ", name_of(tensor.type), "[",
                          absl::StrJoin(tensor.shape, ","), "] has ", last - first, " bytes");
    }
    if (first != end)
      return absl::StrCat("tensor ", shown(tensor.name), " begins at byte ", first, ", but the one before ends at ",
                          end);
    tensor.data = data.subspan(first, last - first);
    end = last;
  }
  return end == data.size() ? "" : absl::StrCat(data.size() - end, " bytes at the end belong to no tensor");
}

std::string shape_text(std::span<const int64_t> extents) { return absl::StrCat("[", absl::StrJoin(extents, ","), "]"); }

struct Wanted {
  std::string_view name;
  DType dtype;
  Shape shape;
};

Status load_all(const Safetensors& file, std::span<const Wanted> wanted, const Weights& weights) {
  std::string wrong;
  for (const Wanted& want : wanted) {
    const StoredTensor* const tensor = file.find(want.name);
    std::vector<int64_t> shape;
    for (int axis = 0; axis < want.shape.rank(); ++axis) shape.push_back(want.shape[axis]);
    if (tensor == nullptr) {
      absl::StrAppend(&wrong, "\n  ", shown(want.name), " is not there");
    } else if (tensor->shape != shape) {
      absl::StrAppend(&wrong, "\n  ", shown(want.name), " is ", shape_text(tensor->shape), ", not ", shape_text(shape));
    }
  }
  if (!wrong.empty()) return absl::InvalidArgumentError(absl::StrCat("the file does not fit the graph:", wrong));
  for (const Wanted& want : wanted) {
    const Result<std::vector<std::byte>> elements = elements_of(*file.find(want.name), want.dtype);
    if (!elements.ok()) return elements.status();
    if (Status status = weights.set(want.name, want.dtype, want.shape, *elements); !status.ok()) return status;
  }
  return {};
}

bool write_all(std::FILE* file, std::span<const std::byte> bytes) {
  return std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
}

}  // namespace

Result<Safetensors> Safetensors::parse(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  if (bytes.size() < sizeof(length))
    return absl::InvalidArgumentError(absl::StrCat("not a safetensors file: it has only ", bytes.size(), " bytes"));
  std::memcpy(&length, bytes.data(), sizeof(length));
  const std::span<const std::byte> rest = bytes.subspan(sizeof(length));
  if (length > kMostHeaderBytes || length > rest.size()) {
    return absl::InvalidArgumentError(absl::StrCat("not a safetensors file, or cut short: its header would have ",
                                                   length, " bytes, and ", rest.size(), " are there"));
  }
  const std::string_view header(reinterpret_cast<const char*>(rest.data()), length);
  HeaderReader reader;
  // The first character is asked for because other formats begin with 8 small bytes, too.
  if (!header.starts_with('{')) {
    reader.error = "it does not begin with {";
  } else if (nlohmann::json::sax_parse(header, &reader)) {
    reader.error = place_tensors(reader.entries, rest.subspan(length));
  }
  Safetensors file;
  for (HeaderEntry& entry : reader.entries) file.tensors_.push_back(std::move(entry.tensor));
  std::ranges::sort(file.tensors_, {}, &StoredTensor::name);
  const auto twice = std::ranges::adjacent_find(file.tensors_, {}, &StoredTensor::name);
  if (reader.error.empty() && twice != file.tensors_.end())
    reader.error = absl::StrCat("tensor ", shown(twice->name), " is there twice");
  if (!reader.error.empty()) return absl::InvalidArgumentError(absl::StrCat("bad safetensors header: ", reader.error));
  file.metadata_ = std::move(reader.metadata);
  return file;
}

Result<Safetensors> Safetensors::open(const std::string& path) {
  Result<MappedFile> mapped = MappedFile::open(path);
  if (!mapped.ok()) return mapped.status();
  Result<Safetensors> file = parse(mapped->bytes());
  if (!file.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", file.status().message()));
  file->file_ = *std::move(mapped);
  return file;
}

const StoredTensor* Safetensors::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {},
                                              [](const StoredTensor& tensor) { return std::string_view(tensor.name); });
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

Status load_weights(const Safetensors& file, const ProgramView& program, const Weights& weights) {
  std::vector<Wanted> wanted;
  for (const Port& port : program.ports) {
    if (port.role != BufferRole::param) continue;
    const TensorDecl& tensor = program.tensors[static_cast<size_t>(port.tensor)];
    wanted.push_back({program.name(port.name), tensor.dtype, tensor.shape});
  }
  return load_all(file, wanted, weights);
}

Status load_weights(const Safetensors& file, const Graph& graph, const Weights& weights) {
  std::vector<Wanted> wanted;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::param) continue;
    const Value& value = graph.value(node.results.first);
    wanted.push_back({graph.name(node.name), value.dtype, value.shape});
  }
  return load_all(file, wanted, weights);
}

Status write_safetensors(const std::string& path, std::span<const StoredTensor> tensors, const Metadata& metadata) {
  // Wide types first, so that every tensor is aligned to its elements.
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::greater(), [](const StoredTensor* tensor) { return bytes_of(tensor->type); });

  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  for (const auto& [name, value] : metadata) header[std::string(kMetadata)][name] = value;
  uint64_t end = 0;
  for (const StoredTensor* tensor : order) {
    const std::optional<uint64_t> bytes = size_of(*tensor);
    if (tensor->name == kMetadata || header.contains(tensor->name))
      return absl::InvalidArgumentError(absl::StrCat("tensor ", shown(tensor->name), ": the name is taken"));
    const bool negative = std::ranges::any_of(tensor->shape, [](int64_t extent) { return extent < 0; });
    if (negative || bytes != tensor->data.size()) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", shown(tensor->name), " of ", name_of(tensor->type),
                                                     shape_text(tensor->shape), " has ", tensor->data.size(),
                                                     " bytes"));
    }
    header[tensor->name] = {
        {"dtype", name_of(tensor->type)}, {"shape", tensor->shape}, {"data_offsets", {end, end + *bytes}}};
    end += *bytes;
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const nlohmann::json::exception&) {
    return absl::InvalidArgumentError("a name is not UTF-8");
  }
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const uint64_t length = text.size();

  const std::string aside = absl::StrCat(path, ".new.", internal::process_id());
  std::FILE* const file = std::fopen(aside.c_str(), "wb");
  if (file == nullptr) return absl::ErrnoToStatus(errno, path);
  bool written =
      write_all(file, std::as_bytes(std::span(&length, 1))) && write_all(file, std::as_bytes(std::span(text)));
  for (const StoredTensor* tensor : order) written = written && write_all(file, tensor->data);
  written = written && internal::flush_to_disk(file);
  int reason = written ? 0 : errno;
  if (std::fclose(file) != 0 && reason == 0) reason = errno;
  if (reason == 0 && std::rename(aside.c_str(), path.c_str()) != 0) reason = errno;
  if (reason == 0) return {};
  std::remove(aside.c_str());
  return absl::ErrnoToStatus(reason, path);
}

}  // namespace rlxgpu::core
