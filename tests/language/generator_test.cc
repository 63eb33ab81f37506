// The generator: answers, what it remembers, its files; the sampler's rules; chat templates.
#include "rlxgpu/generate/generator.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "llama.h"
#include "rlxgpu/text/chat_template.h"
#include "tests/language/llama_cpp.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("probabilities after each option are those of libllama's samplers", "[sampler]") {
  std::vector<float> logits;
  for (int i = 0; i < 60; ++i) logits.push_back(4 * std::sin(static_cast<float>(i * i) * 0.37f));
  const std::vector<Token> before = {3, 3, 7, 59, 3, 12};
  const SamplerOptions options = GENERATE(
      SamplerOptions{}, SamplerOptions{.temperature = 1.7, .top_k = 0, .top_p = 0.6},
      SamplerOptions{.top_k = 12, .top_p = 1, .min_p = 0.3, .repeat_penalty = 1.4},
      SamplerOptions{
          .temperature = 0.3, .top_k = 0, .top_p = 1, .min_p = 0, .frequency_penalty = 0.8, .presence_penalty = 0.5},
      SamplerOptions{.top_p = 0.01, .repeat_penalty = 0.5});
  llama_sampler* const chain = llama_sampler_chain_init(llama_sampler_chain_default_params());
  llama_sampler_chain_add(chain, llama_sampler_init_penalties(60, 64, static_cast<float>(options.repeat_penalty),
                                                              static_cast<float>(options.frequency_penalty),
                                                              static_cast<float>(options.presence_penalty)));
  llama_sampler_chain_add(chain, llama_sampler_init_top_k(static_cast<int32_t>(options.top_k)));
  llama_sampler_chain_add(chain, llama_sampler_init_top_p(static_cast<float>(options.top_p), 1));
  llama_sampler_chain_add(chain, llama_sampler_init_min_p(static_cast<float>(options.min_p), 1));
  llama_sampler_chain_add(chain, llama_sampler_init_temp(static_cast<float>(options.temperature)));
  llama_sampler_chain_add(chain, llama_sampler_init_dist(1));
  for (const Token token : before) llama_sampler_accept(chain, static_cast<llama_token>(token));
  std::vector<llama_token_data> data;
  for (size_t i = 0; i < logits.size(); ++i) data.push_back({static_cast<llama_token>(i), logits[i], 0});
  llama_token_data_array array = {data.data(), data.size(), -1, false};
  llama_sampler_apply(chain, &array);
  llama_sampler_free(chain);
  std::vector<double> theirs(60), ours(60);
  for (size_t i = 0; i < array.size; ++i)
    theirs[static_cast<size_t>(array.data[i].id)] = static_cast<double>(array.data[i].p);
  for (const Sampler::Candidate& c : Sampler(options).candidates(logits, before)) ours[c.token] = c.probability;
  for (size_t i = 0; i < 60; ++i) {
    CAPTURE(i);
    CHECK(std::abs(ours[i] - theirs[i]) <= 1e-5);
  }
}

TEST_CASE("tokens are drawn as often as they are probable", "[sampler]") {
  const std::vector<float> logits = {0, 1, 2, -30};
  Sampler sampler({.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .seed = 5});
  std::vector<double> counts(4);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.draw(logits, {})];
  const double total = 1 + std::exp(1.0) + std::exp(2.0);
  for (size_t i = 0; i < 3; ++i) CHECK(std::abs(counts[i] / kDraws - std::exp(static_cast<double>(i)) / total) < 0.015);
  CHECK(counts[3] == 0);
  Sampler greedy({.temperature = 0});
  CHECK(greedy.draw(logits, {}) == 2);
}

std::vector<Token> greedy(Generator& generator, const std::vector<Token>& prompt, int64_t count) {
  std::vector<Token> tokens;
  Answer answer = generator.generate(prompt, {.sampling = {.temperature = 0}, .tokens = count});
  for (const Token token : answer) tokens.push_back(token);
  INFO(answer.status().ToString());
  CHECK(answer.finish() == Finish::most_tokens);
  return tokens;
}

