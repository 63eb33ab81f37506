// Whether kernels that drivers are known to get wrong are right on a device.
//
//   Program program = internal::compile_for(device, graph, target, options);   // uses none that is wrong
//
// A variant that has a probe (graph/op.h) is tried before a program that uses it is run: its probe is run on the device
// and compared with the op's reference, bit for bit, once for each device and each text of the probe's kernels. When
// one fails, the program is planned again without it, and DeviceOptions::log hears of it. A probe costs one small
// program. One that could not be run, for want of memory or because the device is lost, says nothing about its variant:
// that is not used this time, and tried again the next. On a device that executes nothing (dry.h) it is enough that the
// probe's kernels compile.
#ifndef RLXGPU_RUNTIME_TRUST_H_
#define RLXGPU_RUNTIME_TRUST_H_

#include "rlxgpu/compile/choice.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/target.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::internal {

// `target`: that programs are planned for.
bool is_trusted(const Device& device, const Target& target, const Suspect& suspect);

// compile(), again and again until all variants that it uses are trusted. Without a device all are.
Program compile_for(const Device& device, const Graph& graph, const Target& target, CompileOptions options);

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_TRUST_H_
