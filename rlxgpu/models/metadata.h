// Metadata: what a GGUF file says about its model, by the names of its architecture.
//
//   const Metadata meta(file);
//   meta.architecture();                              // "qwen2"
//   meta.integer("block_count");                      // of "qwen2.block_count"; 0 when the file does not say
//   meta.integer("attention.head_count", 3);          // of layer 3, where a file has one number for each layer
//
// Numbers may have any type in the file. What is absent is what is asked for as `otherwise`.
#ifndef RLXGPU_MODELS_METADATA_H_
#define RLXGPU_MODELS_METADATA_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "rlxgpu/load/gguf.h"

namespace rlxgpu::core {

class Metadata {
 public:
  explicit Metadata(const Gguf& file);

  const std::string& architecture() const { return architecture_; }  // "" when the file does not say
  bool has(std::string_view key) const;
  int64_t count(std::string_view key) const;  // of numbers; 0 when the file does not say
  int64_t integer(std::string_view key, int layer = 0, int64_t otherwise = 0) const;
  double number(std::string_view key, double otherwise = 0) const;
  bool flag(std::string_view key, bool otherwise = false, int layer = 0) const;
  std::string_view text(std::string_view key, std::string_view otherwise = {}) const;

 private:
  // Null when there is none.
  const GgufEntry* entry(std::string_view key) const;
  const GgufValue* value(std::string_view key, int layer) const;

  const Gguf& file_;
  std::string architecture_;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_MODELS_METADATA_H_
