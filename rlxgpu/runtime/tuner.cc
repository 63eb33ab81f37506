#include "rlxgpu/runtime/tuner.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/extract.h"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/reference/comparison.h"
#include "rlxgpu/reference/op_error.h"
#include "rlxgpu/reference/shaker.h"
#include "rlxgpu/reference/storage.h"
#include "rlxgpu/runtime/best_of.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/dry.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/runtime/session.h"
#include "rlxgpu/runtime/trust.h"

namespace rlxgpu::core {
namespace internal {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// Takes the named variant, and writes down what it was asked.
struct Recorder {
  std::string wanted;                                 // "": the first
  std::string call;                                   // the first one asked for
  std::vector<std::string> accepted;                  // of that call, the preferred one first
  std::vector<Suspect> suspects;                      // those of them that need a proof
  const Target* target = nullptr;                     // when not null, for which parameters are written down
  std::map<std::string, Parameters> parameters = {};  // of those variants that have some: their defaults

  static int choose(void* context, const Call& call, std::span<const Variant* const> accepted, ParameterValues& given) {
    Recorder& self = *static_cast<Recorder*>(context);
    if (self.call.empty()) {
      Text line;
      append_call(line, call);
      self.call = line.view();
      for (const Variant* const variant : accepted) {
        self.accepted.emplace_back(variant->name);
        ParameterValues values;
        if (self.target != nullptr && !variant->parameters.list.empty() &&
            complete_parameters(*variant, call, *self.target, values)) {
          self.parameters.emplace(variant->name, Parameters(variant->parameters.list, values));
        }
        if (variant->probe != nullptr) self.suspects.push_back(suspect_of(call, *variant));
      }
    }
    const VariantName wanted(self.wanted);
    for (size_t i = 0; i < accepted.size(); ++i) {
      if (accepted[i]->name != wanted.name) continue;
      Parameters p(accepted[i]->parameters.list);
      Text unknown;
      if (parse_parameters(wanted.name, wanted.parameters, p, unknown)) given = p.values();
      return static_cast<int>(i);
    }
    return -1;
  }
};

// A group of the program with a choice to make.
struct Candidate {
  Graph graph;
  std::string call;
  std::string_view op;
  std::vector<std::string> variants;
  std::map<std::string, Parameters> parameters;  // of variants that have some: their defaults for the call
  reference::OpError error;                      // of its kernel op
};

std::vector<Candidate> find_candidates(const Device& device, const Graph& graph) {
  const Target target = device.target();
  const Graph simple = simplify(graph);
  const Fusion fusion = fuse(simple, target);
  std::vector<Candidate> found;
  std::set<std::string> seen;
  for (size_t n = 0; n < simple.nodes.size(); ++n) {
    if (!fusion.root[n] || fusion.anchor[n] < 0) continue;
    const OpDef& op = *simple.node(fusion.anchor[n]).op;
    if (op.variants.size() < 2 && op.variants[0].parameters.list.empty()) continue;
    Candidate candidate;
    candidate.graph = extract_group(simple, fusion, static_cast<int32_t>(n));
    Recorder recorder;
    recorder.target = &target;
    const Program program =
        compile(candidate.graph, target, {.simplify = false, .chooser = {Recorder::choose, &recorder}});
    for (const Suspect& suspect : recorder.suspects) {
      if (!is_trusted(device, target, suspect)) std::erase(recorder.accepted, suspect.variant);
    }
    const bool has_choice =
        recorder.accepted.size() > 1 || (recorder.accepted.size() == 1 && !recorder.parameters.empty());
    if (!program.error.empty() || !has_choice || !seen.insert(recorder.call).second) continue;
    candidate.call = recorder.call;
    candidate.op = op.name;
    candidate.parameters = recorder.parameters;
    candidate.variants = recorder.accepted;
    candidate.error = reference::kernel_error(call_of(simple, simple.node(fusion.anchor[n])));
    found.push_back(std::move(candidate));
  }
  return found;
}

// Made-up elements: floats in [-1, 1], integers 0 or 1.
reference::Array made_up(const TensorType& type) {
  reference::Array array(type.dtype, type.shape);
  const bool fractions = reference::is_real_or_complex(type.dtype);
  uint32_t random = 12345;
  for (double& value : array.data) {
    random = random * 1664525u + 1013904223u;
    value = fractions ? (random >> 8) * 0x1p-23 - 1.0 : random >> 31;
  }
  reference::round_to_storage(array);
  return array;
}

// Ulps of f32 by which made-up operands are shaken: what stands for rounding inside the kernel, and enough to change
// what is stored.
double shaking_of(double operand_ulps, DType dtype) {
  return std::max(operand_ulps, dtype == f16 ? 0x1p12 : dtype == bf16 ? 0x1p15 : 1.0);
}

// One variant of a candidate on the device.
class Trial {
 public:
  static absl::StatusOr<Trial> create(const Device& device, const Candidate& candidate, const std::string& variant) {
    Recorder recorder;
    recorder.wanted = variant;
    const Target target = device.target();
    const RenderedProgram rendered =
        render(compile(candidate.graph, target, {.simplify = false, .chooser = {Recorder::choose, &recorder}}), target);
    if (!rendered.program.error.empty()) return absl::InvalidArgumentError(rendered.program.error.view());
    if (!VariantName(variant).parameters.empty()) {
      bool taken = false;
      for (const Step& step : rendered.program.steps)
        taken = taken || core::fits(rendered.view().name(step.spec), Choice{candidate.op, variant});
      if (!taken) return absl::FailedPreconditionError("these values are not for this call");
    }
    const ProgramView view = rendered.view();
    absl::StatusOr<Engine> engine =
        Engine::create(device, view, rendered.texts(), {.label = absl::StrCat("tuning ", variant)});
    if (!engine.ok()) return engine.status();
    Trial trial;
    trial.engine_ = *std::move(engine);
    for (size_t i = 0; i < view.ports.size(); ++i) {
      const Port& port = view.ports[i];
      trial.places_.push_back({static_cast<int>(i), port.role, std::string(view.name(port.name)),
                               view.tensors[static_cast<size_t>(port.tensor)]});
    }
    if (Status status = trial.set_inputs(candidate, nullptr); !status.ok()) return status;
    return trial;
  }

