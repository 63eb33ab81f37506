// Counts in listings as drivers of Mesa 26.1 print them, shortened.
#include "benchmarks/gpus/listing.h"

#include <string_view>

#include "catch2/catch_test_macros.hpp"

namespace rlxgpu::core::gpus {
namespace {

TEST_CASE("AMD's: an inner loop is no part of the outer one", "[listing]") {
  const Analysis code = analyse(parse_listing(Dialect::amd, R"(==== NIR
BB1:
	v_fma_f32 v1, v2, v3, v4
==== Assembly
BB0:
	s_load_b64 s[2:3], s[0:1], null                 ; f4040080
BB1:
	v_fmac_f32_e32 v1, v2, v3                       ; 56
	s_delay_alu instid0(VALU_DEP_1)                 ; bf87
BB2:
	ds_load_b128 v[4:7], v8                         ; d9
	v_dual_fmac_f32 v1, v2, v3 :: v_dual_fmac_f32 v4, v5, v6 ; c8
	v_pk_fma_f16 v1, v2, v3, v4                     ; cc
	v_mad_u32_u24 v1, v2, v3, v4                    ; d6
	s_cbranch_scc1 BB2                              ; bfa2
	scratch_load_b32 v1, v2, off                    ; dc
	s_cbranch_vccnz BB1                             ; bfa4
	s_endpgm                                        ; bfb0
)"));
  CHECK(code.loops == 2);
  REQUIRE(code.loop.has_value());
  CHECK(code.loop->products == 4);
  CHECK(code.loop->shared == 1);
  CHECK(code.loop->instructions == 5);
  CHECK(code.loop->efficiency() == 0.8);
  CHECK(code.whole.scratch == 1);
  CHECK(code.whole.memory == 1);
  CHECK(code.whole.products == 5);
}

TEST_CASE("Intel's: an instruction takes a slot for each register's width", "[listing]") {
  constexpr std::string_view kListing = R"(==== GEN Assembly
LABEL0:
mad(32)         g10<1>F         g12<8,8,1>F     g14<8,8,1>F     g2.0<0,1,0>F    { align1 };
(+f0.0) add(8)  g20<1>UD        g21<1,1,0>UD    0x1UD           { align1 };
send(16)        g30UD           g40UD           nullUD          slm MsgDesc: ( load )
dpas.8x8(8)     g50<1>F         g60F            g70HF           g80HF
while(32)       JIP:  LABEL0                                    { align1 };
)";
  const Analysis narrow = analyse(parse_listing(Dialect::intel, kListing, 8)),
                 wide = analyse(parse_listing(Dialect::intel, kListing, 16));
  REQUIRE(narrow.loop.has_value());
  CHECK(narrow.loop->multiplying == 4);
  CHECK(narrow.loop->slots == 4 + 1 + 1 + 8 + 4);
  CHECK(narrow.loop->shared == 1);
  CHECK(narrow.loop->matrix == 1);
  CHECK(wide.loop->multiplying == 2);
}

TEST_CASE("NVIDIA's, with predicates and results before the instruction", "[listing]") {
  const Analysis code = analyse(parse_listing(Dialect::nvidia, R"(==== NAK
block.u 0 L3 [] -> {
      r1      = ldg.e.b128 [r2]                  // delay=1
}
block 1 L5 [0, 1] -> {
      r4      = ffma.ftz r1 r2 r3                // delay=1
@!p0  r5      = lds.b32 [r6]                     // delay=1
      r7..11  = hmma.m16n8k16.f32 r1 r2 r3       // delay=1
                stl.b32 [0x10] r5                // delay=1
@p1             bra pT L5                        // delay=1
}
)"));
  REQUIRE(code.loop.has_value());
  CHECK(code.loop->products == 1);
  CHECK(code.loop->shared == 1);
  CHECK(code.loop->matrix == 1);
  CHECK(code.loop->scratch == 1);
  CHECK(code.loop->instructions == 5);
  CHECK(code.whole.memory == 1);
}

TEST_CASE("Adreno's, with flags and repeated instructions", "[listing]") {
  const Analysis code = analyse(parse_listing(Dialect::adreno, R"(==== IR3 Assembly
; a comment
l3:
(sy)(rpt3)mad.f32 r0.y, (r)r1.y, (r)r2.y, (r)r3.y
(nop2) add.u r4.x, r4.x, 1
(rpt5)nop
isam.v.base0 (u32)(xyzw)r9.z, r8.y, s#0, t#2
br !p0.x, #l3
end
)"));
  REQUIRE(code.loop.has_value());
  CHECK(code.loop->products == 4);
  CHECK(code.loop->slots == 7);
  CHECK(code.loop->memory == 1);
}

TEST_CASE("Apple's, whose jumps are relative", "[listing]") {
  const Analysis code = analyse(parse_listing(Dialect::apple, R"(
   0: 0511 load r0, u0
   8: 3e00 ffma r1, r2, r3, r4
  10: 0e00 iadd r5, r5, 1
  18: 2000 jmp_exec_any -16
  1e: 8800 stop
)"));
  REQUIRE(code.loop.has_value());
  CHECK(code.loop->products == 1);
  CHECK(code.loop->instructions == 3);
  CHECK(code.whole.memory == 1);
}

TEST_CASE("what is no listing has no loop", "[listing]") {
  for (const Dialect dialect : {Dialect::amd, Dialect::intel, Dialect::nvidia, Dialect::adreno, Dialect::apple}) {
    CHECK_FALSE(analyse(parse_listing(dialect, "nothing\n==== that\nanyone knows")).loop.has_value());
  }
}

}  // namespace
}  // namespace rlxgpu::core::gpus
