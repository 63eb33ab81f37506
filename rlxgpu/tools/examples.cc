#include "rlxgpu/tools/examples.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "docs/examples/bert.h"
#include "docs/examples/encoder.h"
#include "docs/examples/llama.h"
#include "docs/examples/mlp.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/kernels/recognised.h"

namespace rlxgpu::core::tools {
namespace {

constexpr Example kExamples[] = {
    {"mlp", "two layers and a softmax: docs/examples/mlp.h", ::examples::Mlp::build},
    {"encoder-small", "a transformer encoder, 2 layers of width 64: docs/examples/encoder.h",
     ::examples::Encoder<::examples::EncoderSize{.layers = 2, .rows = 32, .width = 64, .heads = 4}>::build},
    {"encoder", "a transformer encoder of BERT's size, 12 layers of width 768: docs/examples/encoder.h",
     ::examples::Encoder<::examples::EncoderSize{}>::build},
    {"bert-layer", "BERT-base cut to one layer, 128 tokens: docs/examples/bert.h",
     ::examples::Bert<::examples::BertSize{.layers = 1}>::build},
    {"llama-layer", "a Llama of one layer that reads 64 tokens: docs/examples/llama.h",
     ::examples::Llama<::examples::LlamaSize{.layers = 1}, 64>::build},
    {"llama-token", "the same, reading one token", ::examples::Llama<::examples::LlamaSize{.layers = 1}, 1>::build},
};

}  // namespace

std::span<const Example> examples() { return kExamples; }

const Example* find_example(std::string_view name) {
  for (const Example& example : kExamples) {
    if (example.name == name) return &example;
  }
  return nullptr;
}

absl::StatusOr<RenderedProgram> render(const Example& example, const Target& target, Vec<Recognition>* found) {
  Builder builder;
  example.build(builder);
  CompileOptions options;
  options.check = true;
  const Graph graph = recognised(builder.graph(), target, {.found = found});
  RenderedProgram rendered = rlxgpu::core::render(compile(graph, target, options), target);
  if (!rendered.program.error.empty())
    return absl::InternalError(absl::StrCat(example.name, ": ", rendered.program.error.view()));
  return rendered;
}

}  // namespace rlxgpu::core::tools
