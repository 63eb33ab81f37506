// HostTensor: a tensor as an ONNX file holds it, in memory of the host; ElementType: ONNX's element types.
//
//   HostTensor t = HostTensor::of_integers(ElementType::i64, {2}, {3, 4});
//   Result<std::vector<std::byte>> bytes = to_device_bytes(t);         // as the device holds it: two i32
//
// The device has fewer types than ONNX. Each ONNX type has a carrier, the DType that stands for it on the device:
// i64 and i16 are carried as i32, u64 and u16 as u32, f64 as f32, 4-bit and 2-bit integers as i8 or u8, and the small
// floats as their bits in a u8. Numbers are narrowed on the way in, with a check of their range, and widened on the
// way out.
#ifndef RLXGPU_LOAD_ONNX_HOST_TENSOR_H_
#define RLXGPU_LOAD_ONNX_HOST_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rlxgpu/base/small_float.h"
#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core::onnx {

// With the numbers of TensorProto.DataType.
enum class ElementType : uint8_t {
  undefined,
  f32,
  u8,
  i8,
  u16,
  i16,
  i32,
  i64,
  string,
  boolean,
  f16,
  f64,
  u32,
  u64,
  c64,
  c128,
  bf16,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  u4,
  i4,
  f4e2m1,
  f8e8m0,
  u2,
  i2,
};
inline constexpr int kElementTypes = 27;

std::string_view name_of(ElementType type);         // as ONNX writes it: "float16"
int bits_of(ElementType type);                      // of one element; 0 for strings
std::optional<DType> carrier_of(ElementType type);  // nothing for strings and complex128
bool is_float(ElementType type);                    // f16, bf16, f32, f64 (not the small floats)
bool is_integer(ElementType type);
bool is_small_float(ElementType type);        // 8 bits or fewer, carried as bits
SmallFloat small_float_of(ElementType type);  // of a small float: its format
ElementType element_type_of(DType dtype);     // of the same name

class HostTensor {
 public:
  HostTensor() = default;
  // `bytes`: row-major, little-endian; elements of less than a byte fill bytes from the low bits. `keep` owns them.
  HostTensor(ElementType type, std::vector<int64_t> shape, std::span<const std::byte> bytes,
             std::shared_ptr<const void> keep)
      : type_(type), shape_(std::move(shape)), bytes_(bytes), keep_(std::move(keep)) {}
  static HostTensor of_bytes(ElementType type, std::vector<int64_t> shape, std::vector<std::byte> bytes);
  // Of a type that has numbers; others throw std::invalid_argument.
  static HostTensor of_integers(ElementType type, std::vector<int64_t> shape, std::span<const int64_t> values);
  static HostTensor of_numbers(ElementType type, std::vector<int64_t> shape, std::span<const double> values);

  ElementType type() const { return type_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t count() const;
  std::span<const std::byte> bytes() const { return bytes_; }

  // Integers and bools exactly (u64 modulo 2^64); floats without their fraction.
  int64_t integer(int64_t i) const;
  // Any type but strings and complex numbers.
  double number(int64_t i) const;
  std::vector<int64_t> integers() const;
  std::vector<double> numbers() const;

 private:
  ElementType type_ = ElementType::undefined;
  std::vector<int64_t> shape_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> keep_;
};

// Bytes that `count` elements take; count and type come from a file that was checked.
uint64_t packed_bytes(ElementType type, int64_t count);

// An integer of 64 bits that the carrier does not hold is an error.
Status check_range(const HostTensor& tensor);
// Elements in the storage layout of the carrier, after that check.
Result<std::vector<std::byte>> to_device_bytes(const HostTensor& tensor);
// The way back; `bytes` hold all elements in the carrier's storage layout.
HostTensor from_device_bytes(ElementType type, std::vector<int64_t> shape, std::span<const std::byte> bytes);

// The elements that have the same place in a shape of as many extents, each of them greater or less: zeros are added at
// the ends of axes, or ends are left out. Of types whose elements are whole bytes.
HostTensor resized(const HostTensor& tensor, std::vector<int64_t> shape);

// Ranks above 8 keep counting: Builder reports them.
Shape shape_of(std::span<const int64_t> extents);
std::vector<int64_t> extents_of(const Shape& shape);

}  // namespace rlxgpu::core::onnx

#endif  // RLXGPU_LOAD_ONNX_HOST_TENSOR_H_
