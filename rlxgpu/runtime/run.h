// Run: a submitted run of an engine, and the outputs it copied aside.
//
//   Run a = engine.run({.read = true}), b = engine.run({.read = true});   // both in flight
//   if (Status status = a.get(y_port, out); !status.ok()) return status;   // a's own outputs
//
// A handle that may outlive its engine and device, and may be dropped at any time: the work is done all
// the same. Not waiting costs nothing. Thread-compatible.
#ifndef RLXGPU_RUNTIME_RUN_H_
#define RLXGPU_RUNTIME_RUN_H_

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "rlxgpu/runtime/status.h"

namespace rlxgpu {

namespace internal {
struct RunState;
}

class Run {
 public:
  Run() = default;

  bool ready() const;         // wait() would return at once
  Status wait() const;  // until the device is done; why the run failed, if it did
  // Waits, then copies an output of this very run. Only for runs with RunOptions::read.
  Status get(int port, std::span<std::byte> out) const;

  explicit Run(std::shared_ptr<internal::RunState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<internal::RunState> state_;
};

}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_RUN_H_
