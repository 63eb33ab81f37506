#include "rlxgpu/runtime/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <set>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/extract.h"
#include "rlxgpu/graph/element.h"
#include "rlxgpu/runtime/best_of.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/session.h"
#include "rlxgpu/runtime/trust.h"
#include "rlxgpu/wgsl/render.h"

namespace rlxgpu {
namespace internal {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Takes the named variant, and writes down what it was asked.
struct Recorder {
  std::string wanted;                 // "": the first
  Trust trust = {};                   // variants that it does not trust are not written down
  std::string call;                   // the first one asked for
  std::vector<std::string> accepted;  // of that call, the preferred one first

  static int choose(void* context, const Call& call, std::span<const Variant* const> accepted) {
    Recorder& self = *static_cast<Recorder*>(context);
    if (self.call.empty()) {
      Text line;
      append_call(line, call);
      self.call = line.view();
      for (const Variant* const variant : accepted) {
        if (variant->probe != nullptr && self.trust.trusts != nullptr &&
            !self.trust.trusts(self.trust.context, call, *variant)) {
          continue;
        }
        self.accepted.emplace_back(variant->name);
      }
    }
    for (size_t i = 0; i < accepted.size(); ++i) {
      if (accepted[i]->name == self.wanted) return static_cast<int>(i);
    }
    return -1;
  }
};

// A group of the program with a choice to make.
struct Candidate {
  Graph graph;
  std::string call;
  std::vector<std::string> variants;
};

std::vector<Candidate> find_candidates(const Device& device, const Graph& graph) {
  const Target target = device.target();
  TrustContext trust = {device, target};
  const Graph simple = simplify(graph);
  const Fusion fusion = fuse(simple, target);
  std::vector<Candidate> found;
  std::set<std::string> seen;
  for (size_t n = 0; n < simple.nodes.size(); ++n) {
    if (!fusion.root[n] || fusion.anchor[n] < 0) continue;
    if (simple.node(fusion.anchor[n]).op->variants.size() < 2) continue;
    Candidate candidate;
    candidate.graph = extract_group(simple, fusion, static_cast<int32_t>(n));
    Recorder recorder;
    recorder.trust = trust_in(trust);
    const Program program =
        compile(candidate.graph, target, {.simplify = false, .chooser = {Recorder::choose, &recorder}});
    if (!program.error.empty() || recorder.accepted.size() < 2 || !seen.insert(recorder.call).second) continue;
    candidate.call = recorder.call;
    candidate.variants = recorder.accepted;
    found.push_back(std::move(candidate));
  }
  return found;
}

// Made-up elements in storage layout: floats in [-1, 1], integers 0 or 1.
std::vector<std::byte> made_up(const TensorType& type) {
  const DType dtype = type.dtype == c64 ? f32 : type.dtype;
  const auto count = static_cast<size_t>(type.shape.count()) * (type.dtype == c64 ? 2 : 1);
  const auto size = static_cast<size_t>(bytes_of(dtype));
  std::vector<std::byte> bytes(count * size);
  uint32_t random = 12345;
  for (size_t i = 0; i < count; ++i) {
    random = random * 1664525u + 1013904223u;
    const double value = is_float(dtype) ? (random >> 8) * 0x1p-23 - 1.0 : random >> 31;
    const uint32_t word = word_of(value, dtype);
    for (size_t b = 0; b < size; ++b) bytes[i * size + b] = static_cast<std::byte>(word >> (8 * b) & 255);
  }
  return bytes;
}

// How far results of two variants may lie apart, as a part of the largest magnitude: far above rounding, far below a
// mistake.
double tolerance_of(DType dtype) {
  if (dtype == bf16) return 0.05;
  if (dtype == f16) return 0.01;
  return is_float(dtype) || dtype == c64 ? 0.002 : 0;
}

struct TrialResult {
  TensorType type;
  std::vector<std::byte> bytes;
};

bool agree(const TrialResult& a, const TrialResult& b) {
  const DType dtype = a.type.dtype;
  const size_t count = static_cast<size_t>(a.type.shape.count()) * (dtype == c64 ? 2 : 1);
  double largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const double y = number_at(dtype, b.bytes, i);
    if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
  }
  const double most = tolerance_of(dtype) * largest;
  for (size_t i = 0; i < count; ++i) {
    const double x = number_at(dtype, a.bytes, i), y = number_at(dtype, b.bytes, i);
    if (x != y && !(std::isnan(x) && std::isnan(y)) && !(std::abs(x - y) <= most)) return false;
  }
  return true;
}

// One variant of a candidate on the device.
class Trial {
 public:
  static absl::StatusOr<Trial> create(const Device& device, const Candidate& candidate, const std::string& variant) {
    Recorder recorder;
    recorder.wanted = variant;
    const Target target = device.target();
    const Program program =
        compile(candidate.graph, target, {.simplify = false, .chooser = {Recorder::choose, &recorder}});
    if (!program.error.empty()) return absl::InvalidArgumentError(program.error.view());
    const ProgramView view = view_of(program, target);
    std::vector<std::string> texts;
    for (size_t k = 0; k < view.kernels.specs.size(); ++k) {
      Text text;
      render_kernel(view.kernels, static_cast<int>(k), text);
      texts.emplace_back(text.view());
    }
    const std::vector<std::string_view> views(texts.begin(), texts.end());
    absl::StatusOr<Engine> engine = Engine::create(device, view, views, {.label = absl::StrCat("tuning ", variant)});
    if (!engine.ok()) return engine.status();
    Trial trial;
    trial.engine_ = *std::move(engine);
    for (size_t i = 0; i < view.ports.size(); ++i) {
      const Port& port = view.ports[i];
      const TensorType type = view.tensors[static_cast<size_t>(port.tensor)];
      Status status;
      if (port.role == BufferRole::output) {
        trial.outputs_.push_back({static_cast<int>(i), type});
      } else if (port.role == BufferRole::input) {
        status = trial.engine_.set_input(static_cast<int>(i), made_up(type));
      } else if (port.role == BufferRole::param) {
        status = trial.engine_.weights().set(view.name(port.name), type.dtype, type.shape, made_up(type));
      }
      if (!status.ok()) return status;
    }
    return trial;
  }

  // One run, in seconds: of the device, or of the host where there are no timestamps.
  absl::StatusOr<double> run() {
    if (!engine_.device().adapter().timestamps) {
      const Clock::time_point begin = Clock::now();
      const Status status = engine_.run().wait();
      if (!status.ok()) return status;
      return seconds_since(begin);
    }
    const absl::StatusOr<std::vector<StepProfile>> profile = engine_.profile();
    if (!profile.ok()) return profile.status();
    double seconds = 0;
    for (const StepProfile& step : *profile) seconds += step.seconds;
    return seconds;
  }

  absl::StatusOr<std::vector<TrialResult>> outputs() {
    std::vector<TrialResult> read;
    for (const Place& place : outputs_) {
      TrialResult output = {place.type, {}};
      output.bytes.resize(static_cast<size_t>(place.type.shape.count()) *
                          static_cast<size_t>(bytes_of(place.type.dtype)));
      if (output.bytes.empty()) continue;
      if (Status status = engine_.get_output(place.port, output.bytes); !status.ok()) return status;
      read.push_back(std::move(output));
    }
    return read;
  }

 private:
  struct Place {
    int port = -1;
    TensorType type;
  };
  Engine engine_;
  std::vector<Place> outputs_;
};

class Tuner {
 public:
  Tuner(const Device& device, const TuneOptions& options)
      : device_(device), state_(*device.state()), options_(options), file_(state_.tuning_path, state_.log) {}

  absl::StatusOr<TuneReport> run(const Graph& graph) {
    TuneReport report;
    std::vector<Candidate> candidates = find_candidates(device_, graph);
    if (!options_.again) {
      const TuningData data = file_.load();
      const auto adapter = data.adapters.find(device_.label());
      std::erase_if(candidates, [&](const Candidate& candidate) {
        const bool known = adapter != data.adapters.end() && is_known(adapter->second, candidate);
        report.known += known;
        return known;
      });
    }
    total_ = static_cast<int>(candidates.size());
    for (const Candidate& candidate : candidates) {
      TuneReport::Item item = {candidate.call, candidate.variants.front(), {}};
      const absl::Status status = measure(candidate, item.choice);
      if (absl::IsDeadlineExceeded(status)) {
        report.complete = false;
        break;
      }
      if (!status.ok()) return status;
      keep(item, report);
      ++done_;
    }
    say("", "");
    return report;
  }

 private:
  // Measured before, with the variants that there are now.
  static bool is_known(const AdapterTuning& adapter, const Candidate& candidate) {
    const auto found = adapter.choices.find(candidate.call);
    if (found == adapter.choices.end()) return false;
    const TunedChoice& choice = found->second;
    return choice.microseconds.size() == candidate.variants.size() &&
           std::all_of(candidate.variants.begin(), candidate.variants.end(),
                       [&](const std::string& variant) { return choice.microseconds.count(variant) != 0; });
  }

  void say(std::string_view call, std::string_view variant) const {
    if (options_.progress) options_.progress({done_, total_, call, variant});
  }

  bool time_is_over() const { return seconds_since(begin_) > options_.seconds; }

