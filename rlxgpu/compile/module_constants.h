// Module constants of a rendered kernel, and which of them may become numbers that are read at run time (free_sizes.h).
#ifndef RLXGPU_COMPILE_MODULE_CONSTANTS_H_
#define RLXGPU_COMPILE_MODULE_CONSTANTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rlxgpu/wgsl/kernel_file.h"
#include "rlxgpu/wgsl/reader.h"

namespace rlxgpu::core::internal {

// A constant outside functions: `const kName = 12u;`, `const kName = i32(-3);`, or computed from such ones.
struct ModuleConstant {
  std::vector<std::string_view> value;  // its tokens
  bool is_literal = false, is_signed = false;
  uint32_t word = 0;                    // literal
  bool liftable = true;                 // nothing wants it to be a constant
  std::vector<std::string_view> users;  // constants computed from it
};
using ModuleConstants = std::map<std::string_view, ModuleConstant>;

inline ModuleConstant constant_of(std::vector<std::string_view> value) {
  ModuleConstant constant;
  const bool negative = value.size() == 5 && value[2] == "-";
  if (value.size() == 1) constant.is_literal = parse_unsigned(value[0], constant.word);
  if (value[0] == "i32" && (negative || value.size() == 4)) {
    constant.is_literal = constant.is_signed =
        parse_unsigned(std::string(value[negative ? 3 : 2]) + "u", constant.word);
    if (negative) constant.word = 0 - constant.word;
  }
  constant.value = std::move(value);
  return constant;
}

inline ModuleConstants constants_of(std::string_view text, const KernelFile& file) {
  ModuleConstants constants;
  std::vector<std::string_view> statement;  // tokens since the last one ended
  WgslReader reader(text);
  for (std::string_view token = reader.next(); reader.kind() != WgslReader::Kind::end; token = reader.next()) {
    if (reader.kind() == WgslReader::Kind::blank) continue;
    if (token != ";" && token != "}") {
      statement.push_back(token);
      continue;
    }
    const bool declares =
        reader.depth() == 0 && statement.size() >= 4 && statement[0] == "const" && statement[2] == "=";
    if (declares) constants.emplace(statement[1], constant_of({statement.begin() + 3, statement.end()}));
    statement.clear();
  }
  // Those that are used where WGSL wants a constant stay constants,
  std::string_view owner;
  WgslReader uses(text);
  for (std::string_view token = uses.next(); uses.kind() != WgslReader::Kind::end; token = uses.next()) {
    if (uses.depth() == 0 && token == ";") owner = {};
    const auto found = uses.kind() == WgslReader::Kind::word ? constants.find(token) : constants.end();
    if (found == constants.end()) continue;
    if (uses.depth() == 0 && uses.before() == "const") {
      owner = token;
    } else if (constants.contains(owner)) {
      found->second.users.push_back(owner);
    } else if (!uses.takes_any_number()) {
      found->second.liftable = false;
    }
  }
  // and so do those from which they are computed. Literals are sizes when the file says so, others when they hold one.
  for (auto& [name, constant] : constants) {
    if (constant.is_literal && file.find(KernelFile::Kind::param, name) < 0) constant.liftable = false;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (auto& [name, constant] : constants) {
      if (!constant.liftable) continue;
      bool lifts = constant.is_literal;
      for (const std::string_view part : constant.value) {
        const auto found = constants.find(part);
        lifts = lifts || (found != constants.end() && found->second.liftable);
      }
      for (const std::string_view user : constant.users) lifts = lifts && constants[user].liftable;
      changed = changed || !lifts;
      constant.liftable = lifts;
    }
  }
  return constants;
}

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_COMPILE_MODULE_CONSTANTS_H_
