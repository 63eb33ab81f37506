// HashIndex finds numbers by hash, at compile time too: the numbers are places in somebody's array.
//
//   for (int32_t i = index.first(hash); i >= 0; i = index.next()) if (items[i] == wanted) return i;
//   index.insert(hash, static_cast<int32_t>(items.size()));
#ifndef RLXGPU_BASE_HASH_INDEX_H_
#define RLXGPU_BASE_HASH_INDEX_H_

#include <cstdint>
#include <string_view>

#include "rlxgpu/base/vec.h"

namespace rlxgpu::core {

class Hash {
 public:
  constexpr Hash& operator<<(uint64_t word) {
    value_ = (value_ ^ word) * 0x9E3779B97F4A7C15u;
    value_ ^= value_ >> 32;
    return *this;
  }
  constexpr Hash& operator<<(std::string_view text) {
    uint64_t sum = text.size();
    for (const char c : text) sum = sum * 131 + static_cast<unsigned char>(c);
    return *this << sum;
  }
  constexpr uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

class HashIndex {
 public:
  constexpr void insert(uint64_t hash, int32_t item) {
    if (2 * count_ + 1 > mask_) grow();
    place(hash, item);
    ++count_;
  }
  // The items inserted with this hash, in order of insertion; -1 after the last.
  constexpr int32_t first(uint64_t hash) {
    if (count_ == 0) return -1;
    wanted_ = hash;
    at_ = hash & mask_;
    return found();
  }
  constexpr int32_t next() {
    at_ = (at_ + 1) & mask_;
    return found();
  }

 private:
  struct Entry {
    uint64_t hash = 0;
    int32_t item = -1;
  };
  constexpr int32_t found() {
    const Entry* const entries = entries_.data();
    while (entries[at_].item >= 0 && entries[at_].hash != wanted_) at_ = (at_ + 1) & mask_;
    return entries[at_].item;
  }
  constexpr void place(uint64_t hash, int32_t item) {
    Entry* const entries = entries_.data();
    size_t at = hash & mask_;
    while (entries[at].item >= 0) at = (at + 1) & mask_;
    entries[at] = {hash, item};
  }
  constexpr void grow() {
    Vec<Entry> old = static_cast<Vec<Entry>&&>(entries_);
    entries_ = Vec<Entry>();
    entries_.resize(old.empty() ? 64 : 4 * old.size());
    mask_ = entries_.size() - 1;
    for (const Entry& entry : old) {
      if (entry.item >= 0) place(entry.hash, entry.item);
    }
  }

  Vec<Entry> entries_;
  size_t mask_ = 0, count_ = 0, at_ = 0;
  uint64_t wanted_ = 0;
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_BASE_HASH_INDEX_H_
