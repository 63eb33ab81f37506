#include "benchmarks/gpus/listing.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <map>
#include <utility>

namespace rlxgpu::core::gpus {
namespace {

using Prefixes = std::initializer_list<std::string_view>;

bool begins_with(std::string_view text, Prefixes prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return text.starts_with(prefix); });
}
bool is_one_of(std::string_view text, Prefixes names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}
std::string_view before(std::string_view text, std::string_view mark) { return text.substr(0, text.find(mark)); }
std::string_view word(std::string_view text) { return text.substr(0, text.find_first_of(" \t")); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The first name such as "BB12" in a text; empty if there is none.
std::string numbered(std::string_view text, std::string_view name) {
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end > at + name.size()) return std::string(text.substr(at, end - at));
  }
  return {};
}

// The lines of the text that begins with "==== HEAD", up to the next such line.
std::vector<std::string_view> section(std::string_view listing, std::string_view head) {
  std::vector<std::string_view> lines;
  const std::string mark = "==== " + std::string(head);
  size_t at = listing.find(mark);
  if (at == listing.npos) return lines;
  for (at = listing.find('\n', at); at != listing.npos && at + 1 < listing.size();) {
    const size_t end = std::min(listing.find('\n', at + 1), listing.size());
    const std::string_view line = listing.substr(at + 1, end - at - 1);
    if (line.starts_with("==== ")) break;
    lines.push_back(line);
    at = end;
  }
  return lines;
}

// v_fma_f32, v_dual_fmac_f32, v_fma_mix_f32, ...: one product a lane; packed halves two.
int amd_products(std::string_view op) {
  if (begins_with(op, {"v_pk_fma", "v_dot2"})) return 2;
  if (op.starts_with("v_dot4")) return 4;
  if (op.starts_with("v_dot8")) return 8;
  if (begins_with(op, {"v_mad_u", "v_mad_i"})) return 0;
  if (op.starts_with("v_dual_"))
    op.remove_prefix(7);
  else if (op.starts_with("v_"))
    op.remove_prefix(2);
  else
    return 0;
  const bool number = op.find("f32") != op.npos || op.find("f16") != op.npos || op.find("mix") != op.npos;
  return begins_with(op, {"fma", "mac", "mad"}) && number ? 1 : 0;
}

std::vector<Line> parse_amd(std::string_view listing) {
  std::vector<Line> lines;
  for (const std::string_view line : section(listing, "Assembly")) {
    if (line.starts_with("BB")) {
      lines.push_back({std::string(before(line, ":")), {}});
      continue;
    }
    if (line.empty() || (line[0] != ' ' && line[0] != '\t')) continue;
    const std::string_view text = trim(before(line, ";"));
    const std::string_view op = word(text);
    if (text.empty() || text.starts_with("//") || op == "s_delay_alu") continue;
    Instruction made;
    if (begins_with(op, {"s_branch", "s_cbranch"})) {
      made.kind = Kind::scalar, made.target = numbered(text, "BB");
    } else if (op.find("wmma") != op.npos) {
      made.kind = Kind::matrix;
    } else if (op.starts_with("ds_")) {
      made.kind = Kind::shared;
    } else if (begins_with(op, {"buffer_", "global_", "flat_", "s_load", "s_buffer"})) {
      made.kind = Kind::memory;
    } else if (op.starts_with("scratch_")) {
      made.kind = Kind::scratch;
    } else if (op.starts_with("s_")) {
      made.kind = Kind::scalar;
    } else {
      made.products = amd_products(op);
      const size_t second = text.find("::");  // a dual instruction
      if (second != text.npos) made.products += amd_products(word(trim(text.substr(second + 2))));
    }
    lines.push_back({{}, made});
  }
  return lines;
}

std::vector<Line> parse_intel(std::string_view listing, int width) {
  std::vector<Line> lines;
  for (const std::string_view line : section(listing, "GEN Assembly")) {
    if (line.starts_with("LABEL")) {
      lines.push_back({std::string(before(line, ":")), {}});
      continue;
    }
    std::string_view text = trim(line);
    if (begins_with(text, {"(+f", "(-f"})) text = trim(text.substr(std::min(text.find(')') + 1, text.size())));
    const size_t open = text.find('(');
    if (open == text.npos || open == 0 || open + 1 >= text.size() || !is_digit(text[open + 1])) continue;
    const std::string_view op = text.substr(0, open), base = before(op, ".");
    if (op.find_first_of(" \t") != op.npos) continue;
    const int lanes = std::atoi(std::string(text.substr(open + 1, 3)).c_str());
    Instruction made;
    made.slots = std::max(1, (lanes + width - 1) / width);
    if (is_one_of(base, {"while", "jmpi"})) {
      made.kind = Kind::control, made.target = numbered(text, "LABEL");
    } else if (is_one_of(base, {"if", "else", "endif", "break", "cont", "halt", "nop", "sync"})) {
      made.kind = Kind::control;
    } else if (base.starts_with("send")) {
      made.slots = 1;
      const auto says = [&](std::string_view what) { return text.find(what) != text.npos; };
      made.kind = says("slm") || says("SLM")                            ? Kind::shared
                  : says("scratch") || says("Scratch") || says("spill") ? Kind::scratch
                                                                        : Kind::memory;
    } else if (base == "dpas") {
      made.kind = Kind::matrix, made.slots = 8;
    } else if (base == "dp4a") {
      made.products = 4;
    } else if (is_one_of(base, {"mad", "fma", "mac"})) {
      made.products = text.find(">F") != text.npos || text.find(">HF") != text.npos || text.find("F ") != text.npos;
    }
    lines.push_back({{}, made});
  }
  return lines;
}

