// Verification: every step of a run is compared with what it stands for, on the same inputs.
//
//   Executable<Mlp> mlp(device, {.verify = true});     // or RLXGPU_VERIFY=1 ./program
//   Status status = mlp.run().wait();                  // DataLoss: "step 3, matmul+add/f32/packed, is wrong: ..."
//   for (const StepVerdict& verdict : mlp.engine().verdicts()) ...
//
// Before the steps of a group of ops run, what they read is read back; after them, what they wrote. The same ops are
// then evaluated one by one in double precision by their references; a large kernel op, instead, on the device by its
// simplest variant, and by its reference when the two differ. Results are compared as reference/comparison.h says, with
// the errors that rounding causes in this group on these inputs. Since every group is given what the device holds, a
// wrong step is named and those after it are not. The run goes on to its end, so that states change as they would.
//
// Needs the graph: programs that are constants of the compiler have none, and are not verified. Costs many times a run.
#ifndef RLXGPU_RUNTIME_VERIFY_H_
#define RLXGPU_RUNTIME_VERIFY_H_

#include <memory>

#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/program.h"
#include "rlxgpu/graph/target.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core::internal {

// Whether the options or the environment ask for it.
bool wants_verification(const EngineOptions& options);

// Ok, or why nothing can be compared on this device: it executes nothing (dry.h).
Status can_verify(const Device& device);

// For EngineOptions::checker of that program's engine, and of no other.
std::shared_ptr<StepChecker> make_verifier(const Device& device, const Target& target, Origin origin,
                                           const ProgramView& program);

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_VERIFY_H_
