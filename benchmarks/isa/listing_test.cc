#include "benchmarks/isa/listing.h"

#include "catch2/catch_test_macros.hpp"

namespace rlxgpu::core::isa {
namespace {

constexpr std::string_view kKernel =
    "BB0:\n"
    "\tbuffer_load_b32 v1, v0, s[0:3], 0 offen      ; e0501000 80000100\n"
    "BB1:\n"
    "\tv_mov_b32_e32 v2, 0                          ; 7e040280\n"
    "BB2:\n"
    "\tbuffer_load_b128 v[4:7], v0, s[0:3], 0 offen ; e05c1000 80000400\n"
    "\tds_load_u16_d16 v8, v9                       ; da980000 08000009\n"
    "\tds_store_b128 v9, v[4:7]                     ; db7c0000 00000409\n"
    "\tv_fmac_f32_e32 v10, v4, v5                   ; 56140b04\n"
    "\tv_dual_fmac_f32 v10, v4, v5 :: v_dual_fmac_f32 v11, v6, v7 ; c8000b04\n"
    "\tv_wmma_f32_16x16x16_f16 v[20:27], v[28:35], v[36:43], v[20:27] ; cc404014\n"
    "\ts_cbranch_scc0 BB2                           ; bfa1fff0\n"
    "BB3:\n"
    "\ts_branch BB1                                 ; bfa0ffe0\n"
    "BB4:\n"
    "\tds_load_b32 v1, v2                           ; d8d80000 01000002\n"
    "\ts_cbranch_execnz BB4                         ; bfa6fffc\n"
    "BB5:\n"
    "\ts_endpgm                                     ; bfb00000\n";

TEST_CASE("the innermost loop with the most arithmetic is counted", "[isa]") {
  const InstructionMix mix = mix_of_inner_loop(kKernel);
  CHECK(mix.loop);
  CHECK(mix.fma == 3);
  CHECK(mix.wmma == 1);
  CHECK(mix.lds_loads == 1);
  CHECK(mix.lds_stores == 1);
  CHECK(mix.memory_loads == 1);
  CHECK(mix.memory_stores == 0);
  CHECK(mix.narrow_loads == 1);
  CHECK(mix.other == 1);
}

TEST_CASE("a kernel without loops counts as a whole", "[isa]") {
  const InstructionMix mix =
      mix_of_inner_loop("BB0:\n\tv_fma_f32 v0, v1, v2, v3 ; 00\n\tbuffer_store_b32 v0, v1, s[0:3], 0 ; 00\n");
  CHECK_FALSE(mix.loop);
  CHECK(mix.fma == 1);
  CHECK(mix.memory_stores == 1);
  CHECK(mix_of_inner_loop("").other == 0);
}

}  // namespace
}  // namespace rlxgpu::core::isa
