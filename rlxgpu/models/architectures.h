// model_architectures(): the models that rlxgpu can run, by the name that GGUF files give them.
//
//   const ModelArchitecture* a = find_model_architecture("qwen2");
//   if (a == nullptr) return ...;                        // model_architectures() has the names
//   DynamicGraph graph;
//   Net net(*graph, file, meta, plan);
//   a->build(net);
//
// One function each, under architectures/: metadata in, graph out.
#ifndef RLXGPU_MODELS_ARCHITECTURES_H_
#define RLXGPU_MODELS_ARCHITECTURES_H_

#include <span>
#include <string>
#include <string_view>

#include "rlxgpu/models/net.h"

namespace rlxgpu::core {

struct ModelArchitecture {
  std::string_view name;
  void (*build)(models::Net&);
  bool recurrent = false;  // states that only whole tokens pass through: programs have a fixed number of tokens
  bool encoder = false;    // reads a whole text at once, remembers nothing, has no logits
};

std::span<const ModelArchitecture> model_architectures();
const ModelArchitecture* find_model_architecture(std::string_view name);  // null when there is none of this name

namespace models {

void arcee(Net& n);
void bloom(Net& n);
void cohere2(Net& n);
void command_r(Net& n);
void dbrx(Net& n);
void deepseek(Net& n);
void deepseek2(Net& n);
void exaone(Net& n);
void falcon(Net& n);
void falcon_h1(Net& n);
void gemma(Net& n);
void gemma2(Net& n);
void gemma3(Net& n);
void gpt2(Net& n);
void gpt_oss(Net& n);
void gptneox(Net& n);
void granite(Net& n);
void granitemoe(Net& n);
void hunyuan_dense(Net& n);
void jamba(Net& n);
void llama(Net& n);
void mamba(Net& n);
void mamba2(Net& n);
void mpt(Net& n);
void nemotron(Net& n);
void olmo2(Net& n);
void olmoe(Net& n);
void orion(Net& n);
void phi2(Net& n);
void phi3(Net& n);
void phimoe(Net& n);
void qwen2(Net& n);
void qwen2moe(Net& n);
void qwen3moe(Net& n);
void seed_oss(Net& n);
void smollm3(Net& n);
void stablelm(Net& n);
void starcoder2(Net& n);

// Mamba 2 in a layer of another architecture.
Tensor recurrent_mixer(const Layer& l, Tensor x);

}  // namespace models
}  // namespace rlxgpu::core

#endif  // RLXGPU_MODELS_ARCHITECTURES_H_