  // Made-up ones, or those shaken by rounding.
  Status set_inputs(const Candidate& candidate, reference::Shaker* shaker) {
    for (const Place& place : places_) {
      if (place.role != BufferRole::input && place.role != BufferRole::param) continue;
      reference::Array array = made_up(place.type);
      if (shaker != nullptr) {
        array = shaker->shake(array, shaking_of(candidate.error.operand_ulps, place.type.dtype), 0);
        reference::round_to_storage(array);
      }
      const std::vector<uint32_t> words = reference::pack(array);
      const std::span<const std::byte> bytes = std::as_bytes(std::span(words)).first(elements_bytes(place.type));
      const Status status = place.role == BufferRole::input
                                ? engine_.set_input(place.port, bytes)
                                : engine_.weights().set(place.name, place.type.dtype, place.type.shape, bytes);
      if (!status.ok()) return status;
    }
    return {};
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

  absl::StatusOr<std::vector<reference::Array>> outputs() {
    std::vector<reference::Array> read;
    for (const Place& place : places_) {
      if (place.role != BufferRole::output || place.type.shape.count() == 0) continue;
      std::vector<uint32_t> words(storage_bytes(place.type.dtype, place.type.shape.count()) / 4);
      const auto bytes = std::as_writable_bytes(std::span(words)).first(elements_bytes(place.type));
      if (Status status = engine_.get_output(place.port, bytes); !status.ok()) return status;
      read.push_back(reference::unpack(place.type.dtype, place.type.shape, words));
    }
    return read;
  }

 private:
  struct Place {
    int port = -1;
    BufferRole role = BufferRole::input;
    std::string name;
    TensorType type;
  };
  static size_t elements_bytes(const TensorType& type) {
    return static_cast<size_t>(type.shape.count()) * static_cast<size_t>(bytes_of(type.dtype));
  }
  Engine engine_;
  std::vector<Place> places_;
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
      if (!options_.again) item.choice = begun_before(candidate.call);
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
    if (found == adapter.choices.end() || !found->second.finished) return false;
    const TunedChoice& choice = found->second;
    return std::all_of(candidate.variants.begin(), candidate.variants.end(),
                       [&](const std::string& variant) { return choice.microseconds.count(variant) != 0; });
  }
  // What a tuning that was stopped left of a call.
  TunedChoice begun_before(const std::string& call) const {
    const TuningData data = file_.load();
    const auto adapter = data.adapters.find(device_.label());
    if (adapter == data.adapters.end()) return {};
    const auto found = adapter->second.choices.find(call);
    return found == adapter->second.choices.end() || found->second.finished ? TunedChoice() : found->second;
  }

