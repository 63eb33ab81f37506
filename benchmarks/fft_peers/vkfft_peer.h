// VkFftPeer: complex transforms by VkFFT, on the Vulkan device that the loader gives first.
//
//   VkFftPeer peer;
//   peer.prepare(1024, 256);                  // 256 transforms of 1024 points, in place
//   const double seconds = peer.run();        // submitted and waited for
#ifndef RLXGPU_BENCHMARKS_FFT_PEERS_VKFFT_PEER_H_
#define RLXGPU_BENCHMARKS_FFT_PEERS_VKFFT_PEER_H_

#include <complex>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rlxgpu::core::peers {

class VkFftPeer {
 public:
  VkFftPeer();
  ~VkFftPeer();
  std::string device_name() const;
  // What x becomes; then run() repeats the transform of what is there. Empty when VkFFT refuses.
  std::vector<std::complex<float>> prepare(int64_t n, int64_t rows, const std::vector<std::complex<float>>& x);
  double run();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rlxgpu::core::peers

#endif  // RLXGPU_BENCHMARKS_FFT_PEERS_VKFFT_PEER_H_
