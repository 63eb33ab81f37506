#include "rlxgpu/tools/bundle.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "rlxgpu/load/mapped_file.h"
#include "rlxgpu/load/safetensors.h"
#include "rlxgpu/tools/program_json.h"
#include "rlxgpu/tools/sha256.h"

namespace rlxgpu::core::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBundleVersion = 1;
constexpr std::string_view kImmediates = "var<immediate> imm : Immediates;\n";

// Takes the words of constant buffers out of the program and puts them at the end of `constants`.
void move_constants(Json& json, std::string& constants) {
  const auto move = [&](const Json& words, Json& buffer) {
    constants.resize((constants.size() + 15) / 16 * 16);
    buffer["at"] = constants.size();
    buffer["length"] = 4 * words.size();
    for (const Json& word : words) {
      const auto bits = word.get<uint32_t>();
      for (int shift = 0; shift < 32; shift += 8) constants += static_cast<char>(bits >> shift & 255);
    }
  };
  for (Json& buffer : json["buffers"]) {
    if (buffer["role"] != "constant") continue;
    const Json words = buffer.contains("words") ? buffer["words"] : json["constants"];
    buffer.erase("words");
    move(words, buffer);
  }
  json.erase("constants");
}

absl::Status write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat("cannot write ", path.string()));
}

}  // namespace

std::string bundle_text(std::string_view wgsl) {
  std::string out;
  int depth = 0;  // of block comments, which nest
  for (size_t i = 0; i < wgsl.size(); ++i) {
    const std::string_view rest = wgsl.substr(i);
    if (rest.starts_with("/*")) {
      ++depth, ++i;
    } else if (depth > 0) {
      if (!rest.starts_with("*/")) continue;
      ++i;
      if (--depth == 0 && !out.empty() && out.back() != '\n') out += ' ';  // "a/**/b" is two words
    } else if (rest.starts_with("//")) {
      i += std::min(rest.find('\n'), rest.size()) - 1;
    } else {
      if (wgsl[i] == '\n') out.erase(out.find_last_not_of(" \t") + 1);
      const bool at_line_start = out.empty() || out.back() == '\n';
      if (!at_line_start || (wgsl[i] != '\n' && wgsl[i] != ' ')) out += wgsl[i];
    }
  }
  return absl::StrReplaceAll(out, {{kImmediates, ""}});
}

Json needs_of(const RenderedProgram& rendered) {
  const ProgramView program = rendered.view();
  Json features = Json::array();
  const auto feature = [&](const char* name, std::string_view text) {
    for (const std::string& kernel : rendered.kernels) {
      if (!absl::StrContains(kernel, text)) continue;
      features.push_back(name);
      return true;
    }
    return false;
  };
  feature("shader-f16", "enable f16");
  const bool subgroups = feature("subgroups", "enable subgroups");
  feature("subgroup-size-control", "subgroup_size(");
  feature("chromium-experimental-subgroup-matrix", "enable chromium_experimental_subgroup_matrix");
  uint64_t buffers = 0, binding = 0, groups = 0, immediates = 0, largest = 0;
  for (const BufferDecl& buffer : program.buffers) largest = std::max(largest, buffer.bytes);
  for (const Step& step : program.steps) {
    buffers = std::max<uint64_t>(buffers, static_cast<uint64_t>(step.bindings.count));
    immediates = std::max<uint64_t>(immediates, static_cast<uint64_t>(step.immediates.count) * 4);
    for (const uint32_t count : step.grid) groups = std::max<uint64_t>(groups, count);
    for (const StepBinding& bound : slice(program.bindings, step.bindings))
      binding = std::max(binding, (program.tensors[static_cast<size_t>(bound.tensor)].bytes + 15) / 16 * 16);
  }
  Json needs = {{"features", std::move(features)},
                {"storage_buffers", buffers},
                {"invocations", program.target.max_invocations},
                {"workgroup_bytes", program.target.max_workgroup_bytes},
                {"groups", groups},
                {"immediate_bytes", immediates},
                {"offset_alignment", program.target.offset_alignment},
                {"binding_bytes", binding},
                {"buffer_bytes", largest}};
  if (subgroups) needs["subgroup_sizes"] = {program.target.subgroup_min, program.target.subgroup_max};
  return needs;
}

absl::Status write_bundle(const std::string& folder, std::span<const BundleProgram> programs,
                          std::span<const StoredTensor> weights, const Json& about) {
  const std::filesystem::path root = folder;
  std::error_code error;
  std::filesystem::create_directories(root, error);
  if (error) return absl::UnavailableError(absl::StrCat("cannot make ", folder, ": ", error.message()));
  Json manifest = {{"rlxgpu_bundle", kBundleVersion}, {"programs", Json::array()}, {"files", Json::object()}};
  const auto enter = [&](const std::string& name, std::span<const std::byte> bytes) {
    manifest["files"][name] = {{"bytes", bytes.size()}, {"sha256", sha256(bytes)}};
  };
  const auto add = [&](const std::string& name, std::string_view text) {
    enter(name, std::as_bytes(std::span(text)));
    return write_file(root / name, text);
  };
  std::string constants;
  for (const BundleProgram& entry : programs) {
    Json json = to_json(entry.program->view(), entry.program->texts());
    json.erase("target");
    move_constants(json, constants);
    for (Json& kernel : json["kernels"]) kernel["wgsl"] = bundle_text(kernel["wgsl"].get_ref<const std::string&>());
    const std::string file = entry.name + ".json";
    manifest["programs"].push_back(
        {{"name", entry.name}, {"file", file}, {"once", entry.once}, {"needs", needs_of(*entry.program)}});
    if (absl::Status status = add(file, json.dump()); !status.ok()) return status;
  }
  if (absl::Status status = add("constants.bin", constants); !status.ok()) return status;
  if (!weights.empty()) {
    const std::string path = (root / "weights.safetensors").string();
    if (Status status = write_safetensors(path, weights); !status.ok()) return status;
    const Result<MappedFile> written = MappedFile::open(path);
    if (!written.ok()) return written.status();
    enter("weights.safetensors", written->bytes());
  }
  for (const auto& [key, value] : about.items()) manifest[key] = value;
  return write_file(root / "manifest.json", manifest.dump(1) + "\n");
}

}  // namespace rlxgpu::core::tools
