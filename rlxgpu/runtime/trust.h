// Whether kernels that drivers are known to get wrong are right on a device.
//
//   internal::TrustContext context = {device, target};
//   options.trust = internal::trust_in(context);      // of CompileOptions; the context must live as long as compile()
//
// A variant that has a probe (graph/op.h) is tried before it is first used: its probe is run on the device and compared
// with the op's reference, bit for bit, once for each device and each text of the probe's kernels. One that fails is
// not used, and DeviceOptions::log hears of it. A probe costs one small program. On a device that executes nothing (dry.h)
// it is enough that the probe's kernels compile.
#ifndef RLXGPU_RUNTIME_TRUST_H_
#define RLXGPU_RUNTIME_TRUST_H_

#include "rlxgpu/compile/choice.h"
#include "rlxgpu/graph/target.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::internal {

struct TrustContext {
  Device device;
  Target target;  // that programs are planned for
};
Trust trust_in(TrustContext& context);

}  // namespace rlxgpu::internal

#endif  // RLXGPU_RUNTIME_TRUST_H_
