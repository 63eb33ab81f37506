#include "rlxgpu/models/metadata.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace rlxgpu::core {
namespace {

template <typename T>
T as(const GgufValue& value, T otherwise) {
  return std::visit(
      [&](const auto& held) -> T {
        if constexpr (std::is_arithmetic_v<std::decay_t<decltype(held)>>) return static_cast<T>(held);
        return otherwise;
      },
      value);
}

}  // namespace

Metadata::Metadata(const Gguf& file) : file_(file) {
  const GgufEntry* const entry = file.metadata("general.architecture");
  if (entry == nullptr || entry->values.empty()) return;
  if (const auto* const name = std::get_if<std::string_view>(entry->values.data())) architecture_ = *name;
}

const GgufEntry* Metadata::entry(std::string_view key) const {
  const GgufEntry* const own = file_.metadata(absl::StrCat(architecture_, ".", key));
  return own != nullptr ? own : file_.metadata(key);
}

int64_t Metadata::count(std::string_view key) const {
  const GgufEntry* const found = entry(key);
  return found == nullptr ? 0 : static_cast<int64_t>(found->values.size());
}

const GgufValue* Metadata::value(std::string_view key, int layer) const {
  const GgufEntry* const entry = this->entry(key);
  if (entry == nullptr || entry->values.empty()) return nullptr;
  return &entry->values[std::min(static_cast<size_t>(layer), entry->values.size() - 1)];
}

bool Metadata::has(std::string_view key) const { return value(key, 0) != nullptr; }

int64_t Metadata::integer(std::string_view key, int layer, int64_t otherwise) const {
  const GgufValue* const found = value(key, layer);
  return found == nullptr ? otherwise : as<int64_t>(*found, otherwise);
}

double Metadata::number(std::string_view key, double otherwise) const {
  const GgufValue* const found = value(key, 0);
  return found == nullptr ? otherwise : as<double>(*found, otherwise);
}

bool Metadata::flag(std::string_view key, bool otherwise, int layer) const {
  const GgufValue* const found = value(key, layer);
  return found == nullptr ? otherwise : as<int64_t>(*found, otherwise ? 1 : 0) != 0;
}

std::string_view Metadata::text(std::string_view key, std::string_view otherwise) const {
  const GgufValue* const found = value(key, 0);
  const auto* const held = found == nullptr ? nullptr : std::get_if<std::string_view>(found);
  return held == nullptr ? otherwise : *held;
}

}  // namespace rlxgpu::core
