// KernelFile: a WGSL file that any WGSL tool accepts as it stands, parsed once at compile time.
//
//   inline constexpr KernelFile kReduceFile(
//   #include "rlxgpu/kernels/reduce/reduce.wgsl"
//   );
//
// The file's first line is  /*/**/R"wgsl(*/  and its last  //)wgsl"  (WGSL block comments nest, C++
// ones do not), so that C++ sees one raw string. What may be specialised is marked by comments:
//
//   //#params                              values to be replaced: constants and aliases
//   const kCols = 64u;   alias Elem = f32;
//   //#end
//   //#extents                             sizes that may be run-time numbers: what they return is replaced
//   fn cols() -> u32 { return kCols; }
//   //#end
//   //#input x                             replaced by code that defines  fn x_at(i : u32) -> Elem:
//   @group(0) @binding(0) var<storage, read> x : array<f32>;    element i of the operand, row-major,
//   fn x_at(i : u32) -> f32 { return x[i]; }                    whatever its layout, type or origin
//   //#end
//   //#output y                            replaced by code that defines  fn y_put(i : u32, v : Elem)  and
//   ...                                    fn y_map(i : u32, v : Elem) -> Stored  (v after the maps that follow)
//                                          and fn y_put4(i : u32, v : vec4<Elem>), i % 4 == 0, if the default has it
//   //#end
//   //#raw a                               kept, with @binding(...) renumbered: the kernel reads the
//   @group(0) @binding(1) var<storage, read> a : array<f32>;    buffer itself
//   //#end
//   //#buffer a                            likewise, and  fn a_load(i : u32) -> Elem:  the element at place i of the
//   @group(0) @binding(0) var<storage, read> a : array<f32>;    buffer, whatever its type. Or a_load4 (-> vec4) or
//   fn a_load(i : u32) -> f32 { return a[i]; }                  a_load8 (-> mat2x4), from a multiple of 4 or 8 on
//                                          or a_vector4 or a_vector8, from the i-th four or eight on
//   //#end
//   //#place a_begin                       replaced by code that returns the place of element i of a view
//   fn a_begin(i : u32) -> u32 { return i * 4096u; }
//   //#end
//   //#if BIAS ... //#else ... //#end      kept or dropped
//   //#slot combine ... //#end             replaced by text that the op gives, if it gives one
//
// A branch that defines what the other branch defines, too, is hidden from other tools by a comment around it: its first
// line is  /*  and its last  */.
//
// Text that several files share is a part, NAME.part.wgsl, with the same first and last line. These three lines stand for it:
// C++ ends its string, includes another and goes on, and joins the three; other tools see a comment, and want the part
// put in first (`rlxgpu check FILE` does). A hidden branch includes nothing.
//
//   /*)wgsl"
//   #include "rlxgpu/kernels/norm/normed_linear.part.wgsl"
//   R"wgsl(*/
//
// Anything wrong with a file (an unknown directive, a block that does not end) does not compile: the
// compiler's note shows the line here that says what is wrong.
#ifndef RLXGPU_WGSL_KERNEL_FILE_H_
#define RLXGPU_WGSL_KERNEL_FILE_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace rlxgpu::core {

// No constant can be made of what calls this: that is how a wrong file does not compile.
[[noreturn]] inline void bad_kernel_file(const char* sentence) {
  std::fprintf(stderr, "rlxgpu: %s\n", sentence);
  std::abort();
}

class KernelFile {
 public:
  enum class Kind : uint8_t { text, param, extent, input, output, raw, buffer, place, slot, if_begin, if_else, if_end };

  // text: kept as it is. param, extent: `start, size` is the default value. Blocks: the default text.
  struct Piece {
    Kind kind = Kind::text;
    uint16_t name = 0;  // index into names
    int16_t jump = -1;  // if_begin: the piece after which its else or end is; if_else: likewise its end
    int32_t start = 0, size = 0;
  };
  struct Name {
    Kind kind = Kind::text;
    std::string_view text;
  };
  static constexpr int kMaxPieces = 160, kMaxNames = 64;

  template <int kSize>
  constexpr KernelFile(const char (&literal)[kSize]) : text_(literal, kSize - 1) {  // implicit: reads as a value
    if (text_.starts_with("*/")) text_.remove_prefix(2);
    if (text_.ends_with("//")) text_.remove_suffix(2);
    parse();
  }

