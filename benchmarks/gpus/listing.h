// What a compiled kernel does in its hottest loop, counted in a driver's listing of its instructions.
//
//   const Counts loop = hottest_loop(parse_listing(Dialect::amd, listing));   // loop.products, loop.memory, ...
//
// A loop is a jump backwards and all between. What counts of it are its own instructions, without those of loops inside
// it; the hottest is the one with the most multiply-adds. These are static counts: nothing is known of caches, of
// latency, nor of how often a branch is taken.
#ifndef BENCHMARKS_GPUS_LISTING_H_
#define BENCHMARKS_GPUS_LISTING_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlxgpu::core::gpus {

// Whose listing: RADV's, ANV's, NVK's, Turnip's, Honeykrisp's.
enum class Dialect { amd, intel, nvidia, adreno, apple };

enum class Kind { arithmetic, scalar, matrix, memory, shared, scratch, control, nothing };

struct Instruction {
  Kind kind = Kind::arithmetic;
  int products = 0;    // multiply-adds of a lane: 2 for packed halves, 4 for a dot product of bytes
  int slots = 1;       // how often it is issued: Intel's for each register's width, Adreno's when repeated
  std::string target;  // of a jump
};

// Instructions in the order of the listing, and the labels before them.
struct Line {
  std::string label;  // or an instruction
  Instruction instruction;
};

struct Counts {
  int products = 0;     // multiply-adds of a lane outside matrix units
  int multiplying = 0;  // slots of the instructions that do them
  int matrix = 0;       // instructions of matrix units
  int memory = 0, shared = 0, scratch = 0;
  int instructions = 0;  // all
  int slots = 0;

  // Multiply-adds for each instruction issued; of Intel the share of slots, where one product takes several.
  double efficiency() const { return slots == 0 ? 0 : static_cast<double>(multiplying) / slots; }
};

// `width`: lanes of one hardware register, for Intel (16 from Xe2 on, else 8).
std::vector<Line> parse_listing(Dialect dialect, std::string_view listing, int width = 8);

struct Analysis {
  Counts whole;
  std::optional<Counts> loop;  // the hottest, if one multiplies
  int loops = 0;
};
Analysis analyse(const std::vector<Line>& lines);

}  // namespace rlxgpu::core::gpus

#endif  // BENCHMARKS_GPUS_LISTING_H_
