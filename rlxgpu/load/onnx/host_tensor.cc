#include "rlxgpu/load/onnx/host_tensor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/base/half.h"

namespace rlxgpu::core::onnx {
namespace {

struct TypeFacts {
  std::string_view name;
  int bits;
  std::optional<DType> carrier;
};
constexpr TypeFacts kFacts[kElementTypes] = {
    {"undefined", 0, std::nullopt},   {"float", 32, DType::f32},
    {"uint8", 8, DType::u8},          {"int8", 8, DType::i8},
    {"uint16", 16, DType::u32},       {"int16", 16, DType::i32},
    {"int32", 32, DType::i32},        {"int64", 64, DType::i32},
    {"string", 0, std::nullopt},      {"bool", 8, DType::boolean},
    {"float16", 16, DType::f16},      {"double", 64, DType::f32},
    {"uint32", 32, DType::u32},       {"uint64", 64, DType::u32},
    {"complex64", 64, DType::c64},    {"complex128", 128, std::nullopt},
    {"bfloat16", 16, DType::bf16},    {"float8e4m3fn", 8, DType::u8},
    {"float8e4m3fnuz", 8, DType::u8}, {"float8e5m2", 8, DType::u8},
    {"float8e5m2fnuz", 8, DType::u8}, {"uint4", 4, DType::u8},
    {"int4", 4, DType::i8},           {"float4e2m1", 4, DType::u8},
    {"float8e8m0", 8, DType::u8},     {"uint2", 2, DType::u8},
    {"int2", 2, DType::i8},
};
const TypeFacts& facts(ElementType type) { return kFacts[static_cast<size_t>(type)]; }

template <typename T>
T read(std::span<const std::byte> bytes, int64_t i) {
  T value;
  std::memcpy(&value, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void write(std::vector<std::byte>& bytes, int64_t i, T value) {
  std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
}

// An element of 2, 4 or 8 bits, as they are.
uint32_t small_bits(std::span<const std::byte> bytes, int64_t i, int bits) {
  const int64_t at = i * bits;
  return std::to_integer<uint32_t>(bytes[static_cast<size_t>(at / 8)]) >> (at % 8) & ((1u << bits) - 1);
}

bool is_signed_type(ElementType type) {
  switch (type) {
    case ElementType::i2:
    case ElementType::i4:
    case ElementType::i8:
    case ElementType::i16:
    case ElementType::i32:
    case ElementType::i64:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::string_view name_of(ElementType type) { return facts(type).name; }
int bits_of(ElementType type) { return facts(type).bits; }
std::optional<DType> carrier_of(ElementType type) { return facts(type).carrier; }

bool is_float(ElementType type) {
  return type == ElementType::f32 || type == ElementType::f16 || type == ElementType::bf16 || type == ElementType::f64;
}
SmallFloat small_float_of(ElementType type) {
  switch (type) {
    case ElementType::f8e4m3fnuz:
      return SmallFloat::e4m3fnuz;
    case ElementType::f8e5m2:
      return SmallFloat::e5m2;
    case ElementType::f8e5m2fnuz:
      return SmallFloat::e5m2fnuz;
    case ElementType::f8e8m0:
      return SmallFloat::e8m0;
    case ElementType::f4e2m1:
      return SmallFloat::e2m1;
    default:
      return SmallFloat::e4m3fn;
  }
}
bool is_small_float(ElementType type) {
  return (type >= ElementType::f8e4m3fn && type <= ElementType::f8e5m2fnuz) || type == ElementType::f4e2m1 ||
         type == ElementType::f8e8m0;
}
bool is_integer(ElementType type) {
  switch (type) {
    case ElementType::u2:
    case ElementType::u4:
    case ElementType::u8:
    case ElementType::u16:
    case ElementType::u32:
    case ElementType::u64:
      return true;
    default:
      return is_signed_type(type);
  }
}
ElementType element_type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return ElementType::f32;
    case DType::f16:
      return ElementType::f16;
    case DType::bf16:
      return ElementType::bf16;
    case DType::i32:
      return ElementType::i32;
    case DType::u32:
      return ElementType::u32;
    case DType::i8:
      return ElementType::i8;
    case DType::u8:
      return ElementType::u8;
    case DType::boolean:
      return ElementType::boolean;
    case DType::c64:
      return ElementType::c64;
  }
  return ElementType::undefined;
}

uint64_t packed_bytes(ElementType type, int64_t count) {
  return (static_cast<uint64_t>(count) * static_cast<uint64_t>(bits_of(type)) + 7) / 8;
}

HostTensor HostTensor::of_bytes(ElementType type, std::vector<int64_t> shape, std::vector<std::byte> bytes) {
  auto owned = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> view(*owned);
  return HostTensor(type, std::move(shape), view, std::move(owned));
}

HostTensor HostTensor::of_integers(ElementType type, std::vector<int64_t> shape, std::span<const int64_t> values) {
  if (bits_of(type) == 0 || bits_of(type) > 64)
    throw std::invalid_argument(absl::StrCat("no numbers are of type ", name_of(type)));
  const auto count = static_cast<int64_t>(values.size());
  std::vector<std::byte> bytes(packed_bytes(type, count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t value = values[static_cast<size_t>(i)];
    switch (bits_of(type)) {
      case 64:
        write(bytes, i, value);
        break;
      case 32:
        write(bytes, i, static_cast<int32_t>(value));
        break;
      case 16:
        write(bytes, i, static_cast<int16_t>(value));
        break;
      case 8:
        write(bytes, i, static_cast<int8_t>(type == ElementType::boolean ? value != 0 : value));
        break;
      default: {
        const int bits = bits_of(type);
        bytes[static_cast<size_t>(i * bits / 8)] |=
            std::byte((static_cast<uint32_t>(value) & ((1u << bits) - 1)) << (i * bits % 8));
      }
    }
  }
  return of_bytes(type, std::move(shape), std::move(bytes));
}

HostTensor HostTensor::of_numbers(ElementType type, std::vector<int64_t> shape, std::span<const double> values) {
  const auto count = static_cast<int64_t>(values.size());
  if (!is_float(type)) {
    std::vector<int64_t> whole;
    for (const double value : values) {
      const bool inside = value > -9.2e18 && value < 9.2e18;
      whole.push_back(inside      ? static_cast<int64_t>(value)
                      : value > 0 ? std::numeric_limits<int64_t>::max()
                      : value < 0 ? std::numeric_limits<int64_t>::min()
                                  : 0);
      if (type == ElementType::boolean) whole.back() = value != 0;
    }
    return of_integers(type, std::move(shape), whole);
  }
  std::vector<std::byte> bytes(packed_bytes(type, count));
  for (int64_t i = 0; i < count; ++i) {
    const double value = values[static_cast<size_t>(i)];
    switch (type) {
      case ElementType::f64:
        write(bytes, i, value);
        break;
      case ElementType::f16:
        write(bytes, i, half_bits(static_cast<float>(value)));
        break;
      case ElementType::bf16:
        write(bytes, i, bfloat16_bits(static_cast<float>(value)));
        break;
      default:
        write(bytes, i, static_cast<float>(value));
        break;
    }
  }
  return of_bytes(type, std::move(shape), std::move(bytes));
}

int64_t HostTensor::count() const {
  int64_t n = 1;
  for (const int64_t extent : shape_) n *= extent;
  return n;
}

int64_t HostTensor::integer(int64_t i) const {
  switch (type_) {
    case ElementType::boolean:
      return read<uint8_t>(bytes_, i) != 0;
    case ElementType::u8:
      return read<uint8_t>(bytes_, i);
    case ElementType::i8:
      return read<int8_t>(bytes_, i);
    case ElementType::u16:
      return read<uint16_t>(bytes_, i);
    case ElementType::i16:
      return read<int16_t>(bytes_, i);
    case ElementType::u32:
      return read<uint32_t>(bytes_, i);
    case ElementType::i32:
      return read<int32_t>(bytes_, i);
    case ElementType::u64:
    case ElementType::i64:
      return read<int64_t>(bytes_, i);
    case ElementType::u4:
    case ElementType::u2:
      return small_bits(bytes_, i, bits_of(type_));
    case ElementType::i4:
    case ElementType::i2: {
      const int bits = bits_of(type_);
      const auto value = static_cast<int64_t>(small_bits(bytes_, i, bits));
      return value >> (bits - 1) ? value - (int64_t{1} << bits) : value;
    }
    default: {
      const double value = number(i);
      if (std::isnan(value)) return 0;
      if (value >= 9.2e18) return std::numeric_limits<int64_t>::max();
      if (value <= -9.2e18) return std::numeric_limits<int64_t>::min();
      return static_cast<int64_t>(value);
    }
  }
}

double HostTensor::number(int64_t i) const {
  switch (type_) {
    case ElementType::f32:
      return read<float>(bytes_, i);
    case ElementType::f64:
      return read<double>(bytes_, i);
    case ElementType::f16:
      return half_value(read<uint16_t>(bytes_, i));
    case ElementType::bf16:
      return bfloat16_value(read<uint16_t>(bytes_, i));
    case ElementType::u64:
      return static_cast<double>(read<uint64_t>(bytes_, i));
    case ElementType::string:
    case ElementType::undefined:
    case ElementType::c64:
    case ElementType::c128:
      return 0;
    default:
      return is_small_float(type_) ? small_float_value(small_bits(bytes_, i, bits_of(type_)), small_float_of(type_))
                                   : static_cast<double>(integer(i));
  }
}

std::vector<int64_t> HostTensor::integers() const {
  std::vector<int64_t> values(static_cast<size_t>(count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = integer(static_cast<int64_t>(i));
  return values;
}

std::vector<double> HostTensor::numbers() const {
  std::vector<double> values(static_cast<size_t>(count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = number(static_cast<int64_t>(i));
  return values;
}

Status check_range(const HostTensor& tensor) {
  const ElementType type = tensor.type();
  if (type != ElementType::i64 && type != ElementType::u64) return {};
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const int64_t value = tensor.integer(i);
    if (type == ElementType::i64 ? value >= INT32_MIN && value <= INT32_MAX : value >= 0 && value <= UINT32_MAX)
      continue;
    const std::string number =
        type == ElementType::i64 ? absl::StrCat(value) : absl::StrCat(static_cast<uint64_t>(value));
    return absl::OutOfRangeError(absl::StrCat("element ", i, " is ", number, ": ", name_of(type), " is held as ",
                                              rlxgpu::core::name_of(*carrier_of(type)),
                                              " on the device, which is too short for it"));
  }
  return {};
}

Result<std::vector<std::byte>> to_device_bytes(const HostTensor& tensor) {
  const ElementType type = tensor.type();
  const std::optional<DType> carrier = carrier_of(type);
  if (!carrier) return absl::UnimplementedError(absl::StrCat("no type of the device stands for ", name_of(type)));
  if (Status status = check_range(tensor); !status.ok()) return status;
  const int64_t count = tensor.count();
  std::vector<std::byte> bytes(storage_bytes(*carrier, count));
  if (bits_of(type) == 8 * bytes_of(*carrier)) {
    std::copy(tensor.bytes().begin(), tensor.bytes().end(), bytes.begin());
    if (type == ElementType::boolean) {
      for (std::byte& b : bytes) b = std::byte(b != std::byte(0));
    }
    return bytes;
  }
  for (int64_t i = 0; i < count; ++i) {
    if (type == ElementType::f64) {
      write(bytes, i, static_cast<float>(tensor.number(i)));
    } else if (is_small_float(type)) {
      write(bytes, i, static_cast<uint8_t>(small_bits(tensor.bytes(), i, bits_of(type))));
    } else if (bytes_of(*carrier) == 1) {
      write(bytes, i, static_cast<int8_t>(tensor.integer(i)));
    } else {
      write(bytes, i, static_cast<uint32_t>(tensor.integer(i)));
    }
  }
  return bytes;
}

HostTensor from_device_bytes(ElementType type, std::vector<int64_t> shape, std::span<const std::byte> bytes) {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  const DType carrier = carrier_of(type).value_or(DType::u8);
  if (bits_of(type) == 8 * bytes_of(carrier)) {
    const auto whole = bytes.first(packed_bytes(type, count));
    return HostTensor::of_bytes(type, std::move(shape), std::vector<std::byte>(whole.begin(), whole.end()));
  }
  if (type == ElementType::f64) {
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(read<float>(bytes, i));
    return HostTensor::of_numbers(type, std::move(shape), values);
  }
  std::vector<int64_t> values;
  for (int64_t i = 0; i < count; ++i) {
    switch (carrier) {
      case DType::i32:
        values.push_back(read<int32_t>(bytes, i));
        break;
      case DType::u32:
        values.push_back(read<uint32_t>(bytes, i));
        break;
      case DType::i8:
        values.push_back(read<int8_t>(bytes, i));
        break;
      default:
        values.push_back(read<uint8_t>(bytes, i));
        break;
    }
  }
  return HostTensor::of_integers(type, std::move(shape), values);
}

HostTensor resized(const HostTensor& tensor, std::vector<int64_t> shape) {
  const auto element = static_cast<int64_t>(bits_of(tensor.type())) / 8;
  const std::vector<int64_t>& old = tensor.shape();
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  std::vector<std::byte> bytes(static_cast<size_t>(count * element));
  // Runs along the last axis, by the place of their first element.
  const auto copy = [&](const auto& self, size_t axis, int64_t from, int64_t to) -> void {
    if (axis + 1 >= shape.size()) {
      const int64_t run = shape.empty() ? 1 : std::min(old.back(), shape.back());
      const int64_t from_row = shape.empty() ? 0 : from * old.back(), to_row = shape.empty() ? 0 : to * shape.back();
      std::copy_n(tensor.bytes().begin() + from_row * element, run * element, bytes.begin() + to_row * element);
      return;
    }
    for (int64_t i = 0; i < std::min(old[axis], shape[axis]); ++i)
      self(self, axis + 1, from * old[axis] + i, to * shape[axis] + i);
  };
  copy(copy, 0, 0, 0);
  return HostTensor::of_bytes(tensor.type(), std::move(shape), std::move(bytes));
}

Shape shape_of(std::span<const int64_t> extents) {
  Shape shape;
  for (const int64_t extent : extents) shape.push_back(Dim(extent));
  return shape;
}

std::vector<int64_t> extents_of(const Shape& shape) {
  std::vector<int64_t> extents;
  for (int axis = 0; axis < shape.rank(); ++axis) extents.push_back(shape[axis]);
  return extents;
}

}  // namespace rlxgpu::core::onnx
