#include "rlxgpu/tools/validate.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/tools/tint.h"

namespace rlxgpu::core::tools {
namespace {

// Two FNV-like hashes: texts are few, and an accident would only skip a check.
std::string hash_of(std::string_view text) {
  uint64_t a = 0xcbf29ce484222325, b = 0x9ae16a3b2f90404f;
  for (const char c : text) {
    a = (a ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    b = (b ^ static_cast<unsigned char>(c)) * 0x9e3779b97f4a7c15;
  }
  return absl::StrFormat("%016x%016x", a, b);
}

// Of Dawn's message about a kernel that wants too much of it; else 0.
uint32_t workgroup_bytes_in(std::string_view message) {
  constexpr std::string_view kBefore = "use of workgroup storage (";
  const size_t at = message.find(kBefore);
  if (at == message.npos) return 0;
  const std::string_view rest = message.substr(at + kBefore.size());
  uint32_t bytes = 0;
  return absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &bytes) ? bytes : 0;
}

// A program of this step only, with 16 bytes for each of its tensors: all that Dawn looks at.
Program smallest_program(const ProgramView& program, const Step& step) {
  Program small;
  for (const StepBinding& binding : slice(program.bindings, step.bindings)) {
    TensorDecl tensor;
    tensor.shape = {4};
    tensor.buffer = static_cast<int32_t>(small.buffers.size());
    tensor.bytes = 16;
    small.buffers.push_back({BufferRole::scratch, 16});
    small.bindings.push_back({static_cast<int32_t>(small.tensors.size()), binding.writes});
    small.tensors.push_back(tensor);
  }
  for (int32_t i = 0; i < step.immediates.count; ++i) {
    small.step_immediates.push_back(i);
    small.scalars.push_back({});
  }
  Step only;
  only.kernel = 0;
  only.bindings = {0, step.bindings.count};
  only.immediates = {0, step.immediates.count};
  small.steps.push_back(only);
  return small;
}

const Step* step_of(const ProgramView& program, size_t kernel) {
  for (const Step& step : program.steps) {
    if (step.kernel == static_cast<int32_t>(kernel)) return &step;
  }
  return nullptr;
}

// Block comments of WGSL nest; branches of kernel files that other tools are not to see are in one.
std::string without_comments(std::string_view wgsl) {
  std::string code;
  int depth = 0;
  for (size_t at = 0; at < wgsl.size();) {
    const std::string_view two = wgsl.substr(at, 2);
    if (depth == 0 && two == "//") {
      at = std::min(wgsl.find('\n', at), wgsl.size());
    } else if (two == "/*" || (depth > 0 && two == "*/")) {
      depth += two == "/*" ? 1 : -1;
      at += 2;
    } else {
      if (depth == 0) code.push_back(wgsl[at]);
      ++at;
    }
  }
  return code;
}

// For each @binding(i) that a text declares: whether it is written.
std::vector<bool> bindings_of(std::string_view text) {
  const std::string wgsl = without_comments(text);
  std::vector<bool> writes;
  constexpr std::string_view kLead = "@binding(";
  for (size_t at = wgsl.find(kLead); at != std::string::npos; at = wgsl.find(kLead, at)) {
    at += kLead.size();
    size_t index = 0;
    for (; at < wgsl.size() && wgsl[at] >= '0' && wgsl[at] <= '9'; ++at)
      index = index * 10 + static_cast<size_t>(wgsl[at] - '0');
    if (index >= 1000) continue;  // tint has accepted it, but no pipeline will
    if (writes.size() <= index) writes.resize(index + 1);
    const std::string rest = wgsl.substr(at, wgsl.find(';', at) - at);
    writes[index] = rest.find("read_write") != std::string::npos;
  }
  return writes;
}

}  // namespace

Validator::Validator(std::string memory_file) : memory_file_(std::move(memory_file)) {
  std::ifstream memory(memory_file_);
  for (std::string hash; memory >> hash;) passed_.insert(hash);
}

absl::Status Validator::check(const ProgramView& program, std::span<const std::string_view> kernels) {
  const std::lock_guard lock(mutex_);
  for (size_t k = 0; k < kernels.size(); ++k) {
    const std::string hash = hash_of(kernels[k]);
    if (passed_.contains(hash)) continue;
    ++checked_;
    if (absl::Status status = check_kernel(program, k, kernels[k]); !status.ok()) return status;
    passed_.insert(hash);
    if (!memory_file_.empty())
      std::ofstream(memory_file_, std::ios::app) << hash + "\n";  // one write: lines stay whole
  }
  return absl::OkStatus();
}

absl::Status Validator::check_text(std::string_view wgsl) {
  const std::lock_guard lock(mutex_);
  Program program;
  Step step;
  step.kernel = 0;
  for (const bool writes : bindings_of(wgsl)) {
    program.bindings.push_back({-1, writes});
    ++step.bindings.count;
  }
  program.steps.push_back(step);
  ++checked_;
  if (absl::Status status = tint_accepts(wgsl); !status.ok()) return status;
  return null_accepts(view_of(program, kPortable), step, wgsl);
}

absl::Status Validator::check_kernel(const ProgramView& program, size_t kernel, std::string_view wgsl) {
  const Step* step = step_of(program, kernel);
  if (step == nullptr) return absl::OkStatus();  // never dispatched
  absl::Status status = tint_accepts(wgsl);
  if (status.ok()) status = null_accepts(program, *step, wgsl);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("kernel ", kernel, " \"", program.name(step->label), "\": ", status.message()));
}

absl::Status Validator::null_accepts(const ProgramView& program, const Step& step, std::string_view wgsl) {
  // A program for a device with more buffers: that device is to judge.
  const auto buffers = static_cast<uint32_t>(step.bindings.count);
  if (buffers > kPortable.max_storage_buffers && buffers <= program.target.max_storage_buffers) return absl::OkStatus();
  if (!null_) {
    absl::StatusOr<Device> device = open_device({.backend = Backend::null, .disk_cache = false});
    if (!device.ok()) return device.status();
    null_ = *std::move(device);
  }
  // Every feature is on, and the limits are the default ones.
  const Program small = smallest_program(program, step);
  const absl::Status status = Engine::create(null_, view_of(small, kPortable), {&wgsl, 1}).status();
  // Likewise with workgroup memory; how much a kernel uses is known to Dawn alone.
  const uint32_t used = workgroup_bytes_in(status.message());
  if (used > kPortable.max_workgroup_bytes && used <= program.target.max_workgroup_bytes) return absl::OkStatus();
  return status;
}

}  // namespace rlxgpu::core::tools
