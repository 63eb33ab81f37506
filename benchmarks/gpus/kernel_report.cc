#include "benchmarks/gpus/kernel_report.h"

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace rlxgpu::core::gpus {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Drivers' names of what they count; those that are missing are 0.
int sum_of(const json& statistics, std::initializer_list<const char*> names) {
  double sum = 0;
  for (const char* const name : names) {
    if (statistics.contains(name)) sum += statistics.at(name).get<double>();
  }
  return static_cast<int>(sum);
}

ordered_json json_of(const Counts& counts) {
  return {{"products", counts.products}, {"matrix", counts.matrix},          {"memory", counts.memory},
          {"shared", counts.shared},     {"scratch", counts.scratch},        {"instructions", counts.instructions},
          {"slots", counts.slots},       {"efficiency", counts.efficiency()}};
}

}  // namespace

absl::StatusOr<KernelReport> report_of(const json& line, const Target& target) {
  const json& of = line.at("statistics");
  const std::string& listing = line.at("listing").get_ref<const std::string&>();
  KernelReport report;
  report.subgroup = line.at("subgroup").get<int>();
  report.code_bytes = sum_of(of, {"Code size"});
  switch (target.vendor) {
    case Vendor::amd:
      report.registers = sum_of(of, {"VGPRs"});
      report.spills = sum_of(of, {"Spilled VGPRs", "Spilled SGPRs"});
      report.scratch = sum_of(of, {"Scratch size"});
      report.occupancy = sum_of(of, {"Subgroups per SIMD"});
      report.code = analyse(parse_listing(Dialect::amd, listing));
      break;
    case Vendor::intel:
      report.registers = sum_of(of, {"Max live registers"});
      report.spills = sum_of(of, {"Spills", "Fills"});
      report.scratch = sum_of(of, {"Scratch Memory Size"});
      report.code = analyse(parse_listing(Dialect::intel, listing, target.architecture >= Architecture::xe2 ? 16 : 8));
      break;
    case Vendor::nvidia:
      report.registers = sum_of(of, {"Number of GPRs"});
      report.spills = sum_of(of, {"Spills to memory", "Fills from memory"});
      report.scratch = sum_of(of, {"SLM size"});
      report.occupancy = sum_of(of, {"Max warps/SM"});
      report.code = analyse(parse_listing(Dialect::nvidia, listing));
      break;
    case Vendor::qualcomm:
      report.registers = sum_of(of, {"Registers used"});
      report.spills = sum_of(of, {"STP Count", "LDP Count"});
      report.occupancy = sum_of(of, {"Max Waves Per Core"});
      report.code = analyse(parse_listing(Dialect::adreno, listing));
      break;
    case Vendor::apple:
      report.registers = sum_of(of, {"GPRs"}) / 2;
      report.spills = sum_of(of, {"Spills", "Fills"});
      report.scratch = sum_of(of, {"Scratch"});
      report.occupancy = sum_of(of, {"Threads"});
      report.code = analyse(parse_listing(Dialect::apple, listing));
      break;
    default:
      return absl::UnimplementedError(
          absl::StrCat("nobody has told how to read the statistics of ", line.at("gpu").get<std::string>()));
  }
  return report;
}

ordered_json json_of(const KernelReport& report) {
  ordered_json made = {{"subgroup", report.subgroup},   {"registers", report.registers},
                       {"spills", report.spills},       {"scratch", report.scratch},
                       {"occupancy", report.occupancy}, {"code_bytes", report.code_bytes},
                       {"loops", report.code.loops},    {"whole", json_of(report.code.whole)}};
  if (report.code.loop) made["loop"] = json_of(*report.code.loop);
  return made;
}

}  // namespace rlxgpu::core::gpus