TEST_CASE("an answer is the same however its prompt came to be remembered", "[generator][gpu]") {
  const Device device = device_or_skip();
  const std::filesystem::path folder = random_models("^(llama|mamba2)$");
  for (const std::string name : {"llama-dense", "mamba2-dense"}) {
    CAPTURE(name);
    const std::string path = (folder / (name + ".gguf")).string();
    Result<LanguageModel> model = LanguageModel::load(device, path, {.sizes = Sizes::free});
    INFO(model.status().ToString());
    REQUIRE(model.ok());
    Result<Generator> made = Generator::create(*model, {.context = 64, .piece = 16});
    REQUIRE(made.status().ToString() == "OK");
    Generator& generator = *made;
    std::vector<Token> prompt;
    for (Token i = 0; i < 21; ++i) prompt.push_back(i * 37 % 128);
    const std::vector<Token> first = greedy(generator, prompt, 6);
    CHECK(first.size() == 6);
    CHECK(greedy(generator, prompt, 6) == first);  // its beginning is known

    std::vector<Token> other = prompt;  // goes another way from the ninth token on
    other[9] = 5;
    greedy(generator, other, 3);
    CHECK(generator.reused() == (name == "llama-dense" ? 9 : 0));
    CHECK(greedy(generator, prompt, 6) == first);

    REQUIRE(generator.read(prompt).ToString() == "OK");
    const std::string kept = (folder / "state").string();
    REQUIRE(generator.save(kept).ToString() == "OK");
    Result<Generator> second = Generator::create(*model, {.context = 64, .piece = 16});
    REQUIRE(second.ok());
    REQUIRE(second->restore(kept).ToString() == "OK");
    CHECK(greedy(*second, prompt, 6) == first);
    CHECK(second->reused() == 21);
    Result<Generator> shorter = Generator::create(*model, {.context = 48, .piece = 16});
    REQUIRE(shorter.ok());
    CHECK(shorter->restore(kept).message().ends_with("is of a context of 64 tokens, this one has 48"));
    std::filesystem::resize_file(kept, 1000);
    CHECK(second->restore(kept).message().ends_with("ends too early"));

    Answer full = generator.generate(prompt);
    int64_t count = 0;
    for ([[maybe_unused]] const Token token : full) ++count;
    CHECK(full.finish() == Finish::context_full);
    CHECK(count == 64 - 21 + 1);
    Answer stopped = generator.generate(prompt, {.cancelled = [] { return true; }});
    CHECK(stopped.begin() == stopped.end());
    CHECK(stopped.finish() == Finish::cancelled);
  }
}

TEST_CASE("several texts are decoded side by side", "[generator][gpu]") {
  const Device device = device_or_skip();
  const std::filesystem::path folder = random_models("^llama$");
  Result<LanguageModel> model =
      LanguageModel::load(device, (folder / "llama-dense.gguf").string(), {.sizes = Sizes::free});
  REQUIRE(model.status().ToString() == "OK");
  const auto texts = std::vector<std::vector<Token>>{{5, 9, 100}, {64, 2, 7}};
  const States both(device);
  Result<Executable<DynamicGraph>> together = model->program({.texts = 2, .context = 32}, both);
  REQUIRE(together.status().ToString() == "OK");
  std::vector<float> logits;
  for (uint32_t i = 0; i < 3; ++i) {
    // The second text waits for a token: what it writes meanwhile is written over.
    const std::vector<Token> tokens = {texts[0][i], texts[1][i == 0 ? 0 : i - 1]};
    const std::vector<uint32_t> before = {i, i == 0 ? 0 : i - 1};
    REQUIRE(together->set("tokens", tokens).ToString() == "OK");
    REQUIRE(together->set("before", before).ToString() == "OK");
    together->run();
    logits = *together->get<float>("logits");
  }
  Result<Generator> alone = Generator::create(*model, {.context = 32, .piece = 1});
  REQUIRE(alone.ok());
  for (size_t text = 0; text < 2; ++text) {
    CAPTURE(text);
    REQUIRE(alone->read(std::span(texts[text]).first(text == 0 ? 3 : 2)).ToString() == "OK");
    double worst = 0;
    for (size_t i = 0; i < 128; ++i)
      worst = std::max(worst, std::abs(static_cast<double>(alone->logits()[i] - logits[text * 128 + i])));
    CHECK(worst < 1e-4);
  }
}

TEST_CASE("a conversation is written as the model's template says", "[chat]") {
  const std::vector<ChatMessage> messages = {
      {"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello."}, {"user", "2+2?"}};
  const std::string chatml =
      "{% for m in messages %}{{'<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n'}}{% endfor %}"
      "{% if add_generation_prompt %}{{'<|im_start|>assistant\n'}}{% endif %}";
  Result<ChatTemplate> chat = ChatTemplate::parse(chatml, "<s>", "</s>");
  REQUIRE(chat.status().ToString() == "OK");
  CHECK(*chat->text(messages) ==
        "<|im_start|>system\nBe "
        "brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello.<|im_end|>\n"
        "<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n");
  Result<ChatTemplate> tools = ChatTemplate::parse(
      "{{ bos_token }}{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}[{{ m.role }}] {{ m.content "
      "}}\n{% endfor %}",
      "<s>", "</s>");
  REQUIRE(tools.ok());
  const Result<std::string> with_tools =
      tools->text(std::span(messages).subspan(1, 1),
                  {.tools = R"([{"type": "function", "function": {"name": "add", "parameters": {}}}])"});
  REQUIRE(with_tools.status().ToString() == "OK");
  CHECK(
      with_tools->starts_with("<s>[{\"type\": \"function\", \"function\": {\"name\": \"add\", \"parameters\": {}}}]"));
  CHECK(with_tools->find("[user] Hi\n") != std::string::npos);
  CHECK_FALSE(ChatTemplate::parse("{% for m in %}", "", "").ok());
  Result<ChatTemplate> refuses = ChatTemplate::parse("{{ raise_exception('roles must alternate') }}", "", "");
  REQUIRE(refuses.ok());
  CHECK(refuses->text(messages).status().message().find("roles must alternate") != std::string_view::npos);
}

}  // namespace
}  // namespace rlxgpu::core::testing
