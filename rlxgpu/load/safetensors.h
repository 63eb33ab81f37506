// Safetensors: reads and writes .safetensors files, in which most models publish their weights.
//
//   Result<Safetensors> file = Safetensors::open("model.safetensors");
//   if (!file.ok()) return file.status();                        // says what is wrong with the file, and where
//   Executable<Model> model(device, {.weights = weights});
//   Status status = load_weights(*file, Executable<Model>::program, weights);
//
// The file is mapped, not read: a tensor's bytes are touched when they are uploaded. A header is checked as a whole
// before anything is used: lengths, types, shapes, offsets without gaps or overlaps, names only once.
#ifndef RLXGPU_LOAD_SAFETENSORS_H_
#define RLXGPU_LOAD_SAFETENSORS_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rlxgpu/compile/program.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/load/mapped_file.h"
#include "rlxgpu/load/stored_tensor.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/runtime/weights.h"

namespace rlxgpu::core {

using Metadata = std::vector<std::pair<std::string, std::string>>;

class Safetensors {
 public:
  static Result<Safetensors> open(const std::string& path);
  // Of bytes that live as long as this object.
  static Result<Safetensors> parse(std::span<const std::byte> bytes);

  std::span<const StoredTensor> tensors() const { return tensors_; }  // by name
  const StoredTensor* find(std::string_view name) const;              // null when there is none
  const Metadata& metadata() const { return metadata_; }

 private:
  std::optional<MappedFile> file_;
  std::vector<StoredTensor> tensors_;
  Metadata metadata_;
};

// Gives every weight of the program (or graph) its tensor of the same name, turned into the program's type. All that
// is missing or of another shape is in the message, and then nothing is loaded. What the program does not use is skipped.
Status load_weights(const Safetensors& file, const ProgramView& program, const Weights& weights);
Status load_weights(const Safetensors& file, const Graph& graph, const Weights& weights);

// Writes a file in one go: under another name first, then renamed, so that there is never half of it.
Status write_safetensors(const std::string& path, std::span<const StoredTensor> tensors, const Metadata& metadata = {});

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Metadata, core::Safetensors, core::load_weights, core::write_safetensors;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_SAFETENSORS_H_
