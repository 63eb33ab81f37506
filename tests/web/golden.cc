// golden DIR: writes bundles of examples with random weights to DIR/NAME, and beside each, in case.safetensors, inputs
// and what the second of two native runs gives: tests/web/page.js has to give the same in a browser.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "rlxgpu/compile/compile.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/load/safetensors.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/session.h"
#include "rlxgpu/tools/bundle.h"
#include "rlxgpu/tools/examples.h"

namespace rlxgpu::core::tools {
namespace {

using Json = nlohmann::ordered_json;

// Extents that change from run to run, on an outer and an inner axis.
void build_extents(Builder& g) {
  const Dim n = g.extent("n", 9), m = g.extent("m", 7);
  const Tensor x = g.input("x", f32, {3, n, 5, m});
  g.output("y", x * 2.0f + x);
  g.output("row", softmax(x, -1));
}

constexpr Example kExtents = {"extents", "run-time extents", build_extents};

struct Data {
  std::string name;
  TensorType type;
  std::vector<std::byte> bytes;
};

// Elements with |x| < 1 for floats, small numbers (indices) for integers.
std::vector<std::byte> random_bytes(DType dtype, int64_t count, double scale, std::mt19937& random) {
  std::vector<uint32_t> words;
  for (int64_t i = 0; i < count; ++i) {
    const float value = static_cast<float>(scale * (random() / 2147483648.0 - 1.0));
    words.push_back(dtype == f32 ? std::bit_cast<uint32_t>(value) : random() % 7u);
  }
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

int fail(std::string_view name, const Status& status) {
  std::fprintf(stderr, "%s: %s\n", std::string(name).c_str(), std::string(status.message()).c_str());
  return 1;
}

int write_case(const Device& device, const Example& example, const std::string& folder) {
  const absl::StatusOr<RenderedProgram> rendered = render(example);
  if (!rendered.ok()) return fail(example.name, rendered.status());
  const ProgramView program = rendered->view();
  Result<Session> session = Session::create(device, program, rendered->texts(), {});
  if (!session.ok()) return fail(example.name, session.status());
  std::mt19937 random(7);
  Json about = {{"runs", Json::array()}};
  std::vector<Data> weights, data;
  for (int run = 0; run < 2; ++run) {
    Json numbers = Json::object();
    for (size_t i = 0; i < program.scalars.size(); ++i) {
      const ScalarDecl& scalar = program.scalars[i];
      const double value =
          scalar.most >= 0 ? static_cast<double>(std::max<int64_t>(1, scalar.most * (2 - run) / 2)) : run;
      if (Status status = session->set_scalar(static_cast<int>(i), value); !status.ok())
        return fail(example.name, status);
      numbers[std::string(program.name(scalar.name))] = value;
    }
    about["runs"].push_back(std::move(numbers));
    for (size_t i = 0; i < program.ports.size(); ++i) {
      const Port& port = program.ports[i];
      const int at = static_cast<int>(i);
      const TensorType& type = program.tensors[static_cast<size_t>(port.tensor)];
      const bool input = port.role == BufferRole::input, weight = port.role == BufferRole::param && run == 0;
      if (bytes_of(type.dtype) != 4) return fail(example.name, invalid_argument("a type of another size than 4 bytes"));
      if (!input && !weight) continue;
      const double scale = weight && type.shape.rank() > 1 ? 1.7 / std::sqrt(static_cast<double>(type.shape[0])) : 1.0;
      Data made = {std::string(program.name(port.name)),
                   {type.dtype, Shape{Dim(session->count(at))}},
                   random_bytes(type.dtype, session->count(at), scale, random)};
      if (Status status = session->set(at, type.dtype, session->count(at), made.bytes.data()); !status.ok())
        return fail(example.name, status);
      if (input) made.name = "run" + std::to_string(run) + "/" + made.name;
      (input ? data : weights).push_back(std::move(made));
    }
    if (Status status = session->run().wait(); !status.ok()) return fail(example.name, status);
  }
  int64_t longest = 1;  // of all sums: no sum is longer than an axis of a tensor
  for (const TensorDecl& tensor : program.tensors) {
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) longest = std::max<int64_t>(longest, tensor.shape[axis]);
  }
  about["longest"] = longest;
  for (size_t i = 0; i < program.ports.size(); ++i) {
    const Port& port = program.ports[i];
    if (port.role != BufferRole::output) continue;
    const TensorType& type = program.tensors[static_cast<size_t>(port.tensor)];
    const int at = static_cast<int>(i);
    Data made = {"result/" + std::string(program.name(port.name)), {type.dtype, Shape{Dim(session->count(at))}}, {}};
    made.bytes.resize(static_cast<size_t>(session->count(at)) * 4);
    if (Status status = session->get(at, type.dtype, session->count(at), made.bytes.data()); !status.ok())
      return fail(example.name, status);
    data.push_back(std::move(made));
  }
  const auto stored = [](const std::vector<Data>& all) {
    std::vector<StoredTensor> out;
    for (const Data& each : all) {
      std::vector<int64_t> shape;
      for (int axis = 0; axis < each.type.shape.rank(); ++axis) shape.push_back(each.type.shape[axis]);
      out.push_back({each.name, stored_as(each.type.dtype), std::move(shape), each.bytes});
    }
    return out;
  };
  const std::string to = folder + "/" + std::string(example.name);
  const BundleProgram programs[] = {{"main", &*rendered}};
  if (absl::Status status = write_bundle(to, programs, stored(weights), about); !status.ok())
    return fail(example.name, status);
  if (Status status = write_safetensors(to + "/case.safetensors", stored(data)); !status.ok())
    return fail(example.name, status);
  return 0;
}

}  // namespace
}  // namespace rlxgpu::core::tools

int main(int argc, char** argv) {
  using namespace rlxgpu::core::tools;
  if (argc != 2) return std::fprintf(stderr, "golden DIR\n"), 2;
  const auto device = rlxgpu::core::open_device();
  if (!device.ok()) return fail("device", device.status());
  Json names = Json::array();
  std::vector<Example> cases = {kExtents};
  for (const Example& example : examples()) {
    // Not those with 0.1 GB of weights and more, nor the one for which SwiftShader compiles 20 s.
    if (example.name == "encoder" || example.name == "bert-layer" || example.name == "llama-layer") continue;
    cases.push_back(example);
  }
  for (const Example& example : cases) {
    if (const int code = write_case(*device, example, argv[1]); code != 0) return code;
    names.push_back(std::string(example.name));
  }
  std::ofstream(std::string(argv[1]) + "/cases.json") << names.dump() << "\n";
  return 0;
}
