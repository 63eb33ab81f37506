#include "tests/onnx/suite.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/base/half.h"
#include "rlxgpu/load/mapped_file.h"
#include "rlxgpu/load/onnx/model_def.h"
#include "rlxgpu/load/onnx/onnx.h"

namespace rlxgpu::core::testing {
namespace {

namespace fs = std::filesystem;
using onnx::ElementType;
using onnx::HostTensor;

constexpr char kData[] = "/usr/share/libonnx-testdata/data/";

// Golden results that contradict the definition of their op, which we follow.
struct Disputed {
  std::string_view prefix, why;
};
constexpr Disputed kDisputed[] = {
    {"test_qlinearmatmul_2D_int8",
     "\"saturate((x / y_scale) + y_zero_point)\" is -128 where the golden result has wrapped around"},
    {"test_qlinearmatmul_3D_int8",
     "\"saturate((x / y_scale) + y_zero_point)\" is -128 where the golden result has wrapped around"},
};

Outcome failed(std::string why) { return {Outcome::Kind::failed, std::move(why)}; }

Result<HostTensor> tensor_of(const std::string& path) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file.ok()) return file.status();
  return onnx::parse_tensor(file->bytes());
}

// The distance from a 16-bit float to the next one.
double unit(ElementType type, double x) {
  if (type != ElementType::f16 && type != ElementType::bf16) return 0;
  const int digits = type == ElementType::f16 ? 10 : 7, least = type == ElementType::f16 ? -14 : -126;
  return std::ldexp(1.0, std::max(x == 0 ? least : std::ilogb(x), least) - digits);
}

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) absl::StrAppend(&text, text.size() > 1 ? "," : "", extent);
  return text + "]";
}

// What is wrong with an output, or "".
std::string difference(const HostTensor& got, const HostTensor& golden, bool to_greatest) {
  if (got.type() != golden.type())
    return absl::StrCat("is ", onnx::name_of(got.type()), ", not ", onnx::name_of(golden.type()));
  if (got.shape() != golden.shape())
    return absl::StrCat("has shape ", shape_text(got.shape()), ", not ", shape_text(golden.shape()));
  if (!onnx::is_float(golden.type())) {
    if (onnx::is_small_float(golden.type()) || onnx::bits_of(golden.type()) < 8) {
      for (int64_t i = 0; i < golden.count(); ++i) {
        const double a = got.number(i), b = golden.number(i);
        if (a != b && !(std::isnan(a) && std::isnan(b))) return absl::StrCat("element ", i, " is ", a, ", not ", b);
      }
      return "";
    }
    const auto a = got.bytes(), b = golden.bytes();
    if (std::equal(a.begin(), a.end(), b.begin(), b.end())) return "";
    for (int64_t i = 0; i < golden.count(); ++i) {
      if (got.integer(i) != golden.integer(i))
        return absl::StrCat("element ", i, " is ", got.integer(i), ", not ", golden.integer(i));
    }
    return "differs";
  }
  double greatest = 0;
  for (int64_t i = 0; i < golden.count(); ++i) greatest = std::max(greatest, std::abs(golden.number(i)));
  for (int64_t i = 0; i < golden.count(); ++i) {
    const double a = got.number(i), b = golden.number(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (std::isinf(b) && a == b) continue;
    const double bound =
        std::max(1e-5 + 1e-3 * (to_greatest ? greatest : std::abs(b)), unit(golden.type(), b) * 1.0000001);
    if (!(std::abs(a - b) <= bound)) return absl::StrCat("element ", i, " is ", a, ", not ", b);
  }
  return "";
}

Outcome run_data(const Device& device, std::span<const std::byte> bytes, const onnx::ModelDef& def,
                 const std::string& folder, const std::string& data) {
  onnx::LoadOptions options;
  for (size_t k = 0; k < def.graph.inputs.size(); ++k) {
    const std::string path = absl::StrCat(data, "/input_", k, ".pb");
    if (!def.graph.inputs[k].other_type.empty() || !fs::exists(path)) continue;
    Result<HostTensor> tensor = tensor_of(path);
    if (!tensor.ok()) return failed(absl::StrCat(path, ": ", tensor.status().message()));
    options.given.emplace(def.graph.inputs[k].name, *std::move(tensor));
  }
  Result<onnx::Model> model = onnx::load(bytes, options, folder);
  if (!model.ok()) {
    const bool refused = absl::IsUnimplemented(model.status());
    return {refused ? Outcome::Kind::refused : Outcome::Kind::failed, std::string(model.status().message())};
  }
  Result<onnx::Session> session = onnx::Session::create(device, *model);
  if (!session.ok()) return failed(absl::StrCat("create: ", session.status().message()));
  for (const auto& [name, tensor] : options.given) {
    if (Status status = session->set(name, tensor); !status.ok()) {
      // A number that its carrier cannot hold is refused where the model is given it.
      return {absl::StrContains(status.message(), "too short for it") ? Outcome::Kind::refused : Outcome::Kind::failed,
              std::string(status.message())};
    }
  }
  session->run();
  for (size_t k = 0; k < def.graph.outputs.size(); ++k) {
    const std::string& name = def.graph.outputs[k].name;
    Result<HostTensor> golden = tensor_of(absl::StrCat(data, "/output_", k, ".pb"));
    if (!golden.ok()) return failed(absl::StrCat("output ", k, ": ", golden.status().message()));
    Result<HostTensor> got = session->get(name);
    if (!got.ok()) return failed(absl::StrCat("output \"", name, "\": ", got.status().message()));
    const bool to_greatest = absl::StrContains(folder, "dft") || absl::StrContains(folder, "stft");
    if (const std::string wrong = difference(*got, *golden, to_greatest); !wrong.empty())
      return failed(absl::StrCat("output \"", name, "\" ", wrong));
  }
  return {};
}

Outcome run_all(const Device& device, const std::string& folder) {
  Result<MappedFile> file = MappedFile::open(folder + "/model.onnx");
  if (!file.ok()) return failed(std::string(file.status().message()));
  Result<onnx::ModelDef> def = onnx::parse_model(file->bytes(), folder);
  if (!def.ok())
    return {absl::IsUnimplemented(def.status()) ? Outcome::Kind::refused : Outcome::Kind::failed,
            std::string(def.status().message())};
  int sets = 0;
  for (int set = 0; fs::exists(absl::StrCat(folder, "/test_data_set_", set)); ++set, ++sets) {
    Outcome outcome = run_data(device, file->bytes(), *def, folder, absl::StrCat(folder, "/test_data_set_", set));
    if (outcome.kind != Outcome::Kind::passed) return outcome;
  }
  return sets > 0 ? Outcome{} : failed("has no data");
}

}  // namespace

