#include "rlxgpu/runtime/session.h"

#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/runtime/extents.h"

namespace rlxgpu {
namespace {

std::string text_of(const Shape& shape) {
  Text text;
  text << shape;
  return std::string(text.view());
}

}  // namespace

Result<Session> Session::create(const Device& device, const ProgramView& program,
                                std::span<const std::string_view> kernels, const EngineOptions& options) {
  Result<Engine> engine = Engine::create(device, program, kernels, options);
  if (!engine.ok()) return engine.status();
  Session session;
  session.engine_ = *std::move(engine);
  for (const Port& port : program.ports) {
    PortInfo info;
    static_cast<TensorType&>(info) = program.tensors[static_cast<size_t>(port.tensor)];
    info.role = port.role;
    info.name = std::string(program.name(port.name));
    session.ports_.push_back(info);
  }
  for (const ScalarDecl& scalar : program.scalars) {
    session.scalars_.push_back({std::string(program.name(scalar.name)), scalar.dtype, scalar.most,
                                scalar.most >= 0 ? static_cast<double>(scalar.most) : 0.0});
  }
  return session;
}

int Session::find_port(std::string_view name) const {
  for (size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int Session::find_scalar(std::string_view name) const {
  for (size_t i = 0; i < scalars_.size(); ++i) {
    if (scalars_[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

Shape Session::current_shape(const Shape& built) const {
  return internal::present_shape(built, [&](int symbol) { return scalars_[static_cast<size_t>(symbol)].value; });
}

int64_t Session::count(int port) const { return current_shape(shape(port)).count(); }

Status Session::check_access(int port, DType dtype, int64_t count) const {
  const PortInfo& info = ports_[static_cast<size_t>(port)];
  if (info.dtype != dtype && bytes_of(info.dtype) != bytes_of(dtype)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", info.name, "\" holds ", name_of(info.dtype), ", not ", name_of(dtype)));
  }
  const Shape shape = current_shape(info.shape);
  if (shape.count() != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", info.name, "\" has ", shape.count(), " elements, ", text_of(shape), "; ", count, " given"));
  }
  return absl::OkStatus();
}

Status Session::set(int port, DType dtype, int64_t count, const void* data) {
  const PortInfo& info = ports_[static_cast<size_t>(port)];
  if (info.role == BufferRole::output)
    return absl::InvalidArgumentError(absl::StrCat("\"", info.name, "\" is an output: it is not set"));
  if (absl::Status status = check_access(port, dtype, count); !status.ok()) return status;
  const size_t bytes = static_cast<size_t>(count) * static_cast<size_t>(bytes_of(info.dtype));
  const std::span<const std::byte> given(static_cast<const std::byte*>(data), bytes);
  const bool shared = !engine_.is_bound(port);
  if (info.role == BufferRole::param && shared) return engine_.weights().set(info.name, info.dtype, info.shape, given);
  if (info.role == BufferRole::state && shared) return engine_.states().set(info.name, info.dtype, info.shape, given);
  if (!info.shape.dynamic()) return engine_.set_input(port, given);
  std::vector<std::byte> built(storage_bytes(info.dtype, info.shape.count()));
  internal::for_each_run(
      current_shape(info.shape), info.shape, static_cast<size_t>(bytes_of(info.dtype)),
      [&](size_t dense, size_t spread, size_t n) { std::memcpy(built.data() + spread, given.data() + dense, n); });
  built.resize(static_cast<size_t>(info.shape.count()) * static_cast<size_t>(bytes_of(info.dtype)));
  return engine_.set_input(port, built);
}

Status Session::set_scalar(int scalar, double value) {
  ScalarInfo& info = scalars_[static_cast<size_t>(scalar)];
  if (info.most >= 0 && !(value >= 0 && value <= static_cast<double>(info.most))) {
    return absl::InvalidArgumentError(
        absl::StrCat("extent \"", info.name, "\" is ", value, "; it must lie in 0 to ", info.most));
  }
  const double low = info.dtype == i32 ? -2147483648.0 : 0.0, high = info.dtype == i32 ? 2147483647.0 : 4294967295.0;
  if (info.dtype != f32 && !(value >= low && value <= high)) {
    return absl::InvalidArgumentError(
        absl::StrCat("scalar \"", info.name, "\" is ", value, ", outside ", name_of(info.dtype)));
  }
  info.value = value;
  return engine_.set_scalar(scalar, word_of(value, info.dtype));
}

Status Session::get(int port, DType dtype, int64_t count, void* data) {
  if (absl::Status status = take_error(); !status.ok()) return status;
  if (absl::Status status = check_access(port, dtype, count); !status.ok()) return status;
  const PortInfo& info = ports_[static_cast<size_t>(port)];
  const size_t element = static_cast<size_t>(bytes_of(info.dtype));
  const std::span<std::byte> out(static_cast<std::byte*>(data), static_cast<size_t>(count) * element);
  const bool shared = !engine_.is_bound(port);
  if (info.role == BufferRole::param && shared) return engine_.weights().get(info.name, out);
  if (info.role == BufferRole::state && shared) return engine_.states().get(info.name, out);
  if (!info.shape.dynamic()) return engine_.get_output(port, out);
  std::vector<std::byte> built(static_cast<size_t>(info.shape.count()) * element);
  if (absl::Status status = engine_.get_output(port, built); !status.ok()) return status;
  internal::for_each_run(current_shape(info.shape), info.shape, element, [&](size_t dense, size_t spread, size_t n) {
    std::memcpy(out.data() + dense, built.data() + spread, n);
  });
  return absl::OkStatus();
}

Run Session::run(const RunOptions& options) { return engine_.run(options); }

Status Session::take_error() {
  absl::Status status = error_;
  error_ = absl::OkStatus();
  return status;
}

}  // namespace rlxgpu
