// Random: numbers from a seed, the same on every machine and with every standard library.
//
//   Random random(42);
//   random.below(6)   random.chance(0.3)   random.real(-1, 1)   random.pick({2, 3, 5})
#ifndef RLXGPU_TESTS_FUZZ_RANDOM_H_
#define RLXGPU_TESTS_FUZZ_RANDOM_H_

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>

namespace rlxgpu::core::fuzz {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) { next(); }

  uint64_t next() {  // splitmix64
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }  // both included
  double real(double low, double high) { return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return real(0, 1) < probability; }

  template <typename T>
  T pick(std::initializer_list<T> items) {
    return items.begin()[below(static_cast<int64_t>(items.size()))];
  }
  template <typename Container>
  const auto& pick(const Container& items) {
    return std::data(items)[below(static_cast<int64_t>(std::size(items)))];
  }

 private:
  uint64_t state_;
};

// A seed of its own for everything that has a name.
inline uint64_t seed_for(uint64_t seed, std::string_view name) {
  uint64_t hash = 1469598103934665603u ^ seed;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_RANDOM_H_
