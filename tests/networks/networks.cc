#include "tests/networks/networks.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "rlxgpu/load/onnx/onnx.h"
#include "rlxgpu/tools/model_check.h"
#include "rlxgpu/tools/model_input.h"

namespace rlxgpu::core::testing {
namespace {

constexpr size_t kSizes = 3;
constexpr std::string_view kFixed = "fixed, elements ";

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

// What a size says about a network's inputs.
struct Inputs {
  onnx::LoadOptions options;
  uint32_t seed = 1;
};
Result<Inputs> parse_size(std::string_view size) {
  Inputs inputs;
  if (size.starts_with(kFixed)) {
    if (!absl::SimpleAtoi(size.substr(kFixed.size()), &inputs.seed)) return absl::InvalidArgumentError("no number");
    return inputs;
  }
  for (const std::string_view part : absl::StrSplit(size, ',')) {
    const size_t at = part.find_first_of("=:");
    if (at == std::string_view::npos)
      return absl::InvalidArgumentError(absl::StrCat("\"", part, "\" is neither INPUT=SHAPE nor INPUT:NUMBER"));
    const std::string name(part.substr(0, at));
    std::vector<int64_t> numbers;
    for (const std::string_view text : absl::StrSplit(part.substr(at + 1), 'x')) {
      if (!absl::SimpleAtoi(text, &numbers.emplace_back()))
        return absl::InvalidArgumentError(absl::StrCat("\"", text, "\" in \"", part, "\" is no number"));
    }
    if (part[at] == '=') {
      inputs.options.shapes[name] = numbers;
    } else {
      inputs.options.given.emplace(name, onnx::HostTensor::of_integers(onnx::ElementType::i64, {}, numbers));
    }
  }
  return inputs;
}

std::string path_of(const Network& network) {
  const char* const models = std::getenv("RLXGPU_MODELS");
  return absl::StrCat(models == nullptr ? "$RLXGPU_MODELS" : models, "/networks/", network.name, ".onnx");
}

// A network and its inputs, common to all ways to run it.
Result<tools::LoadedModel> load(const Network& network, const std::string& size) {
  const std::string path = path_of(network);
  if (!std::filesystem::exists(path))
    return absl::NotFoundError(absl::StrCat("there is no ", path, ": `./dev models` fetches it, with npm"));
  Result<Inputs> inputs = parse_size(size);
  if (!inputs.ok()) return inputs.status();
  Result<onnx::Model> model = onnx::load(path, inputs->options);
  if (!model.ok()) return model.status();
  tools::LoadedModel loaded{.model = *std::move(model), .inputs = inputs->options.given};
  tools::fill_inputs(loaded, inputs->seed);
  return loaded;
}

Status run(const Device& device, const tools::LoadedModel& loaded, tools::ModelReference& reference, bool every_step,
           Outcome& outcome) {
  DynamicOptions options;
  options.sizes = outcome.baked ? Sizes::baked : Sizes::free;
  auto start = std::chrono::steady_clock::now();
  Result<onnx::Session> session = onnx::Session::create(device, loaded.model, options);
  if (!session.ok()) return session.status();
  for (const onnx::Port& port : loaded.model.inputs) {
    if (Status status = session->set(port.name, loaded.inputs.find(port.name)->second); !status.ok()) return status;
  }
  if (Status status = session->run().wait(); !status.ok()) return status;
  outcome.compiled = seconds_since(start);
  start = std::chrono::steady_clock::now();
  if (Status status = session->run().wait(); !status.ok()) return status;
  outcome.seconds = seconds_since(start);
  onnx::HostTensors got;
  for (const onnx::Port& port : loaded.model.outputs) {
    Result<onnx::HostTensor> tensor = session->get(port.name);
    if (!tensor.ok()) return tensor.status();
    got.emplace(port.name, *std::move(tensor));
  }
  start = std::chrono::steady_clock::now();
  std::ostringstream report, progress;
  outcome.right = tools::check_outputs(reference, got, report, progress);
  if (every_step) {
    Result<std::vector<StepVerdict>> steps = tools::verify_steps(device, loaded, options.sizes, progress);
    if (!steps.ok()) return steps.status();
    outcome.right = tools::report_steps(*steps, loaded.model, report) && outcome.right;
    for (const StepVerdict& step : *steps) {
      ++outcome.steps;
      if (step.kind == StepVerdict::Kind::unverified) outcome.right = false;
    }
  }
  outcome.checked = seconds_since(start);
  if (!outcome.right) outcome.complaint = "\n" + report.str();
  return absl::OkStatus();
}

}  // namespace

Result<std::vector<Network>> read_table(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(path + " cannot be read");
  std::vector<Network> table;
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
    if (words.empty() || words[0].starts_with('#')) continue;
    if (words.size() < 5) return absl::InvalidArgumentError(absl::StrCat(path, ": \"", line, "\" lacks columns"));
    Network network{words[0], words[1], words[2], words[3], {words.begin() + 4, words.end()}};
    if (network.sizes == std::vector<std::string>{"fixed"}) {
      network.sizes.clear();
      for (size_t i = 1; i <= kSizes; ++i) network.sizes.push_back(absl::StrCat(kFixed, i));
    }
    if (network.sizes.size() != kSizes)
      return absl::InvalidArgumentError(absl::StrCat(path, ": ", network.name, " is to have ", kSizes, " sizes"));
    for (const std::string& size : network.sizes) {
      if (Status status = parse_size(size).status(); !status.ok())
        return absl::InvalidArgumentError(absl::StrCat(path, ": ", network.name, ": ", status.message()));
    }
    table.push_back(std::move(network));
  }
  return table;
}

