#include "rlxgpu/models/architectures.h"

namespace rlxgpu::core {
namespace {

// Some papers differ in nothing but weights that a file has or has not.
constexpr ModelArchitecture kModelArchitectures[] = {
    {"arcee", models::arcee},
    {"bloom", models::bloom},
    {"chatglm", models::llama},
    {"codeshell", models::starcoder2},
    {"cohere2", models::cohere2},
    {"command-r", models::command_r},
    {"dbrx", models::dbrx},
    {"deepseek", models::deepseek},
    {"deepseek2", models::deepseek2},
    {"exaone", models::exaone},
    {"falcon", models::falcon},
    {"falcon-h1", models::falcon_h1, true},
    {"gemma", models::gemma},
    {"gemma2", models::gemma2},
    {"gemma3", models::gemma3},
    {"gpt-oss", models::gpt_oss},
    {"gpt2", models::gpt2},
    {"gptneox", models::gptneox},
    {"granite", models::granite},
    {"granitehybrid", models::granite, true},
    {"granitemoe", models::granitemoe},
    {"hunyuan-dense", models::hunyuan_dense},
    {"internlm2", models::llama},
    {"jamba", models::jamba, true},
    {"llama", models::llama},
    {"mamba", models::mamba, true},
    {"mamba2", models::mamba2, true},
    {"mistral3", models::llama},
    {"mpt", models::mpt},
    {"nemotron", models::nemotron},
    {"olmo2", models::olmo2},
    {"olmoe", models::olmoe},
    {"orion", models::orion},
    {"phi2", models::phi2},
    {"phi3", models::phi3},
    {"phimoe", models::phimoe},
    {"qwen2", models::qwen2},
    {"qwen2moe", models::qwen2moe},
    {"qwen3", models::qwen2},
    {"qwen3moe", models::qwen3moe},
    {"seed_oss", models::seed_oss},
    {"smollm3", models::smollm3},
    {"stablelm", models::stablelm},
    {"starcoder", models::gpt2},
    {"starcoder2", models::starcoder2},
    {"xverse", models::llama},
};

}  // namespace

std::span<const ModelArchitecture> model_architectures() { return kModelArchitectures; }

const ModelArchitecture* find_model_architecture(std::string_view name) {
  for (const ModelArchitecture& architecture : kModelArchitectures) {
    if (architecture.name == name) return &architecture;
  }
  return nullptr;
}

}  // namespace rlxgpu::core
