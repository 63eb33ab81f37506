// Switches: environment variables for people who look for a fault or a slow step. docs/switches.md has the table.
//
//   RLXGPU_FORCE=matmul/plain RLXGPU_TRACE_NAN=1 ./program
//
// Read once, at the first use. A variable RLXGPU_... that is none of these is said on stderr, once: most likely it is
// misspelt. What switches report goes to stderr as well. Thread-safe.
#ifndef RLXGPU_RUNTIME_SWITCHES_H_
#define RLXGPU_RUNTIME_SWITCHES_H_

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rlxgpu::core {

struct SwitchName {
  std::string_view name, meaning;
};
// Those of the library. The names that only ./dev, tests and tools use are known, too, and not listed here.
inline constexpr SwitchName kSwitches[] = {
    {"RLXGPU_ADAPTER", "part of the name of the adapter to open"},
    {"RLXGPU_CACHE_DIR", "the folder of compiled kernels and of tuning.json"},
    {"RLXGPU_TUNING", "0: choices of the tuner and calibration are not used"},
    {"RLXGPU_RECOGNISE", "0: layers that are written out are run as they are written"},
    {"RLXGPU_FORCE",
     "op/variant,...: use these kernel variants wherever they are accepted; * ends a name; values of parameters go in "
     "braces: op/variant{name=4}"},
    {"RLXGPU_FORBID", "op/variant,...: never use these while another is accepted"},
    {"RLXGPU_LISTING", "1: print the steps of every program that is loaded"},
    {"RLXGPU_DISPATCHES", "1: print what every run dispatches"},
    {"RLXGPU_NO_READ_BACK", "1: outputs are waited for, not copied (they read as zero): for timing only"},
    {"RLXGPU_MAXIMA", "1: print the largest magnitude that every step writes"},
    {"RLXGPU_TRACE_NAN", "1: name the first step of a run that writes a NaN"},
    {"RLXGPU_VERIFY",
     "1: compare every step of every run with its simplest kernel or its reference, and name the first "
     "that differs"},
    {"RLXGPU_TRACE", "file.json: write a Chrome/Perfetto trace with GPU times of every step"},
};

// "matmul/tiled" or "matmul/tiled{rows_each=2}"; a * at the end of either name stands for anything.
struct VariantPattern {
  std::string op, variant;
  std::string parameters = {};  // what is between the braces
  bool matches(std::string_view of_op, std::string_view of_variant) const;
};

struct Switches {
  std::vector<VariantPattern> force, forbid;
  bool tuning = true, recognise = true;
  bool listing = false, dispatches = false, no_read_back = false, maxima = false, trace_nan = false;
  bool verify = false;
  std::string trace;
  std::function<void(std::string_view)> print;  // one line; null: to the log sink, or stderr

  bool changes_variants() const { return !force.empty() || !forbid.empty(); }
  bool reads_steps() const { return maxima || trace_nan; }
  bool runs_by_step() const { return reads_steps() || !trace.empty(); }  // steps are run one by one, or timed
  void say(std::string_view line) const;
};

// From "NAME=value" entries. `warn` gets a sentence for each name or value that means nothing.
Switches parse_switches(std::span<const std::string_view> environment,
                        const std::function<void(std::string_view)>& warn);

// Those of this process.
const Switches& switches();

// Other ones while it exists, for tests and tools. Nothing else may run meanwhile.
class ScopedSwitches {
 public:
  explicit ScopedSwitches(Switches other);
  ~ScopedSwitches();
  ScopedSwitches(const ScopedSwitches&) = delete;
  ScopedSwitches& operator=(const ScopedSwitches&) = delete;

 private:
  Switches before_;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_RUNTIME_SWITCHES_H_
