// Changes ONNX models at random and loads them, looking for crashes, endless loops and huge allocations.
//
//   ./dev bazel run --config=asan //tests/onnx:fuzz -- --minutes 10
//   fuzz --again last.onnx        // load one file, as it was when something went wrong
//
// It begins with the models of tests/onnx/corpus (ONNX's textual form) and of ONNX's suite. Most changes are made to
// the message's fields, so that importers see them; some to its bytes. Every input is written to a file before it is
// loaded.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "onnx/defs/parser.h"
#include "onnx/defs/schema.h"
#include "onnx/onnx_pb.h"
#include "tests/onnx/fuzz_target.h"

namespace rlxgpu::core::testing {
namespace {

namespace fs = std::filesystem;
using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::TensorProto;

constexpr int64_t kNumbers[] = {0,
                                1,
                                -1,
                                2,
                                3,
                                -2,
                                4,
                                7,
                                8,
                                9,
                                16,
                                64,
                                255,
                                256,
                                1000,
                                -1000,
                                65536,
                                1 << 24,
                                INT32_MAX,
                                INT32_MIN,
                                int64_t{1} << 32,
                                int64_t{1} << 62,
                                INT64_MAX,
                                INT64_MIN};

class Mutator {
 public:
  Mutator(std::vector<ModelProto> seeds, uint64_t seed) : seeds_(std::move(seeds)), random_(seed) {
    for (const ::onnx::OpSchema& schema : ::onnx::OpSchemaRegistry::get_all_schemas())
      ops_.push_back({schema.domain(), schema.Name()});
  }

  std::string next() {
    ModelProto model = seeds_[below(seeds_.size())];
    for (size_t changes = 1 + below(4); changes > 0; --changes) change(*model.mutable_graph());
    if (below(20) == 0 && model.opset_import_size() > 0)
      model.mutable_opset_import(0)->set_version(static_cast<int64_t>(below(28)));
    std::string bytes = model.SerializeAsString();
    if (below(10) == 0) {
      for (size_t changes = 1 + below(8); changes > 0 && !bytes.empty(); --changes)
        bytes[below(bytes.size())] = static_cast<char>(below(256));
      if (below(4) == 0) bytes.resize(below(bytes.size() + 1));
    }
    return bytes;
  }

 private:
  size_t below(size_t n) { return n == 0 ? 0 : std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  int64_t number() {
    return below(4) == 0 ? static_cast<int64_t>(below(12)) - 4 : kNumbers[below(std::size(kNumbers))];
  }

  // Some name of the graph, or one that it does not have.
  std::string name(const GraphProto& graph) {
    std::vector<std::string> names = {"", "nobody"};
    for (const auto& input : graph.input()) names.push_back(input.name());
    for (const auto& tensor : graph.initializer()) names.push_back(tensor.name());
    for (const auto& node : graph.node()) names.insert(names.end(), node.output().begin(), node.output().end());
    return names[below(names.size())];
  }

  void change(GraphProto& graph) {
    switch (below(8)) {
      case 0:
        if (graph.input_size() > 0)
          change(*graph.mutable_input(static_cast<int>(below(static_cast<size_t>(graph.input_size())))));
        break;
      case 1:
        if (graph.initializer_size() > 0)
          change(*graph.mutable_initializer(static_cast<int>(below(static_cast<size_t>(graph.initializer_size())))));
        break;
      case 2: {  // a node of another model
        const ModelProto& other = seeds_[below(seeds_.size())];
        if (other.graph().node_size() == 0) break;
        NodeProto& node = *graph.add_node();
        node = other.graph().node(static_cast<int>(below(static_cast<size_t>(other.graph().node_size()))));
        for (std::string& input : *node.mutable_input()) input = name(graph);
        break;
      }
      case 3: {  // a constant in the place of an input
        if (graph.input_size() == 0) break;
        const auto& input = graph.input(static_cast<int>(below(static_cast<size_t>(graph.input_size()))));
        TensorProto& tensor = *graph.add_initializer();
        tensor.set_name(input.name());
        tensor.set_data_type(static_cast<int>(below(3) == 0 ? below(28) : 7));
        const size_t count = below(5);
        if (below(4) != 0) tensor.add_dims(static_cast<int64_t>(count));
        for (size_t i = 0; i < count; ++i)
          tensor.add_int64_data(number()), tensor.add_int32_data(static_cast<int32_t>(number())),
              tensor.add_float_data(static_cast<float>(number()));
        if (below(2) == 0) tensor.clear_int32_data(), tensor.clear_float_data();
        break;
      }
      default:
        if (graph.node_size() > 0)
          change(*graph.mutable_node(static_cast<int>(below(static_cast<size_t>(graph.node_size())))), graph);
    }
  }

  void change(NodeProto& node, const GraphProto& graph) {
    switch (below(6)) {
      case 0:
        if (node.input_size() > 0)
          node.set_input(static_cast<int>(below(static_cast<size_t>(node.input_size()))), name(graph));
        break;
      case 1:
        if (below(2) == 0) {
          node.add_input(name(graph));
        } else if (node.input_size() > 0) {
          node.mutable_input()->RemoveLast();
        }
        break;
      case 2: {
        const auto& [domain, op] = ops_[below(ops_.size())];
        node.set_op_type(op);
        node.set_domain(domain);
        break;
      }
      case 3:
        node.add_output("extra" + std::to_string(below(3)));
        break;
      default: {
        if (node.attribute_size() == 0) break;
        auto& attribute = *node.mutable_attribute(static_cast<int>(below(static_cast<size_t>(node.attribute_size()))));
        if (attribute.has_g()) return change(*attribute.mutable_g());
        if (attribute.has_t()) return change(*attribute.mutable_t());
        attribute.set_i(number());
        attribute.set_f(static_cast<float>(number()) * (below(2) == 0 ? 1.0f : 1e-3f));
        if (attribute.ints_size() > 0)
          attribute.set_ints(static_cast<int>(below(static_cast<size_t>(attribute.ints_size()))), number());
        if (below(4) == 0) attribute.add_ints(number());
        if (below(8) == 0) attribute.clear_ints();
        if (below(8) == 0) attribute.set_type(static_cast<::onnx::AttributeProto::AttributeType>(1 + below(8)));
      }
    }
  }

  void change(::onnx::ValueInfoProto& value) {
    auto& type = *value.mutable_type()->mutable_tensor_type();
    if (below(3) == 0) return type.set_elem_type(static_cast<int>(below(28)));
    auto& shape = *type.mutable_shape();
    if (shape.dim_size() == 0 || below(5) == 0) {
      shape.add_dim()->set_dim_value(number());
    } else if (below(5) == 0) {
      shape.mutable_dim()->RemoveLast();
    } else {
      shape.mutable_dim(static_cast<int>(below(static_cast<size_t>(shape.dim_size()))))
          ->set_dim_value(below(2) == 0 ? static_cast<int64_t>(below(9)) : number());
    }
  }

  void change(TensorProto& tensor) {
    switch (below(4)) {
      case 0:
        if (tensor.dims_size() > 0)
          tensor.set_dims(static_cast<int>(below(static_cast<size_t>(tensor.dims_size()))), number());
        break;
      case 1:
        tensor.set_data_type(static_cast<int>(below(28)));
        break;
      case 2:
        if (tensor.int64_data_size() > 0)
          tensor.set_int64_data(static_cast<int>(below(static_cast<size_t>(tensor.int64_data_size()))), number());
        break;
      default: {
        std::string& raw = *tensor.mutable_raw_data();
        const int64_t word = number();
        if (raw.size() >= 8) {
          raw.replace(below(raw.size() / 8) * 8, 8, reinterpret_cast<const char*>(&word), 8);
        } else {
          tensor.clear_raw_data();
        }
      }
    }
  }

  std::vector<ModelProto> seeds_;
  std::vector<std::pair<std::string, std::string>> ops_;
  std::mt19937_64 random_;
};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<ModelProto> seeds(const std::string& corpus) {
  std::vector<ModelProto> models;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(corpus, none)) {
    ModelProto model;
    if (::onnx::OnnxParser::Parse(model, contents(entry.path()).c_str()).IsOK()) models.push_back(std::move(model));
  }
  std::printf("%zu models of %s\n", models.size(), corpus.c_str());
  for (const auto& entry : fs::directory_iterator("/usr/share/libonnx-testdata/data/node", none)) {
    ModelProto model;
    const std::string bytes = contents(entry.path() / "model.onnx");
    if (bytes.size() < 20000 && model.ParseFromString(bytes)) models.push_back(std::move(model));
  }
  return models;
}

}  // namespace
}  // namespace rlxgpu::core::testing

