#include "rlxgpu/load/stored_tensor.h"

#include <bit>
#include <cstring>
#include <limits>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/base/half.h"
#include "rlxgpu/base/small_float.h"

namespace rlxgpu::core {
namespace {

struct TypeFacts {
  std::string_view name;
  int bytes;
};
constexpr TypeFacts kFacts[kStoredTypes] = {
    {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
    {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"C64", 8},     {"F64", 8}, {"I64", 8}, {"U64", 8}};

template <typename T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

bool is_integer(StoredType type) {
  switch (type) {
    case StoredType::u8:
    case StoredType::i8:
    case StoredType::i16:
    case StoredType::u16:
    case StoredType::i32:
    case StoredType::u32:
    case StoredType::i64:
    case StoredType::u64: return true;
    default: return false;
  }
}

// An integer as sign and magnitude, so that u64 and i64 both fit.
struct Whole {
  bool negative = false;
  uint64_t magnitude = 0;
};
template <typename T>
Whole whole(T value) {
  return value < 0 ? Whole{true, 0 - static_cast<uint64_t>(value)} : Whole{false, static_cast<uint64_t>(value)};
}

Whole integer_at(StoredType type, const std::byte* at) {
  switch (type) {
    case StoredType::boolean: return whole(read<uint8_t>(at) != 0 ? 1 : 0);
    case StoredType::u8: return whole(read<uint8_t>(at));
    case StoredType::i8: return whole(read<int8_t>(at));
    case StoredType::i16: return whole(read<int16_t>(at));
    case StoredType::u16: return whole(read<uint16_t>(at));
    case StoredType::i32: return whole(read<int32_t>(at));
    case StoredType::u32: return whole(read<uint32_t>(at));
    case StoredType::i64: return whole(read<int64_t>(at));
    default: return whole(read<uint64_t>(at));
  }
}

// The number, or for integers beyond a double's digits one that rounds to every shorter float as the number does.
double number_at(StoredType type, const std::byte* at) {
  switch (type) {
    case StoredType::f8_e5m2: return small_float_value(read<uint8_t>(at), SmallFloat::e5m2);
    case StoredType::f8_e4m3: return small_float_value(read<uint8_t>(at), SmallFloat::e4m3fn);
    case StoredType::f16: return half_value(read<uint16_t>(at));
    case StoredType::bf16: return bfloat16_value(read<uint16_t>(at));
    case StoredType::f32: return read<float>(at);
    case StoredType::f64: return read<double>(at);
    default: break;
  }
  Whole value = integer_at(type, at);
  double scale = value.negative ? -1 : 1;
  if (value.magnitude >> 52 != 0) {
    const uint64_t lost = value.magnitude & 0xfff;
    value.magnitude = value.magnitude >> 12 | (lost != 0 ? 1 : 0);
    scale *= 4096;
  }
  return scale * static_cast<double>(value.magnitude);
}

// A float that rounds to 16 bits as the number does: where it is not exact its last bit is set, so that it never lies
// in the middle between two shorter ones.
float odd_float(double number) {
  const float nearest = static_cast<float>(number);
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  const bool infinite = (bits & 0x7fffffffu) >= 0x7f800000u;
  if (infinite || (bits & 1) != 0 || static_cast<double>(nearest) == number) return nearest;
  const bool outwards = number < 0 ? number < static_cast<double>(nearest) : number > static_cast<double>(nearest);
  return std::bit_cast<float>(outwards ? bits + 1 : bits - 1);
}

template <typename T>
void append(std::vector<std::byte>& out, T value) {
  const auto first = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), first, first + sizeof(T));
}

// The integer range of a dtype, as magnitudes.
struct Limits {
  uint64_t below = 0, above = 0;
};
Limits limits_of(DType dtype) {
  switch (dtype) {
    case DType::i32: return {uint64_t{1} << 31, (uint64_t{1} << 31) - 1};
    case DType::u32: return {0, 0xffffffffu};
    case DType::i8: return {128, 127};
    case DType::u8: return {0, 255};
    default: return {0, 1};  // bool
  }
}

}  // namespace

std::string_view name_of(StoredType type) { return kFacts[static_cast<int>(type)].name; }
int bytes_of(StoredType type) { return kFacts[static_cast<int>(type)].bytes; }

StoredType stored_as(DType dtype) {
  switch (dtype) {
    case DType::f32: return StoredType::f32;
    case DType::f16: return StoredType::f16;
    case DType::bf16: return StoredType::bf16;
    case DType::i32: return StoredType::i32;
    case DType::u32: return StoredType::u32;
    case DType::i8: return StoredType::i8;
    case DType::u8: return StoredType::u8;
    case DType::boolean: return StoredType::boolean;
    case DType::c64: return StoredType::c64;
  }
  return StoredType::f32;
}

Result<std::vector<std::byte>> elements_of(const StoredTensor& tensor, DType dtype) {
  const StoredType from = tensor.type;
  const auto step = static_cast<size_t>(bytes_of(from));
  const size_t count = tensor.data.size() / step;
  const auto refuse = [&](std::string_view why) {
    return Status(absl::InvalidArgumentError(absl::StrCat("\"", tensor.name, "\" holds ", name_of(from),
                                                          ", which does not turn into ", name_of(dtype), why)));
  };
  std::vector<std::byte> out;
  out.reserve(count * static_cast<size_t>(bytes_of(dtype)));
  if (from == stored_as(dtype) && dtype != boolean) {
    out.assign(tensor.data.begin(), tensor.data.end());
    return out;
  }
  if (from == StoredType::c64) return refuse(": it would lose its imaginary part");
  const bool whole_numbers = is_integer(dtype) || dtype == boolean;
  if (whole_numbers && !is_integer(from) && from != StoredType::boolean) return refuse(" without rounding");
  const Limits limits = limits_of(dtype);
  for (size_t i = 0; i < count; ++i) {
    const std::byte* at = tensor.data.data() + i * step;
    if (whole_numbers) {
      const Whole value = integer_at(from, at);
      if (value.magnitude > (value.negative ? limits.below : limits.above)) {
        return refuse(absl::StrCat(": element ", i, " is ", value.negative ? "-" : "", value.magnitude));
      }
      const auto word = static_cast<uint32_t>(value.negative ? 0 - value.magnitude : value.magnitude);
      bytes_of(dtype) == 4 ? append(out, word) : append(out, static_cast<uint8_t>(word));
      continue;
    }
    const double number = number_at(from, at);
    switch (dtype) {
      case DType::f16: append(out, half_bits(odd_float(number))); break;
      case DType::bf16: append(out, bfloat16_bits(odd_float(number))); break;
      case DType::c64: append(out, static_cast<float>(number)), append(out, 0.0f); break;
      default: append(out, static_cast<float>(number));
    }
  }
  return out;
}

}  // namespace rlxgpu::core
