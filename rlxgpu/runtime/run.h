// Run: a submitted run of an engine, and the outputs it copied aside.
//
//   Run a = engine.run({.read = true}), b = engine.run({.read = true});   // both in flight
//   Result<std::vector<float>> y = a.get<float>("y");                     // a's own outputs
//
// A handle that may outlive its engine and device, and may be dropped at any time: the work is done all
// the same. Not waiting costs nothing. Thread-compatible.
#ifndef RLXGPU_RUNTIME_RUN_H_
#define RLXGPU_RUNTIME_RUN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "rlxgpu/runtime/element_types.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

namespace internal {
struct RunState;
}

class Run {
 public:
  Run() = default;

  bool ready() const;                     // wait() would return at once
  Status wait() const;                    // until the device is done; why the run failed, if it did
  Status wait_for(double seconds) const;  // DeadlineExceeded when it is not done by then; it goes on
  // Waits, then copies an output of this very run, in the extents that it was run with. For runs with RunOptions::read;
  // others have copied what the engine thought would be read.
  template <typename T>
  Result<std::vector<T>> get(std::string_view name) const {
    std::vector<T> elements;
    const int64_t elements_now = count(name);
    elements.resize(elements_now < 0 ? 0 : static_cast<size_t>(elements_now));
    const Status status =
        get_elements(name, internal::storage_of<T>(), static_cast<int64_t>(elements.size()), elements.data());
    if (!status.ok()) return status;
    return elements;
  }
  Status get_elements(std::string_view name, DType dtype, int64_t count, void* data) const;
  int64_t count(std::string_view name) const;  // elements of an output; -1 when there is none of that name
  // All elements of an output, by its port.
  Status get(int port, std::span<std::byte> out) const;

  explicit Run(std::shared_ptr<internal::RunState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<internal::RunState> state_;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Run;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_RUN_H_
