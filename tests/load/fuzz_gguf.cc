// Reads GGUF files with random damage for as long as one likes, and unpacks what is in them. `./dev fuzz gguf 10` does
// so for ten minutes under sanitizers.
//
//   fuzz_gguf MINUTES [SEED]
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/graph/storage.h"
#include "rlxgpu/load/gguf.h"
#include "rlxgpu/load/gguf_writer.h"

namespace {

using rlxgpu::core::Gguf;
using rlxgpu::core::GgufTensor;
using rlxgpu::core::GgufWriter;

std::string whole_file() {
  GgufWriter out;
  out.set("general.architecture", std::string_view("llama"));
  out.set("general.alignment", uint32_t{32}), out.set("count", uint32_t{7}), out.set("half", 0.5f),
      out.set("yes", true);
  const std::string_view texts[] = {"a", "", "long text"};
  const float scores[] = {1, -2, 3};
  out.set("texts", texts), out.set("scores", scores);
  std::vector<std::vector<std::byte>> data;
  for (const rlxgpu::core::Codec& codec : rlxgpu::core::kCodecs) {
    const int64_t shape[] = {2, codec.elements};
    out.add(codec.name, codec.name, shape);
    data.emplace_back(static_cast<size_t>(2 * codec.bytes), std::byte{17});
  }
  const int64_t five[] = {5};
  out.add("five", "F32", five);
  data.emplace_back(size_t{20});
  const std::string path = "/tmp/rlxgpu_fuzz_gguf." + std::to_string(getpid());
  if (!out.begin(path).ok()) std::exit(1);
  for (const auto& bytes : data) {
    if (!out.write(bytes).ok()) std::exit(1);
  }
  if (!out.end().ok()) std::exit(1);
  std::ifstream in(path, std::ios::binary);
  std::string file{std::istreambuf_iterator<char>(in), {}};
  std::remove(path.c_str());
  return file;
}

// Bytes, sizes and whole pieces change; most damage is where the header is.
std::string damaged(const std::string& whole, std::mt19937_64& random) {
  std::string file = whole;
  constexpr uint64_t kSizes[] = {0, 1, 2, 31, 32, 255, 256, 1ull << 31, 1ull << 32, 1ull << 48, 1ull << 63, ~0ull};
  for (uint64_t edits = 1 + random() % 4; edits > 0 && !file.empty(); --edits) {
    const size_t at = random() % (random() % 4 == 0 ? file.size() : std::min<size_t>(file.size(), 2200));
    switch (random() % 6) {
      case 0:
      case 1:
        file[at] = static_cast<char>(random());
        break;
      case 2: {
        const uint64_t size = kSizes[random() % std::size(kSizes)] + random() % 3 - 1;
        std::memcpy(file.data() + at, &size, std::min<size_t>(random() % 2 == 0 ? 4 : 8, file.size() - at));
        break;
      }
      case 3:
        file.resize(at);
        break;
      case 4:
        file.erase(at, 1 + random() % 40);
        break;
      default:
        file.insert(at, whole.substr(random() % whole.size(), random() % 40));
        break;
    }
  }
  return file;
}

// False: a tensor is outside of the file.
bool read_all(const std::string& file, long long& read) {
  const auto gguf = Gguf::parse(std::as_bytes(std::span(file)));
  if (!gguf.ok()) return true;
  ++read;
  float sum = 0;
  for (const GgufTensor& tensor : gguf->tensors()) {
    const auto* const first = reinterpret_cast<const char*>(tensor.data.data());
    if (tensor.data.empty()) continue;
    if (first < file.data() || first + tensor.data.size() > file.data() + file.size()) return false;
    for (const rlxgpu::core::Codec& codec : rlxgpu::core::kCodecs) {
      if (codec.name != tensor.type) continue;
      for (size_t b = 0; b < tensor.data.size(); b += static_cast<size_t>(codec.bytes)) {
        for (int j = 0; j < codec.elements; ++j) sum += codec.decode(reinterpret_cast<const uint8_t*>(first) + b, j);
      }
    }
  }
  for (const auto& entry : gguf->metadata()) {
    (void)gguf->integer(entry.key), (void)gguf->number(entry.key), (void)gguf->flag(entry.key);
    (void)gguf->integers(entry.key), (void)gguf->numbers(entry.key), (void)gguf->texts(entry.key);
  }
  volatile float kept = sum;  // so that unpacking is not left out
  (void)kept;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const double minutes = argc > 1 ? std::atof(argv[1]) : 5;
  const uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const std::string whole = whole_file();
  std::mt19937_64 random(seed);
  const auto start = std::chrono::steady_clock::now();
  long long files = 0, read = 0;
  while (std::chrono::steady_clock::now() - start < std::chrono::duration<double>(60 * minutes)) {
    for (int i = 0; i < 1000; ++i, ++files) {
      // A copy of its own size, so that a read beyond its end is noticed.
      const std::string damage = damaged(whole, random);
      if (read_all(damage, read)) continue;
      std::printf("file %lld of this seed: a tensor is outside of its file\n", files);
      return 1;
    }
  }
  std::printf("%lld files, %lld of them read, the others refused\n", files, read);
}
