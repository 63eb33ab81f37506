#include "rlxgpu/tools/kernel_families.h"

#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/fft/fft.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/grouped.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/scan/scan.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/kernels/sort/sort.h"

namespace rlxgpu::core::tools {
namespace {
template <const OpDef& kOp>
void build_reduce(Builder& g) {
  g.output("y", reduce(kOp, g.input("x", f32, {16, 65536}), {1}, {}, std::source_location::current()));
}
const KernelFamily kFamilies[] = {
    {&kMatmul, "f16[1024,1024] x f16[1024,1024]",
     [](Builder& g) { g.output("y", matmul(g.input("a", f16, {1024, 1024}), g.param("b", f16, {1024, 1024}))); }},
    {&kGatedMatmul, "f32[512,512] x 2 f32[512,1024]",
     [](Builder& g) {
       g.output("y", gated_matmul(g.input("x", f32, {512, 512}), g.param("gate", f32, {512, 1024}),
                                  g.param("up", f32, {512, 1024}), Activation::silu));
     }},
    {&kGroupedMatmul, "f32[256,512] x 8 f32[512,512]",
     [](Builder& g) {
       g.output("y", grouped_matmul(g.input("x", f32, {256, 512}), g.param("w", f32, {8, 512, 512}),
                                    g.input("expert", u32, {256})));
     }},
    {&kConv, "f32[1,64,56,56] by f32[64,64,3,3]",
     [](Builder& g) { g.output("y", conv(g.input("x", f32, {1, 64, 56, 56}), g.param("w", f32, {64, 64, 3, 3}))); }},
    {&kAttention, "8 heads of f16[512,64]",
     [](Builder& g) {
       g.output("y", attention(g.input("q", f16, {1, 8, 512, 64}), g.input("k", f16, {1, 8, 512, 64}),
                               g.input("v", f16, {1, 8, 512, 64})));
     }},
    {&kFft, "c64[64,1024]", [](Builder& g) { g.output("y", fft(g.input("x", c64, {64, 1024}))); }},
    {&kSoftmax, "f32[512,1024]", [](Builder& g) { g.output("y", softmax(g.input("x", f32, {512, 1024}))); }},
    {&kLogSoftmax, "f32[512,1024]", [](Builder& g) { g.output("y", log_softmax(g.input("x", f32, {512, 1024}))); }},
    {&kLayerNorm, "f32[512,1024]", [](Builder& g) { g.output("y", layer_norm(g.input("x", f32, {512, 1024}))); }},
    {&kRmsNorm, "f32[512,1024]", [](Builder& g) { g.output("y", rms_norm(g.input("x", f32, {512, 1024}))); }},
    {&kSum, "f32[16,65536]", build_reduce<kSum>},
    {&kMean, "f32[16,65536]", build_reduce<kMean>},
    {&kProd, "f32[16,65536]", build_reduce<kProd>},
    {&kReduceMax, "f32[16,65536]", build_reduce<kReduceMax>},
    {&kReduceMin, "f32[16,65536]", build_reduce<kReduceMin>},
    {&kL1, "f32[16,65536]", build_reduce<kL1>},
    {&kL2, "f32[16,65536]", build_reduce<kL2>},
    {&kSumSquare, "f32[16,65536]", build_reduce<kSumSquare>},
    {&kLogSumExp, "f32[16,65536]", build_reduce<kLogSumExp>},
    {&kArgmax, "f32[16,65536]", [](Builder& g) { g.output("y", argmax(g.input("x", f32, {16, 65536}))); }},
    {&kArgmin, "f32[16,65536]", [](Builder& g) { g.output("y", argmin(g.input("x", f32, {16, 65536}))); }},
    {&kCumsum, "f32[16,65536]", [](Builder& g) { g.output("y", cumsum(g.input("x", f32, {16, 65536}))); }},
    {&kCumprod, "f32[16,65536]", [](Builder& g) { g.output("y", cumprod(g.input("x", f32, {16, 65536}))); }},
    {&kCummax, "f32[16,65536]", [](Builder& g) { g.output("y", cummax(g.input("x", f32, {16, 65536}))); }},
    {&kCummin, "f32[16,65536]", [](Builder& g) { g.output("y", cummin(g.input("x", f32, {16, 65536}))); }},
    {&kArgsort, "f32[16,4096]", [](Builder& g) { g.output("y", argsort(g.input("x", f32, {16, 4096}))); }},
};

}  // namespace

std::span<const KernelFamily> kernel_families() { return kFamilies; }

}  // namespace rlxgpu::core::tools
