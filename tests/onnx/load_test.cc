// What onnx::load accepts, what it refuses, and what it says.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/matchers/catch_matchers_string.hpp"
#include "rlxgpu/load/onnx/onnx.h"
#include "tests/onnx/model_text.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Catch::Matchers::ContainsSubstring;
using onnx::ElementType;
using onnx::HostTensor;

std::string error_of(const std::string& text, const onnx::LoadOptions& options = {}) {
  const Result<onnx::Model> model = load_text(text, options);
  return model.ok() ? "" : std::string(model.status().message());
}
HostTensor floats(std::vector<int64_t> shape, std::vector<double> values) {
  return HostTensor::of_numbers(ElementType::f32, std::move(shape), values);
}
HostTensor integers(std::vector<int64_t> shape, std::vector<int64_t> values) {
  return HostTensor::of_integers(ElementType::i64, std::move(shape), values);
}

// The first output of a model, run with these inputs.
std::vector<double> run(const Device& device, const onnx::Model& model, const onnx::HostTensors& inputs) {
  Result<onnx::Session> session = onnx::Session::create(device, model);
  REQUIRE(session.status().ToString() == "OK");
  for (const auto& [name, tensor] : inputs) REQUIRE(session->set(name, tensor).ToString() == "OK");
  session->run();
  Result<HostTensor> y = session->get(model.outputs[0].name);
  REQUIRE(y.status().ToString() == "OK");
  return y->numbers();
}
std::vector<double> run(const Device& device, const std::string& text, const onnx::HostTensors& inputs,
                        onnx::LoadOptions options = {}) {
  options.given = inputs;
  Result<onnx::Model> model = load_text(text, options);
  REQUIRE(model.status().ToString() == "OK");
  return run(device, *model, inputs);
}

TEST_CASE("everything in the way is listed, with names", "[onnx]") {
  const Result<onnx::Model> model = load_text(
      "g (float[2] x, string[1] s) => (float[2] y, float[2] z) { a = ImageDecoder(x)\n b = Relu(a)\n y = Relu(b)\n z = "
      "Nonsense(x) }");
  REQUIRE(!model.ok());
  const std::string message(model.status().message());
  CHECK(absl::IsUnimplemented(model.status()));
  CHECK_THAT(message, ContainsSubstring("3 things in the way"));
  CHECK_THAT(message, ContainsSubstring("input \"s\" (string): string tensors are not supported"));
  CHECK_THAT(message, ContainsSubstring(
                          "the node that computes \"a\" (ImageDecoder, opset 21): compressed images are not decoded"));
  CHECK_THAT(message, ContainsSubstring("the node that computes \"z\" (Nonsense, opset 21): the op is not supported"));
  CHECK_THAT(message, !ContainsSubstring("Relu"));  // they only lack what failed before them
}

TEST_CASE("models that are wrong are refused with a sentence", "[onnx]") {
  CHECK(error_of("g (float[2] x) => (float[2] y) { y = Relu(z) }") ==
        "the node that computes \"y\" (Relu, opset 21): reads \"z\", which nothing before it computes");
  CHECK_THAT(error_of("g (float[2] x) => (float[2] y) { y = Relu(a)\n a = Relu(y) }"),
             ContainsSubstring("reads \"a\", which nothing"));
  CHECK_THAT(error_of("g (float[2] x) => (float[2] y) { z = Relu(x) }"),
             ContainsSubstring("nothing computes this output"));
  CHECK_THAT(error_of("g (float[2] x, float[3] z) => (float[2] y) { y = Add(x, z) }"),
             ContainsSubstring("do not broadcast"));
  CHECK_THAT(error_of("g (float[2] x) => (float[2] y) { y = LeakyRelu <alpha = 1> (x) }"),
             ContainsSubstring("attribute \"alpha\" is of another type"));
  CHECK_THAT(error_of("g (float[2] x) => (float[2] y) { y = LeakyRelu <beta = 1.0> (x) }"),
             ContainsSubstring("attribute \"beta\" is not supported"));
  CHECK_THAT(error_of("g (float[2] x) => (float[2] y) { y = Softmax <axis = 5> (x) }"),
             ContainsSubstring("axis 5 does not exist"));
  CHECK_THAT(error_of("g (float[2] x) => (float[2] y) { y = Add(x) }"), ContainsSubstring("operand 1 is missing"));
  CHECK_THAT(error_of("<ir_version: 10, opset_import: [\"\" : 99]> g (float[2] x) => (float[2] y) { y = Relu(x) }"),
             ContainsSubstring("opset 99"));
  CHECK_THAT(error_of("<ir_version: 10, opset_import: [\"\" : 6]> g (float[2] x) => (float[2] y) { y = Add(x, x) }"),
             ContainsSubstring("opset 6 defines the op in another way"));
  CHECK(error_of("<ir_version: 10, opset_import: [\"\" : 6]> g (float[2] x) => (float[2] y) { y = Relu(x) }") == "");
  CHECK_THAT(
      error_of("<ir_version: 10, opset_import: [\"\" : 21]> g (float[2] x) => (float[2] y) { y = other.Relu(x) }"),
      ContainsSubstring("names no opset for domain \"other\""));
}

