#include "rlxgpu/runtime/log.h"

#include <cstdio>
#include <mutex>
#include <utility>

namespace rlxgpu::core {
namespace internal {
namespace {

struct Log {
  std::mutex mutex;
  LogSink sink;
};
Log& the_log() {
  static Log* const made = new Log;  // threads of drivers may speak while the process ends
  return *made;
}

bool to_sink(Severity severity, std::string_view text) {
  const std::lock_guard lock(the_log().mutex);
  if (the_log().sink) the_log().sink(severity, text);
  return static_cast<bool>(the_log().sink);
}

}  // namespace

void log_line(Severity severity, std::string_view text) { to_sink(severity, text); }

void log_line_as_asked(Severity severity, std::string_view text) {
  if (!to_sink(severity, text)) std::fprintf(stderr, "rlxgpu: %.*s\n", static_cast<int>(text.size()), text.data());
}

}  // namespace internal

void set_log_sink(LogSink sink) {
  const std::lock_guard lock(internal::the_log().mutex);
  std::swap(internal::the_log().sink, sink);
}

}  // namespace rlxgpu::core
