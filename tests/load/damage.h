// Damaged safetensors files, and what must hold for each: an error, or tensors within the file's bytes.
//
//   Damage damage(seed);
//   const std::string file = damage.next();
//   if (read_anything(file) == Reading::outside) ...
#ifndef RLXGPU_TESTS_LOAD_DAMAGE_H_
#define RLXGPU_TESTS_LOAD_DAMAGE_H_

#include <cstdint>
#include <cstring>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "rlxgpu/load/safetensors.h"

namespace rlxgpu::core::testing {

inline std::string with_length(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof(length));
  return file.append(header).append(data);
}
inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

class Damage {
 public:
  explicit Damage(uint64_t seed) : random_(seed) {}

  const std::string& whole() const { return whole_; }
  std::string next() {
    constexpr std::string_view kPieces[] = {"{",       "}",    "[",     "]",   "\"",   ":",     ",",
                                            "0",       "9",    "-1",    "1e9", "null", "\"a\"", "18446744073709551616",
                                            "\\u0000", "\xff", "shape", "F64"};
    std::string file = whole_;
    for (uint64_t edits = 1 + random_() % 3; edits > 0; --edits) {
      const size_t at = random_() % file.size();
      const std::string_view piece = kPieces[random_() % std::size(kPieces)];
      switch (random_() % 5) {
        case 0:
          file[at] = static_cast<char>(random_());
          break;
        case 1:
          file.resize(at + 1);
          break;
        case 2:
          file.insert(at, piece);
          break;
        case 3:
          file.replace(at, piece.size(), piece);
          break;
        default:
          file.erase(at, 1 + random_() % 8);
          break;
      }
      if (file.empty()) file = "x";
    }
    // Half of the time the length fits the new header, so that damage reaches the parts behind it.
    if (random_() % 2 == 0 && file.size() > 28) {
      const uint64_t length = file.size() - 28;
      std::memcpy(file.data(), &length, sizeof(length));
    }
    return file;
  }

 private:
  std::mt19937_64 random_;
  const std::string whole_ = with_length(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F16","shape":[2,3],"data_offsets":[0,12]},"b":{"dtype":"I64","shape":[],"data_offsets":[12,20]}})",
      std::string(20, 'd'));
};

enum class Reading { refused, read, outside };

// Reads the file and turns every tensor into floats.
inline Reading read_anything(const std::string& file) {
  const Result<Safetensors> read = Safetensors::parse(bytes_of(file));
  if (!read.ok()) return Reading::refused;
  for (const StoredTensor& tensor : read->tensors()) {
    const auto first = reinterpret_cast<const char*>(tensor.data.data());
    if (tensor.data.empty()) continue;
    if (first < file.data() || first + tensor.data.size() > file.data() + file.size()) return Reading::outside;
    (void)elements_of(tensor, f32);
  }
  return Reading::read;
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_LOAD_DAMAGE_H_
