// Floats as packed blocks: the same bits as ggml's, or errors no greater than ggml's where scales are searched for; and
// files of them, read by ggml.
#include "rlxgpu/load/quantize.h"

#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "ggml.h"
#include "gguf.h"
#include "rlxgpu/load/gguf_writer.h"

namespace rlxgpu::core::testing {
namespace {

std::vector<float> numbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> x;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t kind = i / 256 % 6;  // of a block: also one-sided, sparse, tiny, all zero
    const float v = kind == 0   ? normal(random)
                    : kind == 1 ? uniform(random)
                    : kind == 2 ? std::abs(normal(random))
                    : kind == 3 ? (random() % 16 == 0 ? normal(random) : 0.0f)
                    : kind == 4 ? 1e-6f * normal(random)
                                : 0.0f;
    x.push_back(v);
  }
  return x;
}
std::vector<std::byte> by_ggml(const std::vector<float>& x, int64_t columns, Storage storage) {
  std::vector<std::byte> to(
      static_cast<size_t>(block_bytes(storage, static_cast<int64_t>(x.size()) / columns, columns)));
  ggml_quantize_chunk(static_cast<ggml_type>(codec_of(storage).gguf_type), x.data(), to.data(), 0,
                      static_cast<int64_t>(x.size()) / columns, columns, nullptr);
  return to;
}
double error_of(const std::vector<float>& x, const std::vector<std::byte>& blocks, Storage storage) {
  std::vector<float> y(x.size());
  ggml_get_type_traits(static_cast<ggml_type>(codec_of(storage).gguf_type))
      ->to_float(blocks.data(), y.data(), static_cast<int64_t>(y.size()));
  double error = 0;
  for (size_t i = 0; i < x.size(); ++i) error += (double{x[i]} - double{y[i]}) * (double{x[i]} - double{y[i]});
  return error;
}

TEST_CASE("formats with one right answer have ggml's bits") {
  const Storage storage =
      GENERATE(Storage::q4_0, Storage::q4_1, Storage::q5_0, Storage::q5_1, Storage::q8_0, Storage::mxfp4,
               Storage::nvfp4, Storage::q1_0, Storage::q2_0, Storage::tq1_0, Storage::tq2_0);
  const Codec& codec = codec_of(storage);
  CAPTURE(codec.name);
  const std::vector<float> x = numbers(256 * 600, 1);
  const Result<std::vector<std::byte>> got = quantize(x, 512, storage, {.threads = 2});
  REQUIRE(got.status().ToString() == "OK");
  const std::vector<std::byte> wanted = by_ggml(x, 512, storage);
  size_t differ = 0;
  for (size_t b = 0; b < wanted.size(); b += static_cast<size_t>(codec.bytes)) {
    differ +=
        !std::equal(wanted.begin() + static_cast<ptrdiff_t>(b),
                    wanted.begin() + static_cast<ptrdiff_t>(b) + codec.bytes, got->begin() + static_cast<ptrdiff_t>(b));
  }
  CHECK(differ == 0);
}

TEST_CASE("formats whose scales are searched for are as near as ggml's") {
  const Storage storage = GENERATE(Storage::q2_k, Storage::q3_k, Storage::q4_k, Storage::q5_k, Storage::q6_k,
                                   Storage::iq4_nl, Storage::iq4_xs);
  CAPTURE(codec_of(storage).name);
  const std::vector<float> x = numbers(256 * 600, 2);
  const Result<std::vector<std::byte>> got = quantize(x, 512, storage);
  REQUIRE(got.status().ToString() == "OK");
  const double ours = error_of(x, *got, storage), theirs = error_of(x, by_ggml(x, 512, storage), storage);
  CAPTURE(std::sqrt(ours / theirs));
  CHECK(std::sqrt(ours) <= 1.02 * std::sqrt(theirs));
}