std::vector<Line> parse_nvidia(std::string_view listing) {
  std::vector<Line> lines;
  for (const std::string_view line : section(listing, "NAK")) {
    if (line.starts_with("block")) {
      lines.push_back({numbered(line, "L"), {}});
      continue;
    }
    std::string_view text = trim(before(line, "//"));
    if (text.empty() || begins_with(text, {"{", "}", "function"})) continue;
    if (text[0] == '@') text = trim(text.substr(word(text).size()));  // a predicate
    const size_t equals = text.find(" = ");
    if (equals != text.npos) text = trim(text.substr(equals + 3));
    const std::string_view op = word(text), base = before(op, ".");
    const auto says = [&](std::string_view what) { return op.find(what) != op.npos; };
    Instruction made;
    if (base == "bra") {
      made.kind = Kind::control, made.target = numbered(text, "L");
    } else if (base == "ffma") {
      made.products = 1;
    } else if (base == "hfma2") {
      made.products = 2;
    } else if (is_one_of(base, {"idp4", "idp"})) {
      made.products = 4;
    } else if (is_one_of(base, {"hmma", "imma"})) {
      made.kind = Kind::matrix;
    } else if (is_one_of(base, {"lds", "sts", "ldsm", "atoms"}) || (is_one_of(base, {"ld", "st"}) && says(".shared"))) {
      made.kind = Kind::shared;
    } else if (is_one_of(base, {"ldl", "stl"}) || (is_one_of(base, {"ld", "st", "atom"}) && says(".local"))) {
      made.kind = Kind::scratch;
    } else if (is_one_of(base, {"ldg", "stg", "ld", "st", "atomg", "red", "atom"})) {
      made.kind = Kind::memory;
    }
    lines.push_back({{}, made});
  }
  return lines;
}

std::vector<Line> parse_adreno(std::string_view listing) {
  std::vector<Line> lines;
  for (const std::string_view line : section(listing, "IR3 Assembly")) {
    if (line.empty() || line[0] == ';' || line[0] == '@' || line.starts_with("Native")) continue;
    std::string_view text = trim(line);
    if (text.empty()) continue;
    if (text[0] == 'l' && text.back() == ':') {
      lines.push_back({std::string(before(text, ":")), {}});
      continue;
    }
    int repeated = 0;
    while (!text.empty() && text[0] == '(') {  // (sy)(ss)(rpt3)(nop2)...
      const std::string_view flag = text.substr(1, text.find(')') - 1);
      if (flag.starts_with("rpt")) repeated = std::atoi(std::string(flag.substr(3)).c_str());
      text = trim(text.substr(std::min(text.find(')') + 1, text.size())));
    }
    if (text.empty()) continue;
    const std::string_view op = word(text), base = before(op, ".");
    Instruction made;
    made.slots = 1 + repeated;
    if (base == "nop") {
      made.kind = Kind::nothing, made.slots = 0;
    } else if (is_one_of(base, {"jump", "br", "bany", "ball", "brao", "braa", "brac", "shps", "shpe", "getone", "predt",
                                "prede", "predf", "end"})) {
      made.kind = Kind::control;
      const std::string label = numbered(text, "#l");
      if (!label.empty()) made.target = label.substr(1);
    } else if (base == "mad" && (op.find("f32") != op.npos || op.find("f16") != op.npos)) {
      made.products = 1 + repeated;
    } else if (base.starts_with("dp4acc")) {
      made.products = 4 * (1 + repeated);
    } else if (base.starts_with("dp2acc")) {
      made.products = 2 * (1 + repeated);
    } else if (is_one_of(base, {"ldl", "stl", "ldlw", "stlw", "ldlv"})) {
      made.kind = Kind::shared;
    } else if (is_one_of(base, {"ldp", "stp"})) {
      made.kind = Kind::scratch;
    } else if (begins_with(base, {"ldg", "stg", "ldib", "stib", "isam", "sam", "ldc", "atomic", "resinfo"})) {
      made.kind = Kind::memory;
    }
    lines.push_back({{}, made});
  }
  return lines;
}

