#include "rlxgpu/load/gguf.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/graph/storage.h"

namespace rlxgpu::core {
namespace {

enum Kind : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64, kKinds };
constexpr uint64_t kKindBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};  // at least

struct TypeSize {
  int type = -1;
  std::string_view name;
  int elements = 0, bytes = 0;
};
// Elements that are no blocks, and blocks of activations, which can be named and measured only.
constexpr TypeSize kOtherTypes[] = {
    {0, "F32", 1, 4},  {1, "F16", 1, 2},  {9, "Q8_1", 32, 36}, {24, "I8", 1, 1},   {25, "I16", 1, 2},
    {26, "I32", 1, 4}, {27, "I64", 1, 8}, {28, "F64", 1, 8},   {30, "BF16", 1, 2},
};
TypeSize size_of_type(uint32_t type) {
  for (const TypeSize& t : kOtherTypes) {
    if (static_cast<uint32_t>(t.type) == type) return t;
  }
  for (const Codec& c : kCodecs) {
    if (static_cast<uint32_t>(c.gguf_type) == type) return {c.gguf_type, c.name, c.elements, c.bytes};
  }
  return {};
}

// Reads one thing after the other; after the first error everything is zero.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <typename T>
  T get(std::string_view what) {
    T value = {};
    if (!has(sizeof(T), what)) return value;
    std::memcpy(&value, bytes_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }
  std::string_view text(std::string_view what) {
    const auto size = get<uint64_t>(what);
    if (!has(size, what)) return {};
    const auto* const first = reinterpret_cast<const char*>(bytes_.data() + at_);
    at_ += size;
    return {first, static_cast<size_t>(size)};
  }
  GgufValue value(uint32_t kind, std::string_view key) {
    switch (kind) {
      case kU8:
        return uint64_t{get<uint8_t>(key)};
      case kI8:
        return int64_t{get<int8_t>(key)};
      case kU16:
        return uint64_t{get<uint16_t>(key)};
      case kI16:
        return int64_t{get<int16_t>(key)};
      case kU32:
        return uint64_t{get<uint32_t>(key)};
      case kI32:
        return int64_t{get<int32_t>(key)};
      case kF32:
        return double{get<float>(key)};
      case kBool:
        return get<uint8_t>(key) != 0;
      case kString:
        return text(key);
      case kU64:
        return get<uint64_t>(key);
      case kI64:
        return get<int64_t>(key);
      case kF64:
        return get<double>(key);
      default:
        break;
    }
    fail(absl::StrCat(key, ": unknown type of value ", kind));
    return uint64_t{0};
  }
  // Whether so many things of so many bytes can still be there.
  bool has_count(uint64_t count, uint64_t each, std::string_view what) {
    if (ok() && count > (bytes_.size() - at_) / each) fail(absl::StrCat(count, " ", what, " do not fit into the file"));
    return ok();
  }
  void fail(std::string_view message) {
    if (error_.empty()) error_ = absl::StrCat("byte ", at_, ": ", message);
  }
  bool ok() const { return error_.empty(); }
  const std::string& error() const { return error_; }
  uint64_t at() const { return at_; }

 private:
  bool has(uint64_t count, std::string_view what) {
    if (ok() && count > bytes_.size() - at_) fail(absl::StrCat("the file ends within ", what));
    return ok();
  }
  std::span<const std::byte> bytes_;
  uint64_t at_ = 0;
  std::string error_;
};

GgufEntry read_entry(Reader& in) {
  GgufEntry entry;
  entry.key = in.text("a key");
  if (in.ok() && entry.key.empty()) in.fail("an empty key");
  auto kind = in.get<uint32_t>(entry.key);
  uint64_t count = 1;
  if (kind == kArray) {
    entry.is_array = true;
    kind = in.get<uint32_t>(entry.key);
    count = in.get<uint64_t>(entry.key);
    if (kind >= kKinds || kind == kArray) in.fail(absl::StrCat(entry.key, ": an array of values of type ", kind));
    if (!in.ok() || !in.has_count(count, kKindBytes[kind], "elements of an array")) return entry;
  }
  entry.kind = kind;
  entry.values.reserve(in.ok() ? static_cast<size_t>(count) : 0);
  for (uint64_t i = 0; i < count && in.ok(); ++i) entry.values.push_back(in.value(kind, entry.key));
  return entry;
}

