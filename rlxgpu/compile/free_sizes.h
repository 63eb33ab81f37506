// free_sizes: one kernel for many shapes. The sizes that stand in kernel texts as literals become numbers that are read
// from memory, so that programs which differ only in them share texts, hence pipelines.
//
//   Program program = compile(graph, target);
//   std::vector<std::string> texts = ...;              // rendered, with every size a literal ("baked")
//   free_sizes(program, texts, target);                // fewer kernels, and one more constant for each step
//
// A driver compiles each new text for 0.1 to 0.5 s, and runs the free form 1.2 to 2.2 times as long (lavapipe): baked is
// for shapes that are used again and again, free for those that come and go.
//
// It works on the text, after everything else, so that ops need not know of it. A size is: a module constant of the
// file's //#params, or one computed from such, that only function bodies use, where WGSL lets it be any number (not the
// length of an array, say); a literal above 1 in the code that the machine writes for extents, places, inputs and
// outputs. The sizes of a step are one tensor of u32 in a constant buffer, bound after the kernel's own bindings. A
// kernel that has no binding left, of those that every device has, keeps its literals.
#ifndef RLXGPU_COMPILE_FREE_SIZES_H_
#define RLXGPU_COMPILE_FREE_SIZES_H_

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rlxgpu/compile/program.h"

namespace rlxgpu {
namespace internal {

// Reads WGSL token by token, and knows where it is as far as sizes are concerned.
class WgslReader {
 public:
  enum class Kind : uint8_t { blank, word, number, sign, end };

  explicit WgslReader(std::string_view text) : text_(text) {}

  // The next token, comments and spaces (blank) included.
  std::string_view next() {
    const size_t start = at_;
    if (at_ == text_.size()) return token_(Kind::end, start);
    const char c = text_[at_];
    if (is_space(c) || text_.substr(at_).starts_with("//") || text_.substr(at_).starts_with("/*")) {
      skip_blank();
      return token_(Kind::blank, start);
    }
    if (is_word(c)) {
      const bool number = c >= '0' && c <= '9';
      // 1.5e-3f is one number; its sign and point are part of it.
      while (at_ < text_.size() && (is_word(text_[at_]) || (number && (text_[at_] == '.' || is_exponent_sign())))) ++at_;
      return seen(token_(number ? Kind::number : Kind::word, start));
    }
    bool pair = false;
    for (const std::string_view sign : {"<<", ">>", "==", "!=", "<=", ">=", "&&", "||"}) pair = pair || text_.substr(at_).starts_with(sign);
    at_ += pair && !in_array() ? 2 : 1;  // array<vec2<f32>> ends with two signs
    return seen(token_(Kind::sign, start));
  }
  Kind kind() const { return kind_; }
  std::string_view before() const { return before_; }  // the token before this one that is not blank
  int depth() const { return depth_; }
  std::string_view function() const { return function_; }  // whose body this is, or ""
  // Where a number that is only known at run time may stand.
  bool takes_any_number() const { return depth_ > 0 && !function_.empty() && !in_array() && !constant_ && !case_ && call_depth_ < 0; }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }
  static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
  bool is_exponent_sign() const {
    const char c = text_[at_], e = at_ > 0 ? text_[at_ - 1] : ' ';
    const bool hex = text_.substr(number_start_).starts_with("0x");
    return (c == '-' || c == '+') && (hex ? e == 'p' || e == 'P' : e == 'e' || e == 'E');
  }
  bool in_array() const { return array_depth_ > 0; }
  void skip_blank() {
    while (at_ < text_.size()) {
      const std::string_view rest = text_.substr(at_);
      if (is_space(rest[0])) {
        ++at_;
      } else if (rest.starts_with("//")) {
        at_ += std::min(rest.find('\n'), rest.size());
      } else if (rest.starts_with("/*")) {
        int nested = 0;
        do {
          if (text_.substr(at_).starts_with("/*")) ++nested;
          if (text_.substr(at_).starts_with("*/")) --nested;
          at_ += nested == 0 ? 2 : 1;
        } while (nested > 0 && at_ < text_.size());
      } else {
        return;
      }
    }
  }
  std::string_view token_(Kind kind, size_t start) {
    kind_ = kind;
    number_start_ = at_;
    return text_.substr(start, at_ - start);
  }
  std::string_view seen(std::string_view token) {
    before_ = last_;
    last_ = token;
    if (kind_ == Kind::word) {
      if (token == "const" || token == "const_assert") constant_ = true;
      if (token == "case") case_ = true;
      if (before_ == "fn") function_ = token;
    }
    if (kind_ != Kind::sign) return token;
    const char c = token[0];
    if (token == "<" && (in_array() || before_ == "array")) ++array_depth_;
    if (token == ">" && in_array()) --array_depth_;
    if (c == ';') constant_ = false;
    if (c == ':' || c == '{') case_ = false;
    if (c == '(') {
      ++parentheses_;
      // Their arguments must be constants.
      if (call_depth_ < 0 && (before_ == "subgroupBroadcast" || before_ == "quadBroadcast")) call_depth_ = parentheses_;
    }
    if (c == ')') {
      if (call_depth_ == parentheses_) call_depth_ = -1;
      --parentheses_;
    }
    if (c == '{') ++depth_;
    if (c == '}' && --depth_ == 0) function_ = {};
    return token;
  }