// "  1a4: 3e00... ffma  r1, r2": every address is a label, and jumps are relative.
std::vector<Line> parse_apple(std::string_view listing) {
  std::vector<Line> lines;
  for (size_t at = 0; at < listing.size();) {
    const size_t end = std::min(listing.find('\n', at), listing.size());
    std::string_view text = trim(listing.substr(at, end - at));
    at = end + 1;
    const size_t colon = text.find(':');
    if (colon == 0 || colon == text.npos || text.find_first_not_of("0123456789abcdef") != colon) continue;
    const long address = std::strtol(std::string(text.substr(0, colon)).c_str(), nullptr, 16);
    text = trim(text.substr(colon + 1));
    text = trim(text.substr(word(text).size()));  // behind the machine code
    const std::string_view op = word(text);
    if (op.empty()) continue;
    const auto label = [](long place) { return "A" + std::to_string(place); };
    lines.push_back({label(address), {}});
    Instruction made;
    if (op.starts_with("jmp")) {
      made.kind = Kind::control;
      const std::string_view rest = text.substr(op.size());
      const size_t number = rest.find_first_of("-0123456789");
      if (number != rest.npos) made.target = label(address + std::atol(std::string(rest.substr(number)).c_str()));
    } else if (begins_with(op, {"ffma", "hfma"}) || is_one_of(op, {"fmadd", "fma"})) {
      made.products = 1;
    } else if (is_one_of(op, {"lload", "lstore", "latomic"}) || op.starts_with("threadgroup")) {
      made.kind = Kind::shared;
    } else if (is_one_of(op, {"load", "store", "atomic", "uload"}) || begins_with(op, {"device_", "atomic"})) {
      made.kind = Kind::memory;
    } else if (is_one_of(op, {"stack_load", "stack_store", "sload", "sstore"})) {
      made.kind = Kind::scratch;
    } else if (is_one_of(op, {"wait", "if", "else", "while", "pop_exec", "barrier", "stop"})) {
      made.kind = Kind::control;
    }
    lines.push_back({{}, made});
  }
  return lines;
}

void count(const Instruction& instruction, Counts& counts) {
  if (instruction.kind != Kind::nothing) ++counts.instructions;
  counts.slots += instruction.slots;
  counts.products += instruction.products;
  if (instruction.products > 0) counts.multiplying += std::max(instruction.slots, instruction.products);
  if (instruction.kind == Kind::matrix) ++counts.matrix;
  if (instruction.kind == Kind::memory) ++counts.memory;
  if (instruction.kind == Kind::shared) ++counts.shared;
  if (instruction.kind == Kind::scratch) ++counts.scratch;
}

}  // namespace

std::vector<Line> parse_listing(Dialect dialect, std::string_view listing, int width) {
  switch (dialect) {
    case Dialect::amd:
      return parse_amd(listing);
    case Dialect::intel:
      return parse_intel(listing, width);
    case Dialect::nvidia:
      return parse_nvidia(listing);
    case Dialect::adreno:
      return parse_adreno(listing);
    case Dialect::apple:
      return parse_apple(listing);
  }
  return {};
}

Analysis analyse(const std::vector<Line>& lines) {
  Analysis analysis;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!lines[i].label.empty()) places.emplace(lines[i].label, i);
  }
  std::map<size_t, size_t> loops;  // from the first line to the last jump back to it
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].label.empty()) count(lines[i].instruction, analysis.whole);
    const auto target = places.find(lines[i].instruction.target);
    if (target != places.end() && target->second <= i) loops[target->second] = std::max(loops[target->second], i);
  }
  analysis.loops = static_cast<int>(loops.size());
  constexpr int kMatrix = 128;  // a matrix instruction weighs as many products of a lane
  for (const auto& [first, last] : loops) {
    Counts counts;
    for (size_t i = first; i <= last; ++i) {
      const bool inside = std::any_of(loops.begin(), loops.end(), [&](const std::pair<const size_t, size_t>& other) {
        const bool within = first <= other.first && other.second <= last;
        return within && other != std::pair<const size_t, size_t>(first, last) && other.first <= i && i <= other.second;
      });
      if (!inside && lines[i].label.empty()) count(lines[i].instruction, counts);
    }
    const int weight = counts.products + kMatrix * counts.matrix;
    const int best = analysis.loop ? analysis.loop->products + kMatrix * analysis.loop->matrix : 0;
    if (weight > best) analysis.loop = counts;
  }
  return analysis;
}

}  // namespace rlxgpu::core::gpus
