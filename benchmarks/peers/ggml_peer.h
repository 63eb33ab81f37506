// GgmlPeer: products by one of ggml's backends, in a process of its own, since ggml reads its switches when it starts.
//
//   GgmlPeer peer({.backend = "Vulkan", .matrix_units = false});
//   std::optional<Timing> timing = peer.measure({.m = 512, .k = 512, .n = 512}, 3);   // the best of three
//
// The program's main() hands over with `if (argc > 1 && argv[1] == kServe) return serve_ggml(argv[2]);`.
#ifndef BENCHMARKS_PEERS_GGML_PEER_H_
#define BENCHMARKS_PEERS_GGML_PEER_H_

#include <sys/types.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace rlxgpu::core::peers {

struct Product {
  bool half = false;  // the matrix b is stored in f16
  int64_t m = 1, k = 1, n = 1;
  int packed = -1;  // or in blocks of this ggml type
};

// Of one product. On adapters that run on the CPU, `cpu` does not count what others do there meanwhile.
struct Timing {
  double wall = 0, cpu = 0;  // seconds; cpu: of all threads of the process
  void best_with(const Timing& other) {
    if (wall == 0 || other.wall < wall) wall = other.wall;
    if (cpu == 0 || other.cpu < cpu) cpu = other.cpu;
  }
};

class Stopwatch {
 public:
  Stopwatch();
  Timing timing() const;

 private:
  Timing start_;
};

struct GgmlOptions {
  std::string backend = "Vulkan";  // or "CPU"
  bool matrix_units = true;
};

class GgmlPeer {
 public:
  explicit GgmlPeer(const GgmlOptions& options);
  ~GgmlPeer();
  GgmlPeer(const GgmlPeer&) = delete;
  GgmlPeer& operator=(const GgmlPeer&) = delete;

  // The best of `runs`; nothing when ggml is not there or cannot compute it.
  std::optional<Timing> measure(const Product& product, int runs);

 private:
  pid_t process_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

inline constexpr std::string_view kServe = "--serve-ggml";
int serve_ggml(const std::string& backend);

}  // namespace rlxgpu::core::peers

#endif  // BENCHMARKS_PEERS_GGML_PEER_H_
