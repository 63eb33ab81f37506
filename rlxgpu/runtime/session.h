// Session: an engine whose tensors are known by name, with run-time extents taken into account. What
// Executable is made of; use that.
//
// Data goes in and out without gaps, in the extents that hold at the time: of an input declared
// {n, 768}, the first n rows. An error that keep_error() was given fails the next run, and every get until a run has
// gone well. Of a session that was moved from, every call is an error.
#ifndef RLXGPU_RUNTIME_SESSION_H_
#define RLXGPU_RUNTIME_SESSION_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/compile/program.h"
#include "rlxgpu/runtime/device_tensor.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

struct Chooser;  // compile/choice.h

namespace internal {
// Decides as the switches say (RLXGPU_FORCE...), else as the tuner found, else not. Valid while the device lives.
Chooser chooser_of(const Device& device);
// Says once, when switches ask for other variants, that they do not change constant programs.
void note_constant_program();
}  // namespace internal

class Session {
 public:
  Session() = default;
  static Result<Session> create(const Device& device, const ProgramView& program,
                                std::span<const std::string_view> kernels, const EngineOptions& options);

  // Index of the input, weight, state, output or scalar of that name, or -1, of which the calls below say that it is
  // none.
  int find_port(std::string_view name) const;
  int find_scalar(std::string_view name) const;

  // `count` elements of this type; the port must be an input, a weight or a state.
  Status set(int port, DType dtype, int64_t count, const void* data);
  Status set_scalar(int scalar, double value);
  // Elements that the port has at its present extents.
  int64_t count(int port) const;
  DType dtype(int port) const { return ports_[static_cast<size_t>(port)].dtype; }
  const Shape& shape(int port) const { return ports_[static_cast<size_t>(port)].shape; }
  Status get(int port, DType dtype, int64_t count, void* data);

  // The port is this memory from now on, or a handle to the memory it has: see Engine::bind.
  Status bind(int port, const DeviceTensor& tensor) { return engine_.bind(port, tensor); }
  // Why there is none of this name: lists those that there are.
  Status no_tensor(std::string_view name) const;
  Status no_scalar(std::string_view name) const;
  Result<DeviceTensor> tensor(int port) const { return engine_.tensor(port); }

  Run run(const RunOptions& options = {});
  Engine& engine() { return engine_; }
  // The first error of a set() that nobody has looked at; after that it fails no run.
  Status take_error();
  void keep_error(const Status& status) {
    if (status.ok()) return;
    if (pending_.ok()) pending_ = status;
    if (unread_.ok()) unread_ = status;
  }

 private:
  struct PortInfo : TensorType {
    BufferRole role = BufferRole::input;
    std::string name;
  };
  struct ScalarInfo {
    std::string name;
    DType dtype = DType::u32;
    int64_t most = -1;
    double value = 0;
  };
  Shape current_shape(const Shape& built) const;
  Status check_access(int port, DType dtype, int64_t count) const;
  bool has(int port) const { return port >= 0 && static_cast<size_t>(port) < ports_.size(); }

  Engine engine_;
  std::vector<PortInfo> ports_;
  std::vector<ScalarInfo> scalars_;
  Status pending_;  // fails the next run
  Status unread_;   // that no get() or take_error() has said
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_RUNTIME_SESSION_H_
