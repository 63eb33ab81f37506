// A bundle holds what the program is: its files are whole, its texts are valid without their comments, and its needs
// are those of its steps.
#include "rlxgpu/tools/bundle.h"

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/load/mapped_file.h"
#include "rlxgpu/load/safetensors.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/tools/examples.h"
#include "rlxgpu/tools/program_json.h"
#include "rlxgpu/tools/sha256.h"

namespace rlxgpu::core::tools {
namespace {

using Json = nlohmann::ordered_json;

std::string folder() { return std::string(std::getenv("TEST_TMPDIR")) + "/bundle"; }

std::string read(const std::string& name) {
  const Result<MappedFile> file = MappedFile::open(folder() + "/" + name);
  REQUIRE(file.ok());
  return std::string(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
}

std::string sha256_of(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

TEST_CASE("SHA-256 of the standard's examples") {
  CHECK(sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_of(std::string(1000000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("texts lose comments and nothing else") {
  CHECK(bundle_text("a; // one\n/* two /* three */ */ b;\n\n  c / d;\n") == "a;\nb;\nc / d;\n");
  CHECK(bundle_text("let a = b/*x*/c;\n") == "let a = b c;\n");
  CHECK(bundle_text("struct Immediates {\n  s0 : u32,\n}\nvar<immediate> imm : Immediates;\nx;") ==
        "struct Immediates {\ns0 : u32,\n}\nx;");
}

// The program of a bundle in the form of program_json.h again.
Json whole_program(const Json& entry, std::string_view constants) {
  Json json = Json::parse(read(entry["file"]));
  json["target"] = to_json(ProgramView(), {})["target"];
  json["constants"] = Json::array();
  for (Json& buffer : json["buffers"]) {
    if (buffer["role"] != "constant") continue;
    std::vector<uint32_t> words(buffer["length"].get<size_t>() / 4);
    std::memcpy(words.data(), constants.data() + buffer["at"].get<size_t>(), 4 * words.size());
    buffer["words"] = words;
  }
  for (Json& kernel : json["kernels"]) {
    if (!kernel["immediates"].empty())
      kernel["wgsl"] = kernel["wgsl"].get<std::string>() + "var<immediate> imm : Immediates;\n";
  }
  return json;
}

TEST_CASE("every example's bundle is whole and makes an engine") {
  const absl::StatusOr<Device> null = open_device({.backend = Backend::null});
  REQUIRE(null.ok());
  for (const Example& example : examples()) {
    CAPTURE(example.name);
    const absl::StatusOr<RenderedProgram> program = render(example);
    REQUIRE(program.ok());
    const BundleProgram programs[] = {{"main", &*program}};
    REQUIRE(write_bundle(folder(), programs, {}, {{"note", "n"}}).ok());
    const Json manifest = Json::parse(read("manifest.json"));
    CHECK(manifest["note"] == "n");
    CHECK_FALSE(manifest["files"].contains("weights.safetensors"));
    for (const auto& [name, facts] : manifest["files"].items()) {
      CAPTURE(name);
      CHECK(facts["bytes"] == read(name).size());
      CHECK(facts["sha256"] == sha256_of(read(name)));
    }
    const Json& entry = manifest["programs"][0];
    CHECK(entry["needs"]["features"].empty());
    size_t most = 0;
    for (const Step& step : program->view().steps) most = std::max(most, static_cast<size_t>(step.bindings.count));
    CHECK(entry["needs"]["storage_buffers"] == most);
    CHECK(entry["needs"]["binding_bytes"].get<uint64_t>() <= kPortable.max_binding_bytes);

    const absl::StatusOr<RenderedProgram> back = program_from_json(whole_program(entry, read("constants.bin")));
    INFO(back.status());
    REQUIRE(back.ok());
    for (const std::string& kernel : back->kernels) CHECK_FALSE(absl::StrContains(kernel, "//"));
    CHECK(Engine::create(*null, back->view(), back->texts()).ok());
  }
}

TEST_CASE("weights are in the bundle as they were given") {
  const absl::StatusOr<RenderedProgram> program = render(*find_example("mlp"));
  REQUIRE(program.ok());
  const std::vector<float> elements = {1, 2, 3};
  const StoredTensor weights[] = {{"w", StoredType::f32, {3}, std::as_bytes(std::span(elements))}};
  const BundleProgram programs[] = {{"main", &*program}, {"prepare", &*program, true}};
  REQUIRE(write_bundle(folder(), programs, weights).ok());
  const Json manifest = Json::parse(read("manifest.json"));
  CHECK(manifest["programs"][1]["once"] == true);
  CHECK(manifest["files"]["weights.safetensors"]["sha256"] == sha256_of(read("weights.safetensors")));
  const Result<Safetensors> file = Safetensors::open(folder() + "/weights.safetensors");
  REQUIRE(file.ok());
  REQUIRE(file->find("w") != nullptr);
  CHECK(std::memcmp(file->find("w")->data.data(), elements.data(), 12) == 0);
}

TEST_CASE("a folder that cannot be made is an error that names it") {
  const absl::StatusOr<RenderedProgram> program = render(*find_example("mlp"));
  const BundleProgram programs[] = {{"main", &*program}};
  CHECK(absl::StrContains(write_bundle("/dev/null/x", programs, {}).message(), "/dev/null/x"));
}

}  // namespace
}  // namespace rlxgpu::core::tools
