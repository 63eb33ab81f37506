#include "benchmarks/isa/listing.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rlxgpu::core::isa {
namespace {

struct Instruction {
  std::string_view text;
  int block = 0;
};

struct Loop {
  int first = 0, last = 0;  // blocks
  bool holds(const Loop& other) const {
    return first <= other.first && other.last <= last && (first != other.first || last != other.last);
  }
};

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

void count(std::string_view line, InstructionMix& mix) {
  line = line.substr(0, line.find(';'));  // then the encoding
  const std::string_view op = line.substr(0, line.find(' '));
  const bool loads = has(op, "load");
  if (loads && (has(op, "u16") || has(op, "i16") || has(op, "d16") || has(op, "u8") || has(op, "i8")))
    ++mix.narrow_loads;
  if (has(op, "wmma")) {
    ++mix.wmma;
  } else if (op.starts_with("ds_")) {
    ++(loads ? mix.lds_loads : mix.lds_stores);
  } else if (op.starts_with("buffer_") || op.starts_with("global_") || op.starts_with("flat_") ||
             op.starts_with("scratch_") || op.starts_with("s_load") || op.starts_with("s_buffer_load")) {
    ++(loads ? mix.memory_loads : mix.memory_stores);
  } else {
    int fma = 0;
    for (const std::string_view name : {"v_fma", "v_dual_fma", "v_pk_fma", "v_dot"}) {
      for (size_t at = line.find(name); at != std::string_view::npos; at = line.find(name, at + 1)) ++fma;
    }
    mix.fma += fma;
    if (fma == 0) ++mix.other;
  }
}

}  // namespace

InstructionMix mix_of_inner_loop(std::string_view listing) {
  std::vector<Instruction> instructions;
  std::unordered_map<std::string_view, int> blocks;
  std::vector<std::pair<int, std::string_view>> jumps;
  int block = -1;
  for (size_t at = 0; at < listing.size();) {
    const size_t end = std::min(listing.find('\n', at), listing.size());
    std::string_view line = listing.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("BB")) {
      blocks[line.substr(0, line.find(':'))] = ++block;
    } else if (block >= 0 && (line.starts_with('\t') || line.starts_with(' '))) {
      line.remove_prefix(std::min(line.find_first_not_of("\t "), line.size()));
      if (line.empty()) continue;
      instructions.push_back({line, block});
      if (line.starts_with("s_branch") || line.starts_with("s_cbranch")) {
        const size_t label = line.find("BB");
        if (label != std::string_view::npos)
          jumps.emplace_back(block, line.substr(label, line.find_first_of(" \t;", label) - label));
      }
    }
  }
  std::vector<Loop> loops;
  for (const auto& [from, label] : jumps) {
    const auto to = blocks.find(label);
    if (to != blocks.end() && to->second <= from) loops.push_back({to->second, from});
  }
  InstructionMix best;
  for (const Loop& loop : loops) {
    bool innermost = true;
    for (const Loop& other : loops) innermost = innermost && !loop.holds(other);
    if (!innermost) continue;
    InstructionMix mix;
    mix.loop = true;
    for (const Instruction& i : instructions) {
      if (i.block >= loop.first && i.block <= loop.last) count(i.text, mix);
    }
    if (!best.loop || mix.fma + mix.wmma > best.fma + best.wmma) best = mix;
  }
  if (best.loop && best.fma + best.wmma > 0) return best;
  InstructionMix whole;
  for (const Instruction& i : instructions) count(i.text, whole);
  return whole;
}

}  // namespace rlxgpu::core::isa
