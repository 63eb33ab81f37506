// Runner: an ONNX model on a device that takes inputs of any shape: symbolic extents get their sizes from each run.
//
//   Result<onnx::Runner> runner = onnx::Runner::open(device, "model.onnx", {.buckets = {{"batch", {1, 8, 32}}}});
//   if (!runner.ok()) return runner.status();
//   Result<onnx::HostTensors> results = runner->run({{"x", x}});        // by name
//
// A program is planned for one shape of each input. The first run with new shapes loads and compiles one, which takes
// as long as Session::create; the most recent ones are kept. All share one copy of the weights on the device. Inputs
// whose elements decide shapes (Reshape's second) count as shapes do. The model stays in host memory, too.
//
// Buckets keep programs few: an extent that has them is rounded up to the next one, inputs get zeros at the end of that
// axis, and results are cut to what was asked for. This is right only where the model ignores what is added: along a
// batch whose items do not meet, or along a length with an input that masks it. By naming an extent the caller says so;
// extents without buckets are never padded. A result whose shape follows from the extent in another way than being as
// long cannot be cut, and is an error. Thread-compatible.
#ifndef RLXGPU_LOAD_ONNX_RUNNER_H_
#define RLXGPU_LOAD_ONNX_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/load/weight_part.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/runtime/weights.h"

namespace rlxgpu::core::onnx {

struct ModelDef;
struct PortDef;

using Buckets = std::vector<int64_t>;  // extents, in any order
Buckets powers_of_two(int64_t most);   // 1, 2, 4, ... up to it

struct RunnerOptions {
  std::map<std::string, Buckets> buckets = {};  // by the name of a symbolic extent that the model lets one pad
  size_t most_programs = 8;                     // at least 1; the one that was not used for longest goes
  // Constants that follow from shapes are weights of their own. When those that came after the first program exceed
  // this and a program goes, all go, and weights begin anew.
  uint64_t most_constant_bytes = uint64_t{256} << 20;
  DynamicOptions dynamic = {};  // of programs; its weights are not used
};

class Runner {
 public:
  static Result<Runner> open(const Device& device, const std::string& path, RunnerOptions options = {});
  // Of bytes in memory, which are not needed afterwards; `folder` is where external data lies.
  static Result<Runner> open(const Device& device, std::span<const std::byte> bytes, RunnerOptions options = {},
                             const std::string& folder = "");

  // All inputs of the model by name; waits for the results.
  Result<HostTensors> run(const HostTensors& inputs);

  size_t programs() const { return programs_.size(); }  // kept now
  int64_t compiled() const { return compiled_; }        // so far
  int64_t uploaded() const { return uploads_; }         // weights, so far
  const Weights& weights() const { return weights_; }

 private:
  using Shapes = std::map<std::string, std::vector<int64_t>>;  // of inputs
  struct Program {
    std::vector<Port> inputs, outputs;
    Session session;
    std::map<Shapes, Shapes> cuts = {};  // of outputs, for shapes of inputs before they were padded
  };

  static Result<Runner> create(const Device& device, ModelDef def, RunnerOptions options);
  Result<Shapes> padded_shapes(const HostTensors& inputs) const;
  Result<Model> load(const HostTensors& inputs, const std::string& weight_prefix = "") const;
  Result<Program*> find_or_compile(const HostTensors& padded);
  Result<Program> compile(Model model, const HostTensors& padded);
  Result<const Shapes*> cuts_of(Program& program, const HostTensors& inputs) const;
  bool is_uploaded_otherwise(const Model& model) const;
  uint64_t constant_bytes() const;
  void forget();

  Device device_;
  std::shared_ptr<const ModelDef> def_;
  std::vector<const PortDef*> inputs_;  // without initialisers
  RunnerOptions options_;
  Weights weights_;
  std::map<std::string, HostTensor> uploaded_;
  PreparedWeights prepared_;
  std::optional<uint64_t> first_bytes_;  // of weights, with the first program
  std::list<Program> programs_;          // the last used one first
  int prefixes_ = 0;                     // of weights: see compile
  int64_t compiled_ = 0, uploads_ = 0;
};

}  // namespace rlxgpu::core::onnx

namespace rlxgpu {
namespace onnx = core::onnx;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_ONNX_RUNNER_H_
