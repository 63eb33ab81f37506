// Switches: what they mean, what is said of mistakes, and what they do to runs.
#include "rlxgpu/runtime/switches.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "nlohmann/json.hpp"
#include "rlxgpu/runtime/engine.h"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Floats = std::vector<float>;
using Lines = std::vector<std::string>;

Switches parsed(const std::vector<std::string_view>& environment, Lines& warnings) {
  return parse_switches(environment, [&](std::string_view line) { warnings.emplace_back(line); });
}

TEST_CASE("switches are read from the environment", "[switches]") {
  Lines warnings;
  const Switches set = parsed(
      {"PATH=/bin", "RLXGPU_FORCE=matmul/tiled,sum/*", "RLXGPU_FORBID=*/plain", "RLXGPU_TUNING=0", "RLXGPU_LISTING=1",
       "RLXGPU_MAXIMA=0", "RLXGPU_TRACE=/tmp/a=b.json", "RLXGPU_CACHE_DIR=/tmp", "RLXGPU_TINT=x"},
      warnings);
  CHECK(warnings.empty());
  CHECK(!set.tuning);
  CHECK(set.listing);
  CHECK(!set.maxima);
  CHECK(!set.dispatches);
  CHECK(set.trace == "/tmp/a=b.json");
  REQUIRE(set.force.size() == 2);
  CHECK(set.force[0].matches("matmul", "tiled"));
  CHECK(!set.force[0].matches("matmul", "tiled_8x8"));
  CHECK(!set.force[0].matches("matmul2", "tiled"));
  CHECK(set.force[1].matches("sum", "rows"));
  CHECK(!set.force[1].matches("summary", "rows"));
  REQUIRE(set.forbid.size() == 1);
  CHECK(set.forbid[0].matches("anything", "plain"));
}

TEST_CASE("what means nothing is said", "[switches]") {
  Lines warnings;
  const Switches set =
      parsed({"RLXGPU_FORSE=a/b", "RLXGPU_LISTING=yes", "RLXGPU_FORCE=matmul,/x,y/,sum/rows", "RLXGPU_"}, warnings);
  CHECK(!set.listing);
  CHECK(set.force.size() == 1);
  REQUIRE(warnings.size() == 6);
  CHECK(warnings[0] == "the environment variable RLXGPU_FORSE means nothing: see docs/switches.md");
  CHECK(warnings[1] == "RLXGPU_LISTING is \"yes\"; it must be 0 or 1");
  CHECK(warnings[2] == "RLXGPU_FORCE: \"matmul\" is no op/variant");
}

