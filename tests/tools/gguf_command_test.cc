// rlxgpu quantize and inspect, on a small model.
#include "rlxgpu/tools/gguf_command.h"

#include <cmath>
#include <filesystem>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/graph/storage.h"
#include "rlxgpu/load/gguf.h"
#include "rlxgpu/load/gguf_writer.h"
#include "rlxgpu/load/quantize.h"
#include "rlxgpu/load/safetensors.h"

namespace rlxgpu::core::tools {
namespace {

std::vector<float> numbers(size_t count) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (float& v : x) v = normal(random);
  return x;
}

TEST_CASE("a model is written in fewer bits, and what it holds is said") {
  const auto folder =
      std::filesystem::temp_directory_path() / ("rlxgpu_gguf_command_" + std::to_string(std::random_device()()));
  std::filesystem::create_directory(folder);
  const std::string whole = folder / "whole.gguf", small = folder / "small.gguf";
  const std::vector<float> x = numbers(512 * 256);
  const int64_t table[] = {512, 256}, norm[] = {256}, router[] = {4, 256}, ragged[] = {3, 100};
  {
    GgufWriter out;
    out.set("general.architecture", std::string_view("llama")), out.set("general.name", std::string_view("tiny"));
    out.set("llama.block_count", uint32_t{2}), out.set("llama.embedding_length", uint32_t{256});
    out.set("llama.attention.head_count", uint32_t{4}), out.set("llama.attention.head_count_kv", uint32_t{2});
    out.add("token_embd.weight", "F32", table), out.add("blk.0.attn_norm.weight", "F32", norm);
    out.add("blk.0.ffn_gate_inp.weight", "F32", router), out.add("blk.0.odd.weight", "F32", ragged);
    REQUIRE(out.begin(whole).ok());
    const auto first = [&](size_t count) { return std::as_bytes(std::span(x).first(count)); };
    REQUIRE((out.write(first(512 * 256)).ok() && out.write(first(256)).ok()));
    REQUIRE((out.write(first(1024)).ok() && out.write(first(300)).ok() && out.end().ok()));
  }
  std::ostringstream said, errors;
  CHECK(quantize_command({.in = whole, .out = small, .type = "q4_k"}, said, errors, false) == 0);
  CHECK(errors.str().empty());
  CHECK(said.str().ends_with("1 of 4 tensors are Q4_K now; 0.5 MiB became 0.1 MiB\n"));
  {
    const Result<Gguf> made = Gguf::open(small);
    REQUIRE(made.status().ToString() == "OK");
    CHECK(made->text("general.name") == "tiny");
    CHECK(made->integer("general.quantization_version") == 2);
    CHECK(made->find("blk.0.attn_norm.weight")->type == "F32");
    CHECK(made->find("blk.0.ffn_gate_inp.weight")->type == "F32");
    CHECK(made->find("blk.0.odd.weight")->type == "F32");
    const GgufTensor& packed = *made->find("token_embd.weight");
    REQUIRE(packed.type == "Q4_K");
    double error = 0, size = 0;
    for (int i = 0; i < 512 * 256; ++i) {
      const auto* const block = reinterpret_cast<const uint8_t*>(packed.data.data()) + i / 256 * 144;
      error += std::pow(codec_of(Storage::q4_k).decode(block, i % 256) - x[static_cast<size_t>(i)], 2);
      size += std::pow(x[static_cast<size_t>(i)], 2);
    }
    CHECK(std::sqrt(error / size) < 0.1);  // codes of 4 bits: about 1 / 15 of the width of a block over sqrt(12)
  }
  std::ostringstream shown;
  CHECK(inspect_gguf_command({.model = small, .context = 1000, .tensors = true}, shown, errors) == 0);
  const std::string text = shown.str();
  CAPTURE(text);
  CHECK(text.find("architecture llama\nname: tiny\nblock_count: 2\n") != std::string::npos);
  CHECK(text.find("token_embd.weight                        Q4_K     [512,256]") != std::string::npos);
  // 2 layers, 2 heads, 64 + 64 elements of f16, 1000 tokens.
  CHECK(text.find("cache of 1000 tokens 1.0 MiB (f16)") != std::string::npos);
  CHECK(text.find("weights 0.1 MiB") != std::string::npos);

  CHECK(quantize_command({.in = whole, .out = small, .type = "IQ2_S"}, said, errors, false) == 2);
  CHECK(errors.str().find("--type IQ2_S: one of Q4_0 Q4_1") != std::string::npos);
  CHECK(inspect_gguf_command({.model = folder / "none.gguf"}, shown, errors) == 1);

  const std::string plain = folder / "plain.safetensors";
  const StoredTensor tensors[] = {{"a.weight", StoredType::f32, {512, 256}, std::as_bytes(std::span(x))},
                                  {"a.bias", StoredType::f32, {256}, std::as_bytes(std::span(x).first(256))}};
  REQUIRE(write_safetensors(plain, tensors).ok());
  CHECK(quantize_command({.in = plain, .out = small, .type = "Q8_0"}, said, errors, false) == 0);
  const Result<Gguf> made = Gguf::open(small);
  REQUIRE(made.status().ToString() == "OK");
  CHECK(made->find("a.weight")->type == "Q8_0");
  CHECK(made->find("a.bias")->type == "F32");
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace rlxgpu::core::tools