TEST_CASE("what cannot be made is refused, and progress is told") {
  const std::vector<float> x(1024, 1.0f);
  CHECK(quantize(x, 1024, Storage::iq2_s).status().message() ==
        "IQ2_S is not made here: it needs to know which elements matter");
  CHECK(quantize(x, 128, Storage::q4_k).status().message() ==
        "1024 elements in rows of 128: rows of Q4_K are whole blocks of 256");
  CHECK(quantize(std::vector<float>(256, INFINITY), 256, Storage::q4_k).status().message() ==
        "an element is infinite or no number");
  CHECK(storage_of("iq4_xs") == Storage::iq4_xs);
  CHECK(!storage_of("Q9").has_value());
  const std::vector<float> many(1 << 20, 1.0f);
  CHECK(
      quantize(many, 1 << 20, Storage::q4_k, {.progress = [](int64_t, int64_t) { return false; }}).status().message() ==
      "quantizing was stopped");
}

TEST_CASE("files are read by ggml") {
  const auto path =
      std::filesystem::temp_directory_path() / ("rlxgpu_writer_" + std::to_string(std::random_device()()));
  const std::vector<float> x = numbers(512, 3);
  const std::vector<std::byte> blocks = *quantize(x, 256, Storage::q6_k);
  {
    GgufWriter out;
    out.set("general.architecture", std::string_view("llama"));
    out.set("llama.block_count", uint32_t{7}), out.set("half", 0.5f), out.set("yes", true);
    const std::string_view texts[] = {"a", "", "long"};
    const float scores[] = {1, -2};
    out.set("texts", texts), out.set("scores", scores);
    const int64_t shape[] = {2, 256}, five[] = {5};
    out.add("five", "F32", five), out.add("w", "Q6_K", shape);
    REQUIRE(out.begin(path.string()).ok());
    REQUIRE(out.write(std::as_bytes(std::span(x).first(5))).ok());
    CHECK(!std::filesystem::exists(path));
    REQUIRE(out.write(blocks).ok());
    REQUIRE(out.end().ToString() == "OK");
  }
  ggml_context* tensors = nullptr;
  gguf_context* const in = gguf_init_from_file(path.c_str(), {.no_alloc = false, .ctx = &tensors});
  REQUIRE(in != nullptr);
  CHECK(std::string(gguf_get_val_str(in, gguf_find_key(in, "general.architecture"))) == "llama");
  CHECK(gguf_get_val_u32(in, gguf_find_key(in, "llama.block_count")) == 7);
  CHECK(gguf_get_val_f32(in, gguf_find_key(in, "half")) == 0.5f);
  CHECK(gguf_get_val_bool(in, gguf_find_key(in, "yes")));
  CHECK(std::string(gguf_get_arr_str(in, gguf_find_key(in, "texts"), 2)) == "long");
  CHECK(static_cast<const float*>(gguf_get_arr_data(in, gguf_find_key(in, "scores")))[1] == -2);
  ggml_tensor* const w = ggml_get_tensor(tensors, "w");
  REQUIRE(w != nullptr);
  CHECK(w->ne[0] == 256);
  CHECK(w->ne[1] == 2);
  CHECK(std::equal(blocks.begin(), blocks.end(), static_cast<const std::byte*>(w->data)));
  gguf_free(in), ggml_free(tensors);

  const Result<Gguf> file = Gguf::open(path.string());
  REQUIRE(file.status().ToString() == "OK");
  const auto again = path.string() + "_again";
  GgufWriter copy;
  for (const GgufEntry& entry : file->metadata()) copy.set(entry);
  for (const GgufTensor& tensor : file->tensors()) copy.add(tensor.name, tensor.type, tensor.shape);
  REQUIRE(copy.begin(again).ok());
  for (const GgufTensor& tensor : file->tensors()) REQUIRE(copy.write(tensor.data).ok());
  REQUIRE(copy.end().ok());
  CHECK(std::filesystem::file_size(again) == std::filesystem::file_size(path));
  const Result<Gguf> same = Gguf::open(again);
  REQUIRE(same.status().ToString() == "OK");
  CHECK(same->texts("texts") == file->texts("texts"));
  std::filesystem::remove(path), std::filesystem::remove(again);
}

TEST_CASE("a writer says what is wrong") {
  GgufWriter out;
  const int64_t shape[] = {2, 100};
  out.add("w", "Q4_K", shape);
  CHECK(out.begin("/nowhere").message() == "tensor \"w\" of Q4_K: its rows are no whole blocks");
  GgufWriter twice;
  twice.set("a", true), twice.set("a", true);
  CHECK(twice.begin("/nowhere").message() == "metadata \"a\": empty, or twice");
}

}  // namespace
}  // namespace rlxgpu::core::testing