TEST_CASE("sizes that a file only claims to have are not believed", "[onnx]") {
  CHECK_THAT(error_of("g () => (float[n] y) <int64[2] s = {1000000, 1000000}> { y = ConstantOfShape(s) }"),
             ContainsSubstring("more than 2^31 - 1"));
  CHECK_THAT(error_of("g (float[2] x) => (float[n] y) <int64[1] s = {4000000000}> { y = Tile(x, s) }"),
             ContainsSubstring("a repeat is 4000000000"));
  CHECK_THAT(error_of("g (float[2] x) => (float[n] y) <int64[1] s = {1099511627776}> { y = Expand(x, s) }"),
             ContainsSubstring("an extent is"));
  CHECK_THAT(error_of("g (float[2] x) => (float[n] y) <int64[2] s = {4611686018427387904, 1}> { y = Pad(x, s) }"),
             ContainsSubstring("a pad is"));
  CHECK_THAT(
      error_of("g (float[2] x) => (float[n] y) <int64[1] s = {16777216}> { y = Resize <mode = \"cubic\"> (x, , , s) }"),
      ContainsSubstring("axis 0 needs a table of 67108864 numbers"));
  CHECK_THAT(error_of("g (float[1, 4, 2] x) => (float[1, 4, 2] y) { y = LRN <size = 9223372036854775807> (x) }"),
             ContainsSubstring("size is 1099511627776"));
  CHECK_THAT(
      error_of("g (float[4, 2] x) => (uint8[4, 2] y) <float[1, 2] s = {1.0, 1.0}> { y = QuantizeLinear <axis = 0, "
               "block_size = 9223372036854775807> (x, s) }"),
      ContainsSubstring("block_size is 1099511627776"));
  CHECK_THAT(error_of("g (float[2, 2] x) => (float[2, 2] y) { y = EyeLike <k = -9223372036854775808> (x) }"),
             ContainsSubstring("k is too large"));
  CHECK_THAT(
      error_of("g (float[1, 1, 3, 3] x, float[1, 1, 3, 3] w) => (float[n] y) { y = ConvTranspose <output_shape = [9]> "
               "(x, w) }"),
      ContainsSubstring("output_shape needs 2 numbers"));
  CHECK_THAT(
      error_of("g () => (float[n] y) <int64 a = {8}, int64 b = {16}, int64 r = {100}, float l = {-800.0}, float h = "
               "{50.0}> { y = MelWeightMatrix(a, b, r, l, h) }"),
      ContainsSubstring("the frequencies do not go up"));
  CHECK(
      error_of("g () => (int64[n] y) <int64 m = {2}> { y = Loop <body = b (int64 i, bool c) => (bool d, int64 z) { d = "
               "Identity(c) z = Identity(i) }> (m) }")
          .empty());  // no condition, nothing carried
  CHECK_THAT(error_of("g (float x) => (float[n] y) <int64 step = {1}> { y = STFT(x, step) }"),
             ContainsSubstring("operand 0 has 0 axes, so none is axis"));
  ::onnx::ModelProto proto = proto_of("g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = Add(x, w) }");
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, 1 << 30);
  CHECK_THAT(std::string(onnx::load(bytes_of(proto.SerializeAsString())).status().message()),
             ContainsSubstring("initialiser \"w\" has 8 bytes of data; its shape needs 4294967296"));
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, int64_t{1} << 40);
  CHECK_THAT(std::string(onnx::load(bytes_of(proto.SerializeAsString())).status().message()),
             ContainsSubstring("has an extent of 1099511627776"));
}

TEST_CASE("a file that is cut anywhere gives an error or a smaller model", "[onnx]") {
  const std::string whole = model_of(
      "g (float[n, 2] x) => (float[n, 2] y) <float[2] w = {1.0, 2.0}> { a = Add(x, w)\n y = Softmax <axis = 1> (a) }");
  for (size_t length = 0; length < whole.size(); ++length) {
    const std::string part = whole.substr(0, length);
    const Result<onnx::Model> model = onnx::load(bytes_of(part), {.extents = {{"n", 2}}});
    CHECK((!model.ok() || !model->outputs.empty() || model->inputs.size() < 2));
  }
}

