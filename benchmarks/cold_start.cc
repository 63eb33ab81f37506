#include "benchmarks/cold_start.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>

#include "rlxgpu/executable.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core {
namespace {

constexpr int kSize = 512;
using Matrix = std::array<float, kSize * kSize>;

struct Product {
  static constexpr void build(Builder& g) {
    g.output("y", matmul(g.input("a", f32, {kSize, kSize}), g.input("b", f32, {kSize, kSize})));
  }
};

int fail(const Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

template <typename Product>
int run_once(const Device& device) {
  Product product(device);
  const auto a = std::make_unique<Matrix>(), b = std::make_unique<Matrix>();
  for (size_t i = 0; i < a->size(); ++i) {
    (*a)[i] = static_cast<float>(i % 251) / 256;
    (*b)[i] = static_cast<float>(i % 241) / 256;
  }
  product.template set<"a">(*a);
  product.template set<"b">(*b);
  product.run();
  const auto y = product.template get<"y">();
  if (!y.ok()) return fail(y.status());
  for (const size_t at : {size_t{0}, size_t{kSize * 300 + 17}, a->size() - 1}) {
    double sum = 0;
    for (size_t k = 0; k < kSize; ++k) {
      sum += static_cast<double>((*a)[at / kSize * kSize + k]) * static_cast<double>((*b)[k * kSize + at % kSize]);
    }
    if (!(std::fabs((*y)[at] - sum) <= 1e-4 * sum)) return std::fprintf(stderr, "element %zu is wrong\n", at), 1;
  }
  return 0;
}

}  // namespace

int cold_start_child(std::string_view how) {
  const Result<Device> device = open_device();
  if (!device.ok()) return fail(device.status());
  return how == "constant" ? run_once<Executable<Product, kPortable>>(*device) : run_once<Executable<Product>>(*device);
}

double cold_start_seconds(const char* how) {
  const auto begin = std::chrono::steady_clock::now();
  const pid_t process = fork();
  if (process == 0) {
    execl("/proc/self/exe", "cold_start", kColdStart, how, nullptr);
    _exit(127);
  }
  int status = 1;
  if (process < 0 || waitpid(process, &status, 0) != process || status != 0) return -1;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace rlxgpu::core