  constexpr std::string_view text() const { return text_; }
  constexpr int size() const { return piece_count_; }
  constexpr const Piece& piece(int i) const { return pieces_[i]; }
  constexpr std::string_view text_of(const Piece& piece) const {
    return text_.substr(static_cast<size_t>(piece.start), static_cast<size_t>(piece.size));
  }
  constexpr int name_count() const { return name_count_; }
  constexpr const Name& name(int i) const { return names_[i]; }
  // Index of a specialisation point, or -1. Looks from `start` on: callers name points in the file's order.
  constexpr int find(Kind kind, std::string_view text, int start = 0) const {
    for (int n = 0, i = start; n < name_count_; ++n, ++i) {
      if (i >= name_count_) i = 0;
      const Name& name = names_[i];
      if (name.kind == kind && name.text.size() == text.size() && same(name.text.data(), text.data(), text.size())) return i;
    }
    return -1;
  }

 private:
  static constexpr bool same(const char* a, const char* b, size_t size) {  // cheaper for the compiler than operator==
    for (size_t i = size; i-- > 0;) {
      if (a[i] != b[i]) return false;  // names that are close differ at the end
    }
    return true;
  }
  static constexpr bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }

  constexpr void add(Kind kind, size_t start, size_t end, int name = 0) {
    if (kind == Kind::text && start == end) return;
    if (piece_count_ == kMaxPieces) bad_kernel_file("kernel file: too many specialisation points");
    pieces_[piece_count_++] = {kind, static_cast<uint16_t>(name), -1, static_cast<int32_t>(start),
                               static_cast<int32_t>(end - start)};
  }
  constexpr int intern(Kind kind, std::string_view text) {
    const int known = branches_ ? find(kind, text) : -1;  // only branches name a thing twice
    if (known >= 0) return known;
    if (text.empty()) bad_kernel_file("kernel file: a directive without a name");
    if (name_count_ == kMaxNames) bad_kernel_file("kernel file: too many names");
    names_[name_count_] = {kind, text};
    return name_count_++;
  }

  // The line that starts at `at`, without its end.
  constexpr std::string_view line_at(size_t at) const { return text_.substr(at, next_of("\n", at) - at); }
  constexpr size_t next_line(size_t at) const {
    const size_t end = next_of("\n", at);
    return end < text_.size() ? end + 1 : end;
  }
  // Where the next `c` (a string of one) is, or the end. One step for the compiler, however long the way; the text is
  // part of a literal, so it ends in a zero somewhere.
  constexpr size_t next_of(const char* c, size_t at) const {
#ifdef __clang__
    const char* const found = __builtin_char_memchr(text_.data() + at, *c, text_.size() - at);
    return found == nullptr ? text_.size() : static_cast<size_t>(found - text_.data());
#else
    const size_t found = at + __builtin_strcspn(text_.data() + at, c);
    return found < text_.size() ? found : text_.size();
#endif
  }
  constexpr size_t block_end(size_t at) const {  // start of the line //#end
    for (; at < text_.size(); at = next_line(at)) {
      const std::string_view line = line_at(at);
      if (line == "//#end") return at;
      if (line.starts_with("//#")) bad_kernel_file("kernel file: a directive inside a block");
    }
    bad_kernel_file("kernel file: a block without //#end");
  }

  // Where a part begins or ends.
  static constexpr bool is_seam(std::string_view line) { return line == "/**/" || line == "//*/"; }

  constexpr void parse() {
    size_t kept = 0;  // start of the text not yet in a piece
    size_t at = 0;
    int open[8] = {}, depth = 0;
    bool hidden[8] = {};
    while (at < text_.size()) {
      if (text_[at] != '/') {
        at = next_line(at);
        continue;
      }
      std::string_view line = line_at(at);
      if (is_seam(line)) {
        if (depth > 0 && hidden[depth - 1]) bad_kernel_file("kernel file: a part in a hidden branch");
        add(Kind::text, kept, at);
        at = kept = next_line(at);
        continue;
      }
      if (!line.starts_with("//#")) {
        at = next_line(at);
        continue;
      }
      line.remove_prefix(3);
      size_t verb_size = 0;
      while (verb_size < line.size() && is_word(line[verb_size])) ++verb_size;
      const std::string_view verb = line.substr(0, verb_size);
      const std::string_view argument = verb_size < line.size() ? line.substr(verb_size + 1) : std::string_view();
      size_t body = next_line(at);
      const bool closes = (verb == "else" || verb == "end") && depth > 0 && hidden[depth - 1];
      if (closes && !text_.substr(kept, at - kept).ends_with("*/\n")) bad_kernel_file("kernel file: a hidden branch without */");
      add(Kind::text, kept, closes ? at - 3 : at);
      const bool hides = line_at(body) == "/*";
      if (hides && (verb == "if" || verb == "else")) body = next_line(body);
      if (verb == "if") {
        if (depth == 8) bad_kernel_file("kernel file: //#if nested too deep");
        branches_ = true;
        hidden[depth] = hides;
        open[depth++] = piece_count_;
        add(Kind::if_begin, at, at, intern(Kind::if_begin, argument));
        at = kept = body;
      } else if (verb == "else") {
        if (depth == 0) bad_kernel_file("kernel file: //#else without //#if");
        pieces_[open[depth - 1]].jump = static_cast<int16_t>(piece_count_);
        hidden[depth - 1] = hides;
        open[depth - 1] = piece_count_;
        add(Kind::if_else, at, at);
        at = kept = body;
      } else if (verb == "end") {
        if (depth == 0) bad_kernel_file("kernel file: //#end without a block");
        pieces_[open[--depth]].jump = static_cast<int16_t>(piece_count_);
        add(Kind::if_end, at, at);
        at = kept = body;
      } else if (verb == "params" || verb == "extents") {
        const size_t end = block_end(body);
        parse_values(verb == "params" ? Kind::param : Kind::extent, body, end);
        at = kept = next_line(end);
      } else {
        const Kind kind = verb == "input"    ? Kind::input
                          : verb == "output" ? Kind::output
                          : verb == "raw"    ? Kind::raw
                          : verb == "buffer" ? Kind::buffer
                          : verb == "place"  ? Kind::place
                          : verb == "slot"   ? Kind::slot
                                             : (bad_kernel_file("kernel file: an unknown directive"), Kind());
        const size_t end = block_end(body);
        add(kind, body, end, intern(kind, argument));
        at = kept = next_line(end);
      }
    }
    if (depth != 0) bad_kernel_file("kernel file: //#if without //#end");
    add(Kind::text, kept, text_.size());
  }

  // Statements `const kName [: type] = value;`, `alias Name = value;`, `fn name() -> u32 { return value; }`.
  constexpr void parse_values(Kind kind, size_t at, size_t end) {
    const std::string_view lead = kind == Kind::param ? "=" : "return ";
    size_t kept = at;
    while (at < end) {
      if (text_[at] == ' ' || text_[at] == '\n' || text_[at] == ';') {
        ++at;
        continue;
      }
      if (text_[at] == '/') {  // a comment
        const bool seam = is_seam(line_at(at));
        if (seam) add(Kind::text, kept, at);
        at = next_line(at);
        if (seam) kept = at;
        continue;
      }
      const std::string_view rest = text_.substr(at, end - at);
      const size_t keyword = rest.starts_with("const ") ? 6 : rest.starts_with("alias ") ? 6 : rest.starts_with("fn ") ? 3 : 0;
      if (keyword == 0) {
        ++at;
        continue;
      }
      size_t name_end = at + keyword;
      while (is_word(text_[name_end])) ++name_end;
      const std::string_view name = text_.substr(at + keyword, name_end - at - keyword);
      const char* const first = kind == Kind::param ? "=" : "r";  // of lead
      size_t value = next_of(first, name_end);
      while (value < end && !text_.substr(value).starts_with(lead)) value = next_of(first, value + 1);
      value += lead.size();
      while (value < end && text_[value] == ' ') ++value;
      const size_t stop = next_of(";", value);
      if (stop >= end) bad_kernel_file("kernel file: a value without ;");
      add(Kind::text, kept, value);
      add(kind, value, stop, intern(kind, name));
      at = kept = stop;
    }
    add(Kind::text, kept, end);
  }

  std::string_view text_;
  Piece pieces_[kMaxPieces] = {};
  Name names_[kMaxNames] = {};
  int piece_count_ = 0, name_count_ = 0;
  bool branches_ = false;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_WGSL_KERNEL_FILE_H_