TEST_CASE("symbolic extents get their sizes at load", "[onnx]") {
  const std::string text = "g (float[n, m] x, float[n] z) => (float[n, m] y) { y = Relu(x) }";
  CHECK_THAT(error_of(text), ContainsSubstring("(\"n\") has no size"));
  Result<onnx::Model> model = load_text(text, {.extents = {{"n", 3}, {"m", 4}}});
  REQUIRE(model.ok());
  CHECK(model->outputs[0].shape == std::vector<int64_t>{3, 4});
  onnx::LoadOptions given;
  given.given.emplace("x", floats({2, 5}, std::vector<double>(10)));
  model = load_text(text, given);  // z's extent follows
  REQUIRE(model.ok());
  CHECK(model->find_input("z")->shape == std::vector<int64_t>{2});
  given.extents = {{"n", 7}};
  CHECK_THAT(error_of(text, given), ContainsSubstring("is given with 2 elements along axis 0, where the model has 7"));
}

TEST_CASE("shape arithmetic leaves nothing for the device", "[onnx]") {
  const Result<onnx::Model> model = load_text(R"(g (float[b, s, 12] x) => (float[b, k, s, d] y)
      <int64[1] zero = {0}, int64[1] one = {1}, int64[1] heads = {3}, int64[1] rest = {-1}> {
        shape = Shape(x)
        batch = Slice(shape, zero, one)
        length = Gather(shape, one)
        doubled = Mul(length, one)
        to = Concat <axis = 0> (batch, doubled, heads, rest)
        split = Reshape(x, to)
        y = Transpose <perm = [0, 2, 1, 3]> (split)
      })",
                                              {.extents = {{"b", 2}, {"s", 5}}});
  REQUIRE(model.status().ToString() == "OK");
  CHECK(model->outputs[0].shape == std::vector<int64_t>{2, 3, 5, 4});
  CHECK(model->parameters.empty());
  int ops = 0;
  for (const Node& node : model->graph.graph().nodes) ops += node.kind == NodeKind::op;
  CHECK(ops == 2);  // reshape and transpose
}

TEST_CASE("an operand that decides a shape is given at load and bound", "[onnx][gpu]") {
  const std::string text = "g (float[4] x, int64[2] s) => (float[a, b] y) { y = Reshape(x, s) }";
  CHECK_THAT(
      error_of(text),
      ContainsSubstring("operand 1 (\"s\") must be known when the model is loaded: give the elements of input \"s\""));
  onnx::LoadOptions options;
  options.given.emplace("s", integers({2}, {2, 2}));
  Result<onnx::Model> model = load_text(text, options);
  REQUIRE(model.ok());
  CHECK(model->find_input("s")->bound);
  Result<onnx::Session> session = onnx::Session::create(device_or_skip(), *model);
  REQUIRE(session.ok());
  CHECK(session->set("s", integers({2}, {2, 2})).ok());
  CHECK_THAT(std::string(session->set("s", integers({2}, {4, 1})).message()),
             ContainsSubstring("decides shapes: load the model again"));
  CHECK_THAT(std::string(session->set("x", floats({5}, {1, 2, 3, 4, 5})).message()),
             ContainsSubstring("another type or shape"));
}

TEST_CASE("64-bit integers are narrowed with a check", "[onnx][gpu]") {
  const Device device = device_or_skip();
  const std::string text = "g (int64[2] x) => (int64[2] y) { y = Neg(x) }";
  CHECK(run(device, text, {{"x", integers({2}, {7, -2147483647})}}) == std::vector<double>{-7, 2147483647});
  Result<onnx::Model> model = load_text(text);
  Result<onnx::Session> session = onnx::Session::create(device, *model);
  REQUIRE(session.ok());
  CHECK_THAT(std::string(session->set("x", integers({2}, {1, 4000000000})).message()),
             ContainsSubstring("element 1 is 4000000000: int64 is held as i32"));
}