  void say(std::string_view call, std::string_view variant) const {
    if (options_.progress) options_.progress({done_, total_, call, variant});
  }

  bool time_is_over() const { return seconds_since(begin_) > options_.seconds; }

  // DeadlineExceeded when time is over before the last variant.
  absl::Status measure(const Candidate& candidate, TunedChoice& choice) {
    std::vector<std::string> order = candidate.variants;
    std::rotate(order.begin(), order.end() - 1, order.end());  // the simplest first: the others must agree with it
    Expected expected;
    choice.finished = false;
    for (const std::string& variant : order) {
      if (time_is_over()) return absl::DeadlineExceededError("no time left");
      if (absl::Status lost = measure_one(candidate, variant, choice, expected); !lost.ok()) return lost;
    }
    if (absl::Status lost = search(candidate, choice, expected); !lost.ok()) return lost;
    choice.finished = true;
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

  // What the simplest variant gives, and what it gives when its operands are shaken by rounding, as often as needed.
  struct Expected {
    std::string variant;
    std::vector<reference::Array> exact;
    std::vector<std::vector<reference::Array>> samples;  // by output
  };

  // Measures a variant, or a set of its parameters, unless that is known, and keeps what was found. Fails when the
  // device is lost.
  absl::Status measure_one(const Candidate& candidate, const std::string& variant, TunedChoice& choice,
                           Expected& expected) {
    const bool is_simplest = variant == candidate.variants.back();  // what others are compared with
    const auto known = choice.microseconds.find(variant);
    if (known != choice.microseconds.end() && !is_simplest) return absl::OkStatus();
    say(candidate.call, variant);
    absl::StatusOr<double> seconds = try_variant(candidate, variant, best_of(choice) * 1e-6, expected);
    if (absl::Status lost = state_.loss_status(); !lost.ok()) return lost;
    if (absl::IsFailedPrecondition(seconds.status())) return absl::OkStatus();  // not for this call: as if not named
    choice.microseconds[variant] = seconds.ok() ? 1e6 * *seconds : -1;
    if (!seconds.ok() && state_.log)
      state_.log(absl::StrCat(candidate.call, ": ", variant, " is not used: ", seconds.status().message()));
    if (seconds.ok() && (choice.variant.empty() || 1e6 * *seconds <= best_of(choice))) choice.variant = variant;
    if (!choice.variant.empty()) store(candidate.call, choice).IgnoreError();  // so that nothing is lost: see keep()
    return absl::OkStatus();
  }
  // The least time of a choice, in microseconds.
  static double best_of(const TunedChoice& choice) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& [variant, microseconds] : choice.microseconds) {
      if (microseconds >= 0) best = std::min(best, microseconds);
    }
    return best;
  }