  std::string_view text_;
  size_t at_ = 0, number_start_ = 0;
  Kind kind_ = Kind::blank;
  std::string_view before_, last_, function_;
  int depth_ = 0, array_depth_ = 0, parentheses_ = 0, call_depth_ = -1;
  bool constant_ = false, case_ = false;  // in a statement or selector whose numbers must be constants
};

// "12u" -> 12.
inline bool parse_unsigned(std::string_view token, uint32_t& value) {
  if (!token.ends_with('u')) return false;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size() - 1, value);
  return error == std::errc() && end == token.data() + token.size() - 1;
}

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
    constant.is_literal = constant.is_signed = parse_unsigned(std::string(value[negative ? 3 : 2]) + "u", constant.word);
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
    const bool declares = reader.depth() == 0 && statement.size() >= 4 && statement[0] == "const" && statement[2] == "=";
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

struct FreeKernel {
  std::string text;
  std::vector<uint32_t> sizes;  // what its literals were
};

// Writes a text with sizes in place of literals.
class FreeWriter {
 public:
  FreeWriter(std::string_view text, const KernelFile& file) : text_(text), file_(file), constants_(constants_of(text, file)) {}

  FreeKernel write(int32_t binding) {
    WgslReader reader(text_);
    bool skipping = false;  // the declaration of a constant that is one no more
    for (std::string_view token = reader.next(); reader.kind() != WgslReader::Kind::end; token = reader.next()) {
      if (skipping) {
        skipping = token != ";";
      } else if (reader.kind() == WgslReader::Kind::word && is_lifted(token)) {
        skipping = reader.depth() == 0;
        if (skipping) {
          kernel_.text.erase(kernel_.text.rfind("const"));
        } else {
          constant(token);
        }
      } else if (!literal(reader, token)) {
        kernel_.text += token;
      }
    }
    if (!kernel_.sizes.empty()) {
      kernel_.text += "@group(0) @binding(" + std::to_string(binding) + ") var<storage, read> rlx_sizes : array<u32, " +
                      std::to_string(kernel_.sizes.size()) + ">;\n";
    }
    return std::move(kernel_);
  }

 private:
  bool is_lifted(std::string_view name) const {
    const auto found = constants_.find(name);
    return found != constants_.end() && found->second.liftable;
  }
  // A function that the machine wrote: an extent, a place, or the access to an input or output.
  bool is_written(std::string_view function) const {
    for (int i = 0; i < file_.name_count(); ++i) {
      const KernelFile::Name& name = file_.name(i);
      const bool itself = name.kind == KernelFile::Kind::extent || name.kind == KernelFile::Kind::place;
      if (itself && name.text == function) return true;
      if (name.kind != KernelFile::Kind::input && name.kind != KernelFile::Kind::output) continue;
      if (function.size() > name.text.size() && function.starts_with(name.text) && function[name.text.size()] == '_') return true;
    }
    return false;
  }
  void size(size_t place, bool is_signed) {
    const std::string element = "rlx_sizes[" + std::to_string(place) + "]";
    kernel_.text += is_signed ? "bitcast<i32>(" + element + ")" : element;
  }
  void constant(std::string_view name) {
    const ModuleConstant& constant = constants_.at(name);
    if (!constant.is_literal) {  // computed where it is used
      kernel_.text += '(';
      for (const std::string_view token : constant.value) {
        is_lifted(token) ? this->constant(token) : void(kernel_.text += token);
        kernel_.text += ' ';
      }
      kernel_.text += ')';
      return;
    }
    const auto [place, added] = places_.emplace(name, kernel_.sizes.size());
    if (added) kernel_.sizes.push_back(constant.word);
    size(place->second, constant.is_signed);
  }
  bool literal(const WgslReader& reader, std::string_view token) {
    uint32_t value = 0;
    if (reader.kind() != WgslReader::Kind::number || !reader.takes_any_number() || !parse_unsigned(token, value)) return false;
    if (value < 2 || reader.before() == "<<" || reader.before() == ">>" || !is_written(reader.function())) return false;
    size(kernel_.sizes.size(), false);
    kernel_.sizes.push_back(value);
    return true;
  }

