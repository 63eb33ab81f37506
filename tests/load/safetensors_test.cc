// Safetensors files: written and read back, every element type, bad headers one by one and at random.
#include "rlxgpu/load/safetensors.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>

#include "catch2/catch_test_macros.hpp"
#include "catch2/matchers/catch_matchers_string.hpp"
#include "rlxgpu/executable.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "tests/load/damage.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string error_of(const std::string& file) {
  return std::string(Safetensors::parse(bytes_of(file)).status().message());
}

template <typename T>
StoredTensor tensor_of(std::string name, StoredType type, std::vector<int64_t> shape, const std::vector<T>& data) {
  return {std::move(name), type, std::move(shape), std::as_bytes(std::span(data))};
}

// The elements of `from` read as `dtype`, as raw T.
template <typename To, typename From>
std::vector<To> turned(StoredType type, const std::vector<From>& from, DType dtype) {
  const Result<std::vector<std::byte>> made =
      elements_of(tensor_of("t", type, {static_cast<int64_t>(from.size())}, from), dtype);
  REQUIRE(made.status().ToString() == "OK");
  std::vector<To> to(made->size() / sizeof(To));
  std::memcpy(to.data(), made->data(), made->size());
  return to;
}

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("rlxgpu_safetensors_" + std::to_string(std::random_device()()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(std::string_view name) const { return (path / name).string(); }
};

TEST_CASE("a file is read back as it was written") {
  const Folder folder;
  const std::vector<uint8_t> bytes = {1, 2, 3};
  const std::vector<double> doubles = {1.5, -2.5};
  const std::vector<float> none;
  const std::vector<int8_t> one = {-1};
  const StoredTensor tensors[] = {
      tensor_of("b \"quoted\" \n", StoredType::u8, {3}, bytes), tensor_of("a", StoredType::f64, {1, 2}, doubles),
      tensor_of("empty", StoredType::f32, {0, 7}, none), tensor_of("scalar", StoredType::i8, {}, one)};
  REQUIRE(write_safetensors(folder.file("t"), tensors, {{"format", "pt"}, {"note", "\xc3\xa9"}}).ToString() == "OK");
  const Result<Safetensors> file = Safetensors::open(folder.file("t"));
  REQUIRE(file.status().ToString() == "OK");
  CHECK(file->metadata() == Metadata{{"format", "pt"}, {"note", "\xc3\xa9"}});
  REQUIRE(file->tensors().size() == 4);
  for (const StoredTensor& wrote : tensors) {
    const StoredTensor* const read = file->find(wrote.name);
    REQUIRE(read != nullptr);
    CHECK(read->type == wrote.type);
    CHECK(read->shape == wrote.shape);
    CHECK(std::ranges::equal(read->data, wrote.data));
    CHECK(reinterpret_cast<uintptr_t>(read->data.data()) % static_cast<uintptr_t>(rlxgpu::core::bytes_of(read->type)) ==
          0);
  }
  CHECK(file->find("c") == nullptr);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);  // nothing is left aside
}

TEST_CASE("what cannot be written is said and leaves no file") {
  const Folder folder;
  const std::vector<float> data = {1, 2};
  const auto error = [&](std::vector<StoredTensor> tensors) {
    return write_safetensors(folder.file("t"), tensors).ToString();
  };
  CHECK_THAT(error({tensor_of("a", StoredType::f32, {3}, data)}), ContainsSubstring("\"a\" of F32[3] has 8 bytes"));
  CHECK_THAT(error({tensor_of("a", StoredType::f32, {-1, -2}, data)}), ContainsSubstring("has 8 bytes"));
  CHECK_THAT(error({tensor_of("__metadata__", StoredType::f32, {2}, data)}), ContainsSubstring("the name is taken"));
  CHECK_THAT(error({tensor_of("a", StoredType::f32, {2}, data), tensor_of("a", StoredType::f32, {2}, data)}),
             ContainsSubstring("the name is taken"));
  CHECK_THAT(error({tensor_of("\xff", StoredType::f32, {2}, data)}), ContainsSubstring("not UTF-8"));
  CHECK_THAT(write_safetensors(folder.file("no/such/folder"), {}).ToString(), ContainsSubstring("NOT_FOUND"));
  CHECK(std::filesystem::is_empty(folder.path));
}

