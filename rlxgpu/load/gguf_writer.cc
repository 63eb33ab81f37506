#include "rlxgpu/load/gguf_writer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/platform.h"

namespace rlxgpu::core {
namespace {

constexpr uint64_t kAlignment = 32;
enum Kind : uint32_t { kU8, kI8, kU16, kI16, kU32, kI32, kF32, kBool, kString, kArray, kU64, kI64, kF64 };

template <typename T>
void append(std::string& out, T value) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out.append(bytes, sizeof(T));
}
void append_text(std::string& out, std::string_view text) {
  append(out, static_cast<uint64_t>(text.size()));
  out.append(text);
}
// Integers of a file are wide here: back to their own width.
template <typename T>
void append_integer(std::string& out, const GgufValue& value) {
  const auto* const whole = std::get_if<int64_t>(&value);
  const auto* const natural = std::get_if<uint64_t>(&value);
  append(out, whole != nullptr ? static_cast<T>(*whole) : natural != nullptr ? static_cast<T>(*natural) : T{});
}
void append_value(std::string& out, uint32_t kind, const GgufValue& value) {
  const auto* const real = std::get_if<double>(&value);
  switch (kind) {
    case kU8:
    case kI8:
      return append_integer<uint8_t>(out, value);
    case kU16:
    case kI16:
      return append_integer<uint16_t>(out, value);
    case kU32:
    case kI32:
      return append_integer<uint32_t>(out, value);
    case kU64:
    case kI64:
      return append_integer<uint64_t>(out, value);
    case kF32:
      return append(out, real != nullptr ? static_cast<float>(*real) : 0.0f);
    case kF64:
      return append(out, real != nullptr ? *real : 0.0);
    case kBool:
      return append(out, static_cast<uint8_t>(std::get_if<bool>(&value) != nullptr && std::get<bool>(value)));
    default:
      return append_text(out, std::get_if<std::string_view>(&value) != nullptr ? std::get<std::string_view>(value)
                                                                               : std::string_view());
  }
}

}  // namespace

GgufWriter::~GgufWriter() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(absl::StrCat(path_, ".new.", internal::process_id()).c_str());
}

Status GgufWriter::fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
  return invalid_argument(error_);
}

void GgufWriter::begin_entry(std::string_view key, uint32_t kind) {
  if (key.empty() || std::find(keys_.begin(), keys_.end(), key) != keys_.end()) {
    (void)fail(absl::StrCat("metadata \"", key, "\": empty, or twice"));
  }
  keys_.emplace_back(key);
  ++entry_count_;
  append_text(entries_, key);
  append(entries_, kind);
}
void GgufWriter::set(std::string_view key, std::string_view value) {
  begin_entry(key, kString);
  append_text(entries_, value);
}
void GgufWriter::set(std::string_view key, uint32_t value) {
  begin_entry(key, kU32);
  append(entries_, value);
}
void GgufWriter::set(std::string_view key, float value) {
  begin_entry(key, kF32);
  append(entries_, value);
}
void GgufWriter::set_flag(std::string_view key, bool value) {
  begin_entry(key, kBool);
  append(entries_, static_cast<uint8_t>(value));
}
void GgufWriter::set(std::string_view key, std::span<const std::string_view> values) {
  begin_entry(key, kArray);
  append(entries_, uint32_t{kString});
  append(entries_, static_cast<uint64_t>(values.size()));
  for (const std::string_view value : values) append_text(entries_, value);
}
void GgufWriter::set(std::string_view key, std::span<const float> values) {
  begin_entry(key, kArray);
  append(entries_, uint32_t{kF32});
  append(entries_, static_cast<uint64_t>(values.size()));
  for (const float value : values) append(entries_, value);
}
void GgufWriter::set(const GgufEntry& entry) {
  begin_entry(entry.key, entry.is_array ? uint32_t{kArray} : entry.kind);
  if (entry.is_array) {
    append(entries_, entry.kind);
    append(entries_, static_cast<uint64_t>(entry.values.size()));
  }
  for (const GgufValue& value : entry.values) append_value(entries_, entry.kind, value);
}

void GgufWriter::add(std::string_view name, std::string_view type, std::span<const int64_t> shape) {
  const GgufTypeSize size = gguf_type_size(type);
  const int64_t row = shape.empty() ? 1 : shape.back();
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  const bool twice = std::any_of(planned_.begin(), planned_.end(), [&](const Planned& p) { return p.name == name; });
  if (size.number < 0 || row % size.elements != 0 || shape.size() > 4 || name.size() >= 64 || twice) {
    (void)fail(absl::StrCat("tensor \"", name, "\" of ", type, ": ",
                            size.number < 0     ? "there is no such type"
                            : shape.size() > 4  ? "at most 4 axes are possible"
                            : name.size() >= 64 ? "a name has 63 bytes at most"
                            : twice             ? "twice"
                                                : "its rows are no whole blocks"));
    return;
  }
  append_text(tensors_, name);
  append(tensors_, static_cast<uint32_t>(shape.size()));
  for (size_t i = shape.size(); i > 0; --i) append(tensors_, shape[i - 1]);
  append(tensors_, static_cast<uint32_t>(size.number));
  append(tensors_, data_);
  const auto bytes = static_cast<uint64_t>(count / size.elements * size.bytes);
  planned_.push_back({std::string(name), bytes});
  data_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

Status GgufWriter::put(std::span<const std::byte> bytes) {
  if (!error_.empty()) return invalid_argument(error_);
  if (bytes.empty() || std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size()) return {};
  const absl::Status status = absl::ErrnoToStatus(errno, path_);
  error_ = status.message();
  return status;
}

Status GgufWriter::begin(const std::string& path) {
  if (!error_.empty()) return invalid_argument(error_);
  path_ = path;
  file_ = std::fopen(absl::StrCat(path, ".new.", internal::process_id()).c_str(), "wb");
  if (file_ == nullptr) return absl::ErrnoToStatus(errno, path);
  std::string head = "GGUF";
  append(head, uint32_t{3});
  append(head, static_cast<uint64_t>(planned_.size()));
  append(head, entry_count_);
  head += entries_;
  head += tensors_;
  head.resize((head.size() + kAlignment - 1) / kAlignment * kAlignment, '\0');
  return put(std::as_bytes(std::span(head)));
}
Status GgufWriter::write(std::span<const std::byte> tensor) {
  if (file_ == nullptr || written_ == planned_.size()) return fail("nothing is to be written now");
  const Planned& planned = planned_[written_++];
  if (tensor.size() != planned.bytes) {
    return fail(absl::StrCat("tensor \"", planned.name, "\": given ", tensor.size(), " bytes, not ", planned.bytes));
  }
  if (Status status = put(tensor); !status.ok()) return status;
  constexpr std::byte kZeros[kAlignment] = {};
  return put(std::span(kZeros).first((kAlignment - tensor.size() % kAlignment) % kAlignment));
}
Status GgufWriter::end() {
  if (file_ == nullptr || written_ != planned_.size()) return fail("not all tensors were written");
  if (!error_.empty()) return invalid_argument(error_);
  std::FILE* const file = std::exchange(file_, nullptr);
  const std::string aside = absl::StrCat(path_, ".new.", internal::process_id());
  int reason = internal::flush_to_disk(file) ? 0 : errno;
  if (std::fclose(file) != 0 && reason == 0) reason = errno;
  if (reason == 0 && std::rename(aside.c_str(), path_.c_str()) != 0) reason = errno;
  if (reason == 0) return {};
  std::remove(aside.c_str());
  return absl::ErrnoToStatus(reason, path_);
}

}  // namespace rlxgpu::core
