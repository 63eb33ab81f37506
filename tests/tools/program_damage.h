// Programs as JSON with random damage, read and, when they are accepted, loaded on a device.
#ifndef RLXGPU_TESTS_TOOLS_PROGRAM_DAMAGE_H_
#define RLXGPU_TESTS_TOOLS_PROGRAM_DAMAGE_H_

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::testing {

class ProgramDamage {
 public:
  explicit ProgramDamage(uint64_t seed);

  // A program of an example with one to four changes.
  std::string next();

 private:
  using Json = nlohmann::ordered_json;
  size_t below(size_t count) { return count == 0 ? 0 : random_() % count; }
  void change(Json& program);
  Json& any_of(Json& json);
  Json number();

  std::vector<Json> seeds_;
  std::mt19937_64 random_;
};

enum class ProgramReading { refused, loaded, ran };

// Reads it and, when it is accepted, makes an engine, runs it and reads its outputs.
ProgramReading read_program(const std::string& text, const Device& device);

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_TOOLS_PROGRAM_DAMAGE_H_
