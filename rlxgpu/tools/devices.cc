#include "rlxgpu/tools/devices.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "rlxgpu/graph/targets.h"
#include "rlxgpu/runtime/adapter.h"
#include "rlxgpu/runtime/calibration.h"

namespace rlxgpu::core::tools {
namespace {

using nlohmann::ordered_json;

std::string size_text(uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  int unit = 0;
  uint64_t value = bytes;
  while (unit < 3 && value >= 1024 && value % 1024 == 0) value /= 1024, ++unit;
  if (unit == 0 && bytes % 4 != 0 && bytes > 1 << 20) return absl::StrCat(bytes / (1 << 20), " MiB");  // 4 GiB - 1
  return absl::StrCat(value, " ", units[unit]);
}

std::string matrix_text(const MatrixShape& shape) {
  return absl::StrCat(name_of(shape.operand), "->", name_of(shape.result), " ", shape.m, "x", shape.n, "x", shape.k);
}

// "rdna3, 96 units"
std::string architecture_text(const Target& target) {
  std::string text(name_of(target.architecture));
  if (target.units != 0) absl::StrAppend(&text, ", ", target.units, " units");
  if (target.dot4) text += ", dot products of bytes";
  return text;
}

std::vector<MatrixShape> matrices_of(const Target& target) {
  return {target.matrix, target.matrix + target.matrix_count};
}

// The features that change what kernels can do, first of all those that are missing elsewhere.
std::string features_text(const AdapterInfo& adapter) {
  std::vector<std::string_view> names;
  if (adapter.target.shader_f16) names.push_back("f16");
  if (adapter.target.subgroups) names.push_back("subgroups");
  if (adapter.target.subgroup_size_control) names.push_back("subgroup size control");
  if (adapter.target.matrix_count > 0) names.push_back("matrix units");
  if (adapter.timestamps) names.push_back("timestamps");
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

// "matmul f32 12 / 31 / 33 GFLOP/s (256 / 512 / 1024)" and the like; one line each.
std::vector<std::pair<std::string, std::string>> rows_of(const Calibration& measured) {
  if (!measured.known()) return {{"measured", "nothing: run `rlxgpu calibrate`"}};
  const auto rates = [](double small, double middle, double large) {
    return absl::StrFormat("%.3g / %.3g / %.3g GFLOP/s at 256 / 512 / 1024", small, middle, large);
  };
  return {
      {"f32 matmul", rates(measured.f32_256_gflops, measured.f32_512_gflops, measured.f32_1024_gflops)},
      {"f16 matmul", rates(measured.f16_256_gflops, measured.f16_512_gflops, measured.f16_1024_gflops)},
      {"bandwidth", absl::StrFormat("%.3g GB/s", measured.bandwidth_gb_per_s)},
      {"latency", absl::StrFormat("%.3g us a launch, %.3g us a submit, %.3g us a read-back", measured.launch_us,
                                  measured.submit_us, measured.read_back_us)},
      {"measured", measured.date},
  };
}

ordered_json json_of(const Calibration& measured) {
  if (!measured.known()) return nullptr;
  ordered_json json = {{"date", measured.date}};
  for (const CalibrationField& field : kCalibrationFields) json[std::string(field.name)] = measured.*field.value;
  return json;
}

std::vector<std::pair<std::string, std::string>> rows_of(const AdapterInfo& adapter) {
  const Target& target = adapter.target;
  std::string subgroups = "none";
  if (target.subgroups) {
    subgroups = target.subgroup_min == target.subgroup_max
                    ? absl::StrCat(target.subgroup_min)
                    : absl::StrCat(target.subgroup_min, " to ", target.subgroup_max);
  }
  const std::string matrices = absl::StrJoin(
      matrices_of(target), ", ", [](std::string* out, const MatrixShape& shape) { out->append(matrix_text(shape)); });
  return {
      {"backend", std::string(name_of(adapter.backend))},
      {"kind", std::string(name_of(target.adapter_class))},
      {"architecture", architecture_text(target)},
      {"driver", adapter.driver},
      {"features", features_text(adapter)},
      {"subgroup size", subgroups},
      {"matrix shapes", matrices.empty() ? "none" : matrices},
      {"largest binding", size_text(target.max_binding_bytes)},
      {"largest buffer", size_text(adapter.max_buffer_bytes)},
      {"workgroup memory", size_text(target.max_workgroup_bytes)},
      {"invocations", absl::StrCat(target.max_invocations, " in a workgroup")},
      {"storage buffers", absl::StrCat(target.max_storage_buffers, " in a kernel")},
      {"groups", absl::StrCat(target.max_groups, " on each axis")},
      {"immediates", size_text(target.max_immediate_bytes)},
      {"offset alignment", size_text(target.offset_alignment)},
  };
}

ordered_json json_of(const AdapterInfo& adapter) {
  const Target& target = adapter.target;
  ordered_json matrices = ordered_json::array();
  for (const MatrixShape& shape : matrices_of(target)) {
    matrices.push_back({{"operand", name_of(shape.operand)},
                        {"result", name_of(shape.result)},
                        {"m", shape.m},
                        {"n", shape.n},
                        {"k", shape.k}});
  }
  return {
      {"name", adapter.name},
      {"label", adapter.label()},
      {"vendor", adapter.vendor},
      {"architecture", adapter.architecture},
      {"driver", adapter.driver},
      {"backend", name_of(adapter.backend)},
      {"kind", name_of(target.adapter_class)},
      {"kernels_for", name_of(target.architecture)},
      {"units", target.units},
      {"dot4", target.dot4},
      {"f16", target.shader_f16},
      {"timestamps", adapter.timestamps},
      {"subgroups", target.subgroups},
      {"subgroup_size_control", target.subgroup_size_control},
      {"subgroup_min", target.subgroup_min},
      {"subgroup_max", target.subgroup_max},
      {"matrix_shapes", std::move(matrices)},
      {"limits",
       {{"binding_bytes", target.max_binding_bytes},
        {"buffer_bytes", adapter.max_buffer_bytes},
        {"workgroup_bytes", target.max_workgroup_bytes},
        {"invocations", target.max_invocations},
        {"storage_buffers", target.max_storage_buffers},
        {"groups", target.max_groups},
        {"immediate_bytes", target.max_immediate_bytes},
        {"offset_alignment", target.offset_alignment}}},
      {"features", adapter.features},
  };
}

}  // namespace

int devices_command(bool json, std::ostream& out) {
  const absl::StatusOr<std::vector<AdapterInfo>> adapters = list_adapters();
  const bool none = !adapters.ok() || adapters->empty();
  std::map<std::string, Calibration> measured = load_calibrations();
  if (json) {
    ordered_json list = ordered_json::array();
    if (!none) {
      for (const AdapterInfo& adapter : *adapters) {
        list.push_back(json_of(adapter));
        list.back()["calibration"] = json_of(measured[adapter.label()]);
      }
    }
    // Driver names may hold any bytes.
    out << list.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
    return none ? 1 : 0;
  }
  if (none) {
    out << "no adapter: install a Vulkan driver (mesa-vulkan-drivers has lavapipe, which needs no GPU)\n";
    return 1;
  }
  bool first = true;
  for (const AdapterInfo& adapter : *adapters) {
    out << (first ? "" : "\n") << adapter.name << (first ? "   <- used by default\n" : "\n");
    first = false;
    std::vector<std::pair<std::string, std::string>> rows = rows_of(adapter);
    for (const auto& row : rows_of(measured[adapter.label()])) rows.push_back(row);
    for (const auto& [what, value] : rows) out << "  " << what << std::string(18 - what.size(), ' ') << value << "\n";
  }
  out << "\nRLXGPU_ADAPTER=part-of-a-name chooses another.\n";
  return 0;
}

}  // namespace rlxgpu::core::tools
