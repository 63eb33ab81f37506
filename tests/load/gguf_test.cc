// GGUF files: written by ggml, read by us; cut short and damaged at random.
#include "rlxgpu/load/gguf.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "ggml.h"
#include "gguf.h"

namespace rlxgpu::core::testing {
namespace {

// A file with values of every kind, and two tensors.
std::string whole_file() {
  gguf_context* const out = gguf_init_empty();
  gguf_set_val_str(out, "general.architecture", "llama");
  gguf_set_val_u8(out, "u8", 200), gguf_set_val_i8(out, "i8", -3), gguf_set_val_u16(out, "u16", 60000);
  gguf_set_val_i16(out, "i16", -300), gguf_set_val_u32(out, "u32", 4000000000u), gguf_set_val_i32(out, "i32", -5);
  gguf_set_val_u64(out, "u64", 1ull << 63), gguf_set_val_i64(out, "i64", -7), gguf_set_val_f32(out, "f32", 0.5f);
  gguf_set_val_f64(out, "f64", 0.1), gguf_set_val_bool(out, "bool", true);
  const int32_t numbers[] = {1, -2, 3};
  gguf_set_arr_data(out, "numbers", GGUF_TYPE_INT32, numbers, 3);
  const char* texts[] = {"a", "", "long text"};
  gguf_set_arr_str(out, "texts", texts, 3);
  ggml_context* const tensors = ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = false});
  ggml_tensor* const a = ggml_new_tensor_2d(tensors, GGML_TYPE_Q4_0, 64, 3);
  ggml_tensor* const b = ggml_new_tensor_1d(tensors, GGML_TYPE_F32, 5);
  ggml_set_name(a, "a.weight"), ggml_set_name(b, "b.weight");
  std::memset(a->data, 17, ggml_nbytes(a)), std::memset(b->data, 0, ggml_nbytes(b));
  gguf_add_tensor(out, a), gguf_add_tensor(out, b);
  const auto path = std::filesystem::temp_directory_path() / ("rlxgpu_gguf_" + std::to_string(std::random_device()()));
  REQUIRE(gguf_write_to_file(out, path.c_str(), false));
  gguf_free(out), ggml_free(tensors);
  std::ifstream in(path, std::ios::binary);
  std::string file{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(path);
  return file;
}
Result<Gguf> parse(const std::string& file) { return Gguf::parse(std::as_bytes(std::span(file))); }

TEST_CASE("what ggml writes is read") {
  const std::string file = whole_file();
  const Result<Gguf> gguf = parse(file);
  REQUIRE(gguf.status().ToString() == "OK");
  CHECK(gguf->version() == 3);
  const auto value = [&](std::string_view key) { return gguf->metadata(key)->values.at(0); };
  CHECK(value("general.architecture") == GgufValue(std::string_view("llama")));
  CHECK(value("u8") == GgufValue(uint64_t{200}));
  CHECK(value("i8") == GgufValue(int64_t{-3}));
  CHECK(value("u16") == GgufValue(uint64_t{60000}));
  CHECK(value("i16") == GgufValue(int64_t{-300}));
  CHECK(value("u32") == GgufValue(uint64_t{4000000000u}));
  CHECK(value("i32") == GgufValue(int64_t{-5}));
  CHECK(value("u64") == GgufValue(uint64_t{1} << 63));
  CHECK(value("i64") == GgufValue(int64_t{-7}));
  CHECK(value("f32") == GgufValue(0.5));
  CHECK(value("f64") == GgufValue(0.1));
  CHECK(value("bool") == GgufValue(true));
  CHECK(gguf->metadata("numbers")->values == std::vector<GgufValue>{int64_t{1}, int64_t{-2}, int64_t{3}});
  CHECK(gguf->metadata("texts")->values.at(2) == GgufValue(std::string_view("long text")));
  CHECK(gguf->metadata("none") == nullptr);
  const GgufTensor* const a = gguf->find("a.weight");
  REQUIRE(a != nullptr);
  CHECK(a->type == "Q4_0");
  CHECK(a->shape == std::vector<int64_t>{3, 64});
  CHECK(a->data.size() == 108);
  CHECK(a->data[107] == std::byte{17});
  CHECK(gguf->find("b.weight")->data.size() == 20);
}

TEST_CASE("files that are cut short are refused wherever they end") {
  const std::string file = whole_file();
  const GgufTensor last = *parse(file)->find("b.weight");
  const auto end =
      static_cast<size_t>(reinterpret_cast<const char*>(last.data.data()) - file.data()) + last.data.size();
  for (size_t size = 0; size < end; ++size) {
    CAPTURE(size);
    const std::string cut = file.substr(0, size);
    CHECK(!parse(cut).ok());
  }
  CHECK(parse("GGML....").status().message() == "byte 4: not a GGUF file: it does not begin with \"GGUF\"");
}

TEST_CASE("damaged files are refused, or their tensors are inside the file") {
  const std::string whole = whole_file();
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string file = whole;
    for (uint64_t edits = 1 + random() % 3; edits > 0; --edits)
      file[random() % file.size()] = static_cast<char>(random());
    const Result<Gguf> gguf = parse(file);
    if (!gguf.ok()) continue;
    for (const GgufTensor& tensor : gguf->tensors()) {
      const auto* const first = reinterpret_cast<const char*>(tensor.data.data());
      REQUIRE(
          (tensor.data.empty() || (first >= file.data() && first + tensor.data.size() <= file.data() + file.size())));
    }
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing
