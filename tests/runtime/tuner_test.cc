// The tuner measures what there is to choose, keeps it, and programs planned afterwards use it.
#include "rlxgpu/runtime/tuner.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "catch2/matchers/catch_matchers_string.hpp"
#include "rlxgpu/executable.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/runtime/switches.h"
#include "tests/runtime/hasty_sum.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

namespace fs = std::filesystem;

struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "rlxgpu-tuner-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  std::string file() const { return (path / "tuning.json").string(); }
  Device open() const { return open_or_skip({.cache_dir = path.string()}); }
  fs::path path;
};

// Two equal layers, and a product with a transposed operand behind them.
struct Layers {
  static constexpr void build(Builder& g) {
    Tensor x = g.input("x", f32, {24, 32});
    for (const std::string_view name : {"w0", "w1"}) x = tanh(matmul(x, g.param(name, f32, {32, 32})) + 0.5f);
    g.output("y", matmul(x, transpose(g.param("v", f32, {8, 32}), {1, 0})));
  }
};

const std::string kLayer = "matmul f32[24,32] f32[32,32] -> f32[24,32] +tanh +add";
const std::string kLast = "matmul f32[24,32] f32[32,8]:(1,32) -> f32[24,8]";

// The labels of the steps that a program planned at run time has.
std::vector<std::string> labels(const Device& device, const DynamicOptions& options = {}) {
  DynamicGraph graph;
  Layers::build(*graph);
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");
  for (const std::string_view name : {"w0", "w1"}) REQUIRE(executable->set(name, std::vector<float>(1024, 0.5f)).ok());
  REQUIRE(executable->set("v", std::vector<float>(256, 0.5f)).ok());
  const auto profile = executable->engine().profile();
  if (!profile.ok()) SKIP("no timestamps");
  std::vector<std::string> found;
  for (const StepProfile& step : *profile) found.push_back(step.label);
  return found;
}

TEST_CASE("every call with a choice is measured once, and known afterwards", "[gpu][tuning]") {
  const Folder folder;
  const Device device = folder.open();
  std::vector<std::string> said;
  const auto progress = [&](const TuneProgress& now) {
    CHECK(now.total == 2);
    said.push_back(std::string(now.call) + " " + std::string(now.variant));
  };
  const Result<TuneReport> report = tune<Layers>(device, {.runs = 2, .points = 0, .progress = progress});
  REQUIRE(report.ok());
  CHECK(report->complete);
  CHECK(report->stored.ok());
  REQUIRE(report->measured.size() == 2);
  CHECK(report->measured[0].call == kLayer);
  CHECK(report->measured[1].call == kLast);
  for (const TuneReport::Item& item : report->measured) {
    CAPTURE(item.call);
    CHECK(item.choice.microseconds.size() >= 2);
    CHECK(item.choice.microseconds.count(item.choice.variant) == 1);
    for (const auto& [variant, microseconds] : item.choice.microseconds) {
      CAPTURE(variant, microseconds);
      CHECK(microseconds > 0);  // none is wrong
      CHECK(microseconds < 10e6);
    }
    const double best = item.choice.microseconds.at(item.choice.variant);
    for (const auto& [variant, microseconds] : item.choice.microseconds) CHECK(best <= microseconds / 0.97 + 1e-9);
  }
  CHECK(said.size() ==
        1 + report->measured[0].choice.microseconds.size() + report->measured[1].choice.microseconds.size());

  const TuningData data = TuningFile(folder.file()).load();
  CHECK(data.adapters.at(device.label()).choices.at(kLayer).variant == report->measured[0].choice.variant);
  for (const Device& again : {device, folder.open()}) {
    const Result<TuneReport> second = tune<Layers>(again, {.runs = 1, .points = 0});
    REQUIRE(second.ok());
    CHECK(second->measured.empty());
    CHECK(second->known == 2);
  }
  CHECK(tune<Layers>(device, {.runs = 1, .points = 0, .again = true})->measured.size() == 2);
}

