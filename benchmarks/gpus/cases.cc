#include "benchmarks/gpus/cases.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/fft/fft.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/scan/scan.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/kernels/sort/sort.h"
#include "rlxgpu/kernels/state_space/state_space.h"
#include "rlxgpu/tools/examples.h"

namespace rlxgpu::core::gpus {
namespace {

struct Product {
  DType dtype;
  int64_t m, n, k;
  bool b_transposed = false, gelu = false, free = false;
};
constexpr Product kProducts[] = {
    {f32, 1024, 1024, 1024},
    {f32, 1024, 1024, 1024, true},
    {f32, 1024, 1024, 1024, false, true},
    {f32, 1024, 1024, 1024, false, false, true},
    {f32, 1001, 1001, 1001},
    {f32, 128, 4096, 4096},
    {f32, 1, 4096, 4096},
    {f32, 1, 4096, 4096, true},
    {f32, 4, 4096, 4096},
    {f32, 4, 4096, 4096, true},
    {f32, 1, 4096, 4096, false, false, true},
    {f16, 1024, 1024, 1024},
    {f16, 1024, 1024, 1024, true},
    {f16, 1, 4096, 4096},
    {f16, 1, 4096, 4096, true},
    {i8, 1024, 1024, 1024},
    {i8, 1024, 1024, 1024, true},
};

Case case_of(const Product& p) {
  Case c;
  c.name = absl::StrCat(name_of(p.dtype), " ", p.m, "x", p.n, "x", p.k, p.b_transposed ? " b'" : "",
                        p.gelu ? " gelu" : "", p.free ? " free" : "");
  c.free = p.free;
  c.build = [p](Builder& g) {
    const Tensor a = g.input("a", p.dtype, {p.m, p.k});
    const Tensor b = p.b_transposed ? transpose(g.input("b", p.dtype, {p.n, p.k})) : g.input("b", p.dtype, {p.k, p.n});
    Tensor y = matmul(a, b);
    if (p.gelu) y = gelu(y + g.param("bias", p.dtype, {p.n}));
    g.output("y", y);
  };
  return c;
}

Tensor attend(Builder& g, DType dtype, int64_t queries, int64_t keys) {
  const Tensor k = g.input("k", dtype, {1, 8, keys, 128}), v = g.input("v", dtype, {1, 8, keys, 128});
  return attention(g.input("q", dtype, {1, 32, queries, 128}), k, v);
}
Tensor rows(Builder& g, DType dtype, int64_t width) { return g.input("x", dtype, {1024, width}); }
Tensor weight(Builder& g, const char* name, const Shape& shape) { return g.param(name, f32, shape); }

const std::pair<const char*, void (*)(Builder&)> kOps[] = {
    {"attention prefill f32", [](Builder& g) { g.output("y", attend(g, f32, 1024, 1024)); }},
    {"attention prefill f16", [](Builder& g) { g.output("y", attend(g, f16, 1024, 1024)); }},
    {"attention decode f32", [](Builder& g) { g.output("y", attend(g, f32, 1, 4096)); }},
    {"attention decode f16", [](Builder& g) { g.output("y", attend(g, f16, 1, 4096)); }},
    {"layer_norm 1024",
     [](Builder& g) { g.output("y", layer_norm(rows(g, f32, 1024), weight(g, "w", {1024}), weight(g, "b", {1024}))); }},
    {"rms_norm 4096", [](Builder& g) { g.output("y", rms_norm(rows(g, f32, 4096), weight(g, "w", {4096}))); }},
    {"softmax 1024", [](Builder& g) { g.output("y", softmax(rows(g, f32, 1024))); }},
    {"sum 4096", [](Builder& g) { g.output("y", sum(rows(g, f32, 4096), -1)); }},
    {"cumsum 4096", [](Builder& g) { g.output("y", cumsum(rows(g, f32, 4096), -1)); }},
    {"sort 4096", [](Builder& g) { g.output("y", sort(rows(g, f32, 4096))); }},
    {"sin", [](Builder& g) { g.output("y", sin(rows(g, f32, 1024))); }},
    {"gelu f16", [](Builder& g) { g.output("y", gelu(rows(g, f16, 1024))); }},
    {"normed_linear 1x4096x4096",
     [](Builder& g) { g.output("y", normed_linear(g.input("x", f32, {1, 4096}), weight(g, "w", {4096, 4096})).y); }},
    {"normed_linear 1x512x1408 gated",
     [](Builder& g) {
       const Tensor w = weight(g, "w", {512, 1408}), u = weight(g, "u", {512, 1408});
       g.output("y", normed_linear(g.input("x", f32, {1, 512}), w, {.up = u, .activation = Activation::silu}).y);
     }},
    {"normed_linear 64x768x3072",
     [](Builder& g) { g.output("y", normed_linear(g.input("x", f32, {64, 768}), weight(g, "w", {768, 3072})).y); }},
    {"gated_matmul 512x1408x512",
     [](Builder& g) {
       const Tensor w = weight(g, "w", {512, 1408}), u = weight(g, "u", {512, 1408});
       g.output("y", gated_matmul(g.input("x", f32, {512, 512}), w, u, Activation::silu));
     }},
    {"conv 3x3, 64 to 64, 56x56",
     [](Builder& g) {
       g.output("y", relu(conv(g.input("x", f32, {1, 64, 56, 56}), weight(g, "w", {64, 64, 3, 3}), weight(g, "b", {64}),
                               {.before = {1, 1}, .after = {1, 1}})));
     }},
    {"conv depthwise 3x3, 32, 112x112",
     [](Builder& g) {
       g.output("y", conv(g.input("x", f32, {1, 32, 112, 112}), weight(g, "w", {32, 1, 3, 3}),
                          {.before = {1, 1}, .after = {1, 1}, .groups = 32}));
     }},
    {"fft 1024", [](Builder& g) { g.output("y", fft(g.input("x", c64, {64, 1024}))); }},
    {"fft 1009", [](Builder& g) { g.output("y", fft(g.input("x", c64, {64, 1009}))); }},
    {"selective_scan 1024x1536x16",
     [](Builder& g) {
       const Tensor x = g.input("x", f32, {1, 1024, 1536}), b = g.input("b", f32, {1, 1024, 16});
       g.output("y", selective_scan(x, softplus(g.input("d", f32, {1, 1024, 1536})), weight(g, "a", {1536, 16}), b, b));
     }},
    {"gated_delta_net 1024x32x128x128",
     [](Builder& g) {
       const Tensor v = g.input("v", f32, {1, 1024, 32, 128}), k = g.input("k", f32, {1, 1024, 16, 128});
       const Tensor d = g.input("d", f32, {1, 1024, 32});
       g.output("y", gated_delta_net(k, k, v, d, d));
     }},
};

}  // namespace

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Product& product : kProducts) all.push_back(case_of(product));
  for (const auto& [name, build] : kOps) all.push_back({name, build});
  for (const tools::Example& example : tools::examples())
    all.push_back({absl::StrCat("program ", example.name), example.build});
  return all;
}

}  // namespace rlxgpu::core::gpus
