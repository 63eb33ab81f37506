#include "rlxgpu/tools/tune_command.h"

#include <unistd.h>

#include <iostream>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/recognised.h"
#include "rlxgpu/runtime/tuner.h"
#include "rlxgpu/tools/examples.h"
#include "rlxgpu/tools/progress_bar.h"

namespace rlxgpu::core::tools {
namespace {

// False when the command names nothing that can be built.
bool build(const TuneCommand& command, Builder& builder, std::ostream& err) {
  if (!command.matmul.empty()) {
    for (const DType dtype : {f32, f16, bf16}) {
      if (command.dtype != name_of(dtype)) continue;
      const int64_t m = command.matmul[0], n = command.matmul[1], k = command.matmul[2];
      builder.output("y", matmul(builder.input("a", dtype, {m, k}), builder.param("b", dtype, {k, n})));
      return true;
    }
    err << "\"" << command.dtype << "\" is none of f32, f16, bf16\n";
    return false;
  }
  const Example* const example = find_example(command.name);
  if (example == nullptr) {
    err << "there is no example \"" << command.name << "\"; there are";
    for (const Example& known : examples()) err << " " << known.name;
    err << "\n";
    return false;
  }
  example->build(builder);
  return true;
}

}  // namespace

int tune_command(const TuneCommand& command, std::ostream& out, std::ostream& err) {
  Builder builder;
  if (!build(command, builder, err)) return 2;
  const absl::StatusOr<Device> device =
      open_device({.adapter = command.adapter, .log = [&](std::string_view line) { err << line << "\n"; }});
  if (!device.ok()) {
    err << device.status().message() << "\n";
    return 1;
  }
  TuneOptions options;
  options.seconds = command.seconds;
  options.again = command.again;
  options.points = command.points;
  absl::StatusOr<TuneReport> report = absl::UnknownError("");
  {
    ProgressBar bar(err, &err == &std::cerr && isatty(2) != 0);
    options.progress = [&](const TuneProgress& now) {
      bar.show(now.done, now.total, absl::StrCat(now.variant, " of ", now.call));
    };
    report = tune(*device, recognised(builder.graph(), device->target()), options);
  }
  if (!report.ok()) {
    err << report.status().message() << "\n";
    return 1;
  }
  out << device->label() << "\n";
  for (const TuneReport::Item& item : report->measured) {
    out << item.call << absl::StrFormat("   %.2f times as fast as by default\n", item.gain());
    for (const auto& [variant, microseconds] : item.choice.microseconds) {
      out << absl::StrFormat("  %-44s", variant);
      out << (microseconds < 0 ? "     not usable" : absl::StrFormat("%12.1f us", microseconds));
      out << (variant == item.choice.variant ? "   <- used" : variant == item.before ? "   (default)" : "") << "\n";
    }
  }
  out << report->measured.size() << " measured, " << report->known << " known before"
      << (report->complete ? "" : "; time was over before the rest") << "\n";
  if (!report->stored.ok()) err << "not stored: " << report->stored.message() << "\n";
  return report->stored.ok() ? 0 : 1;
}

}  // namespace rlxgpu::core::tools