  // Values of parameters, of the best variant that has some and of those at most half as slow again as the best: from
  // its defaults on one parameter after another goes up or down as long as that makes it faster.
  absl::Status search(const Candidate& candidate, TunedChoice& choice, Expected& expected) {
    double bound = std::numeric_limits<double>::infinity();  // the best that has parameters, at least
    for (const auto& [variant, defaults] : candidate.parameters) {
      const auto found = choice.microseconds.find(variant);
      if (found != choice.microseconds.end() && found->second >= 0) bound = std::min(bound, found->second);
    }
    bound = std::max(bound, 1.5 * best_of(choice));
    int points = 0;
    for (const auto& [variant, defaults] : candidate.parameters) {
      const auto found = choice.microseconds.find(variant);
      if (found == choice.microseconds.end() || found->second < 0 || found->second > bound) continue;
      Parameters at = defaults;
      double time = found->second;
      for (bool improved = true; improved;) {
        improved = false;
        for (const Parameter& parameter : defaults.declared()) {
          for (const bool up : {true, false}) {
            while (true) {
              const int32_t value = neighbour(parameter, static_cast<int32_t>(at[parameter.name]), up);
              if (!parameter.contains(value) || points >= options_.points || time_is_over()) break;
              Parameters next = at;
              next.set(parameter.name, value);
              Text name;
              name << variant;
              append_parameters(name, next);
              const std::string text(name.view());
              if (absl::Status lost = measure_one(candidate, text, choice, expected); !lost.ok()) return lost;
              const auto measured = choice.microseconds.find(text);
              points += measured != choice.microseconds.end();
              if (measured == choice.microseconds.end() || measured->second < 0 || measured->second >= 0.98 * time)
                break;
              at = next, time = measured->second, improved = true;
            }
          }
        }
      }
    }
    return absl::OkStatus();
  }
  // The next value to try: of a long range that of twice or half the size.
  static int32_t neighbour(const Parameter& parameter, int32_t value, bool up) {
    if (parameter.step == kPowersOfTwo) return up ? 2 * value : value / 2;
    const bool is_long = (parameter.most - parameter.least) / parameter.step > 16;
    if (!is_long) return up ? value + parameter.step : value - parameter.step;
    return up ? value * 2 : value / 2;
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

  absl::Status add_sample(const Candidate& candidate, Expected& expected) {
    absl::StatusOr<Trial> trial = Trial::create(device_, candidate, expected.variant);
    if (!trial.ok()) return trial.status();
    reference::Shaker shaker(expected.samples.front().size());
    if (Status status = trial->set_inputs(candidate, &shaker); !status.ok()) return status;
    if (const absl::StatusOr<double> run = trial->run(); !run.ok()) return run.status();
    absl::StatusOr<std::vector<reference::Array>> outputs = trial->outputs();
    if (!outputs.ok()) return outputs.status();
    for (size_t i = 0; i < outputs->size(); ++i) expected.samples[i].push_back(std::move((*outputs)[i]));
    return absl::OkStatus();
  }

  // As verification does it (verify.h).
  absl::Status check(const Candidate& candidate, const std::vector<reference::Array>& got, Expected& expected) {
    for (size_t i = 0; i < got.size(); ++i) {
      while (true) {
        const reference::Comparison compared =
            reference::compare(got[i], expected.exact[i], expected.samples[i], candidate.error.result_ulps);
        if (compared.right()) break;
        if (expected.samples[i].size() == reference::kSamples)
          return absl::DataLossError(absl::StrCat("its result is wrong on this adapter: ", compared.text()));
        if (absl::Status status = add_sample(candidate, expected); !status.ok()) return status;
      }
    }
    return absl::OkStatus();
  }

  // The best time of a variant that gives the expected results. `expected` is filled in by the first.
  absl::StatusOr<double> try_variant(const Candidate& candidate, const std::string& variant, double best,
                                     Expected& expected) {
    absl::StatusOr<Trial> trial = Trial::create(device_, candidate, variant);
    if (!trial.ok()) return trial.status();
    bool checked = false;
    const auto run = [&]() -> absl::StatusOr<double> {
      const absl::StatusOr<double> seconds = trial->run();
      if (!seconds.ok() || checked) return seconds;
      checked = true;  // after one run: later ones may have changed a state
      absl::StatusOr<std::vector<reference::Array>> outputs = trial->outputs();
      if (!outputs.ok()) return outputs.status();
      if (expected.variant.empty()) {
        expected = {variant, *outputs, std::vector<std::vector<reference::Array>>(outputs->size())};
      } else if (absl::Status status = check(candidate, *outputs, expected); !status.ok()) {
        return status;
      }
      return seconds;
    };
    return best_after_warm_up(run, {.runs = options_.runs, .seconds = options_.variant_seconds, .rival = best});
  }

  Status store(const std::string& call, const TunedChoice& choice) const {
    return file_.update([&](TuningData& data) { data.adapters[device_.label()].choices[call] = choice; });
  }

  void keep(const TuneReport::Item& item, TuneReport& report) {
    report.measured.push_back(item);
    {
      const std::lock_guard lock(state_.tuning_mutex);
      state_.tuned[item.call] = item.choice.variant;
    }
    const Status stored = store(item.call, item.choice);
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
  if (internal::is_dry(device))
    return absl::FailedPreconditionError(absl::StrCat("tune: ", internal::dry_text(device)));
  internal::chooser_of(device);  // reads the file first, so that later answers are not overwritten by earlier ones
  absl::StatusOr<TuneReport> report = internal::Tuner(device, options).run(graph);
  if (!report.ok()) return report.status();
  return *std::move(report);
}

}  // namespace rlxgpu::core
