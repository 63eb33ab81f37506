#include "rlxgpu/runtime/backend_preference.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "rlxgpu/runtime/adapter.h"

namespace rlxgpu::core {
namespace {

constexpr ComputeBackend kBackends[] = {ComputeBackend::cuda,   ComputeBackend::rocm,   ComputeBackend::metal,
                                        ComputeBackend::opencl, ComputeBackend::webgpu, ComputeBackend::cpu};

bool contains(const std::vector<ComputeBackend>& list, ComputeBackend backend) {
  return std::find(list.begin(), list.end(), backend) != list.end();
}

}  // namespace

Result<BackendPreference> BackendPreference::parse(std::string_view text) {
  BackendPreference preference;
  const std::string wanted = absl::AsciiStrToLower(absl::StripAsciiWhitespace(text));
  if (wanted.empty() || wanted == "auto") return preference;
  for (std::string_view name : absl::StrSplit(wanted, ',')) {
    name = absl::StripAsciiWhitespace(name);
    const auto found = std::find_if(std::begin(kBackends), std::end(kBackends),
                                    [&](ComputeBackend backend) { return name_of(backend) == name; });
    if (found == std::end(kBackends)) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", name, "\" is no backend: there are cuda, rocm, metal, opencl, webgpu and cpu"));
    }
    if (contains(preference.order, *found))
      return absl::InvalidArgumentError(absl::StrCat("\"", name, "\" is there twice"));
    preference.order.push_back(*found);
  }
  return preference;
}

std::string BackendPreference::text() const {
  if (order.empty()) return "auto";
  return absl::StrJoin(order, ",",
                       [](std::string* out, ComputeBackend backend) { absl::StrAppend(out, name_of(backend)); });
}

namespace internal {

Result<ComputeBackend> choose_backend(const BackendPreference& preference, const std::vector<OfferedBackend>& offered,
                                      const Work& work, const Calibration* webgpu) {
  const auto is_there = [&](ComputeBackend backend) {
    if (backend == ComputeBackend::cpu || (backend == ComputeBackend::webgpu && webgpu != nullptr)) return true;
    return std::any_of(offered.begin(), offered.end(),
                       [&](const OfferedBackend& one) { return one.backend == backend; });
  };
  if (!preference.order.empty()) {
    for (const ComputeBackend backend : preference.order) {
      if (is_there(backend)) return backend;
    }
    return absl::NotFoundError(absl::StrCat("none of \"", preference.text(), "\" is there"));
  }
  const double on_webgpu = webgpu != nullptr ? estimated_seconds(*webgpu, work) : 0;
  const bool fastest =
      on_webgpu > 0 && !offered.empty() &&
      std::all_of(offered.begin(), offered.end(), [&](const OfferedBackend& one) { return one.seconds > on_webgpu; });
  if (fastest) return ComputeBackend::webgpu;
  for (const ComputeBackend backend : kBackends) {
    if (is_there(backend)) return backend;
  }
  return ComputeBackend::cpu;
}

}  // namespace internal

Result<ComputeBackend> choose_backend(const BackendPreference& preference, const std::vector<OfferedBackend>& offered,
                                      const Work& work) {
  const Result<std::vector<AdapterInfo>> adapters = list_adapters();
  if (!adapters.ok() || adapters->empty()) return internal::choose_backend(preference, offered, work, nullptr);
  std::map<std::string, Calibration> calibrations = load_calibrations();
  return internal::choose_backend(preference, offered, work, &calibrations[adapters->front().label()]);
}

Result<OpenBackend> open_backend(const BackendPreference& preference, const std::vector<OfferedBackend>& offered,
                                 const DeviceOptions& options, const Work& work) {
  Result<ComputeBackend> chosen = choose_backend(preference, offered, work);
  if (!chosen.ok()) return chosen.status();
  if (*chosen != ComputeBackend::webgpu) return OpenBackend{*chosen, {}};
  Result<Device> device = open_device(options);
  if (device.ok()) return OpenBackend{*chosen, *std::move(device)};
  BackendPreference others = preference;
  std::erase(others.order, ComputeBackend::webgpu);
  if (others.order.empty()) return device.status();
  chosen = internal::choose_backend(others, offered, work, nullptr);
  if (!chosen.ok()) return device.status();
  return OpenBackend{*chosen, {}};
}

}  // namespace rlxgpu::core