TEST_CASE("parameters are searched, and a tuning that was stopped goes on where it was", "[gpu][tuning]") {
  const Folder folder;
  const Device device = folder.open();
  const Result<TuneReport> report = tune<Layers>(device, {.variant_seconds = 0.01, .runs = 1, .points = 3});
  REQUIRE(report.ok());
  REQUIRE(report->measured.size() == 2);
  std::string point;  // one with parameters
  for (const auto& [variant, microseconds] : report->measured[0].choice.microseconds) {
    if (variant.find('{') != std::string::npos) point = variant;
  }
  REQUIRE(!point.empty());
  CHECK(report->measured[0].gain() >= 1);

  REQUIRE(TuningFile(folder.file())
              .update([&](TuningData& data) {
                TunedChoice& stopped = data.adapters[device.label()].choices[kLayer];
                stopped.finished = false;
                std::erase_if(stopped.microseconds, [&](const auto& item) { return item.first != point; });
              })
              .ok());
  std::vector<std::string> said;
  const auto progress = [&](const TuneProgress& now) { said.emplace_back(now.variant); };
  const Result<TuneReport> rest =
      tune<Layers>(folder.open(), {.variant_seconds = 0.01, .runs = 1, .points = 3, .progress = progress});
  REQUIRE(rest.ok());
  REQUIRE(rest->measured.size() == 1);
  CHECK(rest->known == 1);
  CHECK(rest->measured[0].choice.microseconds.count(point) == 1);
  CHECK(std::find(said.begin(), said.end(), point) == said.end());  // it was known
  CHECK(said.size() > 1);                                           // the others were not
}

TEST_CASE("a file that names parameters is obeyed, one that names unknown ones is not", "[gpu][tuning]") {
  const Folder folder;
  const Device device = folder.open();
  const auto groups_with = [&](const std::string& variant) {
    REQUIRE(TuningFile(folder.file())
                .update([&](TuningData& data) { data.adapters[device.label()].choices[kLayer] = {variant, {}}; })
                .ok());
    DynamicGraph graph;
    Layers::build(*graph);
    const Device fresh = folder.open();
    const Program program = compile(graph.graph(), fresh.target(), {.chooser = internal::chooser_of(fresh)});
    const ProgramView view = view_of(program, fresh.target());
    return std::string(view.name(view.steps[0].spec));
  };
  CHECK(absl::StartsWith(groups_with("tiled{rows_each=1}"), "matmul/tiled{rows_each=1,"));
  CHECK(absl::StartsWith(groups_with("tiled{unknown=1}"), "matmul/tiled{"));
}

// A file that says so.
void choose(const Folder& folder, const Device& device, const std::string& call, const std::string& variant) {
  REQUIRE(TuningFile(folder.file())
              .update([&](TuningData& data) { data.adapters[device.label()].choices[call] = {variant, {}}; })
              .ok());
}

TEST_CASE("programs planned at run time use the file, for the calls it names only", "[gpu][tuning]") {
  const Folder folder;
  const std::vector<std::string> before = labels(folder.open());
  REQUIRE(before.size() == 3);
  CHECK(!absl::EndsWith(before[0], "/plain"));
  choose(folder, folder.open(), kLayer, "plain");
  const std::vector<std::string> after = labels(folder.open());
  CHECK(absl::EndsWith(after[0], "/plain"));
  CHECK(absl::EndsWith(after[1], "/plain"));  // a twin
  CHECK(after[2] == before[2]);
  CHECK(labels(folder.open(), {.tuned = false}) == before);
  CHECK(labels(open_or_skip({.cache_dir = folder.path.string(), .tuning = false})) == before);

  Executable<Layers, kPortable> constant(folder.open());
  Executable<Layers> planned(folder.open());
  const auto run = [](auto& layers) {
    std::vector<float> x(768), w(1024), v(256);
    for (size_t i = 0; i < w.size(); ++i) w[i] = 0.01f * static_cast<float>(i % 37) - 0.1f;
    for (size_t i = 0; i < x.size(); ++i) x[i] = 0.02f * static_cast<float>(i % 91) - 1.0f;
    for (size_t i = 0; i < v.size(); ++i) v[i] = 0.03f * static_cast<float>(i % 11);
    layers.template set<"x">(x), layers.template set<"w0">(w), layers.template set<"w1">(w),
        layers.template set<"v">(v);
    layers.run();
  };
  run(constant), run(planned);
  const auto expected = constant.get<"y">(), found = planned.get<"y">();
  REQUIRE(expected.ok());
  REQUIRE(found.ok());
  for (size_t i = 0; i < expected->size(); ++i) CHECK(std::abs((*expected)[i] - (*found)[i]) < 1e-4f);
}

