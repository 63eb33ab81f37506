// What a GPU's compiler made of one kernel, the same for all vendors.
//
//   absl::StatusOr<KernelReport> report = report_of(json, target);    // a line of the statistics layer
//
// Registers are those of one lane; on Intel, of 32 or 64 bytes each. Occupancy is in the driver's own unit: waves of a
// SIMD (AMD), warps of a multiprocessor (NVIDIA), waves of a core (Adreno), threads of a core (Apple); Intel's does not
// vary.
#ifndef BENCHMARKS_GPUS_KERNEL_REPORT_H_
#define BENCHMARKS_GPUS_KERNEL_REPORT_H_

#include <string>

#include "absl/status/statusor.h"
#include "benchmarks/gpus/listing.h"
#include "nlohmann/json.hpp"
#include "rlxgpu/graph/target.h"

namespace rlxgpu::core::gpus {

struct KernelReport {
  int subgroup = 0;
  int registers = 0;
  int spills = 0;   // registers that are kept in memory, and moves to and from there: only 0 is good
  int scratch = 0;  // bytes of memory for arrays of a lane, which registers could not hold
  int occupancy = 0;
  int code_bytes = 0;
  Analysis code;
};

absl::StatusOr<KernelReport> report_of(const nlohmann::json& line, const Target& target);

// For tables and data.
nlohmann::ordered_json json_of(const KernelReport& report);

}  // namespace rlxgpu::core::gpus

#endif  // BENCHMARKS_GPUS_KERNEL_REPORT_H_
