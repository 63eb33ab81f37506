#include "rlxgpu/runtime/tuning_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "rlxgpu/runtime/blob_cache.h"
#include "rlxgpu/runtime/platform.h"

namespace rlxgpu::core {
namespace internal {
namespace {

using Json = nlohmann::ordered_json;

double rounded(double value) { return std::round(1000 * value) / 1000; }  // a person reads it

Json json_of(const TuningData& data) {
  Json adapters = Json::object();
  for (const auto& [label, adapter] : data.adapters) {
    Json& made = adapters[label] = Json::object();
    if (adapter.calibration.known()) {
      Json& calibration = made["calibration"] = Json::object();
      calibration["date"] = adapter.calibration.date;
      for (const CalibrationField& field : kCalibrationFields) {
        calibration[std::string(field.name)] = rounded(adapter.calibration.*field.value);
      }
    }
    Json& choices = made["choices"] = Json::object();
    for (const auto& [call, choice] : adapter.choices) {
      Json& stored = choices[call] = {{"variant", choice.variant}, {"microseconds", Json::object()}};
      if (!choice.finished) stored["finished"] = false;
      for (const auto& [variant, microseconds] : choice.microseconds)
        stored["microseconds"][variant] = rounded(microseconds);
    }
  }
  return {{"rlxgpu_tuning", kTuningVersion}, {"adapters", std::move(adapters)}};
}

// A member of an object, or null.
const Json& member(const Json& json, std::string_view name) {
  static const Json* const none = new Json;
  const auto found = json.is_object() ? json.find(name) : json.end();
  return found == json.end() ? *none : *found;
}

// False when something is not as json_of() writes it.
bool read_choice(const Json& json, TunedChoice& choice) {
  const Json &variant = member(json, "variant"), &microseconds = member(json, "microseconds");
  if (!variant.is_string() || !microseconds.is_object()) return false;
  choice.variant = variant.get<std::string>();
  if (const Json& finished = member(json, "finished"); finished.is_boolean()) choice.finished = finished.get<bool>();
  for (const auto& [name, value] : microseconds.items()) {
    if (!value.is_number()) return false;
    choice.microseconds[name] = value.get<double>();
  }
  return true;
}

bool read_adapter(const Json& json, AdapterTuning& adapter) {
  const Json &calibration = member(json, "calibration"), &choices = member(json, "choices");
  if (!(calibration.is_null() || calibration.is_object()) || !choices.is_object()) return false;
  if (const Json& date = member(calibration, "date"); date.is_string())
    adapter.calibration.date = date.get<std::string>();
  for (const CalibrationField& field : kCalibrationFields) {
    const Json& value = member(calibration, field.name);
    if (!(value.is_null() || value.is_number())) return false;
    adapter.calibration.*field.value = value.is_number() ? value.get<double>() : 0.0;
  }
  for (const auto& [call, choice] : choices.items()) {
    if (!read_choice(choice, adapter.choices[call])) return false;
  }
  return true;
}

// "" or what is wrong.
std::string read_data(const Json& json, TuningData& data) {
  if (json.is_discarded()) return "it is no JSON";
  const Json &version = member(json, "rlxgpu_tuning"), &adapters = member(json, "adapters");
  if (!version.is_number_integer()) return "it says no version";
  if (version.get<int64_t>() != kTuningVersion)
    return absl::StrCat("it is of version ", version.get<int64_t>(), ", not ", kTuningVersion);
  if (!adapters.is_object()) return "it has no adapters";
  for (const auto& [label, stored] : adapters.items()) {
    if (!read_adapter(stored, data.adapters[label])) return absl::StrCat("the entry of ", label, " is damaged");
  }
  return "";
}

// The whole text, on disk when this returns true.
bool write_whole(const std::string& path, std::string_view text) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool ok = std::fwrite(text.data(), 1, text.size(), file) == text.size() && flush_to_disk(file);
  return std::fclose(file) == 0 && ok;
}

absl::Status cannot_write(const std::string& path) {
  return absl::UnavailableError(absl::StrCat(path, " cannot be written: ", std::strerror(errno)));
}

}  // namespace
}  // namespace internal

TuningFile::TuningFile(std::string path, Warn warn) : path_(std::move(path)), warn_(std::move(warn)) {}

TuningFile::Found TuningFile::read(TuningData& data) const {
  std::ifstream file;
  if (!path_.empty()) file.open(path_, std::ios::binary);
  if (!file.is_open()) return Found::missing;
  std::ostringstream text;
  text << file.rdbuf();
  TuningData found;
  const std::string reason = internal::read_data(internal::Json::parse(text.str(), nullptr, false), found);
  if (reason.empty()) {
    data = std::move(found);
    return Found::good;
  }
  if (warn_) warn_(absl::StrCat(path_, " is ignored: ", reason));
  return Found::bad;
}

TuningData TuningFile::load() const {
  TuningData data;
  read(data);
  return data;
}

Status TuningFile::update(const std::function<void(TuningData&)>& change) const {
  if (path_.empty()) return {};
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  const internal::FileLock lock(path_ + ".lock");
  if (!lock.ok()) return internal::cannot_write(path_);
  TuningData data;
  if (read(data) == Found::bad) std::rename(path_.c_str(), (path_ + ".old").c_str());
  change(data);
  // One name for all writers: they hold the lock, and what a killed one left is written over.
  const std::string aside = path_ + ".new";
  // Driver names may hold any bytes.
  const std::string text = internal::json_of(data).dump(1, ' ', false, internal::Json::error_handler_t::replace) + "\n";
  if (!internal::write_whole(aside, text) || std::rename(aside.c_str(), path_.c_str()) != 0) {
    const absl::Status status = internal::cannot_write(path_);
    std::filesystem::remove(aside, ignored);
    return status;
  }
  return {};
}

std::string tuning_path(std::string_view cache_dir) {
  const std::string dir = default_cache_dir(cache_dir);
  return dir.empty() ? dir : dir + "/tuning.json";
}

std::vector<size_t> ranked_by_calibration(const std::vector<const Calibration*>& adapters) {
  constexpr Work kTypical = {.flops = 2e9, .bytes = 64e6, .launches = 50, .read_backs = 1};  // a layer of a model
  std::vector<size_t> order, places;
  for (size_t i = 0; i < adapters.size(); ++i) {
    order.push_back(i);
    if (adapters[i] != nullptr && adapters[i]->known()) places.push_back(i);
  }
  std::vector<size_t> best_first = places;
  std::stable_sort(best_first.begin(), best_first.end(), [&](size_t a, size_t b) {
    return estimated_seconds(*adapters[a], kTypical) < estimated_seconds(*adapters[b], kTypical);
  });
  for (size_t i = 0; i < places.size(); ++i) order[places[i]] = best_first[i];
  return order;
}

std::map<std::string, Calibration> load_calibrations(std::string_view cache_dir) {
  std::map<std::string, Calibration> calibrations;
  for (const auto& [label, adapter] : TuningFile(tuning_path(cache_dir)).load().adapters) {
    if (adapter.calibration.known()) calibrations[label] = adapter.calibration;
  }
  return calibrations;
}

}  // namespace rlxgpu::core
