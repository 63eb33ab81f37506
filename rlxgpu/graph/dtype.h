// DType names how elements are stored; Register names what a shader computes with.
//
//   Tensor x = g.input("x", f16, {128, 768});    // 2 bytes an element in memory, f32 in registers
//
// f16, bf16, i8, u8 and bool are packed into 32-bit words, so that they work on adapters without
// 16-bit or 8-bit storage. bool is a byte, 0 or 1. c64 is two f32, interleaved.
#ifndef RLXGPU_GRAPH_DTYPE_H_
#define RLXGPU_GRAPH_DTYPE_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/base/half.h"

namespace rlxgpu::core {

enum class DType : uint8_t { f32, f16, bf16, i32, u32, i8, u8, boolean, c64 };

inline constexpr DType f32 = DType::f32, f16 = DType::f16, bf16 = DType::bf16, i32 = DType::i32, u32 = DType::u32,
                       i8 = DType::i8, u8 = DType::u8, boolean = DType::boolean, c64 = DType::c64;

inline constexpr DType kAllDTypes[] = {f32, f16, bf16, i32, u32, i8, u8, boolean, c64};

enum class Register : uint8_t { f32, i32, u32, boolean, vec2f };

namespace internal {  // tables of constants: inside a function they would be built at every call
inline constexpr std::string_view kDTypeNames[] = {"f32", "f16", "bf16", "i32", "u32", "i8", "u8", "bool", "c64"};
inline constexpr Register kRegisters[] = {Register::f32, Register::f32, Register::f32,     Register::i32,  Register::u32,
                                          Register::i32, Register::u32, Register::boolean, Register::vec2f};
inline constexpr std::string_view kRegisterNames[] = {"f32", "i32", "u32", "bool", "vec2f"};
inline constexpr int kBytes[] = {4, 2, 2, 4, 4, 1, 1, 1, 8};
}  // namespace internal

constexpr std::string_view name_of(DType dtype) { return internal::kDTypeNames[static_cast<int>(dtype)]; }
constexpr Register register_of(DType dtype) { return internal::kRegisters[static_cast<int>(dtype)]; }
constexpr std::string_view wgsl_of(Register reg) { return internal::kRegisterNames[static_cast<int>(reg)]; }
constexpr int bytes_of(DType dtype) { return internal::kBytes[static_cast<int>(dtype)]; }

// Elements that share one 32-bit word: 1 unless the type is packed.
constexpr int per_word(DType dtype) { return bytes_of(dtype) >= 4 ? 1 : 4 / bytes_of(dtype); }

constexpr bool is_float(DType dtype) { return dtype == f32 || dtype == f16 || dtype == bf16; }
constexpr bool is_integer(DType dtype) { return dtype == i32 || dtype == u32 || dtype == i8 || dtype == u8; }
constexpr bool is_signed(DType dtype) { return dtype == i32 || dtype == i8; }
constexpr bool is_index(DType dtype) { return dtype == i32 || dtype == u32; }

// A tensor's size in memory: packed types fill whole words.
constexpr uint64_t storage_bytes(DType dtype, int64_t count) {
  return (static_cast<uint64_t>(count) * static_cast<uint64_t>(bytes_of(dtype)) + 3) / 4 * 4;
}

// The C++ type of one element. std::complex is matched by its layout (see executable.h).
template <typename T>
inline constexpr bool kHasDType = false;
template <typename T>
inline constexpr DType dtype_of = f32;
template <>
inline constexpr bool kHasDType<float> = true;
template <>
inline constexpr DType dtype_of<float> = f32;
template <>
inline constexpr bool kHasDType<Half> = true;
template <>
inline constexpr DType dtype_of<Half> = f16;
template <>
inline constexpr bool kHasDType<BFloat16> = true;
template <>
inline constexpr DType dtype_of<BFloat16> = bf16;
template <>
inline constexpr bool kHasDType<int32_t> = true;
template <>
inline constexpr DType dtype_of<int32_t> = i32;
template <>
inline constexpr bool kHasDType<uint32_t> = true;
template <>
inline constexpr DType dtype_of<uint32_t> = u32;
template <>
inline constexpr bool kHasDType<int8_t> = true;
template <>
inline constexpr DType dtype_of<int8_t> = i8;
template <>
inline constexpr bool kHasDType<uint8_t> = true;
template <>
inline constexpr DType dtype_of<uint8_t> = u8;
template <>
inline constexpr bool kHasDType<bool> = true;
template <>
inline constexpr DType dtype_of<bool> = boolean;

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::DType, core::bf16, core::boolean, core::c64, core::dtype_of, core::f16, core::f32, core::i32, core::i8,
    core::u32, core::u8;
}  // namespace rlxgpu

#endif  // RLXGPU_GRAPH_DTYPE_H_
