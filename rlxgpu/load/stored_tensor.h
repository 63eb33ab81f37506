// StoredTensor: a tensor as a file holds it, in the file's own element type.
//
//   Result<std::vector<std::byte>> halves = elements_of(tensor, f16);     // ready for Weights::set
//
// Files know types that no shader has (f64, i64, fp8): those are turned into one of ours when they are loaded.
#ifndef RLXGPU_LOAD_STORED_TENSOR_H_
#define RLXGPU_LOAD_STORED_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

enum class StoredType : uint8_t { boolean, u8, i8, f8_e5m2, f8_e4m3, i16, u16, f16, bf16, i32, u32, f32, c64, f64, i64, u64 };
inline constexpr int kStoredTypes = 16;

std::string_view name_of(StoredType type);  // as safetensors files write it: "F8_E4M3"
int bytes_of(StoredType type);
StoredType stored_as(DType dtype);

struct StoredTensor {
  std::string name;
  StoredType type = StoredType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  // little-endian, row-major, at any alignment; memory of the file's
};

// The elements in the storage layout of `dtype`. Floats are rounded to nearest even; an integer that `dtype` does not
// hold exactly, a float or bool where an integer is wanted, and a complex that would lose a part are errors.
Result<std::vector<std::byte>> elements_of(const StoredTensor& tensor, DType dtype);

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::StoredTensor, core::StoredType, core::elements_of;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_STORED_TENSOR_H_
