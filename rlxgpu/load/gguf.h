// Gguf: reads .gguf files, in which language models are published with packed weights.
//
//   Result<Gguf> file = Gguf::open("model.gguf");
//   if (!file.ok()) return file.status();                       // says what is wrong with the file, and where
//   const GgufTensor* w = file->find("blk.0.attn_q.weight");
//   const GgufEntry* name = file->metadata("general.architecture");
//
// Versions 2 and 3, little-endian. The file is mapped, not read: a tensor's bytes are touched when they are uploaded.
// Everything is checked before anything is used: counts, types, alignment, names only once, tensors inside the file
// that do not overlap. Files in several parts are not joined.
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
  std::span<const GgufTensor> tensors() const { return tensors_; }   // in the file's order
  const GgufTensor* find(std::string_view name) const;               // null when there is none

 private:
  std::optional<MappedFile> file_;
  int version_ = 0;
  std::vector<GgufEntry> metadata_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Gguf, core::GgufEntry, core::GgufTensor, core::GgufValue;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_GGUF_H_