TEST_CASE("the table of the documentation has every switch", "[switches]") {
  std::ifstream file("docs/switches.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  REQUIRE(!text.empty());
  for (const SwitchName& known : kSwitches) {
    CAPTURE(known.name);
    CHECK(absl::StrContains(text, "| `" + std::string(known.name) + "` |"));
  }
}

// y = 2 x, z = x + y
HandMade two_steps() {
  HandMade p;
  p.tensor("x", BufferRole::input, f32, {8});
  p.tensor("s", BufferRole::scratch, f32, {8});
  p.tensor("z", BufferRole::output, f32, {8});
  p.step(kDouble, {{"x"}, {"s", true}}, {1, 1, 1});
  p.step(kAdd, {{"x"}, {"s"}, {"z", true}}, {1, 1, 1});
  return p;
}

// The output of a run with these switches; what they say is added to `lines`.
Floats run_with(Switches set, Floats x, Lines& lines, bool aside = false) {
  set.print = [&](std::string_view line) { lines.emplace_back(line); };
  const Device device = open_or_skip({.tuning = false});  // without a validator, whose engines obey the switches, too
  const ScopedSwitches scoped(set);
  absl::StatusOr<Engine> engine = two_steps().engine(device, {.label = "two"});
  REQUIRE(engine.ok());
  REQUIRE(engine->set_input(0, bytes_of(x)).ok());
  Floats z(8);
  const Run run = engine->run({.read = aside});
  REQUIRE((aside ? run.get(1, room_of(z)) : engine->get_output(1, room_of(z))).ToString() == "OK");
  return z;
}

TEST_CASE("listing and dispatches are printed", "[gpu][switches]") {
  Lines lines;
  Switches set;
  set.listing = set.dispatches = true;
  CHECK(run_with(set, Floats(8, 1), lines) == Floats(8, 3));
  CAPTURE(lines);
  REQUIRE(lines.size() == 2);
  CHECK(absl::StartsWith(lines[0], "two: 2 steps, "));
  CHECK(absl::StrContains(lines[0], "test/step1"));
  CHECK(lines[1] == "run of two: 2 dispatches, 2 workgroups");
}

TEST_CASE("maxima of every step are printed and results stay the same", "[gpu][switches]") {
  for (const bool aside : {false, true}) {
    Lines lines;
    Switches set;
    set.maxima = true;
    CHECK(run_with(set, {1, 2, 3, -4, 5, 6, 7, -8}, lines, aside) == Floats{3, 6, 9, -12, 15, 18, 21, -24});
    CHECK(lines ==
          Lines{"step 0 of two, test/step0, f32[8]: at most 16", "step 1 of two, test/step1, f32[8]: at most 24"});
  }
}

TEST_CASE("the first step that writes a NaN is named", "[gpu][switches]") {
  Lines lines;
  Switches set;
  set.trace_nan = true;
  Floats x(8, 1);
  CHECK(run_with(set, x, lines) == Floats(8, 3));
  CHECK(lines.empty());
  x[5] = std::numeric_limits<float>::quiet_NaN();
  CHECK(std::isnan(run_with(set, x, lines)[5]));
  CHECK(lines ==
        Lines{"step 0 of two, test/step0, f32[8]: the first NaN of this run, 1 of 8 elements, the first at 5"});
}

TEST_CASE("outputs are not copied when that is switched off", "[gpu][switches]") {
  Lines lines;
  Switches set;
  set.no_read_back = true;
  CHECK(run_with(set, Floats(8, 1), lines, false) == Floats(8, 0));
  CHECK(run_with(set, Floats(8, 1), lines, true) == Floats(8, 0));
}

TEST_CASE("a trace is whole JSON after every run, with the steps in order", "[gpu][switches]") {
  if (!device_or_skip().adapter().timestamps) SKIP("no timestamps");
  std::string name = (std::filesystem::temp_directory_path() / "rlxgpu-trace-XXXXXX").string();
  const std::string path = std::string(mkdtemp(name.data())) + "/trace.json";
  Lines lines;
  Switches set;
  set.trace = path;
  for (size_t run = 1; run <= 3; ++run) {
    CHECK(run_with(set, Floats(8, 1), lines) == Floats(8, 3));
    std::ifstream file(path);
    const nlohmann::json events = nlohmann::json::parse(file);
    std::vector<std::string> gpu;
    double last = 0;
    for (const nlohmann::json& event : events) {
      if (event.at("ph") != "X" || event.at("tid") != 2) continue;
      gpu.push_back(event.at("name"));
      CHECK(event.at("ts").get<double>() >= last);
      last = event.at("ts").get<double>();
      CHECK(event.at("dur").get<double>() >= 0);
    }
    REQUIRE(gpu.size() == 2 * run);
    CHECK(gpu[0] == "test/step0");
    CHECK(gpu[1] == "test/step1");
  }
  CHECK(lines.empty());
  std::filesystem::remove_all(std::filesystem::path(path).parent_path());
  set.trace = "/proc/nowhere/trace.json";
  CHECK(run_with(set, Floats(8, 1), lines) == Floats(8, 3));
  REQUIRE(!lines.empty());
  CHECK(absl::StrContains(lines[0], "cannot be written"));
}

}  // namespace
}  // namespace rlxgpu::core::testing