TEST_CASE("integers that 32 bits do not hold are refused at load, where the device would read them", "[onnx][gpu]") {
  CHECK(error_of("g (int64[2] x) => (int64[2] y) <int64 c = {4294967296}> { y = Add(x, c) }") ==
        "the node that computes \"y\" (Add, opset 21): element 0 is 4294967296: int64 is held as i32 on the device, "
        "which "
        "is too short for it");
  CHECK_THAT(error_of("g (int64[2] x) => (int64[2] y) <int64[2] c = {1, -2147483649}> { y = Add(x, c) }"),
             ContainsSubstring("element 1 is -2147483649"));  // a weight, not a literal
  CHECK_THAT(error_of("g (int64[2] x) => (bool[2] y) <int64 c = {9223372036854775807}> { y = Less(x, c) }"),
             ContainsSubstring("element 0 is 9223372036854775807"));
  CHECK_THAT(error_of("g (uint64[2] x) => (uint64[2] y) <uint64[2] c = {1, 4294967296}> { y = Add(x, c) }"),
             ContainsSubstring("element 1 is 4294967296: uint64 is held as u32"));
  // An op that makes one of its constants is folded in 64 bits, and then it is too long as well.
  CHECK_THAT(error_of("g (int64[2] x) => (int64[2] y) <int64 c = {65536}> { d = Mul(c, c)\n y = Add(x, d) }"),
             ContainsSubstring("element 0 is 4294967296"));
  CHECK_THAT(error_of("g (float[2] x) => (int64[1] y) <int64[1] c = {4294967296}> { y = Identity(c) }"),
             ContainsSubstring("element 0 is 4294967296"));  // an output
  // The greatest numbers as words for "to the end" and "no bound".
  const Device device = device_or_skip();
  CHECK(run(device,
            "g (float[4] x) => (float[n] y) <int64[1] a = {1}, int64[1] z = {9223372036854775807}> { y = Slice(x, a, "
            "z) }",
            {{"x", floats({4}, {1, 2, 3, 4})}}) == std::vector<double>{2, 3, 4});
  CHECK(run(device,
            "g (int64[3] x) => (int64[3] y) <int64 a = {-9223372036854775808}, int64 z = {9223372036854775807}> { y = "
            "Clip(x, a, z) }",
            {{"x", integers({3}, {-5, 0, 5})}}) == std::vector<double>{-5, 0, 5});
  CHECK_THAT(error_of("g (int64[2] x) => (int64[2] y) <int64 a = {9223372036854775807}> { y = Clip(x, a) }"),
             ContainsSubstring("element 0 is 9223372036854775807"));
}

TEST_CASE("a condition that data decide selects between both branches", "[onnx][gpu]") {
  const Device device = device_or_skip();
  const std::string text = R"(g (float[2] x, bool c) => (float[2] y) {
      y = If (c) <then_branch = a () => (float[2] p) { p = Neg(x) }, else_branch = b () => (float[2] q) { q = Exp(x) }>
    })";
  Result<onnx::Model> model = load_text(text);
  REQUIRE(model.status().ToString() == "OK");
  for (const bool condition : {true, false}) {
    const onnx::HostTensors inputs = {
        {"x", floats({2}, {0, 0})},
        {"c", HostTensor::of_integers(ElementType::boolean, {}, std::vector<int64_t>{condition})}};
    CHECK(run(device, *model, inputs)[0] == (condition ? 0 : 1));
  }
  onnx::LoadOptions known;
  known.given.emplace("c", HostTensor::of_integers(ElementType::boolean, {}, std::vector<int64_t>{1}));
  model = load_text(text, known);  // one branch alone
  REQUIRE(model.ok());
  CHECK(model->graph.graph().nodes.size() == 2);
}

TEST_CASE("loops are unrolled, to a limit", "[onnx][gpu]") {
  const auto text = [](const std::string& trips) {
    return "g (float[2] x) => (float[2] y) <int64 trips = {" + trips + R"(}, bool yes = {1}> {
        y = Loop (trips, yes, x) <body = b (int64 i, bool go, float[2] v) => (bool on, float[2] w) { on = Identity(go)
 w = Add(v, v) }>
      })";
  };
  CHECK(run(device_or_skip(), text("5"), {{"x", floats({2}, {1, 3})}}) == std::vector<double>{32, 96});
  CHECK_THAT(error_of(text("1000000000")), ContainsSubstring("more than 2048 trips"));
}

TEST_CASE("functions of a model are expanded, and do not call themselves", "[onnx][gpu]") {
  const std::string head =
      "<ir_version: 10, opset_import: [\"\" : 21, \"local\" : 1]>\ng (float[2] x) => (float[2] y) { y = local.f <slope "
      "= 0.5> (x) }\n";
  const std::string text = head +
                           "<opset_import: [\"\" : 21], domain: \"local\"> f <slope> (a) => (b) { b = LeakyRelu <alpha "
                           ": float = @slope> (a) }";
  CHECK(run(device_or_skip(), text, {{"x", floats({2}, {-2, 2})}}) == std::vector<double>{-1, 2});
  const std::string recursive = head +
                                "<opset_import: [\"\" : 21, \"local\" : 1], domain: \"local\"> f <slope> (a) => (b) { "
                                "b = local.f <slope : float = @slope> (a) }";
  CHECK_THAT(error_of(recursive), ContainsSubstring("or call themselves"));
}