Result<std::vector<Network>> chosen(const std::vector<Network>& table, std::string_view choice) {
  if (choice == "all") return table;
  std::vector<Network> result;
  if (uint64_t rotation = 0; absl::SimpleAtoi(choice, &rotation)) {
    const size_t parts = 3, part = table.size() / parts;
    if (part == 0) return table;
    for (size_t i = 0; i < parts; ++i) {
      result.push_back(table[i * part + rotation % part]);
      result.back().sizes = {result.back().sizes[rotation / part % kSizes]};
    }
    return result;
  }
  for (const std::string_view name : absl::StrSplit(choice, ',')) {
    const auto found = std::find_if(table.begin(), table.end(), [&](const Network& one) { return one.name == name; });
    if (found == table.end())
      return absl::NotFoundError(absl::StrCat("\"", name, "\" is no network of third_party/environment/networks.txt"));
    result.push_back(*found);
  }
  return result;
}

void run_network(const Device& device, const Network& network, bool every_step,
                 const std::function<void(const Outcome&)>& done) {
  for (const std::string& size : network.sizes) {
    Result<tools::LoadedModel> loaded = load(network, size);
    std::optional<tools::ModelReference> reference;
    if (loaded.ok()) reference.emplace(*loaded);
    for (const bool baked : {false, true}) {
      Outcome outcome{.network = network.name, .size = size, .baked = baked};
      const Status status = loaded.ok() ? run(device, *loaded, *reference, every_step, outcome) : loaded.status();
      if (!status.ok()) outcome.right = false, outcome.complaint = std::string(status.message());
      done(outcome);
    }
  }
}

std::string row(const Outcome& outcome) {
  return absl::StrFormat("%-17s %-36s %-5s  %-5s %9.1f ms  compiled %6.1f s  checked %5.1f s  %s%s%s", outcome.network,
                         outcome.size, outcome.baked ? "baked" : "free", outcome.right ? "right" : "WRONG",
                         outcome.seconds * 1e3, outcome.compiled, outcome.checked,
                         outcome.steps > 0 ? absl::StrFormat("%3d steps", outcome.steps) : "",
                         outcome.complaint.empty() ? "" : "  ", outcome.complaint);
}

}  // namespace rlxgpu::core::testing
