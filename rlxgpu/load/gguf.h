// Gguf: reads .gguf files, in which language models are published with packed weights.
//
//   Result<Gguf> file = Gguf::open("model.gguf");
//   if (!file.ok()) return file.status();                       // says what is wrong with the file, and where
//   const GgufTensor* w = file->find("blk.0.attn_q.weight");
//   std::string_view name = file->text("general.architecture").value_or("");
//   int64_t width = file->integer("llama.embedding_length").value_or(0);
//
// Versions 2 and 3, little-endian. The file is mapped, not read: a tensor's bytes are touched when they are uploaded.
// Everything is checked before anything is used: counts, types, alignment, names only once, tensors inside the file
// that do not overlap. Of a file in several parts (model-00001-of-00003.gguf) the first is opened, and the others with
// it; the metadata are those of the first.
#ifndef RLXGPU_LOAD_GGUF_H_
#define RLXGPU_LOAD_GGUF_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "rlxgpu/load/mapped_file.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

// Integers are u64 or i64, floats double, whatever their width in the file. Texts are the file's bytes.
using GgufValue = std::variant<uint64_t, int64_t, double, bool, std::string_view>;

struct GgufEntry {
  std::string_view key;
  bool is_array = false;
  uint32_t kind = 0;              // GGUF's number of the values' type
  std::vector<GgufValue> values;  // one, unless it is an array
};

struct GgufTensor {
  std::string_view name;
  std::string_view type;       // "F32", "Q4_K"
  int gguf_type = 0;           // that type's number in files
  std::vector<int64_t> shape;  // outermost first, as NumPy has it: the reverse of the file's order
  std::span<const std::byte> data;
};

class Gguf {
 public:
  static Result<Gguf> open(const std::string& path);
  // Of bytes that live as long as this object.
  static Result<Gguf> parse(std::span<const std::byte> bytes);

  int version() const { return version_; }
  std::span<const GgufEntry> metadata() const { return metadata_; }  // in the file's order
  const GgufEntry* metadata(std::string_view key) const;             // null when there is none
  // The value of a key, if there is one of that kind, whatever its width in the file. A scalar counts as an array of
  // one.
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;  // integers, too
  std::optional<bool> flag(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  std::optional<std::vector<int64_t>> integers(std::string_view key) const;
  std::optional<std::vector<double>> numbers(std::string_view key) const;
  std::optional<std::vector<std::string_view>> texts(std::string_view key) const;

  std::span<const GgufTensor> tensors() const { return tensors_; }  // in the file's order
  const GgufTensor* find(std::string_view name) const;              // null when there is none

 private:
  static Result<Gguf> parse_part(std::span<const std::byte> bytes);

  std::vector<MappedFile> files_;
  int version_ = 0;
  std::vector<GgufEntry> metadata_;
  std::vector<GgufTensor> tensors_;
};

// Elements and bytes of a block of a GGUF type, which is F32, F16, Q4_K, ...; zeros when there is no such type.
struct GgufTypeSize {
  int number = -1, elements = 0, bytes = 0;
};
GgufTypeSize gguf_type_size(std::string_view type);

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Gguf, core::GgufEntry, core::GgufTensor, core::GgufValue;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_GGUF_H_
