#include "rlxgpu/text/pre_tokenizers.h"

#include <algorithm>
#include <iterator>

namespace rlxgpu::core {
namespace {

#define RLXGPU_ENDINGS R"((?i:'s|'t|'re|'ve|'m|'ll|'d))"
#define RLXGPU_REST R"( ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"

constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
constexpr std::string_view kLlama3 = RLXGPU_ENDINGS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)" RLXGPU_REST;
constexpr std::string_view kQwen2 = RLXGPU_ENDINGS R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)" RLXGPU_REST;
constexpr std::string_view kQwen35 =
    RLXGPU_ENDINGS R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kPunctuation = R"([\p{P}\$\+<=>\^~\|`]+)", kPlainPunctuation = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]", kDigit = R"(\p{N})", kDigits = R"(\p{N}+)",
                           kUpToThree = R"(\p{N}{1,3})";
constexpr std::string_view kDeepseekScripts = "[一-龥぀-ゟ゠-ヿ]+";
constexpr std::string_view kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kBloom = R"( ?[^(\s|.,!?…。，、।۔،)]+)";
#define RLXGPU_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define RLXGPU_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?)" RLXGPU_UPPER "*" RLXGPU_LOWER R"(+|[^\r\n\p{L}\p{N}]?)" RLXGPU_UPPER "+" RLXGPU_LOWER
    R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?)" RLXGPU_UPPER "*" RLXGPU_LOWER "+" RLXGPU_ENDINGS R"(?|[^\r\n\p{L}\p{N}]?)" RLXGPU_UPPER
    "+" RLXGPU_LOWER "*" RLXGPU_ENDINGS R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
#undef RLXGPU_LOWER
#undef RLXGPU_UPPER
#undef RLXGPU_REST
#undef RLXGPU_ENDINGS

struct Row {
  std::string_view pre;
  std::vector<std::string_view> expressions;
};

const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> r;
    const auto add = [&](std::initializer_list<std::string_view> names,
                         std::initializer_list<std::string_view> expressions) {
      for (const std::string_view name : names) r.push_back({name, expressions});
    };
    add({"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2", "jina-v5-nano",
         "dbrx", "smaug-bpe", "glm4", "chatglm-bpe"},
        {kLlama3});
    add({"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"},
        {kQwen2});
    add({"qwen35"}, {kQwen35});
    add({"gpt-2", "phi-2", "mpt", "olmo", "jais", "modern-bert", "mellum", "exaone4", "trillion", "granite-docling",
         "gigachat", "a.x-4.0", "jina-es", "jina-de"},
        {kGpt2});
    add({"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b", "mellum2"},
        {kDigit, kGpt2});
    add({"falcon"}, {kPunctuation, kGpt2, kThreeDigits});
    add({"default"}, {kPlainPunctuation, kGpt2, kDigits, kThreeDigits});
    add({"deepseek-v3", "hunyuan-dense", "joyai-llm"}, {kUpToThree, kDeepseekScripts, kDeepseek3});
    add({"tekken"}, {kTekken});
    add({"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"}, {kGpt4o});
    add({"bloom", "poro-chat", "gpt3-finnish"}, {kBloom});
    return r;
  }();
  return all;
}

}  // namespace

std::vector<std::string_view> word_expressions(std::string_view pre) {
  for (const Row& row : rows()) {
    if (row.pre == pre) return row.expressions;
  }
  return {};
}

}  // namespace rlxgpu::core
