// Status and Result<T>: how calls fail. They turn into absl::Status and absl::StatusOr<T> wherever those
// are wanted, and back.
//
//   Result<Device> device = open_device();
//   if (!device.ok()) return device.status();          // from a function that returns absl::Status
//   absl::StatusOr<Device> same = open_device();       // with absl/status/statusor.h included
//
// They exist because absl/status/status.h takes a compiler longer than all of rlxgpu (1.2 s with g++ 16,
// 1.9 s with clang 21): a file that only runs graphs does not pay for it.
#ifndef RLXGPU_RUNTIME_STATUS_H_
#define RLXGPU_RUNTIME_STATUS_H_

#include <concepts>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/base/config.h"

namespace absl {
ABSL_NAMESPACE_BEGIN
class Status;
enum class StatusCode : int;
template <typename T>
class StatusOr;
ABSL_NAMESPACE_END
}  // namespace absl

namespace rlxgpu::core {

class [[nodiscard]] Status {
 public:
  Status() = default;           // all is well
  Status(const absl::Status&);  // implicit: errors are made by absl's functions
  operator absl::Status() const;

  bool ok() const { return error_ == nullptr; }
  absl::StatusCode code() const { return static_cast<absl::StatusCode>(ok() ? 0 : error_->code); }
  std::string_view message() const { return ok() ? std::string_view() : std::string_view(error_->message); }
  std::string ToString() const;  // "OK", or "INVALID_ARGUMENT: ..."
  void IgnoreError() const {}

 private:
  struct Error {
    int code = 0;
    std::string message;
  };
  std::shared_ptr<const Error> error_;
};

// Errors made where absl is not included.
Status invalid_argument(std::string_view message);
Status not_found(std::string_view message);

namespace internal {
// Says on stderr that a Result has no value, and why, and ends the program.
[[noreturn]] void die_of(const Status& status);
}  // namespace internal

// A T, or the reason why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::make_unique<T>(std::move(value))) {}  // implicit, as in absl
  Result(Status status) : status_(std::move(status)) {}               // not ok
  Result(const absl::Status& status) : status_(status) {}
  Result(Result&&) = default;
  Result& operator=(Result&&) = default;

  bool ok() const { return value_ != nullptr; }
  const Status& status() const { return status_; }
  // Only when ok(): otherwise the program ends, with the status on stderr.
  T& operator*() & { return *checked(); }
  const T& operator*() const& { return *checked(); }
  T&& operator*() && { return std::move(*checked()); }
  T* operator->() { return checked(); }
  const T* operator->() const { return checked(); }
  T& value() & { return *checked(); }
  const T& value() const& { return *checked(); }
  T&& value() && { return std::move(*checked()); }

  template <typename U, typename AbslStatus = absl::Status>  // dependent: complete only where it is used
    requires std::same_as<U, T>
  operator absl::StatusOr<U>() && {
    if (!ok()) return absl::StatusOr<U>(static_cast<AbslStatus>(status_));
    return absl::StatusOr<U>(std::move(*value_));
  }

 private:
  T* checked() const {
    if (value_ == nullptr) [[unlikely]] internal::die_of(status_);
    return value_.get();
  }

  Status status_;
  std::unique_ptr<T> value_;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Result, core::Status;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_STATUS_H_
