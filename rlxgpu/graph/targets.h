// What GPUs are, beyond what an adapter says of itself, and a target of each kind by name.
//
//   identify({"amd", "rdna-3", "AMD Radeon RX 7900 XTX", 0x744c}, target);   // what runtime does for each adapter
//   const NamedTarget* rdna3 = find_target("rdna3");                         // to plan for a GPU that is not here
//
// All is data, and each fact has a source. The features and limits of named targets are those that Dawn lists on the
// GPU that stands for the kind (`rlxgpu devices --json`, under `./dev gpus NAME` where it is not here; `./dev gpus
// check` compares them again). A kind that a browser or another driver offers with less covers less: programs made for
// such a target are checked against the device before they run (Target::covers).
#ifndef RLXGPU_GRAPH_TARGETS_H_
#define RLXGPU_GRAPH_TARGETS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "rlxgpu/graph/target.h"

namespace rlxgpu::core {

// --- what follows from the architecture --------------------------------------------------------------------------

struct ArchitectureFacts {
  std::string_view name;  // ours
  Architecture architecture = Architecture::unknown;
  Vendor vendor = Vendor::unknown;
  std::string_view
      dawn;  // what Dawn's AdapterInfo calls it begins so (its gpu_info.json); empty: it has no name for it
  bool dot4 = false;
  std::string_view dot4_source;  // Vulkan's integerDotProduct4x8BitPackedSignedAccelerated, where no other is named
};
inline constexpr std::string_view kAmdIsa = "AMD's ISA manuals: v_dot4 from Vega 20 and RDNA 2 on";
inline constexpr std::string_view kMesaLists = "listings of Mesa 26.1.6: one instruction, or a dozen";
inline constexpr ArchitectureFacts kArchitectures[] = {
    {"gcn4", Architecture::gcn4, Vendor::amd, "gcn-4", false, kAmdIsa},
    {"gcn5", Architecture::gcn5, Vendor::amd, "gcn-5", false, kAmdIsa},  // Vega 20 has it and is called the same
    {"rdna1", Architecture::rdna1, Vendor::amd, "rdna-1", false, kAmdIsa},
    {"rdna2", Architecture::rdna2, Vendor::amd, "rdna-2", true, kAmdIsa},
    {"rdna3", Architecture::rdna3, Vendor::amd, "rdna-3", true, kAmdIsa},
    {"rdna4", Architecture::rdna4, Vendor::amd, "rdna-4", true, kAmdIsa},
    {"apple", Architecture::apple, Vendor::apple, "", false, kMesaLists},
    {"bifrost", Architecture::bifrost, Vendor::arm, "bifrost", false,
     "Arm: Mali-G76 has it, the others of the name do not"},
    {"valhall", Architecture::valhall, Vendor::arm, "valhall", true, "Arm's guide to Valhall"},
    {"gen9", Architecture::gen9, Vendor::intel, "gen-9", false, "Intel's PRM: dp4a from gen 12 on"},
    {"xe_lp", Architecture::xe_lp, Vendor::intel, "gen-12lp", true, "Intel's PRM: dp4a from gen 12 on"},
    {"xe_hpg", Architecture::xe_hpg, Vendor::intel, "gen-12hp", true, "Intel's PRM: dp4a from gen 12 on"},
    {"xe_lpg", Architecture::xe_lpg, Vendor::intel, "xe-lpg", true, "Intel's PRM: dp4a from gen 12 on"},
    {"xe2", Architecture::xe2, Vendor::intel, "xe-2", true, "Intel's PRM: dp4a from gen 12 on"},
    {"xe3", Architecture::xe3, Vendor::intel, "xe-3", true, "Intel's PRM: dp4a from gen 12 on"},
    {"pascal", Architecture::pascal, Vendor::nvidia, "pascal", false, kMesaLists},  // CUDA has it there, NVK does not
    {"volta", Architecture::volta, Vendor::nvidia, "volta", true, kMesaLists},
    {"turing", Architecture::turing, Vendor::nvidia, "turing", true, kMesaLists},
    {"ampere", Architecture::ampere, Vendor::nvidia, "ampere", true, kMesaLists},
    {"ada", Architecture::ada, Vendor::nvidia, "lovelace", true, kMesaLists},
    {"blackwell", Architecture::blackwell, Vendor::nvidia, "blackwell", true, kMesaLists},
    {"adreno6", Architecture::adreno6, Vendor::qualcomm, "adreno-6", false, kMesaLists},
    {"adreno7", Architecture::adreno7, Vendor::qualcomm, "adreno-7", false, kMesaLists},
    {"adreno8", Architecture::adreno8, Vendor::qualcomm, "adreno-8", true, kMesaLists},
};

constexpr std::string_view name_of(Architecture architecture) {
  for (const ArchitectureFacts& facts : kArchitectures) {
    if (facts.architecture == architecture) return facts.name;
  }
  return "unknown";
}
constexpr Architecture architecture_named(std::string_view name) {
  for (const ArchitectureFacts& facts : kArchitectures) {
    if (facts.name == name) return facts.architecture;
  }
  return Architecture::unknown;
}

// --- how many units a GPU has, where its PCI number says so -------------------------------------------------------

struct DeviceFacts {
  Vendor vendor = Vendor::unknown;
  uint32_t device = 0;  // PCI number, or chip number of Adreno
  uint16_t units = 0;
};
// Sources: the products' data sheets (AMD: compute units; NVIDIA: multiprocessors; Intel: subslices and Xe cores), and
// for Adreno the cores in Mesa's freedreno device table. One number may be several products: the smallest is here.
inline constexpr DeviceFacts kDevices[] = {
    {Vendor::amd, 0x67df, 36},      // RX 580
    {Vendor::amd, 0x687f, 56},      // RX Vega
    {Vendor::amd, 0x66a1, 60},      // Radeon Pro VII
    {Vendor::amd, 0x15d8, 8},       // Raven
    {Vendor::amd, 0x15e7, 6},       // Renoir
    {Vendor::amd, 0x731f, 36},      // RX 5700
    {Vendor::amd, 0x73bf, 60},      // RX 6800
    {Vendor::amd, 0x1681, 12},      // Rembrandt
    {Vendor::amd, 0x744c, 84},      // RX 7900 XT; XTX 96
    {Vendor::amd, 0x7480, 32},      // RX 7600
    {Vendor::amd, 0x15bf, 12},      // Phoenix
    {Vendor::amd, 0x150e, 16},      // Strix
    {Vendor::amd, 0x7550, 56},      // RX 9070; XT 64
    {Vendor::nvidia, 0x1e87, 46},   // RTX 2080
    {Vendor::nvidia, 0x2204, 82},   // RTX 3090
    {Vendor::nvidia, 0x2684, 128},  // RTX 4090
    {Vendor::nvidia, 0x2b85, 170},  // RTX 5090
    {Vendor::intel, 0x1916, 3},     // HD 520
    {Vendor::intel, 0x9a49, 6},     // Iris Xe
    {Vendor::intel, 0x46a6, 6},     // Iris Xe
    {Vendor::intel, 0x56a0, 32},    // Arc A770
    {Vendor::intel, 0x7d55, 8},     // Meteor Lake
    {Vendor::intel, 0x7d51, 8},     // Arrow Lake
    {Vendor::intel, 0x64a0, 8},     // Lunar Lake
    {Vendor::intel, 0xe20b, 20},    // Arc B580
    {Vendor::intel, 0xb080, 12},    // Panther Lake
    {Vendor::qualcomm, 0x060300ff, 2}, {Vendor::qualcomm, 0x060600ff, 3}, {Vendor::qualcomm, 0x07030001, 4},
    {Vendor::qualcomm, 0x43050a01, 6}, {Vendor::qualcomm, 0x43051401, 6}, {Vendor::qualcomm, 0x44050000, 6},
};

// What an adapter says of itself (wgpu::AdapterInfo).
struct Identity {
  std::string_view vendor, architecture, name;
  uint32_t device = 0;
};

// Fills in vendor, architecture, units and dot4 of a target whose features and limits are known. Of software drivers
// nothing is known, for their plans follow from the class alone.
constexpr void identify(const Identity& identity, Target& target) {
  if (target.adapter_class == AdapterClass::software) return;
  constexpr std::string_view kVendors[] = {"", "amd", "apple", "arm", "intel", "nvidia", "qualcomm"};
  for (uint8_t i = 1; i < 7; ++i) {
    if (identity.vendor == kVendors[i]) target.vendor = static_cast<Vendor>(i);
  }
  // Asahi's driver is Mesa's, and Dawn takes all of Mesa's for software.
  if (identity.name.starts_with("Apple ")) target.vendor = Vendor::apple;
  for (const ArchitectureFacts& facts : kArchitectures) {
    const bool named = !facts.dawn.empty() && identity.architecture.starts_with(facts.dawn);
    if (facts.vendor != target.vendor || !(named || facts.architecture == Architecture::apple)) continue;
    target.architecture = facts.architecture;
    target.dot4 = facts.dot4;
  }
  // Dawn takes Renoir's graphics, which are Vega's, for RDNA 2; only those of RDNA have subgroups of 32.
  if (target.vendor == Vendor::amd && target.subgroup_min == 64 && target.architecture > Architecture::gcn5) {
    target.architecture = Architecture::gcn5;
    target.dot4 = false;
  }
  for (const DeviceFacts& facts : kDevices) {
    if (facts.vendor == target.vendor && facts.device == identity.device) target.units = facts.units;
  }
}

// Units of a target, guessed where they are not known: what a GPU of its class has at least.
constexpr int64_t units_of(const Target& target) {
  if (target.units != 0) return target.units;
  switch (target.adapter_class) {
    case AdapterClass::discrete:
      return 32;
    case AdapterClass::integrated:
      return 8;
    case AdapterClass::software:
      return 1;
    case AdapterClass::unknown:
      break;
  }
  return 16;
}

// --- targets by name -----------------------------------------------------------------------------------------------

struct NamedTarget {
  std::string_view name;
  Target target;
  std::string_view source;
};

namespace internal {

constexpr Target with_matrices(Target target, std::span<const MatrixShape> shapes) {
  for (const MatrixShape& shape : shapes) target.matrix[target.matrix_count++] = shape;
  return target;
}

// What is the same on all of Mesa's drivers of GPUs through Dawn.
constexpr Target gpu(AdapterClass adapter_class, Vendor vendor, Architecture architecture, uint16_t units,
                     uint32_t subgroup_min, uint32_t subgroup_max, uint32_t workgroup_bytes, uint32_t invocations,
                     uint64_t binding_bytes) {
  Target target;
  target.adapter_class = adapter_class;
  target.vendor = vendor, target.architecture = architecture, target.units = units;
  for (const ArchitectureFacts& facts : kArchitectures) {
    if (facts.architecture == architecture) target.dot4 = facts.dot4;
  }
  target.shader_f16 = target.subgroups = target.subgroup_size_control = true;
  target.subgroup_min = subgroup_min, target.subgroup_max = subgroup_max;
  target.max_storage_buffers = 16;
  target.max_invocations = invocations;
  target.max_workgroup_bytes = workgroup_bytes;
  target.offset_alignment = vendor == Vendor::nvidia || vendor == Vendor::apple ? 16 : 4;
  target.max_binding_bytes = binding_bytes;
  return target;
}

constexpr Target amd(Architecture architecture, uint16_t units) {
  return gpu(AdapterClass::discrete, Vendor::amd, architecture, units, 32, 64, 65536, 1024, 4294967292);
}
constexpr Target nvidia(Architecture architecture, uint16_t units) {
  return gpu(AdapterClass::discrete, Vendor::nvidia, architecture, units, 32, 32, 49152, 1024, 2147483644);
}
constexpr Target adreno(Architecture architecture, uint32_t subgroup_max, uint32_t invocations) {
  return gpu(AdapterClass::integrated, Vendor::qualcomm, architecture, 6, 64, subgroup_max, 32768, invocations,
             134217728);
}

constexpr Target mali() {
  Target target = gpu(AdapterClass::integrated, Vendor::arm, Architecture::valhall, 4, 16, 16, 16384, 256, 134217728);
  target.max_storage_buffers = 8, target.offset_alignment = 256;
  return target;
}
constexpr Target firefox() {
  Target target;
  target.shader_f16 = true;
  target.max_immediate_bytes = 0;
  return target;
}
constexpr Target software(uint32_t subgroup, bool f16_too, uint32_t buffers, uint32_t invocations, uint32_t alignment,
                          uint64_t binding_bytes) {
  Target target;
  target.adapter_class = AdapterClass::software;
  target.shader_f16 = f16_too;
  target.subgroups = target.subgroup_size_control = true;
  target.subgroup_min = target.subgroup_max = subgroup;
  target.max_storage_buffers = buffers, target.max_invocations = invocations, target.max_workgroup_bytes = 32768;
  target.offset_alignment = alignment, target.max_binding_bytes = binding_bytes;
  return target;
}

inline constexpr DType kF16 = DType::f16, kF32 = DType::f32, kI8 = DType::i8, kI32 = DType::i32, kU8 = DType::u8,
                       kU32 = DType::u32;
inline constexpr MatrixShape kLavapipeShapes[] = {
    {kF16, kF16, 8, 8, 8}, {kF16, kF32, 8, 8, 8}, {kU8, kU32, 8, 8, 8}, {kI8, kI32, 8, 8, 8}};
inline constexpr MatrixShape kRdnaShapes[] = {{kU8, kU32, 16, 16, 16},  {kU8, kI32, 16, 16, 16},
                                              {kI8, kU32, 16, 16, 16},  {kI8, kI32, 16, 16, 16},
                                              {kF16, kF16, 16, 16, 16}, {kF16, kF32, 16, 16, 16}};
inline constexpr MatrixShape kXe2Shapes[] = {
    {kF16, kF16, 8, 16, 16}, {kF16, kF32, 8, 16, 16}, {kI8, kI32, 8, 16, 32}, {kU8, kU32, 8, 16, 32}};
inline constexpr MatrixShape kTuringShapes[] = {
    {kF16, kF16, 16, 16, 16}, {kF16, kF16, 16, 8, 16}, {kF16, kF16, 16, 8, 8},  {kF16, kF32, 16, 16, 16},
    {kF16, kF32, 16, 8, 16},  {kF16, kF32, 16, 8, 8},  {kU8, kU32, 16, 16, 32}, {kU8, kU32, 16, 8, 32},
    {kU8, kU32, 8, 8, 16},    {kI8, kI32, 16, 16, 32}, {kI8, kI32, 16, 8, 32},  {kI8, kI32, 8, 8, 16}};
inline constexpr MatrixShape kAmpereShapes[] = {
    {kF16, kF16, 16, 16, 16}, {kF16, kF16, 16, 8, 16}, {kF16, kF16, 16, 8, 8},  {kF16, kF32, 16, 16, 16},
    {kF16, kF32, 16, 8, 16},  {kF16, kF32, 16, 8, 8},  {kU8, kU32, 16, 16, 32}, {kU8, kU32, 16, 8, 32},
    {kU8, kU32, 16, 8, 16},   {kU8, kU32, 8, 8, 16},   {kI8, kI32, 16, 16, 32}, {kI8, kI32, 16, 8, 32},
    {kI8, kI32, 16, 8, 16},   {kI8, kI32, 8, 8, 16}};
inline constexpr MatrixShape kBlackwellShapes[] = {
    {kF16, kF16, 16, 16, 16}, {kF16, kF16, 16, 8, 16}, {kF16, kF16, 16, 8, 8},  {kF16, kF32, 16, 16, 16},
    {kF16, kF32, 16, 8, 16},  {kF16, kF32, 16, 8, 8},  {kU8, kU32, 16, 16, 32}, {kU8, kU32, 16, 8, 32},
    {kU8, kU32, 16, 8, 16},   {kI8, kI32, 16, 16, 32}, {kI8, kI32, 16, 8, 32},  {kI8, kI32, 16, 8, 16}};

}  // namespace internal

inline constexpr NamedTarget kTargets[] = {
    {"portable", kPortable, "WebGPU: default limits, no optional feature"},
    {"firefox", internal::firefox(), "Firefox 153 on lavapipe: f16, no subgroups, no immediates"},
    {"lavapipe",
     internal::with_matrices(internal::software(8, true, 16, 1024, 16, 134217728), internal::kLavapipeShapes),
     "Mesa 26.1.6, vectors of 256 bits"},
    {"swiftshader", internal::software(4, false, 12, 256, 256, 1073741824), "SwiftShader of Chromium"},
    {"rdna2", internal::amd(Architecture::rdna2, 60), "navi21, Radeon RX 6800"},
    {"rdna3", internal::with_matrices(internal::amd(Architecture::rdna3, 84), internal::kRdnaShapes),
     "navi31, Radeon RX 7900 XT"},
    {"rdna4", internal::with_matrices(internal::amd(Architecture::rdna4, 56), internal::kRdnaShapes),
     "gfx1201, Radeon RX 9070"},
    {"turing", internal::with_matrices(internal::nvidia(Architecture::turing, 46), internal::kTuringShapes),
     "NVK, GeForce RTX 2080"},
    {"ampere", internal::with_matrices(internal::nvidia(Architecture::ampere, 82), internal::kAmpereShapes),
     "NVK, GeForce RTX 3090"},
    {"ada", internal::with_matrices(internal::nvidia(Architecture::ada, 128), internal::kAmpereShapes),
     "NVK of Mesa 26.2, GeForce RTX 4090"},
    {"blackwell", internal::with_matrices(internal::nvidia(Architecture::blackwell, 170), internal::kBlackwellShapes),
     "NVK of Mesa 26.2, GeForce RTX 5090"},
    {"xe_lpg",
     internal::gpu(AdapterClass::integrated, Vendor::intel, Architecture::xe_lpg, 8, 8, 32, 49152, 1024, 4294967295),
     "Meteor Lake"},
    {"xe2",
     internal::with_matrices(
         internal::gpu(AdapterClass::discrete, Vendor::intel, Architecture::xe2, 20, 16, 32, 49152, 1024, 4294967295),
         internal::kXe2Shapes),
     "Battlemage, Arc B580"},
    {"adreno7", internal::adreno(Architecture::adreno7, 128, 2048), "Turnip, Adreno 740"},
    {"adreno8", internal::adreno(Architecture::adreno8, 64, 1024), "Turnip, Adreno 830"},
    {"apple",
     internal::gpu(AdapterClass::integrated, Vendor::apple, Architecture::apple, 8, 32, 32, 32768, 1024, 2147483647),
     "Asahi's driver, M1 of 8 cores; Metal has matrix units of 8x8x8 besides, which nothing here could try"},
    {"mali", internal::mali(),
     "Mesa 26.1.6's panvk, Mali-G610 MP4; Dawn does not open it (no 3D textures), so the limits are those that all "
     "have"},
};

// Null: there is no such target.
constexpr const NamedTarget* find_target(std::string_view name) {
  for (const NamedTarget& named : kTargets) {
    if (named.name == name) return &named;
  }
  return nullptr;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::find_target;
using core::NamedTarget;
}  // namespace rlxgpu

#endif  // RLXGPU_GRAPH_TARGETS_H_
