// GgufWriter: writes .gguf files, version 3.
//
//   GgufWriter out;
//   out.set("general.architecture", std::string_view("llama"));      // an integer as u32, a float as f32
//   out.add("token_embd.weight", "Q4_K", {vocabulary, width});       // shapes outermost first
//   Status status = out.begin("model.gguf");
//   status = out.write(bytes);                                       // each tensor's, in the order of add
//   status = out.end();
//
// The file gets its name at the end, so that there is never half of it. The first error stays.
#ifndef RLXGPU_LOAD_GGUF_WRITER_H_
#define RLXGPU_LOAD_GGUF_WRITER_H_

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/load/gguf.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

class GgufWriter {
 public:
  GgufWriter() = default;
  GgufWriter(const GgufWriter&) = delete;
  GgufWriter& operator=(const GgufWriter&) = delete;
  ~GgufWriter();  // a file that did not come to its end is removed

  void set(std::string_view key, std::string_view value);
  void set(std::string_view key, uint32_t value);
  void set(std::string_view key, float value);
  void set(std::string_view key, std::same_as<bool> auto value) { set_flag(key, value); }
  void set(std::string_view key, std::span<const std::string_view> values);
  void set(std::string_view key, std::span<const float> values);
  // An entry of another file, as it is there.
  void set(const GgufEntry& entry);
  // Type: as Gguf::tensors() names it.
  void add(std::string_view name, std::string_view type, std::span<const int64_t> shape);

  Status begin(const std::string& path);
  Status write(std::span<const std::byte> tensor);
  Status end();

 private:
  struct Planned {
    std::string name;
    uint64_t bytes = 0;
  };
  void set_flag(std::string_view key, bool value);
  void begin_entry(std::string_view key, uint32_t kind);
  Status fail(std::string message);
  Status put(std::span<const std::byte> bytes);

  std::string entries_, tensors_, error_;
  uint64_t entry_count_ = 0, data_ = 0;
  std::vector<std::string> keys_;
  std::vector<Planned> planned_;
  size_t written_ = 0;
  std::string path_;
  std::FILE* file_ = nullptr;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::GgufWriter;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_GGUF_WRITER_H_