TEST_CASE("a file that is damaged or names variants that do not exist changes nothing", "[gpu][tuning]") {
  const Folder folder;
  const std::vector<std::string> before = labels(folder.open());
  choose(folder, folder.open(), kLayer, "no such variant");
  CHECK(labels(folder.open()) == before);
  choose(folder, folder.open(), "no such call", "plain");
  CHECK(labels(folder.open()) == before);
  std::ofstream(folder.file()) << "{ rubbish";
  std::string warning;
  const Device device =
      open_or_skip({.cache_dir = folder.path.string(), .log = [&](std::string_view said) { warning = said; }});
  CHECK(labels(device) == before);
  CHECK(absl::StrContains(warning, "tuning.json is ignored"));
}

TEST_CASE("when time is over, what is left keeps its default", "[gpu][tuning]") {
  const Folder folder;
  const Result<TuneReport> report = tune<Layers>(folder.open(), {.seconds = 0});
  REQUIRE(report.ok());
  CHECK(!report->complete);
  CHECK(report->measured.empty());
}

TEST_CASE("without a folder the device still uses what was found", "[gpu][tuning]") {
  const Device device = open_or_skip({.disk_cache = false, .cache_dir = "/proc/nowhere"});
  const Result<TuneReport> report = tune<Layers>(device, {.runs = 1, .points = 0});
  REQUIRE(report.ok());
  CHECK(!report->stored.ok());
  REQUIRE(report->measured.size() == 2);
  CHECK(absl::EndsWith(labels(device)[0], "/" + report->measured[0].choice.variant));
}

// twice(x) in two variants, the first of which is wrong.
constexpr void twice_infer(Infer& infer) { infer.result(infer.dtype(0), infer.shape(0)); }
inline constexpr KernelFile kTwiceFile(R"wgsl(
//#params
const kCount = 64u;
const kFactor = 2u;
//#end
//#input x
fn x_at(i : u32) -> f32 { return f32(i); }
//#end
//#output y
fn y_put(i : u32, v : f32) {}
//#end
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id : vec3u) {
  if (id.x < kCount) { y_put(id.x, f32(kFactor) * x_at(id.x)); }
}
)wgsl");
template <int kFactor>
constexpr void twice_emit(Emit& e) {
  const int64_t count = e.call().result().shape.count();
  e.dispatch(kTwiceFile)
      .number("kCount", count)
      .number("kFactor", kFactor)
      .input("x", e.operand(0))
      .output("y", e.result())
      .grid(ceil_div(count, 64));
}
inline constexpr Variant kTwiceVariants[] = {{"wrong", nullptr, twice_emit<3>}, {"right", nullptr, twice_emit<2>}};
inline constexpr OpDef kTwice{.name = "twice", .infer = twice_infer, .variants = kTwiceVariants};

TEST_CASE("a variant that gives wrong results is not used, however fast", "[gpu][tuning]") {
  const Folder folder;
  std::string log;
  const Device device =
      open_or_skip({.cache_dir = folder.path.string(), .log = [&](std::string_view said) { log += said; }});
  DynamicGraph graph;
  graph->output("y", apply(kTwice, {graph->input("x", f32, {64})}, std::source_location::current()));
  const Result<TuneReport> report = tune(device, graph.graph(), {.runs = 1, .points = 0});
  INFO(report.status().ToString() << log);
  REQUIRE(report.ok());
  REQUIRE(report->measured.size() == 1);
  CHECK(report->measured[0].before == "wrong");
  CHECK(report->measured[0].choice.variant == "right");
  CHECK(report->measured[0].choice.microseconds.at("wrong") == -1);
  CHECK(absl::StrContains(log, "its result is wrong"));
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.ok());
  REQUIRE(executable->set("x", std::vector<float>(64, 1.5f)).ok());
  executable->run();
  CHECK(*executable->get<float>("y") == std::vector<float>(64, 3.0f));
}

