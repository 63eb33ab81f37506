// load_program: a program that was planned at run time, with its kernels rendered, on a device.
#ifndef RLXGPU_RUNTIME_LOAD_PROGRAM_H_
#define RLXGPU_RUNTIME_LOAD_PROGRAM_H_

#include "rlxgpu/compile/program.h"
#include "rlxgpu/graph/target.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/session.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::internal {

// `free`: sizes are read at run time (compile/free_sizes.h), which adds to the program.
Result<Session> load_program(const Device& device, Program& program, const Target& target, bool free,
                             const EngineOptions& options);

}  // namespace rlxgpu::internal

#endif  // RLXGPU_RUNTIME_LOAD_PROGRAM_H_