int main(int argc, char** argv) {
  using namespace rlxgpu::core::testing;
  double minutes = 0;
  int64_t count = 3000;
  uint64_t seed = 1;
  std::string again, corpus = "tests/onnx/corpus",
                     last = (std::filesystem::temp_directory_path() / "rlxgpu_fuzz_last.onnx").string();
  CLI::App app("Random changes of ONNX models");
  app.add_option("--minutes", minutes, "How long; without it, --count models");
  app.add_option("--count", count, "How many models");
  app.add_option("--seed", seed, "Of the random numbers");
  app.add_option("--corpus", corpus, "Models to begin with, in ONNX's textual form");
  app.add_option("--last", last, "The file that the model at hand is written to");
  app.add_option("--again", again, "Load this file alone");
  CLI11_PARSE(app, argc, argv);
  if (!again.empty()) {
    const std::string bytes = contents(again);
    std::puts(load_anything(std::as_bytes(std::span(bytes))) ? "loaded" : "refused");
    return 0;
  }
  std::vector<::onnx::ModelProto> models = seeds(corpus);
  if (models.empty()) return std::puts("there are no models to begin with"), 1;
  std::printf("seed %lu; the model at hand is in %s\n", static_cast<unsigned long>(seed), last.c_str());
  std::fflush(stdout);
  Mutator mutator(std::move(models), seed);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto start = now();
  const auto elapsed = [&] { return std::chrono::duration<double>(now() - start).count(); };
  int64_t done = 0, loaded = 0;
  double slowest = 0;
  for (; minutes > 0 ? elapsed() < 60 * minutes : done < count; ++done) {
    const std::string bytes = mutator.next();
    std::ofstream(last, std::ios::binary) << bytes;
    const double before = elapsed();
    loaded += load_anything(std::as_bytes(std::span(bytes))) ? 1 : 0;
    const double took = elapsed() - before;
    slowest = std::max(slowest, took);
    if (took > 5) {
      std::printf("model %ld of seed %lu took %.1f s: %s\n", static_cast<long>(done), static_cast<unsigned long>(seed),
                  took, last.c_str());
      return 1;
    }
  }
  std::printf("%ld models, %ld of them loaded, the slowest took %.2f s, %.0f s in all\n", static_cast<long>(done),
              static_cast<long>(loaded), slowest, elapsed());
  return 0;
}