struct Placed {
  GgufTensor tensor;
  uint64_t offset = 0, bytes = 0;
};
Placed read_tensor(Reader& in, uint64_t alignment) {
  Placed placed;
  GgufTensor& tensor = placed.tensor;
  tensor.name = in.text("a tensor's name");
  const auto rank = in.get<uint32_t>(tensor.name);
  if (rank > 4) in.fail(absl::StrCat(tensor.name, ": ", rank, " axes, 4 are possible"));
  uint64_t count = 1;
  for (uint32_t axis = 0; axis < rank && in.ok(); ++axis) {
    const auto extent = in.get<int64_t>(tensor.name);
    if (extent < 0 || (extent > 0 && count > (uint64_t{1} << 48) / static_cast<uint64_t>(extent))) {
      in.fail(absl::StrCat(tensor.name, ": an extent of ", extent));
      break;
    }
    count *= static_cast<uint64_t>(extent);
    tensor.shape.push_back(extent);
  }
  const auto type = in.get<uint32_t>(tensor.name);
  placed.offset = in.get<uint64_t>(tensor.name);
  if (!in.ok()) return placed;
  const TypeSize size = size_of_type(type);
  if (size.type < 0) return in.fail(absl::StrCat(tensor.name, ": unknown type ", type)), placed;
  const int64_t row = tensor.shape.empty() ? 1 : tensor.shape[0];
  if (row % size.elements != 0) {
    return in.fail(absl::StrCat(tensor.name, ": rows of ", row, " are no whole blocks of ", size.name)), placed;
  }
  if (placed.offset % alignment != 0) {
    return in.fail(absl::StrCat(tensor.name, ": its offset ", placed.offset, " is no multiple of ", alignment)), placed;
  }
  placed.bytes = count / static_cast<uint64_t>(size.elements) * static_cast<uint64_t>(size.bytes);
  tensor.type = size.name, tensor.gguf_type = size.type;
  std::reverse(tensor.shape.begin(), tensor.shape.end());
  return placed;
}

}  // namespace

Result<Gguf> Gguf::open(const std::string& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  Result<Gguf> gguf = parse_part(file->bytes());
  if (!gguf.ok()) return invalid_argument(absl::StrCat(path, ": ", gguf.status().message()));
  gguf->files_.push_back(*std::move(file));
  const int64_t parts = gguf->integer("split.count").value_or(1);
  if (parts <= 1) return gguf;
  const std::string end = absl::StrFormat("-00001-of-%05d.gguf", parts);
  if (gguf->integer("split.no").value_or(0) != 0 || !path.ends_with(end)) {
    return invalid_argument(
        absl::StrCat(path, ": a part of a model; open the first of them, whose name ends in ", end));
  }
  std::set<std::string_view> names;
  for (const GgufTensor& tensor : gguf->tensors_) names.insert(tensor.name);
  for (int64_t part = 1; part < parts; ++part) {
    const std::string other =
        absl::StrCat(path.substr(0, path.size() - end.size()), absl::StrFormat("-%05d-of-%05d.gguf", part + 1, parts));
    Result<MappedFile> more = MappedFile::open(other);
    if (!more.ok()) return more.status();
    Result<Gguf> read = parse_part(more->bytes());
    if (!read.ok()) return invalid_argument(absl::StrCat(other, ": ", read.status().message()));
    if (read->integer("split.no") != part || read->integer("split.count") != parts) {
      return invalid_argument(absl::StrCat(other, ": not part ", part + 1, " of ", parts, " by its own metadata"));
    }
    for (GgufTensor& tensor : read->tensors_) {
      if (!names.insert(tensor.name).second) return invalid_argument(absl::StrCat(other, ": ", tensor.name, ": twice"));
      gguf->tensors_.push_back(std::move(tensor));
    }
    gguf->files_.push_back(*std::move(more));
  }
  const int64_t tensors = gguf->integer("split.tensors.count").value_or(static_cast<int64_t>(names.size()));
  if (tensors != static_cast<int64_t>(names.size())) {
    return invalid_argument(absl::StrCat(path, ": its parts have ", names.size(), " tensors, not ", tensors));
  }
  return gguf;
}

Result<Gguf> Gguf::parse(std::span<const std::byte> bytes) {
  Result<Gguf> gguf = parse_part(bytes);
  if (gguf.ok() && gguf->integer("split.count").value_or(1) > 1) return invalid_argument("a part of a model: use open");
  return gguf;
}

