// Where rlxgpu says things: one sink for the process.
//
//   set_log_sink([](Severity severity, std::string_view text) { my_log(severity == Severity::info, text); });
//
// Everything goes there that no DeviceOptions::log takes: what switches print (docs/switches.md), remarks of Dawn, kernels
// that are not used because they are wrong on a driver. Without a sink only what switches ask for is printed, to stderr.
// From any thread, one call at a time; the sink must not call set_log_sink.
#ifndef RLXGPU_RUNTIME_LOG_H_
#define RLXGPU_RUNTIME_LOG_H_

#include <cstdint>
#include <functional>
#include <string_view>

namespace rlxgpu::core {

enum class Severity : uint8_t { info, warning, error };
using LogSink = std::function<void(Severity, std::string_view)>;

// Null: none, as at first.
void set_log_sink(LogSink sink);

namespace internal {

// To the sink, or nowhere.
void log_line(Severity severity, std::string_view text);
// To the sink, or to stderr, for a user has asked for it.
void log_line_as_asked(Severity severity, std::string_view text);

}  // namespace internal

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::LogSink, core::Severity, core::set_log_sink;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_LOG_H_