TEST_CASE("numbers of every type turn into ours") {
  using Bytes = std::vector<uint8_t>;
  const auto infinity = std::numeric_limits<float>::infinity();
  CHECK(turned<float>(StoredType::f8_e4m3, Bytes{0x00, 0x80, 0x01, 0x08, 0x38, 0xb8, 0x7e}, f32) ==
        std::vector<float>{0.0f, -0.0f, 0x1p-9f, 0x1p-6f, 1.0f, -1.0f, 448.0f});
  CHECK(std::isnan(turned<float>(StoredType::f8_e4m3, Bytes{0xff}, f32)[0]));
  CHECK(turned<float>(StoredType::f8_e5m2, Bytes{0x3c, 0xbc, 0x01, 0x7b, 0x7c}, f32) ==
        std::vector<float>{1.0f, -1.0f, 0x1p-16f, 57344.0f, infinity});
  CHECK(turned<float>(StoredType::f16, std::vector<uint16_t>{0x3c00, 0xc000}, f32) == std::vector<float>{1.0f, -2.0f});
  CHECK(turned<float>(StoredType::bf16, std::vector<uint16_t>{0x3f80, 0xc000}, f32) == std::vector<float>{1.0f, -2.0f});
  CHECK(turned<float>(StoredType::f64, std::vector<double>{0.1, 1e300, -0.0}, f32) ==
        std::vector<float>{0.1f, infinity, -0.0f});
  CHECK(turned<float>(StoredType::i64, std::vector<int64_t>{-3, int64_t{1} << 40, std::numeric_limits<int64_t>::min()},
                      f32) == std::vector<float>{-3.0f, 0x1p40f, -0x1p63f});
  CHECK(turned<int32_t>(StoredType::i64, std::vector<int64_t>{-2147483648, 2147483647}, i32) ==
        std::vector<int32_t>{-2147483647 - 1, 2147483647});
  CHECK(turned<uint32_t>(StoredType::u64, std::vector<uint64_t>{4294967295u}, u32) ==
        std::vector<uint32_t>{4294967295u});
  CHECK(turned<int8_t>(StoredType::i16, std::vector<int16_t>{-128, 127}, i8) == std::vector<int8_t>{-128, 127});
  CHECK(turned<uint8_t>(StoredType::boolean, Bytes{0, 1, 7}, boolean) == Bytes{0, 1, 1});
  CHECK(turned<float>(StoredType::u16, std::vector<uint16_t>{65535}, c64) == std::vector<float>{65535.0f, 0.0f});
  for (const DType dtype : kAllDTypes) {  // without a change, also where the data is not aligned
    const Bytes raw = {0, 1, 0, 1, 1, 0, 1, 0};
    CHECK(turned<uint8_t>(stored_as(dtype), raw, dtype) == raw);
  }
}

TEST_CASE("floats are rounded once") {
  // Just above and below the middle between two halves: through f32 first they would become the middle.
  const double middle = 1.0 + 0x1p-11, tiny = 0x1p-40;
  CHECK(turned<uint16_t>(StoredType::f64, std::vector<double>{middle, middle + tiny, middle - tiny, -middle - tiny},
                         f16) == std::vector<uint16_t>{0x3c00, 0x3c01, 0x3c00, 0xbc01});
  const double between = 1.0 + 0x1p-8;
  CHECK(turned<uint16_t>(StoredType::f64, std::vector<double>{between, between + tiny, between - tiny}, bf16) ==
        std::vector<uint16_t>{0x3f80, 0x3f81, 0x3f80});
  const int64_t whole = (int64_t{1} << 62) + (int64_t{1} << 54);  // the middle between two bf16
  CHECK(turned<uint16_t>(StoredType::i64, std::vector<int64_t>{whole, whole + 1, whole - 1}, bf16) ==
        std::vector<uint16_t>{0x5e80, 0x5e81, 0x5e80});
  const int64_t digits = (int64_t{1} << 62) + (int64_t{1} << 38);  // the same for f32
  CHECK(turned<float>(StoredType::i64, std::vector<int64_t>{digits, digits + 1}, f32) ==
        std::vector<float>{0x1p62f, 0x1.000002p62f});
}

