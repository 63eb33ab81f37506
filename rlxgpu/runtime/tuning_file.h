// TuningFile: what was measured on this machine's adapters, kept from process to process.
//
//   TuningFile file(tuning_path());
//   TuningData data = file.load();                                              // a missing file has nothing
//   Status status = file.update([&](TuningData& data) { data.adapters[label].choices[call] = best; });
//
// JSON that a person can read and delete at any time. Writers take turns (a lock that dies with its process), change
// what is there and replace the file by renaming: a reader sees the old file or the new one, never a part, even when a
// writer is killed. A damaged file, or one of another version, is ignored with a warning, and set aside as
// tuning.json.old by the next update.
#ifndef RLXGPU_RUNTIME_TUNING_FILE_H_
#define RLXGPU_RUNTIME_TUNING_FILE_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "rlxgpu/runtime/calibration.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

struct TunedChoice {
  std::string variant;                         // the best, with values of its parameters in braces, perhaps
  std::map<std::string, double> microseconds;  // of all that was measured, named so; of what gave wrong results -1
  bool finished = true;                        // false: the tuner was stopped, and goes on from here
};

struct AdapterTuning {
  Calibration calibration;
  std::map<std::string, TunedChoice> choices;  // by call: see append_call in compile/choice.h
};

struct TuningData {
  std::map<std::string, AdapterTuning> adapters;  // by AdapterInfo::label(): name, backend and driver
};

inline constexpr int kTuningVersion = 1;

class TuningFile {
 public:
  using Warn = std::function<void(std::string_view)>;

  // No path: load() has nothing, update() does nothing.
  explicit TuningFile(std::string path, Warn warn = {});

  TuningData load() const;
  // Unavailable when the folder cannot be written to.
  Status update(const std::function<void(TuningData&)>& change) const;
  const std::string& path() const { return path_; }

 private:
  enum class Found { missing, good, bad };
  Found read(TuningData& data) const;

  std::string path_;
  Warn warn_;
};

// The file of this user: tuning.json in DeviceOptions::cache_dir, $RLXGPU_CACHE_DIR, or the user's cache folder.
std::string tuning_path(std::string_view cache_dir = {});

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::tuning_path;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_TUNING_FILE_H_
