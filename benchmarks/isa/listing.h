// What a compiled kernel does in its hottest loop, counted in the driver's listing of its instructions.
//
//   InstructionMix mix = mix_of_inner_loop(listing);    // mix.fma, mix.lds, mix.memory, ...
//
// The listing is RADV's: blocks "BB7:" of indented instructions. A loop is a jump backwards and all between; of loops
// that hold no other, the one with the most arithmetic counts. A kernel without loops counts as a whole.
#ifndef BENCHMARKS_ISA_LISTING_H_
#define BENCHMARKS_ISA_LISTING_H_

#include <string_view>

namespace rlxgpu::core::isa {

struct InstructionMix {
  bool loop = false;      // else of the whole kernel
  int fma = 0;            // v_fma*, v_fmac*, v_dot*: one for each half of a dual instruction
  int wmma = 0;           // products of the matrix units
  int lds_loads = 0;      // ds_load*
  int lds_stores = 0;     // other ds_*
  int memory_loads = 0;   // buffer_load*, global_load*, s_load*, s_buffer_load*
  int memory_stores = 0;  // and atomics
  int narrow_loads = 0;   // of 8 or 16 bits, from anywhere
  int other = 0;

  constexpr int lds() const { return lds_loads + lds_stores; }
  constexpr int memory() const { return memory_loads + memory_stores; }
  constexpr int loads() const { return lds_loads + memory_loads; }
};

InstructionMix mix_of_inner_loop(std::string_view listing);

}  // namespace rlxgpu::core::isa

#endif  // BENCHMARKS_ISA_LISTING_H_