  std::string_view text_;
  const KernelFile& file_;
  ModuleConstants constants_;
  FreeKernel kernel_;
  std::map<std::string_view, size_t> places_;  // of constants among the sizes
};

inline FreeKernel free_kernel(std::string_view text, const KernelFile& file, int32_t binding) { return FreeWriter(text, file).write(binding); }

}  // namespace internal

// texts[k] is the WGSL of kernel k, and stays so.
inline void free_sizes(Program& program, std::vector<std::string>& texts, const Target& target) {
  SpecPools& pools = program.kernels;
  std::vector<internal::FreeKernel> kernels;  // by old kernel
  std::vector<int32_t> renamed;
  std::map<std::string_view, int32_t> known;
  Vec<KernelSpec> specs;
  std::vector<std::string> free_texts;
  kernels.reserve(texts.size());  // `known` points into them
  for (size_t k = 0; k < texts.size(); ++k) {
    KernelSpec spec = pools.specs[k];
    const bool has_room = static_cast<uint32_t>(spec.bindings.count) < std::min(target.max_storage_buffers, kPortable.max_storage_buffers);
    kernels.push_back(has_room ? internal::free_kernel(texts[k], *spec.file, spec.bindings.count) : internal::FreeKernel{texts[k], {}});
    const auto [found, added] = known.emplace(kernels.back().text, static_cast<int32_t>(free_texts.size()));
    renamed.push_back(found->second);
    if (!added) continue;
    if (!kernels.back().sizes.empty()) {
      const Range old = spec.bindings;
      spec.bindings = {static_cast<int32_t>(pools.bindings.size()), old.count + 1};
      for (int32_t i = 0; i < old.count; ++i) pools.bindings.push_back(BindingType(pools.bindings[static_cast<size_t>(old.first + i)]));
      pools.bindings.push_back({u32, false, false, true});
    }
    specs.push_back(spec);
    free_texts.push_back(kernels.back().text);
  }
  pools.specs = std::move(specs);
  texts = std::move(free_texts);

  const auto buffer = static_cast<int32_t>(program.buffers.size());  // of all sizes
  const size_t first_word = program.words.size();
  std::map<std::vector<uint32_t>, int32_t> placed;  // tensors of sizes
  const auto tensor_of = [&](const std::vector<uint32_t>& sizes) {
    const auto [found, added] = placed.emplace(sizes, static_cast<int32_t>(program.tensors.size()));
    if (!added) return found->second;
    while ((program.words.size() - first_word) % (target.offset_alignment / 4) != 0) program.words.push_back(0);
    TensorDecl tensor;
    tensor.dtype = u32;
    tensor.shape = Shape{static_cast<int64_t>(sizes.size())};
    tensor.buffer = buffer;
    tensor.offset = (program.words.size() - first_word) * 4;
    tensor.bytes = sizes.size() * 4;
    for (const uint32_t size : sizes) program.words.push_back(size);
    program.tensors.push_back(tensor);
    return found->second;
  };
  Vec<StepBinding> bindings;
  for (Step& step : program.steps) {
    const auto first = static_cast<int32_t>(bindings.size());
    for (const StepBinding& binding : slice(span_of(program.bindings), step.bindings)) bindings.push_back(binding);
    const std::vector<uint32_t>& sizes = kernels[static_cast<size_t>(step.kernel)].sizes;
    if (!sizes.empty()) bindings.push_back({tensor_of(sizes), false});
    step.bindings = {first, static_cast<int32_t>(bindings.size()) - first};
    step.kernel = renamed[static_cast<size_t>(step.kernel)];
  }
  program.bindings = std::move(bindings);
  if (placed.empty()) return;
  BufferDecl decl;
  decl.role = BufferRole::constant;
  decl.words = {static_cast<int32_t>(first_word), static_cast<int32_t>(program.words.size() - first_word)};
  decl.bytes = (4 * static_cast<uint64_t>(decl.words.count) + 15) / 16 * 16;
  program.buffers.push_back(decl);
}

}  // namespace rlxgpu

#endif  // RLXGPU_COMPILE_FREE_SIZES_H_
