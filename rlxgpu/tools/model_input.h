// What the commands that take an ONNX model have in common: the file, its sizes, and elements for its inputs.
//
//   LoadedModel loaded;
//   if (const int code = load_model(command, seed, err, loaded); code != 0) return code;
#ifndef RLXGPU_TOOLS_MODEL_INPUT_H_
#define RLXGPU_TOOLS_MODEL_INPUT_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "rlxgpu/load/mapped_file.h"
#include "rlxgpu/load/onnx/model_def.h"
#include "rlxgpu/load/onnx/onnx.h"

namespace rlxgpu::core::tools {

struct ModelCommand {
  std::string model;
  std::vector<std::string> extents, inputs;  // "name=4", "name=file.npy"
};

absl::StatusOr<onnx::LoadOptions> options_of(const ModelCommand& command);

// A model file and what it says.
struct ModelFile {
  MappedFile bytes;
  onnx::ModelDef def;
};
absl::StatusOr<ModelFile> open_model(const std::string& path);

// Sizes that nobody gave are 1, which is said.
void fill_extents(const onnx::ModelDef& def, onnx::LoadOptions& options, std::ostream& err);

// Says what is wrong; an exit code: 1 for a model that cannot be had, 2 for what went wrong with it.
int fail(const absl::Status& status, std::ostream& err);

struct LoadedModel {
  onnx::Model model;
  onnx::HostTensors inputs;  // those given, and random ones
};
// Random elements for the inputs that have none: the same ones for the same seed.
void fill_inputs(LoadedModel& loaded, uint64_t seed);
// 0, or an exit code, and what is wrong is said.
int load_model(const ModelCommand& command, uint64_t seed, std::ostream& err, LoadedModel& loaded);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_MODEL_INPUT_H_
