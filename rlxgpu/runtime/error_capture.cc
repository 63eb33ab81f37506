// Errors that Dawn reports while a call is made: by its callback, or by error scopes on an adopted device.
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "rlxgpu/runtime/device_state.h"

namespace rlxgpu::core::internal {
namespace {

thread_local ErrorCapture* innermost = nullptr;

}  // namespace

absl::StatusCode code_of(wgpu::ErrorType type) {
  switch (type) {
    case wgpu::ErrorType::Validation:
      return absl::StatusCode::kInvalidArgument;
    case wgpu::ErrorType::OutOfMemory:
      return absl::StatusCode::kResourceExhausted;
    case wgpu::ErrorType::Internal:
      return absl::StatusCode::kInternal;
    default:
      return absl::StatusCode::kUnknown;
  }
}

ErrorCapture::ErrorCapture(DeviceState& device) : device_(device), lock_(device.guard()), outer_(innermost) {
  innermost = this;
  if (device_.adopted) push_scopes();
}

ErrorCapture::~ErrorCapture() {
  if (device_.adopted) pop_scopes();
  innermost = outer_;
}

bool ErrorCapture::report(wgpu::ErrorType type, std::string_view message) {
  if (innermost == nullptr) return false;
  innermost->keep(type, message);
  return true;
}

void ErrorCapture::keep(wgpu::ErrorType type, std::string_view message) {
  if (code_ != absl::StatusCode::kOk) return;
  code_ = code_of(type);
  message_ = message;
}

constexpr wgpu::ErrorFilter kFilters[] = {wgpu::ErrorFilter::Validation, wgpu::ErrorFilter::OutOfMemory,
                                          wgpu::ErrorFilter::Internal};

void ErrorCapture::push_scopes() const {
  for (const wgpu::ErrorFilter filter : kFilters) device_.device.PushErrorScope(filter);
}

void ErrorCapture::pop_scopes() {
  for (size_t i = 0; i < std::size(kFilters); ++i) {
    struct Popped {
      wgpu::ErrorType type = wgpu::ErrorType::NoError;
      std::string message;
    };
    const auto popped = std::make_shared<Popped>();  // the callback may come late, when the device is lost
    const wgpu::Future future = device_.device.PopErrorScope(
        wgpu::CallbackMode::WaitAnyOnly,
        [popped](wgpu::PopErrorScopeStatus status, wgpu::ErrorType type, wgpu::StringView message) {
          if (status != wgpu::PopErrorScopeStatus::Success) return;
          popped->type = type;
          popped->message = std::string_view(message);
        });
    device_.instance.WaitAny(future, 0);
    if (popped->type != wgpu::ErrorType::NoError) keep(popped->type, popped->message);
  }
}

absl::Status ErrorCapture::status(std::string_view what) {
  if (device_.adopted) {
    pop_scopes();
    push_scopes();
  }
  if (code_ == absl::StatusCode::kOk) return absl::OkStatus();
  absl::Status status(code_, absl::StrCat(what, ": ", message_));
  code_ = absl::StatusCode::kOk;
  return status;
}

}  // namespace rlxgpu::core::internal
