#include "rlxgpu/runtime/session.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/runtime/extents.h"

namespace rlxgpu::core {
namespace {

std::string text_of(const Shape& shape) {
  Text text;
  text << shape;
  return std::string(text.view());
}

constexpr size_t kMostListed = 32;

// "\"a\", \"b\" and 40 more"
template <typename Named>
std::string names_of(const std::vector<Named>& all) {
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kMostListed); ++i)
    absl::StrAppend(&text, i > 0 ? ", " : "", "\"", all[i].name, "\"");
  if (all.size() > kMostListed) absl::StrAppend(&text, " and ", all.size() - kMostListed, " more");
  return text;
}

// Elements that stand without gaps, as they lie in memory that has room for the largest extents.
std::vector<std::byte> spread_out(std::span<const std::byte> dense, const Shape& now, const TensorType& built) {
  std::vector<std::byte> out(static_cast<size_t>(built.shape.count()) * static_cast<size_t>(bytes_of(built.dtype)));
  internal::for_each_run(
      now, built.shape, static_cast<size_t>(bytes_of(built.dtype)),
      [&](size_t from, size_t to, size_t n) { std::memcpy(out.data() + to, dense.data() + from, n); });
  return out;
}

}  // namespace

Status Session::no_tensor(std::string_view name) const {
  if (ports_.empty()) return absl::FailedPreconditionError("this executable was moved from, or never created");
  return absl::NotFoundError(absl::StrCat("the graph has no tensor \"", name, "\"; it has ", names_of(ports_)));
}

Status Session::no_scalar(std::string_view name) const {
  if (ports_.empty()) return absl::FailedPreconditionError("this executable was moved from, or never created");
  return absl::NotFoundError(
      absl::StrCat("the graph has no scalar \"", name, "\"; it has ", scalars_.empty() ? "none" : names_of(scalars_)));
}

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

int64_t Session::count(int port) const { return has(port) ? current_shape(shape(port)).count() : 0; }

Status Session::check_access(int port, DType dtype, int64_t count) const {
  if (!has(port)) return no_tensor("");
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
  if (!has(port)) return no_tensor("");
  const PortInfo& info = ports_[static_cast<size_t>(port)];
  if (info.role == BufferRole::output)
    return absl::InvalidArgumentError(absl::StrCat("\"", info.name, "\" is an output: it is not set"));
  if (absl::Status status = check_access(port, dtype, count); !status.ok()) return status;
  const size_t bytes = static_cast<size_t>(count) * static_cast<size_t>(bytes_of(info.dtype));
  std::span<const std::byte> given(static_cast<const std::byte*>(data), bytes);
  std::vector<std::byte> built;
  if (info.shape.dynamic()) {
    built = spread_out(given, current_shape(info.shape), info);
    given = built;
  }
  const bool shared = !engine_.is_bound(port);
  if (info.role == BufferRole::param && shared) return engine_.weights().set(info.name, info.dtype, info.shape, given);
  if (info.role == BufferRole::state && shared) return engine_.states().set(info.name, info.dtype, info.shape, given);
  return engine_.set_input(port, given);
}

Status Session::set_scalar(int scalar, double value) {
  if (scalar < 0 || static_cast<size_t>(scalar) >= scalars_.size()) return no_scalar("");
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
  if (info.dtype != f32 && value != std::trunc(value)) {
    return absl::InvalidArgumentError(absl::StrCat(info.most >= 0 ? "extent" : "scalar", " \"", info.name, "\" is ",
                                                   value, "; it must be a whole number"));
  }
  info.value = value;
  return engine_.set_scalar(scalar, word_of(value, info.dtype));
}

Status Session::get(int port, DType dtype, int64_t count, void* data) {
  unread_ = absl::OkStatus();  // said now
  if (!pending_.ok()) return pending_;
  if (absl::Status status = check_access(port, dtype, count); !status.ok()) return status;
  const PortInfo& info = ports_[static_cast<size_t>(port)];
  const size_t element = static_cast<size_t>(bytes_of(info.dtype));
  const std::span<std::byte> out(static_cast<std::byte*>(data), static_cast<size_t>(count) * element);
  const bool shared = !engine_.is_bound(port);
  const auto read = [&](std::span<std::byte> into) -> Status {
    if (info.role == BufferRole::param && shared) return engine_.weights().get(info.name, into);
    if (info.role == BufferRole::state && shared) return engine_.states().get(info.name, into);
    return engine_.get_output(port, into);
  };
  if (!info.shape.dynamic()) return read(out);
  std::vector<std::byte> built(static_cast<size_t>(info.shape.count()) * element);
  if (Status status = read(built); !status.ok()) return status;
  internal::for_each_run(current_shape(info.shape), info.shape, element, [&](size_t dense, size_t spread, size_t n) {
    std::memcpy(out.data() + dense, built.data() + spread, n);
  });
  return absl::OkStatus();
}

Run Session::run(const RunOptions& options) {
  if (pending_.ok()) return engine_.run(options);
  const Status why = std::exchange(pending_, Status());
  return engine_.fail(why, options);
}

Status Session::take_error() {
  pending_ = Status();
  return std::exchange(unread_, Status());
}

}  // namespace rlxgpu::core