  // DeadlineExceeded when time is over before the last variant.
  absl::Status measure(const Candidate& candidate, TunedChoice& choice) {
    std::vector<std::string> order = candidate.variants;
    std::rotate(order.begin(), order.end() - 1, order.end());  // the simplest first: the others must agree with it
    std::vector<TrialResult> expected;
    double best = std::numeric_limits<double>::infinity();
    for (const std::string& variant : order) {
      if (time_is_over()) return absl::DeadlineExceededError("no time left");
      say(candidate.call, variant);
      absl::StatusOr<double> seconds = try_variant(candidate, variant, best, expected);
      if (absl::Status lost = state_.loss_status(); !lost.ok()) return lost;
      choice.microseconds[variant] = seconds.ok() ? 1e6 * *seconds : -1;
      if (!seconds.ok()) {
        if (state_.log)
          state_.log(absl::StrCat(candidate.call, ": ", variant, " is not used: ", seconds.status().message()));
        continue;
      }
      if (*seconds < best) best = *seconds, choice.variant = variant;
    }
    const std::string& by_default = candidate.variants.front();
    if (choice.variant.empty()) choice.variant = order.front();  // none works: nothing to choose
    if (choice.variant == by_default || choice.microseconds[by_default] < 0) return absl::OkStatus();
    const absl::Status compared = compare(candidate, by_default, choice.variant, choice.microseconds);
    if (absl::Status lost = state_.loss_status(); !lost.ok()) return lost;
    if (!compared.ok() && state_.log)
      state_.log(absl::StrCat(candidate.call, ": not compared in turns: ", compared.message()));
    if (choice.microseconds[choice.variant] >= 0.97 * choice.microseconds[by_default]) choice.variant = by_default;
    return absl::OkStatus();
  }

  // Both in turns, which a machine that is busy now and idle then cannot upset. Lowers their times.
  absl::Status compare(const Candidate& candidate, const std::string& a, const std::string& b,
                       std::map<std::string, double>& microseconds) {
    absl::StatusOr<Trial> trials[] = {Trial::create(device_, candidate, a), Trial::create(device_, candidate, b)};
    double* const times[] = {&microseconds[a], &microseconds[b]};
    const Clock::time_point begin = Clock::now();
    for (int round = 0; round <= options_.runs && (round < 2 || seconds_since(begin) < 2 * options_.variant_seconds);
         ++round) {
      for (size_t i = 0; i < 2; ++i) {
        if (!trials[i].ok()) return trials[i].status();
        const absl::StatusOr<double> seconds = trials[i]->run();
        if (!seconds.ok()) return seconds.status();
        if (round > 0) *times[i] = std::min(*times[i], 1e6 * *seconds);  // the first warms up
      }
    }
    return absl::OkStatus();
  }

  // The best time of a variant that gives the expected results. `expected` is filled in by the first.
  absl::StatusOr<double> try_variant(const Candidate& candidate, const std::string& variant, double best,
                                     std::vector<TrialResult>& expected) {
    absl::StatusOr<Trial> trial = Trial::create(device_, candidate, variant);
    if (!trial.ok()) return trial.status();
    bool checked = false;
    const auto run = [&]() -> absl::StatusOr<double> {
      const absl::StatusOr<double> seconds = trial->run();
      if (!seconds.ok() || checked) return seconds;
      checked = true;  // after one run: later ones may have changed a state
      absl::StatusOr<std::vector<TrialResult>> outputs = trial->outputs();
      if (!outputs.ok()) return outputs.status();
      if (expected.empty()) expected = *outputs;
      for (size_t i = 0; i < expected.size(); ++i) {
        if (!agree((*outputs)[i], expected[i])) return absl::DataLossError("its result is wrong on this adapter");
      }
      return seconds;
    };
    return best_after_warm_up(run, {.runs = options_.runs, .seconds = options_.variant_seconds, .rival = best});
  }

  void keep(const TuneReport::Item& item, TuneReport& report) {
    report.measured.push_back(item);
    {
      const std::lock_guard lock(state_.tuning_mutex);
      state_.tuned[item.call] = item.choice.variant;
    }
    const Status stored =
        file_.update([&](TuningData& data) { data.adapters[device_.label()].choices[item.call] = item.choice; });
    if (!stored.ok() && report.stored.ok()) report.stored = stored;
  }

  const Device& device_;
  DeviceState& state_;
  const TuneOptions& options_;
  const TuningFile file_;
  const Clock::time_point begin_ = Clock::now();
  int done_ = 0, total_ = 0;
};

}  // namespace
}  // namespace internal

Result<TuneReport> tune(const Device& device, const Graph& graph, const TuneOptions& options) {
  if (!device) return device.status();
  if (!graph.ok()) return invalid_argument(graph.error.view());
  internal::chooser_of(device);  // reads the file first, so that later answers are not overwritten by earlier ones
  absl::StatusOr<TuneReport> report = internal::Tuner(device, options).run(graph);
  if (!report.ok()) return report.status();
  return *std::move(report);
}

}  // namespace rlxgpu