TEST_CASE("external data must lie below the model's folder, and be long enough", "[onnx][gpu]") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "rlxgpu_onnx_load_test";
  std::filesystem::create_directories(folder);
  const float weights[] = {9, 10, 20};
  std::ofstream(folder / "w.bin", std::ios::binary).write(reinterpret_cast<const char*>(weights), sizeof(weights));
  const auto model = [&](const std::string& location, const std::string& offset, const std::string& length) {
    ::onnx::ModelProto proto = proto_of("g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { y = Add(x, w) }");
    ::onnx::TensorProto* w = proto.mutable_graph()->mutable_initializer(0);
    w->clear_float_data();
    w->clear_raw_data();
    w->set_data_location(::onnx::TensorProto::EXTERNAL);
    for (const auto& [key, value] :
         {std::pair("location", location), std::pair("offset", offset), std::pair("length", length)}) {
      auto* entry = w->add_external_data();
      entry->set_key(key), entry->set_value(value);
    }
    return onnx::load(bytes_of(proto.SerializeAsString()), {}, folder.string());
  };
  Result<onnx::Model> good = model("w.bin", "4", "8");
  REQUIRE(good.status().ToString() == "OK");
  CHECK(run(device_or_skip(), *good, {{"x", floats({2}, {1, 2})}}) == std::vector<double>{11, 22});
  CHECK_THAT(std::string(model("../w.bin", "4", "8").status().message()),
             ContainsSubstring("not below the model's folder"));
  CHECK_THAT(std::string(model("/etc/passwd", "0", "8").status().message()),
             ContainsSubstring("not below the model's folder"));
  CHECK_THAT(std::string(model("w.bin", "8", "8").status().message()), ContainsSubstring("ends before its data"));
  CHECK_THAT(std::string(model("w.bin", "4", "4").status().message()),
             ContainsSubstring("has 4 bytes of data; its shape needs 8"));
  CHECK_THAT(std::string(model("w.bin", "18446744073709551615", "8").status().message()),
             ContainsSubstring("is not a size"));
  CHECK_THAT(std::string(model("none.bin", "0", "8").status().message()), ContainsSubstring("none.bin"));
}

TEST_CASE("two models share their weights", "[onnx][gpu]") {
  const Device device = device_or_skip();
  const std::string head = "g (float[3] x) => (float[3] y) <float[3] w = {1.0, 2.0, 3.0}> ";
  Result<onnx::Model> sum = load_text(head + "{ y = Add(x, w) }"), product = load_text(head + "{ y = Mul(x, w) }");
  REQUIRE((sum.ok() && product.ok()));
  const Weights weights(device);
  REQUIRE(sum->upload(weights).ok());
  DynamicOptions options;
  options.engine.weights = weights;
  Result<onnx::Session> session = onnx::Session::create(device, *product, options);
  REQUIRE(session.status().ToString() == "OK");
  REQUIRE(session->set("x", floats({3}, {5, 5, 5})).ok());
  session->run();
  CHECK(session->get("y")->numbers() == std::vector<double>{5, 10, 15});
  CHECK(weights.count() == 1);
}

TEST_CASE("profiles name the model's nodes", "[onnx][gpu]") {
  ::onnx::ModelProto proto =
      proto_of("g (float[64] x) => (float[64] y) { a = Softmax <axis = 0> (x)\n y = CumSum(a, z) }");
  proto.mutable_graph()->mutable_node(0)->set_name("scores");
  auto* axis = proto.mutable_graph()->add_initializer();
  axis->set_name("z"), axis->set_data_type(7), axis->add_int64_data(0);
  Result<onnx::Model> model = onnx::load(bytes_of(proto.SerializeAsString()));
  REQUIRE(model.status().ToString() == "OK");
  Result<onnx::Session> session = onnx::Session::create(device_or_skip(), *model);
  REQUIRE(session.ok());
  Result<std::vector<StepProfile>> steps = session->executable().engine().profile();
  REQUIRE(steps.ok());
  REQUIRE(steps->size() == 2);
  CHECK(model->node_of((*steps)[0].line) == "node \"scores\"");
  CHECK(model->node_of((*steps)[1].line) == "the node that computes \"y\"");
}

}  // namespace
}  // namespace rlxgpu::core::testing
