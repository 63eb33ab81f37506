// Adapters are listed and chosen; a device says why it is gone.
#include "absl/status/statusor.h"
#include "rlxgpu/runtime/device.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/dry.h"
#include "rlxgpu/runtime/log.h"
#include "rlxgpu/runtime/switches.h"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

struct Variable {  // set while it exists
  Variable(const char* name, const std::string& value) : name(name) {
    const char* const old = std::getenv(name);
    if (old) before = old, had = true;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { had ? setenv(name, before.c_str(), 1) : unsetenv(name); }
  const char* name;
  std::string before;
  bool had = false;
};

TEST_CASE("every adapter listed can be described", "[gpu]") {
  device_or_skip();
  const absl::StatusOr<std::vector<AdapterInfo>> adapters = list_adapters();
  REQUIRE(adapters.ok());
  REQUIRE(!adapters->empty());
  for (const AdapterInfo& adapter : *adapters) {
    CAPTURE(adapter.label());
    CHECK(!adapter.name.empty());
    CHECK(adapter.backend != Backend::null);
    CHECK(adapter.target.covers(kPortable));
    CHECK(adapter.target.subgroups == (adapter.target.subgroup_max > 0));
    CHECK(!adapter.features.empty());
  }
  CHECK(device_or_skip().label() == adapters->front().label());
}

TEST_CASE("an adapter is chosen by a part of its label, in any case", "[gpu]") {
  const std::string name = device_or_skip().adapter().name;
  const std::string part = absl::AsciiStrToUpper(name.substr(1, 6));
  CHECK(open_device({.adapter = part}).ok());
  CHECK(open_device({.adapter = "vulkan"}).ok());
  CHECK(open_device({.adapter = "lavapipe"}).ok() == absl::StrContains(name, "llvmpipe"));
  const Variable variable("RLXGPU_ADAPTER", part);
  CHECK(open_device().ok());
}

TEST_CASE("a name that fits nothing lists what there is", "[gpu]") {
  const std::string label = device_or_skip().label();
  const absl::Status option = open_device({.adapter = "voodoo 2"}).status();
  CHECK(option.code() == absl::StatusCode::kNotFound);
  CHECK(absl::StartsWith(option.message(), "no adapter named like \"voodoo 2\"; there are:\n  "));
  CHECK(absl::StrContains(option.message(), label));
  const Variable variable("RLXGPU_ADAPTER", "voodoo 3");
  const absl::Status environment = open_device().status();
  CHECK(
      absl::StartsWith(environment.message(), "no adapter named like \"voodoo 3\" (from RLXGPU_ADAPTER); there are:"));
  CHECK(open_device({.backend = Backend::null}).ok());  // asked for by kind: the variable is about hardware
}

TEST_CASE("a backend that this build lacks is not found", "[gpu]") {
  device_or_skip();
  CHECK(open_device({.backend = Backend::d3d12}).status().code() == absl::StatusCode::kNotFound);
}

TEST_CASE("a portable device has what every WebGPU has", "[gpu]") {
  Target target = portable_device_or_skip().target();
  target.adapter_class = AdapterClass::unknown;
  CHECK(target == kPortable);
  absl::StatusOr<Engine> engine = doubler(8).engine(portable_device_or_skip());
  REQUIRE(engine.ok());
  CHECK(engine->run().wait().ok());
}

TEST_CASE("the Null backend accepts programs and checks them") {
  const absl::StatusOr<Device> device = open_device({.backend = Backend::null, .portable = true});
  REQUIRE(device.ok());
  absl::StatusOr<Engine> engine = doubler(8).engine(*device);
  REQUIRE(engine.ok());
  CHECK(engine->run().wait().ok());
  HandMade wrong;
  wrong.tensor("y", BufferRole::output, f32, {4});
  wrong.step("enable f16; @compute @workgroup_size(1) fn main() {}", {{"y", true}}, {1, 1, 1});
  CHECK(!wrong.engine(*device).ok());  // no f16 on a portable device
}

TEST_CASE("no device answers with statuses") {
  const Device none;
  CHECK(none.status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(none.wait_idle().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(none.target() == kPortable);
  CHECK(none.label() == "no device");
  none.destroy();
  const std::vector<float> data(4);
  CHECK(Weights(none).set("w", f32, {4}, bytes_of(data)).code() == absl::StatusCode::kFailedPrecondition);
}

// Everything that a user can call, on a device that is gone.
void check_all_fail(const Device& device, Engine& engine, const Run& waiting, const Weights& weights,
                    std::string_view why) {
  std::vector<float> data(4);
  const auto lost = [&](const absl::Status& status) {
    INFO(status.ToString());
    CHECK(status.code() == absl::StatusCode::kUnavailable);
    CHECK(absl::StrContains(status.message(), why));
  };
  lost(device.status());
  lost(device.wait_idle());
  lost(engine.set_input(0, bytes_of(data)));
  lost(engine.run().wait());
  lost(engine.run({.read = true}).get(1, room_of(data)));
  lost(engine.get_output(1, room_of(data)));
  lost(engine.profile().status());
  lost(engine.warm_up());
  lost(weights.set("w", f32, {4}, bytes_of(data)));
  lost(weights.set("new", f32, {4}, bytes_of(data)));
  lost(weights.get("w", room_of(data)));
  lost(engine.states().clear());
  lost(doubler(4).engine(device).status());
  lost(doubler(77).engine(device).status());
  waiting.wait().IgnoreError();  // may have ended before
  waiting.get(1, room_of(data)).IgnoreError();
  CHECK(waiting.ready());
}

TEST_CASE("a device that was destroyed or lost answers with statuses", "[gpu]") {
  const bool destroyed = GENERATE(true, false);
  const Device device = open_or_skip({});
  const Weights weights(device);
  const std::vector<float> data(4, 1.0f);
  REQUIRE(weights.set("w", f32, {4}, bytes_of(data)).ok());
  absl::StatusOr<Engine> engine = doubler(4).engine(device);
  REQUIRE(engine.ok());
  REQUIRE(engine->set_input(0, bytes_of(data)).ok());
  const Run waiting = engine->run({.read = true}), plain = engine->run();
  if (destroyed) {
    device.destroy();
    device.destroy();
  } else {
    device.state()->device.ForceLoss(wgpu::DeviceLostReason::Unknown, "pulled out");
  }
  check_all_fail(device, *engine, waiting, weights, destroyed ? "destroyed" : "pulled out");
  plain.wait().IgnoreError();
}

TEST_CASE("an error that no call caused is kept by the device", "[gpu]") {
  const Device device = open_or_skip({});
  CHECK(device.status().ok());
  device.state()->device.InjectError(wgpu::ErrorType::Validation, "from nowhere");
  CHECK(absl::StrContains(device.status().message(), "from nowhere"));
  device.state()->device.InjectError(wgpu::ErrorType::OutOfMemory, "later");
  CHECK(absl::StrContains(device.status().message(), "from nowhere"));
}

TEST_CASE("more memory than a buffer may have is refused", "[gpu]") {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {2147483647});
  const absl::Status status = p.engine(device_or_skip()).status();
  CHECK(status.code() == absl::StatusCode::kResourceExhausted);
  CHECK(device_or_skip().status().ok());
}

TEST_CASE("a device that returns what it was given is not dry", "[gpu]") {
  CHECK_FALSE(internal::is_dry(device_or_skip()));
  CHECK_FALSE(internal::is_dry(Device()));
  const Device lost = open_or_skip({});
  lost.destroy();
  CHECK_FALSE(internal::is_dry(lost));
}

TEST_CASE("Dawn's remarks go where they are asked to go", "[gpu]") {
  std::string log;
  const Device device =
      open_or_skip({.disk_cache = false, .enable_toggles = {"dump_shaders"}, .log = [&](std::string_view text) {
                      absl::StrAppend(&log, text);
                    }});
  REQUIRE(doubler(5).engine(device).ok());
  CHECK(absl::StrContains(log, "workgroup_size"));
}

TEST_CASE("what no device's log takes goes to the sink of the process", "[gpu]") {
  std::string infos, warnings;
  set_log_sink([&](Severity severity, std::string_view text) {
    absl::StrAppend(severity == Severity::info ? &infos : &warnings, text);
  });
  {
    const Device device = open_or_skip({.disk_cache = false, .enable_toggles = {"dump_shaders"}});
    Switches set;
    set.dispatches = true;
    const ScopedSwitches scoped(set);
    auto engine = doubler(5).engine(device);
    REQUIRE(engine.ok());
    REQUIRE(engine->run().wait().ok());
  }
  CHECK(absl::StrContains(absl::StrCat(infos, warnings), "workgroup_size"));
  CHECK(absl::StrContains(infos, "1 dispatches"));

  set_log_sink(nullptr);
  infos.clear();
  REQUIRE(doubler(5).engine(open_or_skip({.disk_cache = false, .enable_toggles = {"dump_shaders"}})).ok());
  CHECK(infos.empty());
}

}  // namespace
}  // namespace rlxgpu::core::testing