Result<Gguf> Gguf::parse_part(std::span<const std::byte> bytes) {
  Reader in(bytes);
  Gguf gguf;
  if (in.get<uint32_t>("the first word") != 0x46554747u) in.fail("not a GGUF file: it does not begin with \"GGUF\"");
  const auto version = in.get<uint32_t>("the version");
  if ((version & 0xffff) == 0 && version != 0) in.fail("big-endian files are not read");
  if (version != 2 && version != 3) in.fail(absl::StrCat("version ", version, ", 2 and 3 are possible"));
  gguf.version_ = static_cast<int>(version);
  const auto tensors = in.get<uint64_t>("the header"), entries = in.get<uint64_t>("the header");
  in.has_count(tensors, 24, "tensors"), in.has_count(entries, 13, "entries of metadata");
  std::set<std::string_view> keys, names;
  for (uint64_t i = 0; i < entries && in.ok(); ++i) {
    gguf.metadata_.push_back(read_entry(in));
    if (in.ok() && !keys.insert(gguf.metadata_.back().key).second)
      in.fail(absl::StrCat(gguf.metadata_.back().key, ": twice"));
  }
  uint64_t alignment = 32;
  if (const GgufEntry* entry = gguf.metadata("general.alignment"); in.ok() && entry != nullptr) {
    const auto* const number = entry->is_array ? nullptr : std::get_if<uint64_t>(&entry->values[0]);
    if (number == nullptr || *number == 0 || *number > (1u << 30) || (*number & (*number - 1)) != 0) {
      in.fail("general.alignment is no power of two");
    } else {
      alignment = *number;
    }
  }
  std::vector<Placed> placed;
  for (uint64_t i = 0; i < tensors && in.ok(); ++i) {
    placed.push_back(read_tensor(in, alignment));
    if (in.ok() && !names.insert(placed.back().tensor.name).second)
      in.fail(absl::StrCat(placed.back().tensor.name, ": twice"));
  }
  if (!in.ok()) return invalid_argument(in.error());
  const uint64_t data = (in.at() + alignment - 1) / alignment * alignment;
  const uint64_t room = data < bytes.size() ? bytes.size() - data : 0;
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i < placed.size(); ++i) {
    Placed& p = placed[i];
    if (p.offset > room || p.bytes > room - p.offset) {
      return invalid_argument(
          absl::StrCat(p.tensor.name, ": ", p.bytes, " bytes at ", p.offset, " reach beyond the file's ", room));
    }
    if (p.bytes > 0) p.tensor.data = bytes.subspan(static_cast<size_t>(data + p.offset), static_cast<size_t>(p.bytes));
    if (p.bytes > 0) order.emplace_back(p.offset, i);
  }
  std::sort(order.begin(), order.end());
  for (size_t i = 1; i < order.size(); ++i) {
    const Placed &before = placed[order[i - 1].second], &p = placed[order[i].second];
    if (before.offset + before.bytes > p.offset) {
      return invalid_argument(absl::StrCat(p.tensor.name, ": overlaps ", before.tensor.name));
    }
  }
  for (Placed& p : placed) gguf.tensors_.push_back(std::move(p.tensor));
  return gguf;
}

const GgufEntry* Gguf::metadata(std::string_view key) const {
  const auto found = std::find_if(metadata_.begin(), metadata_.end(), [&](const GgufEntry& e) { return e.key == key; });
  return found == metadata_.end() ? nullptr : &*found;
}

namespace {

std::optional<int64_t> integer_of(const GgufValue& value) {
  if (const auto* const whole = std::get_if<int64_t>(&value)) return *whole;
  const auto* const natural = std::get_if<uint64_t>(&value);
  if (natural == nullptr || *natural > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<int64_t>(*natural);
}
std::optional<double> number_of(const GgufValue& value) {
  if (const auto* const real = std::get_if<double>(&value)) return *real;
  if (const auto* const natural = std::get_if<uint64_t>(&value)) return static_cast<double>(*natural);
  const std::optional<int64_t> whole = integer_of(value);
  return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}
std::optional<bool> flag_of(const GgufValue& value) {
  const auto* const flag = std::get_if<bool>(&value);
  return flag == nullptr ? std::nullopt : std::optional(*flag);
}
std::optional<std::string_view> text_of(const GgufValue& value) {
  const auto* const text = std::get_if<std::string_view>(&value);
  return text == nullptr ? std::nullopt : std::optional(*text);
}
template <typename Convert>
auto one_of(const GgufEntry* entry, const Convert& convert) -> decltype(convert(GgufValue())) {
  return entry == nullptr || entry->is_array ? std::nullopt : convert(entry->values[0]);
}
template <typename T, typename Convert>
std::optional<std::vector<T>> all_of(const GgufEntry* entry, const Convert& convert) {
  if (entry == nullptr) return std::nullopt;
  std::vector<T> values;
  for (const GgufValue& value : entry->values) {
    const std::optional<T> converted = convert(value);
    if (!converted) return std::nullopt;
    values.push_back(*converted);
  }
  return values;
}

}  // namespace

std::optional<int64_t> Gguf::integer(std::string_view key) const { return one_of(metadata(key), integer_of); }
std::optional<double> Gguf::number(std::string_view key) const { return one_of(metadata(key), number_of); }
std::optional<bool> Gguf::flag(std::string_view key) const { return one_of(metadata(key), flag_of); }
std::optional<std::string_view> Gguf::text(std::string_view key) const { return one_of(metadata(key), text_of); }
std::optional<std::vector<int64_t>> Gguf::integers(std::string_view key) const {
  return all_of<int64_t>(metadata(key), integer_of);
}
std::optional<std::vector<double>> Gguf::numbers(std::string_view key) const {
  return all_of<double>(metadata(key), number_of);
}
std::optional<std::vector<std::string_view>> Gguf::texts(std::string_view key) const {
  return all_of<std::string_view>(metadata(key), text_of);
}

GgufTypeSize gguf_type_size(std::string_view type) {
  for (const TypeSize& t : kOtherTypes) {
    if (t.name == type) return {t.type, t.elements, t.bytes};
  }
  for (const Codec& c : kCodecs) {
    if (c.name == type) return {c.gguf_type, c.elements, c.bytes};
  }
  return {};
}

const GgufTensor* Gguf::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const GgufTensor& t) { return t.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

}  // namespace rlxgpu::core
