// Weights of GGUF files on the device: packed as they lie in the file, or turned into the param's type.
#include "rlxgpu/load/gguf_weights.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "ggml.h"
#include "gguf.h"
#include "rlxgpu/dynamic.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

// A folder of its own that goes with the test.
struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("rlxgpu_gguf_weights_" + std::to_string(std::random_device()()));
  Folder() { std::filesystem::create_directory(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

struct Part {
  gguf_context* out = gguf_init_empty();
  ggml_context* tensors = ggml_init({.mem_size = 1 << 20, .mem_buffer = nullptr, .no_alloc = false});
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() { gguf_free(out), ggml_free(tensors); }

  // Numbers that no type of the test rounds: small halves; blocks are made of them by ggml.
  void add(const char* name, ggml_type type, std::vector<int64_t> ne) {
    ggml_tensor* const tensor = ggml_new_tensor(tensors, type, static_cast<int>(ne.size()), ne.data());
    ggml_set_name(tensor, name);
    const std::vector<float> x = numbers(ggml_nelements(tensor));
    ggml_quantize_chunk(type, x.data(), tensor->data, 0, ggml_nrows(tensor), ne[0], nullptr);
    gguf_add_tensor(out, tensor);
  }
  static std::vector<float> numbers(int64_t count) {
    std::vector<float> x;
    for (int64_t i = 0; i < count; ++i) x.push_back(static_cast<float>(i * 7 % 15 - 7) * 0.5f);
    return x;
  }
  std::string write(const std::filesystem::path& path) const {
    REQUIRE(gguf_write_to_file(out, path.c_str(), false));
    return path.string();
  }
};
void name_part(Part& part, uint16_t number, uint16_t count, int32_t tensors) {
  gguf_set_val_u16(part.out, "split.no", number), gguf_set_val_u16(part.out, "split.count", count);
  gguf_set_val_i32(part.out, "split.tensors.count", tensors);
}

TEST_CASE("a file's tensors come to the device packed and plain", "[gguf][gpu]") {
  const Device device = device_or_skip();
  const Folder folder;
  Part part;
  part.add("q8", GGML_TYPE_Q8_0, {32, 3});  // 102 bytes: its last word is not full
  part.add("q4", GGML_TYPE_Q4_0, {32, 3});
  part.add("f16", GGML_TYPE_F16, {32, 3});
  part.add("bf16", GGML_TYPE_BF16, {32, 3});
  part.add("experts", GGML_TYPE_Q4_0, {32, 3, 2});
  part.add("norm", GGML_TYPE_F32, {5});
  part.add("halves", GGML_TYPE_F16, {5});
  part.add("unpacked", GGML_TYPE_Q8_0, {64});
  const Result<Gguf> file = Gguf::open(part.write(folder.path / "a.gguf"));
  REQUIRE(file.status().ToString() == "OK");

  DynamicGraph graph;
  const Tensor x = graph->input("x", f32, {1, 32}), which = graph->input("which", i32, {1});
  for (const char* name : {"q8", "q4", "f16", "bf16"}) {
    const Weight w = gguf_weight(*graph, *file, name);
    CHECK(w.rows() == 3);
    CHECK(w.columns() == 32);
    graph->output(std::string("product ") + name, matmul(x, w));
    graph->output(std::string("row ") + name, embedding(w, which));
  }
  graph->output("grouped", grouped_matmul(x, gguf_weight(*graph, *file, "experts"), which));
  for (const char* name : {"norm", "halves", "unpacked"}) {
    graph->output(std::string("plain ") + name, gguf_tensor(*graph, *file, name) + 1.0f);
  }
  const Weights weights(device);
  uint64_t done = 0, all = 1;
  const Status loaded = load_weights(*file, graph.graph(), weights, {.progress = [&](uint64_t now, uint64_t bytes) {
    done = now, all = bytes;
    return true;
  }});
  REQUIRE(loaded.ToString() == "OK");
  CHECK(done == all);
  CHECK(load_weights(*file, graph.graph(), weights, {.progress = [](uint64_t, uint64_t) { return false; }}).ok());
  CHECK(load_weights(*file, graph.graph(), Weights(device), {.progress = [](uint64_t, uint64_t) {
          return false;
        }}).message() == "loading was stopped");

  auto exe = Executable<DynamicGraph>::create(device, graph, {.engine = {.weights = weights}});
  REQUIRE(exe.status().ToString() == "OK");
  std::vector<float> ones(32, 1.0f);
  ones[31] = 3.0f;
  REQUIRE(exe->set("x", ones).ok());
  REQUIRE(exe->set("which", std::vector<int32_t>{1}).ok());
  exe->run();
  const auto get = [&](const std::string& name) {
    const Result<std::vector<float>> y = exe->get<float>(name);
    REQUIRE(y.status().ToString() == "OK");
    return *y;
  };
  for (const char* name : {"q8", "q4", "f16", "bf16"}) {
    CAPTURE(name);
    const ggml_type type = ggml_get_tensor(part.tensors, name)->type;
    std::vector<float> w(96);
    if (type == GGML_TYPE_F16 || type == GGML_TYPE_BF16) {
      w = Part::numbers(96);
    } else {
      ggml_get_type_traits(type)->to_float(ggml_get_tensor(part.tensors, name)->data, w.data(), 96);
    }
    for (size_t n = 0; n < 3; ++n) {
      double sum = 0, size = 0;
      for (size_t k = 0; k < 32; ++k) {
        sum += double{w[n * 32 + k]} * double{ones[k]};
        size += std::abs(double{w[n * 32 + k]} * double{ones[k]});
      }
      CHECK(std::abs(get(std::string("product ") + name)[n] - sum) <= size * 32 * 0x1p-24);
    }
    CHECK(get(std::string("row ") + name) == std::vector<float>(w.begin() + 32, w.begin() + 64));
  }
  std::vector<float> experts(192);
  ggml_get_type_traits(GGML_TYPE_Q4_0)->to_float(ggml_get_tensor(part.tensors, "experts")->data, experts.data(), 192);
  for (size_t n = 0; n < 3; ++n) {
    double sum = 0, size = 0;
    for (size_t k = 0; k < 32; ++k) {
      sum += double{experts[96 + n * 32 + k]} * double{ones[k]};
      size += std::abs(double{experts[96 + n * 32 + k]} * double{ones[k]});
    }
    CHECK(std::abs(get("grouped")[n] - sum) <= size * 32 * 0x1p-24);
  }
  std::vector<float> unpacked(64);
  ggml_get_type_traits(GGML_TYPE_Q8_0)->to_float(ggml_get_tensor(part.tensors, "unpacked")->data, unpacked.data(), 64);
  for (float& v : unpacked) v += 1;
  CHECK(get("plain unpacked") == unpacked);
  for (const char* name : {"plain norm", "plain halves"}) {
    std::vector<float> wanted = Part::numbers(5);
    for (float& v : wanted) v += 1;
    CHECK(get(name) == wanted);
  }
}

TEST_CASE("what a file does not have, or has otherwise, is said before anything is loaded", "[gguf][gpu]") {
  const Device device = device_or_skip();
  const Folder folder;
  Part part;
  part.add("w", GGML_TYPE_Q8_0, {32, 3});
  const Result<Gguf> file = Gguf::open(part.write(folder.path / "a.gguf"));
  REQUIRE(file.status().ToString() == "OK");
  {
    DynamicGraph graph;
    gguf_weight(*graph, *file, "v");
    CHECK(graph.graph().error.view().find("the GGUF file has no tensor \"v\"") != std::string::npos);
  }
  DynamicGraph graph;
  graph->output("y", graph->param("w", f32, {3, 16}) * 2.0f);
  graph->output("z", graph->param("none", f32, {3}) * 2.0f);
  const Weights weights(device);
  CHECK(load_weights(*file, graph.graph(), weights).message() ==
        "the file does not fit the graph:\n  \"w\" is [3,32], not of the param's shape\n  \"none\" is not there");
  CHECK(weights.count() == 0);
}

TEST_CASE("files in several parts", "[gguf]") {
  const Folder folder;
  const auto path = [&](int part, const char* count = "00003") {
    return folder.path / ("m-0000" + std::to_string(part) + "-of-" + count + ".gguf");
  };
  Part first, second, third;
  gguf_set_val_str(first.out, "general.architecture", "llama");
  name_part(first, 0, 3, 2), name_part(second, 1, 3, 2), name_part(third, 2, 3, 2);
  second.add("a", GGML_TYPE_Q4_0, {32, 2}), third.add("b", GGML_TYPE_F32, {3});
  const std::string one = first.write(path(1)), two = second.write(path(2)), three = third.write(path(3));
  {
    const Result<Gguf> file = Gguf::open(one);
    REQUIRE(file.status().ToString() == "OK");
    CHECK(file->text("general.architecture") == "llama");
    REQUIRE(file->tensors().size() == 2);
    CHECK(file->find("a")->data.size() == 36);
    CHECK(std::memcmp(file->find("b")->data.data(), ggml_get_tensor(third.tensors, "b")->data, 12) == 0);
    CHECK(device_bytes(*file) == 512);
  }
  CHECK(Gguf::open(two).status().message().find("open the first of them, whose name ends in -00001-of-00003.gguf") !=
        std::string_view::npos);
  {  // a part with the tensor of another
    Part again;
    name_part(again, 2, 3, 2), again.add("a", GGML_TYPE_F32, {3});
    again.write(path(3));
    CHECK(Gguf::open(one).status().message().ends_with("a: twice"));
  }
  {  // a tensor too few
    Part empty;
    name_part(empty, 2, 3, 2);
    empty.write(path(3));
    CHECK(Gguf::open(one).status().message().ends_with("its parts have 1 tensors, not 2"));
  }
  std::filesystem::copy_file(two, three, std::filesystem::copy_options::overwrite_existing);
  CHECK(Gguf::open(one).status().message().ends_with("not part 3 of 3 by its own metadata"));
  std::filesystem::remove(three);
  CHECK(Gguf::open(one).status().message().find("00003-of-00003") != std::string_view::npos);
}

TEST_CASE("values of metadata whatever their width", "[gguf]") {
  const Folder folder;
  Part part;
  gguf_set_val_u8(part.out, "u8", 200), gguf_set_val_i64(part.out, "i64", -7), gguf_set_val_f32(part.out, "f32", 0.5f);
  gguf_set_val_u64(part.out, "large", 1ull << 63), gguf_set_val_bool(part.out, "bool", true);
  gguf_set_val_str(part.out, "text", "abc");
  const int32_t numbers[] = {1, -2, 3};
  gguf_set_arr_data(part.out, "numbers", GGUF_TYPE_INT32, numbers, 3);
  const char* texts[] = {"a", ""};
  gguf_set_arr_str(part.out, "texts", texts, 2);
  const Result<Gguf> file = Gguf::open(part.write(folder.path / "a.gguf"));
  REQUIRE(file.status().ToString() == "OK");
  CHECK(file->integer("u8") == 200);
  CHECK(file->integer("i64") == -7);
  CHECK(file->number("i64") == -7.0);
  CHECK(file->number("f32") == 0.5);
  CHECK(file->number("large") == 0x1p63);
  CHECK(file->flag("bool") == true);
  CHECK(file->text("text") == "abc");
  CHECK(file->integers("numbers") == std::vector<int64_t>{1, -2, 3});
  CHECK(file->integers("u8") == std::vector<int64_t>{200});
  CHECK(file->numbers("numbers") == std::vector<double>{1, -2, 3});
  CHECK(file->texts("texts") == std::vector<std::string_view>{"a", ""});
  for (const char* key : {"large", "f32", "text", "bool", "numbers", "none"}) CHECK(!file->integer(key).has_value());
  CHECK(!file->integers("texts").has_value());
  CHECK(!file->text("u8").has_value());
}

}  // namespace
}  // namespace rlxgpu::core::testing