std::vector<std::string> suite_cases() {
  std::vector<std::string> folders;
  for (const char* part : {"node", "simple", "pytorch-converted", "pytorch-operator"}) {
    std::vector<std::string> some;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(std::string(kData) + part, none))
      some.push_back(entry.path().string());
    std::sort(some.begin(), some.end());
    folders.insert(folders.end(), some.begin(), some.end());
  }
  return folders;
}

std::string case_name(const std::string& folder) { return fs::path(folder).filename().string(); }

std::string case_op(const std::string& folder) {
  // What a function is expanded to tells little: its unexpanded sibling has the op.
  const size_t expanded = folder.find("_expanded");
  const std::string sibling = expanded == std::string::npos ? folder : folder.substr(0, expanded);
  Result<MappedFile> file = MappedFile::open((fs::exists(sibling) ? sibling : folder) + "/model.onnx");
  if (!file.ok()) return "?";
  Result<onnx::ModelDef> def = onnx::parse_model(file->bytes(), folder);
  if (!def.ok() || def->graph.nodes.empty()) return "?";
  const onnx::NodeDef* last = &def->graph.nodes.back();
  return last->domain.empty() ? last->op : absl::StrCat(last->domain, ".", last->op);
}

Outcome run_case(const Device& device, const std::string& folder) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome = run_all(device, folder);
  for (const Disputed& disputed : kDisputed) {
    if (!case_name(folder).starts_with(disputed.prefix)) continue;
    if (outcome.kind == Outcome::Kind::passed) {
      outcome = failed("passes, though its golden result is disputed");
    } else if (absl::StrContains(outcome.why, "is -128, not")) {
      outcome = {Outcome::Kind::disputed, std::string(disputed.why)};
    }
  }
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace rlxgpu::core::testing