TEST_CASE("what would change a number is refused") {
  const auto refusal = [](const StoredTensor& tensor, DType dtype) {
    return elements_of(tensor, dtype).status().ToString();
  };
  CHECK_THAT(refusal(tensor_of("t", StoredType::i64, {1}, std::vector<int64_t>{2147483648}), i32),
             ContainsSubstring("element 0 is 2147483648"));
  CHECK_THAT(refusal(tensor_of("t", StoredType::i8, {1}, std::vector<int8_t>{-1}), u32),
             ContainsSubstring("element 0 is -1"));
  CHECK_THAT(refusal(tensor_of("t", StoredType::f32, {1}, std::vector<float>{1}), i32),
             ContainsSubstring("\"t\" holds F32, which does not turn into i32"));
  CHECK_THAT(refusal(tensor_of("t", StoredType::c64, {1}, std::vector<float>{1, 2}), f32),
             ContainsSubstring("imaginary"));
}

TEST_CASE("every kind of bad file has its message") {
  const std::string_view w = R"("w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string data(8, 'x');
  const auto header = [&](std::string_view text, std::string_view rest) { return error_of(with_length(text, rest)); };
  CHECK(header("{" + std::string(w) + "}  ", data).empty());
  CHECK(header("{}", "").empty());
  CHECK_THAT(error_of("abc"), ContainsSubstring("only 3 bytes"));
  CHECK_THAT(error_of(std::string(8, '\xff')),
             ContainsSubstring("its header would have 18446744073709551615 bytes, and 0 are there"));
  CHECK_THAT(error_of(with_length("{}", "").substr(0, 9)), ContainsSubstring("cut short"));
  CHECK_THAT(header("", ""), ContainsSubstring("does not begin with {"));
  CHECK_THAT(header(" {}", ""), ContainsSubstring("does not begin with {"));
  CHECK_THAT(header("{]", ""), ContainsSubstring("not JSON at byte 2"));
  CHECK_THAT(header("{}{}", ""), ContainsSubstring("not JSON"));
  CHECK_THAT(header("{\"\xff\":1}", ""), ContainsSubstring("not JSON"));
  CHECK_THAT(header(R"({"w":1})", ""), ContainsSubstring("tensor \"w\" holds a number where it should not"));
  CHECK_THAT(header(R"({"w":{}})", ""), ContainsSubstring("an end without dtype, shape and two data_offsets"));
  CHECK_THAT(header(R"({"w":{"dtype":"F31"}})", ""), ContainsSubstring("the unknown type \"F31\""));
  CHECK_THAT(header(R"({"w":{"dtype":null}})", ""), ContainsSubstring("null"));
  CHECK_THAT(header(R"({"w":{"shape":[-1]}})", ""), ContainsSubstring("a negative number"));
  CHECK_THAT(header(R"({"w":{"shape":[1.5]}})", ""), ContainsSubstring("a fraction"));
  CHECK_THAT(header(R"({"w":{"shape":[18446744073709551615]}})", ""), ContainsSubstring("beyond 63 bits"));
  CHECK_THAT(header(R"({"w":{"shape":[[1]]}})", ""), ContainsSubstring("an array"));
  CHECK_THAT(header(R"({"w":{"shape":[true]}})", ""), ContainsSubstring("a bool"));
  CHECK_THAT(header(R"({"w":{"data_offsets":[0,1,2]}})", ""), ContainsSubstring("a third offset"));
  CHECK_THAT(header(R"({"w":{"dtype":"F32","dtype":"F32"}})", ""),
             ContainsSubstring("the key \"dtype\", unknown or a second time"));
  CHECK_THAT(header(R"({"w":{"colour":1}})", ""), ContainsSubstring("the key \"colour\""));
  CHECK_THAT(header(R"({"__metadata__":{"a":1}})", ""), ContainsSubstring("__metadata__ holds a number"));
  CHECK_THAT(header(R"({"__metadata__":{},"__metadata__":{}})", ""), ContainsSubstring("a second __metadata__"));
  CHECK_THAT(header("{" + std::string(w) + "}", data + "y"),
             ContainsSubstring("1 bytes at the end belong to no tensor"));
  CHECK_THAT(header("{" + std::string(w) + "}", data.substr(1)),
             ContainsSubstring("tensor \"w\" is at bytes 0 to 8 of 7"));
  CHECK_THAT(header(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", data),
             ContainsSubstring("tensor \"w\" of F32[3] has 8 bytes"));
  CHECK_THAT(header(R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", data),
             ContainsSubstring("is at bytes 8 to 0"));
  CHECK_THAT(header(R"({"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", ""),
             ContainsSubstring("has 0 bytes"));
  CHECK_THAT(header("{" + std::string(w) + R"(,"v":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", data),
             ContainsSubstring("begins at byte 4, but the one before ends at 8"));
  CHECK_THAT(header("{" + std::string(w) + "," + std::string(w) + "}", data),
             ContainsSubstring("begins at byte 0, but the one before ends at 8"));
  CHECK_THAT(
      header(
          R"({"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
          ""),
      ContainsSubstring("\"w\" is there twice"));
  CHECK_THAT(header("{\"" + std::string(1000, 'n') + "\":1}", ""), ContainsSubstring("nnn...\""));
  CHECK_THAT(header(std::string(1, '{') + "\"a\":" + std::string(1'000'000, '['), ""),
             ContainsSubstring("an array"));  // no deep stack
  const Folder folder;
  CHECK_THAT(Safetensors::open(folder.file("none")).status().ToString(), ContainsSubstring("NOT_FOUND"));
  CHECK_THAT(Safetensors::open(folder.path.string()).status().ToString(), ContainsSubstring("not a file"));
  std::ofstream(folder.file("empty"));
  CHECK_THAT(Safetensors::open(folder.file("empty")).status().ToString(),
             ContainsSubstring(folder.file("empty") + ": not a safetensors file"));
}

TEST_CASE("files with random damage give an error or tensors within their bytes") {
  Damage damage(20261116);
  REQUIRE(error_of(damage.whole()).empty());
  int accepted = 0;
  for (int i = 0; i < 50'000; ++i) {
    const std::string file = damage.next();
    const Reading reading = read_anything(file);
    if (reading == Reading::outside) FAIL(file);
    accepted += reading == Reading::read;
  }
  CHECK(accepted > 100);     // damage of names and data is none
  CHECK(accepted < 25'000);  // and the rest is seen
}

struct Scaled {
  static constexpr void build(Builder& g) {
    g.output("y", g.input("x", f32, {2, 2}) * g.param("w", f32, {2}) + cast(g.param("layer.b", f16, {2, 2}), f32));
  }
};

TEST_CASE("weights of a program come from a file, in the types of the program", "[gpu]") {
  const Folder folder;
  const std::vector<double> w = {2, 3};
  const std::vector<float> b = {1, 2, 3, 4}, unused = {9};
  const StoredTensor tensors[] = {tensor_of("w", StoredType::f64, {2}, w),
                                  tensor_of("layer.b", StoredType::f32, {2, 2}, b),
                                  tensor_of("unused", StoredType::f32, {1}, unused)};
  REQUIRE(write_safetensors(folder.file("t"), tensors).ok());
  const Result<Safetensors> file = Safetensors::open(folder.file("t"));
  REQUIRE(file.ok());
  const Device device = device_or_skip();
  const Weights weights(device);
  REQUIRE(load_weights(*file, Executable<Scaled>::program, weights).ToString() == "OK");
  CHECK(weights.count() == 2);
  Executable<Scaled> scaled(device, {.weights = weights});
  scaled.set<"x">(std::array{1.0f, 2.0f, 3.0f, 4.0f});
  scaled.run();
  CHECK(*scaled.get<"y">() == std::vector<float>{3, 8, 9, 16});

  Builder builder;
  builder.output("y", builder.param("w", f32, {3}) + builder.param("gone", f32, {}));
  const Weights others(device);
  const Status status = load_weights(*file, builder.graph(), others);
  CHECK_THAT(status.ToString(),
             ContainsSubstring("\"w\" is [2], not [3]") && ContainsSubstring("\"gone\" is not there"));
  CHECK(others.count() == 0);
}

}  // namespace
}  // namespace rlxgpu::core::testing
