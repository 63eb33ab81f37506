#include "rlxgpu/runtime/status.h"

#include <cstdio>
#include <cstdlib>

#include "absl/status/status.h"

namespace rlxgpu::core {

Status::Status(const absl::Status& status) {
  if (!status.ok()) error_ = std::make_shared<Error>(Error{static_cast<int>(status.code()), std::string(status.message())});
}

Status::operator absl::Status() const {
  return ok() ? absl::OkStatus() : absl::Status(static_cast<absl::StatusCode>(error_->code), error_->message);
}

Status invalid_argument(std::string_view message) { return absl::InvalidArgumentError(message); }
Status not_found(std::string_view message) { return absl::NotFoundError(message); }

void internal::die_of(const Status& status) {
  std::fprintf(stderr, "rlxgpu: the value of a Result that has none: %s\n",
               status.ok() ? "it was moved away" : status.ToString().c_str());
  std::abort();
}

std::string Status::ToString() const { return static_cast<absl::Status>(*this).ToString(); }

}  // namespace rlxgpu::core