TEST_CASE("nor is one whose sum is wrong by a few ten-thousandths in one place", "[gpu][tuning]") {
  const Folder folder;
  const Device device = folder.open();
  for (const int64_t millionths : {0, 300}) {
    DynamicGraph graph;
    graph->output("y", hasty_sum(graph->input("x", f32, {64, 40}), millionths));
    const Result<TuneReport> report = tune(device, graph.graph(), {.runs = 1, .points = 0});
    REQUIRE(report.ok());
    REQUIRE(report->measured.size() == 1);
    CHECK((report->measured[0].choice.microseconds.at("hasty") > 0) == (millionths == 0));
  }
}

// The same, with a wrong variant that has a probe.
constexpr void doubt_probe(Builder& g, const Call& call) {
  const uint32_t words[] = {word_of(1.5, f32), word_of(-2, f32)};
  g.output("y", apply(*call.op, {g.constant(f32, {2}, words)}, Site(std::source_location::current())));
}
void twice_reference(reference::Call& call) {
  for (int64_t i = 0; i < call.result().count(); ++i) call.result()[i] = 2 * call.operand(0)[i];
}
inline constexpr Variant kDoubtedVariants[] = {{"doubted", nullptr, twice_emit<3>, nullptr, doubt_probe},
                                               {"trusted", nullptr, twice_emit<2>, nullptr, doubt_probe},
                                               {"right", nullptr, twice_emit<2>}};
inline constexpr OpDef kDoubted{
    .name = "doubted", .infer = twice_infer, .variants = kDoubtedVariants, .reference = twice_reference};

TEST_CASE("a variant whose probe fails is not measured", "[gpu][tuning]") {
  const Folder folder;
  std::string log;
  const Device device =
      open_or_skip({.cache_dir = folder.path.string(), .log = [&](std::string_view said) { log += said; }});
  DynamicGraph graph;
  graph->output("y", apply(kDoubted, {graph->input("x", f32, {64})}, Site(std::source_location::current())));
  const Result<TuneReport> report = tune(device, graph.graph(), {.runs = 1, .points = 0});
  INFO(report.status().ToString() << log);
  REQUIRE(report.ok());
  REQUIRE(report->measured.size() == 1);
  CHECK(report->measured[0].choice.microseconds.count("doubted") == 0);
  CHECK(report->measured[0].choice.microseconds.count("trusted") == 1);
  CHECK(report->measured[0].choice.microseconds.count("right") == 1);
  CHECK(absl::StrContains(log, "doubted/doubted is not used"));
}

TEST_CASE("variants are forced and forbidden by switches, in graph types as well", "[gpu][switches]") {
  const Folder folder;
  choose(folder, folder.open(), kLayer, "plain");
  Switches set;
  set.forbid = {{"mat*", "plain"}};
  {
    const ScopedSwitches scoped(set);
    CHECK(!absl::EndsWith(labels(folder.open())[0], "/plain"));
  }
  set.force = {{"matmul", "plain"}};
  const ScopedSwitches scoped(set);
  for (const std::string& label : labels(folder.open())) CHECK(absl::EndsWith(label, "/plain"));
  Executable<Layers> layers(folder.open());
  layers.set<"w0">(std::vector<float>(1024)), layers.set<"w1">(std::vector<float>(1024));
  layers.set<"v">(std::vector<float>(256));
  const auto profile = layers.engine().profile();
  if (!profile.ok()) SKIP("no timestamps");
  CHECK(absl::EndsWith((*profile)[0].label, "/plain"));
}

TEST_CASE("a program that the compiler fixed says that switches do not change it", "[gpu][switches]") {
  const Folder folder;
  std::vector<std::string> said;
  Switches set;
  set.force = {{"matmul", "plain"}};
  set.print = [&said](std::string_view line) { said.emplace_back(line); };
  const ScopedSwitches scoped(set);
  const Executable<Layers, kPortable> first(folder.open()), second(folder.open());
  REQUIRE(said.size() == 1);  // once
  CHECK_THAT(said[0], Catch::Matchers::ContainsSubstring("Executable<G> is planned for its device"));
}

}  // namespace
}  // namespace rlxgpu::core::testing
