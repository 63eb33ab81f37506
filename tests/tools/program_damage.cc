#include "tests/tools/program_damage.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "rlxgpu/compile/listing.h"
#include "rlxgpu/runtime/engine.h"
#include "rlxgpu/tools/examples.h"
#include "rlxgpu/tools/program_json.h"

namespace rlxgpu::core::testing {
namespace {

constexpr size_t kLargestSeed = 200000;              // bytes of JSON: larger ones only take longer
constexpr uint64_t kMostMemory = uint64_t{1} << 24;  // of a program that is loaded

}  // namespace

ProgramDamage::ProgramDamage(uint64_t seed) : random_(seed) {
  for (const tools::Example& example : tools::examples()) {
    const auto program = tools::render(example);
    if (!program.ok()) continue;
    Json json = tools::to_json(program->view(), program->texts());
    if (json.dump().size() < kLargestSeed) seeds_.push_back(std::move(json));
  }
}

ProgramDamage::Json ProgramDamage::number() {
  const int64_t values[] = {0,
                            1,
                            -1,
                            2,
                            3,
                            4,
                            7,
                            8,
                            15,
                            16,
                            17,
                            255,
                            256,
                            4096,
                            65535,
                            65536,
                            -16,
                            1 << 20,
                            INT32_MAX,
                            INT32_MIN,
                            int64_t{1} << 32,
                            int64_t{1} << 40,
                            INT64_MAX,
                            INT64_MIN};
  return values[below(std::size(values))];
}

// A value somewhere below, more often a deep one.
ProgramDamage::Json& ProgramDamage::any_of(Json& json) {
  Json* at = &json;
  while (at->is_structured() && !at->empty() && below(12) > 0) {
    auto child = at->begin();
    std::advance(child, static_cast<ptrdiff_t>(below(at->size())));
    at = &*child;
  }
  return *at;
}

void ProgramDamage::change(Json& program) {
  constexpr const char* kLists[] = {"target",  "buffers", "tensors", "ports",
                                    "scalars", "kernels", "steps",   "constants"};
  Json& list = program[kLists[below(std::size(kLists))]];
  Json& value = any_of(list);
  switch (below(8)) {
    case 0:  // another value of the same program
      value = Json(any_of(program[kLists[below(std::size(kLists))]]));
      break;
    case 1:
      if (value.is_array() && !value.empty()) value.erase(below(value.size()));
      break;
    case 2:
      if (value.is_array() && !value.empty()) value.push_back(Json(value[below(value.size())]));
      break;
    case 3:
      if (value.is_array() && value.size() > 1) std::swap(value[below(value.size())], value[below(value.size())]);
      break;
    case 4:
      if (value.is_boolean()) value = !value.get<bool>();
      break;
    case 5:
      if (value.is_number_integer()) value = value.get<int64_t>() % 4096 + static_cast<int64_t>(below(5)) - 2;
      break;
    default:
      if (value.is_number() || below(4) == 0) value = number();
      break;
  }
}

std::string ProgramDamage::next() {
  Json program = seeds_[below(seeds_.size())];
  for (size_t changes = 1 + below(4); changes > 0; --changes) change(program);
  return program.dump();
}

ProgramReading read_program(const std::string& text, const Device& device) {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
  if (json.is_discarded()) return ProgramReading::refused;
  const auto read = tools::program_from_json(json);
  if (!read.ok()) return ProgramReading::refused;
  const ProgramView view = read->view();
  (void)listing(view);
  (void)tools::to_json(view, read->texts());
  uint64_t bytes = 0;
  for (const BufferDecl& buffer : view.buffers) bytes += buffer.bytes;
  if (bytes > kMostMemory) return ProgramReading::loaded;
  Result<Engine> engine = Engine::create(device, view, read->texts(), {.zero_inputs = true});
  if (!engine.ok()) return ProgramReading::refused;
  for (size_t i = 0; i < view.ports.size(); ++i) {
    const TensorDecl& tensor = view.tensors[static_cast<size_t>(view.ports[i].tensor)];
    if (view.ports[i].role != BufferRole::param) continue;
    const std::vector<std::byte> zeros(tensor.bytes);
    (void)engine->weights().set(view.name(view.ports[i].name), tensor.dtype, tensor.shape, zeros);
  }
  if (!engine->run().wait().ok()) return ProgramReading::loaded;
  for (size_t i = 0; i < view.ports.size(); ++i) {
    std::vector<std::byte> out(view.tensors[static_cast<size_t>(view.ports[i].tensor)].bytes);
    (void)engine->get_output(static_cast<int>(i), out);
  }
  return ProgramReading::ran;
}

}  // namespace rlxgpu::core::testing
