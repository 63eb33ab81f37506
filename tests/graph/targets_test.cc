// What is known of GPUs from what adapters say of themselves, and targets by name.
#include "rlxgpu/graph/targets.h"

#include <string_view>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"

namespace rlxgpu::core {
namespace {

constexpr Target adapter(AdapterClass adapter_class, uint32_t subgroup_min) {
  Target target;
  target.adapter_class = adapter_class;
  target.subgroup_min = subgroup_min;
  return target;
}

// As Dawn describes them under ./dev gpus, with Mesa 26.1.6.
struct Row {
  Identity identity;
  AdapterClass adapter_class;
  uint32_t subgroup_min;
  Vendor vendor;
  Architecture architecture;
  int units;
  bool dot4;
};
constexpr auto kDiscrete = AdapterClass::discrete, kIntegrated = AdapterClass::integrated;
constexpr Row kRows[] = {
    {{"amd", "rdna-4", "AMD Radeon RX 9070 XT (RADV GFX1201)", 0x7550},
     kDiscrete,
     32,
     Vendor::amd,
     Architecture::rdna4,
     56,
     true},
    {{"amd", "rdna-1", "AMD Radeon RX 5700 XT (RADV NAVI10)", 0x731f},
     kDiscrete,
     32,
     Vendor::amd,
     Architecture::rdna1,
     36,
     false},
    {{"amd", "rdna-2", "AMD (RADV RENOIR)", 0x15e7}, kIntegrated, 64, Vendor::amd, Architecture::gcn5, 6, false},
    {{"amd", "rdna-2", "AMD (RADV REMBRANDT)", 0x1681}, kIntegrated, 32, Vendor::amd, Architecture::rdna2, 12, true},
    {{"nvidia", "ampere", "NVIDIA GeForce RTX 3090 (NVK )", 0x2204},
     kDiscrete,
     32,
     Vendor::nvidia,
     Architecture::ampere,
     82,
     true},
    {{"nvidia", "lovelace", "NVIDIA GeForce RTX 4060", 1}, kDiscrete, 32, Vendor::nvidia, Architecture::ada, 0, true},
    {{"qualcomm", "adreno-7xx", "Turnip Adreno (TM) 740", 0x43050a01},
     kIntegrated,
     64,
     Vendor::qualcomm,
     Architecture::adreno7,
     6,
     false},
    {{"mesa", "software", "Apple M1 (G13G A0)", 0}, kIntegrated, 32, Vendor::apple, Architecture::apple, 0, false},
    {{"apple", "metal-3", "Apple M2", 0}, kIntegrated, 32, Vendor::apple, Architecture::apple, 0, false},
    {{"intel", "gen-12hp", "Intel(R) Arc(tm) A770 Graphics (DG2)", 0x56a0},
     kDiscrete,
     8,
     Vendor::intel,
     Architecture::xe_hpg,
     32,
     true},
    {{"intel", "xe-2lpg", "Intel(R) Graphics (LNL)", 0x64a0},
     kIntegrated,
     16,
     Vendor::intel,
     Architecture::xe2,
     8,
     true},
    {{"intel", "xe-9", "a later one", 1}, kIntegrated, 16, Vendor::intel, Architecture::unknown, 0, false},
    {{"voodoo", "2", "Voodoo 2", 0x744c}, kDiscrete, 32, Vendor::unknown, Architecture::unknown, 0, false},
    {{"mesa", "software", "llvmpipe (LLVM 21.1.8, 256 bits)", 0},
     AdapterClass::software,
     8,
     Vendor::unknown,
     Architecture::unknown,
     0,
     false},
};

TEST_CASE("an adapter's own words say what it is", "[targets]") {
  const Row& row = GENERATE(from_range(kRows));
  CAPTURE(row.identity.name);
  Target target = adapter(row.adapter_class, row.subgroup_min);
  identify(row.identity, target);
  CHECK(target.vendor == row.vendor);
  CHECK(target.architecture == row.architecture);
  CHECK(target.units == row.units);
  CHECK(target.dot4 == row.dot4);
  CHECK(units_of(target) > 0);
}

TEST_CASE("targets have names, sources and facts that agree", "[targets]") {
  for (const NamedTarget& named : kTargets) {
    CAPTURE(named.name);
    CHECK(find_target(named.name) == &named);
    CHECK_FALSE(named.source.empty());
    const Target& target = named.target;
    if (named.name != "firefox") CHECK(target.covers(kPortable));
    CHECK(target.subgroups == (target.subgroup_max > 0));
    CHECK((target.adapter_class == kDiscrete || target.adapter_class == kIntegrated) ==
          (target.vendor != Vendor::unknown));
    CHECK(architecture_named(name_of(target.architecture)) == target.architecture);
    for (uint32_t i = 0; i < target.matrix_count; ++i) {
      for (uint32_t j = 0; j < i; ++j) CHECK_FALSE(target.matrix[i] == target.matrix[j]);
    }
  }
  CHECK(find_target("voodoo2") == nullptr);
}

TEST_CASE("what an architecture is called in programs is read back", "[targets]") {
  for (const ArchitectureFacts& facts : kArchitectures) CHECK(architecture_named(facts.name) == facts.architecture);
}

}  // namespace
}  // namespace rlxgpu::core
