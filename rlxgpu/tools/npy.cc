#include "rlxgpu/tools/npy.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/load/mapped_file.h"

namespace rlxgpu::core::tools {
namespace {

using onnx::ElementType;
using onnx::HostTensor;

struct Named {
  std::string_view descr;  // without the byte order
  ElementType type;
};
constexpr Named kTypes[] = {
    {"f4", ElementType::f32}, {"f8", ElementType::f64}, {"f2", ElementType::f16}, {"i8", ElementType::i64},
    {"i4", ElementType::i32}, {"i2", ElementType::i16}, {"i1", ElementType::i8},  {"u8", ElementType::u64},
    {"u4", ElementType::u32}, {"u2", ElementType::u16}, {"u1", ElementType::u8},  {"b1", ElementType::boolean},
    {"c8", ElementType::c64},
};

// The text after 'key': in a header, which is a Python dictionary.
std::string_view after_key(std::string_view header, std::string_view key) {
  const size_t at = header.find(absl::StrCat("'", key, "'"));
  if (at == std::string_view::npos) return "";
  std::string_view rest = header.substr(at + key.size() + 2);
  rest.remove_prefix(std::min(rest.find_first_not_of(": "), rest.size()));
  return rest;
}

absl::StatusOr<HostTensor> parse(const std::string& path, std::span<const std::byte> bytes,
                                 std::shared_ptr<const void> keep) {
  const auto wrong = [&](std::string_view why) { return absl::InvalidArgumentError(absl::StrCat(path, ": ", why)); };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < 12 || !text.starts_with("\x93NUMPY")) return wrong("not an .npy file");
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(text[i])); };
  const bool longer = byte(6) >= 2;
  const size_t start = longer ? 12 : 10,
               length = longer ? byte(8) | byte(9) << 8 | byte(10) << 16 | byte(11) << 24 : byte(8) | byte(9) << 8;
  if (length > text.size() - start) return wrong("the header is cut short");
  const std::string_view header = text.substr(start, length);
  if (after_key(header, "fortran_order").starts_with("True")) return wrong("column-major arrays are not supported");
  const std::string_view descr = after_key(header, "descr");
  const auto type = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const Named& named) {
    return descr.size() > 4 && descr.substr(2, 2) == named.descr && descr[1] != '>';
  });
  if (type == std::end(kTypes))
    return wrong(absl::StrCat("type ", descr.substr(0, descr.find(',')), " is not supported"));
  std::string_view shape = after_key(header, "shape");
  std::vector<int64_t> extents;
  uint64_t count = 1;
  for (size_t i = 0; i < shape.size() && shape[i] != ')'; ++i) {
    if (std::isdigit(static_cast<unsigned char>(shape[i])) == 0) continue;
    uint64_t extent = 0;
    for (; i < shape.size() && std::isdigit(static_cast<unsigned char>(shape[i])) != 0 && extent < (uint64_t{1} << 32);
         ++i)
      extent = extent * 10 + static_cast<uint64_t>(shape[i] - '0');
    --i;
    count *= extent;
    if (extent > INT32_MAX || count > INT32_MAX) return wrong("too many elements");
    extents.push_back(static_cast<int64_t>(extent));
  }
  const uint64_t needed = onnx::packed_bytes(type->type, static_cast<int64_t>(count));
  if (bytes.size() - start - length < needed) return wrong(absl::StrCat("ends before its ", needed, " bytes of data"));
  return HostTensor(type->type, std::move(extents), bytes.subspan(start + length, needed), std::move(keep));
}

// In a type that NumPy has.
HostTensor plain(const HostTensor& tensor) {
  const ElementType type = tensor.type();
  for (const Named& named : kTypes) {
    if (named.type == type) return tensor;
  }
  if (onnx::is_integer(type)) return HostTensor::of_integers(ElementType::i8, tensor.shape(), tensor.integers());
  return HostTensor::of_numbers(ElementType::f32, tensor.shape(), tensor.numbers());
}

}  // namespace

Result<HostTensor> read_npy(const std::string& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  const auto keep = std::make_shared<const MappedFile>(*file);
  absl::StatusOr<HostTensor> tensor = parse(path, keep->bytes(), keep);
  if (!tensor.ok()) return tensor.status();
  return *std::move(tensor);
}

Status write_npy(const std::string& path, const HostTensor& given) {
  const HostTensor tensor = plain(given);
  std::string_view descr;
  for (const Named& named : kTypes) {
    if (named.type == tensor.type()) descr = named.descr;
  }
  std::string header = absl::StrCat("{'descr': '", onnx::bits_of(tensor.type()) == 8 ? "|" : "<", descr,
                                    "', 'fortran_order': False, 'shape': (");
  for (const int64_t extent : tensor.shape()) absl::StrAppend(&header, extent, tensor.shape().size() == 1 ? "," : ", ");
  if (tensor.shape().size() > 1) header.resize(header.size() - 2);
  header += "), }";
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::ofstream out(path, std::ios::binary);
  out << std::string_view("\x93NUMPY\x01\x00", 8) << static_cast<char>(header.size() & 255)
      << static_cast<char>(header.size() >> 8) << header;
  out.write(reinterpret_cast<const char*>(tensor.bytes().data()), static_cast<std::streamsize>(tensor.bytes().size()));
  out.close();
  if (!out) return absl::UnavailableError(absl::StrCat(path, " cannot be written"));
  return {};
}

}  // namespace rlxgpu::core::tools
