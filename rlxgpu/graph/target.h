// Target: what the hardware can do, as far as kernels care. A structural value: a template argument
// for programs planned by the compiler, a fact of the device for programs planned at run time.
//
// The default is what every WebGPU implementation has. Runtime fills it in from the adapter
// (Device::target()); a program made for a target runs on every device that covers() it.
#ifndef RLXGPU_GRAPH_TARGET_H_
#define RLXGPU_GRAPH_TARGET_H_

#include <cstdint>

#include "rlxgpu/graph/dtype.h"

namespace rlxgpu::core {

enum class AdapterClass : uint8_t { unknown, discrete, integrated, software };

// Who made the GPU, and which instructions it has, where that is known (targets.h).
enum class Vendor : uint8_t { unknown, amd, apple, arm, intel, nvidia, qualcomm };
enum class Architecture : uint8_t {
  unknown,
  gcn4,
  gcn5,
  rdna1,
  rdna2,
  rdna3,
  rdna4,
  apple,
  bifrost,
  valhall,
  gen9,
  xe_lp,
  xe_hpg,
  xe_lpg,
  xe2,
  xe3,
  pascal,
  volta,
  turing,
  ampere,
  ada,
  blackwell,
  adreno6,
  adreno7,
  adreno8,
};

// One shape of the matrix units: result [m, n] += left [m, k] x right [k, n].
struct MatrixShape {
  DType operand = DType::f16, result = DType::f32;
  uint8_t m = 0, n = 0, k = 0;
  constexpr bool operator==(const MatrixShape&) const = default;
};

struct Target {
  AdapterClass adapter_class = AdapterClass::unknown;
  bool shader_f16 = false;
  bool subgroups = false;
  bool subgroup_size_control = false;
  uint32_t subgroup_min = 0, subgroup_max = 0;
  MatrixShape matrix[32] = {};  // Ampere's driver lists the most, 14
  uint32_t matrix_count = 0;

  // What makes one kernel better than another there, and no kernel wrong: covers() does not ask for it.
  Vendor vendor = Vendor::unknown;
  Architecture architecture = Architecture::unknown;
  uint16_t units = 0;  // that hold workgroups: compute units, multiprocessors, cores; 0: not known
  bool dot4 = false;   // dot4I8Packed and dot4U8Packed are instructions there, not a dozen of them

  uint32_t max_storage_buffers = 8;
  uint32_t max_invocations = 256;
  uint32_t max_workgroup_bytes = 16384;
  uint32_t max_groups = 65535;  // per axis of a grid
  uint32_t max_immediate_bytes = 64;
  uint32_t offset_alignment = 256;
  uint64_t max_binding_bytes = uint64_t{128} << 20;

  constexpr bool operator==(const Target&) const = default;

  // A program planned for `need` runs here.
  constexpr bool covers(const Target& need) const {
    if (need.shader_f16 && !shader_f16) return false;
    if (need.subgroups && !(subgroups && subgroup_min >= need.subgroup_min && subgroup_max <= need.subgroup_max))
      return false;
    if (need.subgroup_size_control && !subgroup_size_control) return false;
    for (uint32_t i = 0; i < need.matrix_count; ++i) {
      bool found = false;
      for (uint32_t j = 0; j < matrix_count; ++j) found = found || matrix[j] == need.matrix[i];
      if (!found) return false;
    }
    return max_storage_buffers >= need.max_storage_buffers && max_invocations >= need.max_invocations &&
           max_workgroup_bytes >= need.max_workgroup_bytes && max_groups >= need.max_groups &&
           max_immediate_bytes >= need.max_immediate_bytes && offset_alignment <= need.offset_alignment &&
           max_binding_bytes >= need.max_binding_bytes;
  }
};

inline constexpr Target kPortable = {};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::AdapterClass, core::MatrixShape, core::Target, core::kPortable;
}  // namespace rlxgpu

#endif  // RLXGPU_GRAPH_TARGET_H_
