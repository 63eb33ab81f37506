// isa: specialisations of matmul, fft and what transformers are made of, compiled for a GPU that need not be there, and
// what their inner loops are made of.
//
//   ./dev isa [FILTER] [--listing]      # rows whose name contains FILTER; --listing prints their instructions, too
//
// The compiler is the first Vulkan driver's: ./dev isa gives it RADV for navi31. Nothing runs.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/isa/gpu_compiler.h"
#include "benchmarks/isa/listing.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/fft/fft.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"
#include "rlxgpu/kernels/sample/draw.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/kernels/state_space/state_space.h"
#include "rlxgpu/tools/process.h"
#include "rlxgpu/tools/tint.h"
#include "rlxgpu/wgsl/render.h"

namespace rlxgpu::core::isa {
namespace {

// What Dawn would report for it, as far as kernels care.
constexpr Target kNavi31 = [] {
  Target target;
  target.adapter_class = AdapterClass::discrete;
  target.shader_f16 = target.subgroups = target.subgroup_size_control = true;
  target.subgroup_min = 32, target.subgroup_max = 64;
  target.matrix[target.matrix_count++] = {f16, f32, 16, 16, 16};
  target.matrix[target.matrix_count++] = {i8, i32, 16, 16, 16};
  target.matrix[target.matrix_count++] = {u8, u32, 16, 16, 16};
  return target;
}();

struct Case {
  const char* name;
  DType dtype;
  int64_t batch, m, n, k;
  bool b_transposed = false, a_transposed = false, epilogue = false;
};
constexpr Case kCases[] = {
    {"1024", f32, 1, 1024, 1024, 1024},
    {"1024 b'", f32, 1, 1024, 1024, 1024, true},
    {"1024 a'", f32, 1, 1024, 1024, 1024, false, true},
    {"1024 gelu(x+bias)", f32, 1, 1024, 1024, 1024, false, false, true},
    {"1001 (ragged)", f32, 1, 1001, 1001, 1001},
    {"256", f32, 1, 256, 256, 256},
    {"1024", f16, 1, 1024, 1024, 1024},
    {"1024 b'", f16, 1, 1024, 1024, 1024, true},
    {"1024 a'", f16, 1, 1024, 1024, 1024, false, true},
    {"1001 (ragged)", f16, 1, 1001, 1001, 1001},
    {"1024", bf16, 1, 1024, 1024, 1024},
    {"1024", i8, 1, 1024, 1024, 1024},
    {"1x4096x4096", f32, 1, 1, 4096, 4096},
    {"1x4096x4096 b'", f16, 1, 1, 4096, 4096, true},
    {"64x64x8192", f32, 1, 64, 64, 8192},
    {"12 of 128x128x64", f32, 12, 128, 128, 64},
};

// Points of transforms: one radix each, then several; 1009 is two kernels.
constexpr int64_t kTransforms[] = {2, 3, 4, 5, 7, 8, 11, 13, 16, 256, 1000, 1024, 2048, 1009, 65536};

void build(Builder& g, const Case& c) {
  const auto matrix = [&](const char* name, int64_t rows, int64_t cols, bool transposed) {
    Shape shape;
    if (c.batch > 1) shape.push_back(Dim{c.batch});
    shape.push_back(Dim{transposed ? cols : rows});
    shape.push_back(Dim{transposed ? rows : cols});
    const Tensor x = g.input(name, c.dtype, shape);
    return transposed ? transpose(x) : x;
  };
  Tensor y = matmul(matrix("a", c.m, c.k, c.a_transposed), matrix("b", c.k, c.n, c.b_transposed));
  if (c.epilogue) y = gelu(y + g.param("bias", c.dtype, {c.n}));
  g.output("y", y);
}

// What transformers are made of.
struct OpCase {
  const char* name;
  const OpDef* op;
  void (*build)(Builder& g);
};

Tensor attend(Builder& g, DType dtype, int64_t heads, int64_t kv_heads, int64_t queries, int64_t keys, int64_t size,
              AttentionOptions options = {}) {
  const Tensor k = g.input("k", dtype, {1, kv_heads, keys, size}), v = g.input("v", dtype, {1, kv_heads, keys, size});
  return attention(g.input("q", dtype, {1, heads, queries, size}), k, v, options);
}
Tensor rows(Builder& g, DType dtype, int64_t width) { return g.input("x", dtype, {1024, width}); }
Tensor weight(Builder& g, const char* name, const Shape& shape) { return g.param(name, f32, shape); }

const OpCase kOpCases[] = {
    {"attention 4x512x64", &kAttention, [](Builder& g) { g.output("y", attend(g, f32, 4, 4, 512, 512, 64)); }},
    {"attention 4x512x64 f16", &kAttention, [](Builder& g) { g.output("y", attend(g, f16, 4, 4, 512, 512, 64)); }},
    {"attention 32/8x1024x128 causal", &kAttention,
     [](Builder& g) { g.output("y", attend(g, f32, 32, 8, 1024, 1024, 128, {.causal = true})); }},
    {"attention 2x128x256", &kAttention, [](Builder& g) { g.output("y", attend(g, f32, 2, 2, 128, 128, 256)); }},
    {"attention 4x200x80, all options", &kAttention,
     [](Builder& g) {
       g.output("y", attend(g, f32, 4, 2, 200, 300, 80,
                            {.causal = true,
                             .window = 128,
                             .softcap = 30,
                             .length = g.scalar("n", u32),
                             .mask = g.input("mask", boolean, {300}),
                             .bias = g.input("bias", f32, {4, 200, 300})}));
     }},
    {"attention of 1 query, 8/2x4096x64", &kAttention,
     [](Builder& g) { g.output("y", attend(g, f32, 8, 2, 1, 4096, 64, {.length = g.scalar("n", u32)})); }},
    {"layer_norm 1024", &kLayerNorm,
     [](Builder& g) { g.output("y", layer_norm(rows(g, f32, 1024), weight(g, "w", {1024}), weight(g, "b", {1024}))); }},
    {"layer_norm 768 f16", &kLayerNorm, [](Builder& g) { g.output("y", layer_norm(rows(g, f16, 768))); }},
    {"layer_norm 8192", &kLayerNorm, [](Builder& g) { g.output("y", layer_norm(rows(g, f32, 8192))); }},
    {"layer_norm_2d 64", &kLayerNorm,
     [](Builder& g) { g.output("y", layer_norm_2d(g.input("x", f32, {4, 64, 32, 32}))); }},
    {"group_norm 32 of 32x32", &kLayerNorm,
     [](Builder& g) {
       g.output("y", group_norm(g.input("x", f32, {4, 64, 32, 32}), 32, weight(g, "w", {64}), weight(g, "b", {64})));
     }},
    {"rms_norm 4096", &kRmsNorm,
     [](Builder& g) { g.output("y", rms_norm(rows(g, f32, 4096), weight(g, "w", {4096}))); }},
    {"softmax 1024", &kSoftmax, [](Builder& g) { g.output("y", softmax(rows(g, f32, 1024))); }},
    {"normed_linear 1x512x1408, gated", &kNormedLinear,
     [](Builder& g) {
       const Tensor w = weight(g, "w", {512, 1408}), u = weight(g, "u", {512, 1408});
       g.output("y", normed_linear(g.input("x", f32, {1, 512}), w, {.up = u, .activation = Activation::silu}).y);
     }},
    {"normed_linear 64x768x3072, gelu", &kNormedLinear,
     [](Builder& g) {
       g.output("y", normed_linear(g.input("x", f32, {64, 768}), weight(g, "w", {768, 3072}),
                                   {.activation = Activation::gelu})
                         .y);
     }},
    {"gated_matmul 512x512x1408", &kGatedMatmul,
     [](Builder& g) {
       g.output("y", gated_matmul(g.input("x", f32, {512, 512}), weight(g, "w", {512, 1408}),
                                  weight(g, "u", {512, 1408}), Activation::silu));
     }},
    {"conv 1x64x56x56, 64 of 3x3", &kConv,
     [](Builder& g) {
       g.output("y", relu(conv(g.input("x", f32, {1, 64, 56, 56}), weight(g, "w", {64, 64, 3, 3}), weight(g, "b", {64}),
                               {.before = {1, 1}, .after = {1, 1}})));
     }},
    {"conv 1x256x56x56, 128 of 1x1 by 2, f16", &kConv,
     [](Builder& g) {
       g.output("y",
                conv(g.input("x", f16, {1, 256, 56, 56}), g.param("w", f16, {128, 256, 1, 1}), {.strides = {2, 2}}));
     }},
    {"conv 1x32x112x112, depthwise 3x3", &kConv,
     [](Builder& g) {
       g.output("y", conv(g.input("x", f32, {1, 32, 112, 112}), weight(g, "w", {32, 1, 3, 3}),
                          {.before = {1, 1}, .after = {1, 1}, .groups = 32}));
     }},
    {"selective_scan 1024x1536x16", &kSelectiveScan,
     [](Builder& g) {
       const Tensor x = g.input("x", f32, {1, 1024, 1536}), b = g.input("b", f32, {1, 1024, 16});
       g.output("y", selective_scan(x, softplus(g.input("d", f32, {1, 1024, 1536})), weight(g, "a", {1536, 16}), b, b));
     }},
    {"mamba2 1024x24x64x128", &kMamba2,
     [](Builder& g) {
       const Tensor x = g.input("x", f32, {1, 1024, 24, 64}), b = g.input("b", f32, {1, 1024, 1, 128});
       g.output("y", mamba2(x, g.input("d", f32, {1, 1024, 24}), weight(g, "a", {24}), b, b));
     }},
    {"gated_delta_net 1024x32x128x128", &kGatedDeltaNet,
     [](Builder& g) {
       const Tensor v = g.input("v", f32, {1, 1024, 32, 128}), k = g.input("k", f32, {1, 1024, 16, 128});
       const Tensor d = g.input("d", f32, {1, 1024, 32});
       g.output("y", gated_delta_net(k, k, v, d, d));
     }},
    {"draw of 40", &kDraw,
     [](Builder& g) {
       g.output("y",
                draw(g.input("x", f32, {1, 40}), g.input("t", i32, {1, 40}), g.scalar("seed", u32), {.top_p = 0.9f}));
     }},
};

absl::StatusOr<std::vector<uint32_t>> spirv_of(std::string_view wgsl) {
  const std::string path = absl::StrCat(std::filesystem::temp_directory_path().string(), "/isa.", ::getpid(), ".spv");
  const tools::ProcessResult tint =
      tools::run_process({tools::tint_program(), "--format", "spirv", "-o", path, "-if", "wgsl", "-"}, wgsl);
  if (tint.exit_code != 0) return absl::InvalidArgumentError(absl::StrCat("tint: ", tint.output));
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::filesystem::remove(path);
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

// Of kernels that ask for one: const kSubgroup = 32u.
uint32_t subgroup_size_of(std::string_view wgsl) {
  constexpr std::string_view kName = "const kSubgroup = ";
  const size_t at = wgsl.find(kName);
  if (at == std::string_view::npos || wgsl.find("@subgroup_size(") == std::string_view::npos) return 0;
  return static_cast<uint32_t>(std::strtoul(wgsl.data() + at + kName.size(), nullptr, 10));
}

std::string ratio(int part, int whole) {
  return part == 0 ? "" : whole == 0 ? "all" : absl::StrFormat("%.1f", static_cast<double>(part) / whole);
}

absl::Status print_row(const GpuCompiler& compiler, const std::string& name, std::string_view wgsl, const Step& step,
                       bool listing) {
  absl::StatusOr<std::vector<uint32_t>> spirv = spirv_of(wgsl);
  if (!spirv.ok()) return spirv.status();
  KernelLayout layout;
  layout.bindings = static_cast<uint32_t>(step.bindings.count);
  layout.immediate_bytes = static_cast<uint32_t>(step.immediates.count) * 4;
  layout.subgroup_size = subgroup_size_of(wgsl);
  absl::StatusOr<CompiledKernel> kernel = compiler.compile(*spirv, layout);
  if (!kernel.ok()) return kernel.status();
  const InstructionMix mix = mix_of_inner_loop(kernel->listing);
  const std::string wmma =
      mix.wmma == 0 ? ""
                    : absl::StrFormat("%.2f", mix.loads() == 0 ? 0.0 : static_cast<double>(mix.wmma) / mix.loads());
  absl::PrintF("| %-42s | %4d | %5d | %6d | %5d | %5d | %4d | %4d | %3d | %3d | %6d | %5d | %9s | %9s |\n", name,
               kernel->subgroup_size, kernel->statistic("VGPRs"),
               kernel->statistic("Spilled VGPRs") + kernel->statistic("Spilled SGPRs"), kernel->statistic("LDS size"),
               kernel->statistic("Subgroups per SIMD"), mix.fma, mix.wmma, mix.lds(), mix.memory(), mix.narrow_loads,
               mix.other, mix.fma == 0 ? "" : ratio(mix.fma, mix.lds() + mix.memory()), wmma);
  if (listing) std::puts(kernel->listing.c_str());
  return absl::OkStatus();
}

// A row for each kernel of each variant of the op, which is all that the graph is.
absl::Status show(const GpuCompiler& compiler, const OpDef& op, const std::string& what, const Graph& graph,
                  std::string_view filter, bool listing) {
  for (const Variant& variant : op.variants) {
    const std::string name = absl::StrCat(what, "/", variant.name);
    if (name.find(filter) == std::string::npos) continue;
    const Choice choice[] = {{op.name, variant.name}};
    CompileOptions options;
    options.choices = choice;
    const Program program = compile(graph, kNavi31, options);
    if (!program.error.empty()) return absl::InternalError(std::string(program.error.view()));
    const ProgramView view = view_of(program, kNavi31);
    std::vector<bool> shown(view.kernels.specs.size());
    for (const Step& step : view.steps) {
      if (!view.name(step.label).ends_with(absl::StrCat("/", variant.name)) || shown[static_cast<size_t>(step.kernel)])
        continue;
      shown[static_cast<size_t>(step.kernel)] = true;
      Text text;
      render_kernel(view.kernels, step.kernel, text);
      if (absl::Status status = print_row(compiler, name, text.view(), step, listing); !status.ok()) {
        return absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status run(std::string_view filter, bool listing) {
  absl::StatusOr<GpuCompiler> compiler = GpuCompiler::open();
  if (!compiler.ok()) return compiler.status();
  absl::PrintF("%s. Counts are of the innermost loop with the most arithmetic.\n\n", compiler->device());
  absl::PrintF(
      "| %-42s | wave | VGPRs | spills |   LDS | waves |  fma | wmma |  ds | mem | narrow | other | fma/ds+mem | "
      "wmma/load |\n",
      "op (matmul: m = n = k) and variant");
  absl::PrintF("|%s|---|---|---|---|---|---|---|---|---|---|---|---|---|\n", std::string(44, '-'));
  for (const Case& c : kCases) {
    Builder g;
    build(g, c);
    absl::Status status =
        show(*compiler, kMatmul, absl::StrCat(name_of(c.dtype), " ", c.name), g.graph(), filter, listing);
    if (!status.ok()) return status;
  }
  for (const int64_t n : kTransforms) {
    Builder g;
    g.output("y", fft(g.input("x", c64, {64, n})));
    absl::Status status = show(*compiler, kFft, absl::StrCat("fft ", n), g.graph(), filter, listing);
    if (!status.ok()) return status;
  }
  for (const OpCase& c : kOpCases) {
    Builder g;
    c.build(g);
    if (!g.ok()) return absl::InvalidArgumentError(std::string(g.graph().error.view()));
    absl::Status status = show(*compiler, *c.op, c.name, g.graph(), filter, listing);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace rlxgpu::core::isa

int main(int argc, char** argv) {
  std::string_view filter;
  bool listing = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--listing") {
      listing = true;
    } else {
      filter = argv[i];
    }
  }
  const absl::Status status = rlxgpu::core::isa::run(filter, listing);
  if (status.ok()) return 0;
  std::fprintf(stderr, "isa: %s\n", std::string(status.message()).c_str());
  return 1;
}
