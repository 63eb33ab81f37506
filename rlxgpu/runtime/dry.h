// Whether a device executes anything at all.
//
//   if (internal::is_dry(device)) return failed_precondition(internal::dry_text(device));
//
// A dry adapter is the driver of a GPU that is not there (docs/gpus.md): it makes pipelines and takes submissions, and
// what is read from it is 0. Results from it are neither right nor wrong, and times mean nothing.
#ifndef RLXGPU_RUNTIME_DRY_H_
#define RLXGPU_RUNTIME_DRY_H_

#include <string>

#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::internal {

// Copies a few numbers to the device and back: blocks, for less than a millisecond. False for a device that is
// lost, and for Dawn's Null backend, which is had only by name.
bool is_dry(const Device& device);

// "NAME executes nothing (...)", for errors and logs.
std::string dry_text(const Device& device);

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_DRY_H_
