// `rlxgpu generate`, `chat` and `embed` from end to end, with a random model that knows ASCII letters and a template.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "ggml.h"
#include "gguf.h"
#include "rlxgpu/tools/language_command.h"
#include "rlxgpu/tools/npy.h"
#include "tests/language/llama_cpp.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

// A file with another tokenizer: 125 ASCII characters behind the three special tokens.
std::string with_letters(const std::string& path) {
  ggml_context* tensors = nullptr;
  gguf_context* const from = gguf_init_from_file(path.c_str(), {.no_alloc = false, .ctx = &tensors});
  REQUIRE(from != nullptr);
  gguf_context* const to = gguf_init_empty();
  gguf_set_kv(to, from);
  std::vector<std::string> texts = {"<unk>", "<s>", "</s>"};
  for (int c = 2; texts.size() < 128; ++c)
    texts.push_back(c == ' ' ? "\xe2\x96\x81" : std::string(1, static_cast<char>(c)));
  std::vector<const char*> pointers;
  std::vector<int32_t> kinds = {2, 3, 3};
  for (const std::string& text : texts) pointers.push_back(text.c_str());
  kinds.resize(128, 1);
  gguf_set_arr_str(to, "tokenizer.ggml.tokens", pointers.data(), pointers.size());
  gguf_set_arr_data(to, "tokenizer.ggml.token_type", GGUF_TYPE_INT32, kinds.data(), kinds.size());
  gguf_set_val_str(to, "tokenizer.ggml.model", "llama");
  gguf_set_val_bool(to, "tokenizer.ggml.add_bos_token", true);
  gguf_set_val_str(to, "tokenizer.chat_template",
                   "{{ bos_token }}{% for m in messages %}{{ m.role[0] }}:{{ m.content }}|{% endfor %}{% if "
                   "add_generation_prompt %}a:{% endif %}");
  for (ggml_tensor* t = ggml_get_first_tensor(tensors); t != nullptr; t = ggml_get_next_tensor(tensors, t)) {
    if (std::string_view(t->name).starts_with("GGUF")) continue;  // the buffer that holds the others
    gguf_add_tensor(to, t);
  }
  const std::string written = path + ".letters.gguf";
  REQUIRE(gguf_write_to_file(to, written.c_str(), false));
  gguf_free(to), gguf_free(from), ggml_free(tensors);
  return written;
}

TEST_CASE("commands write, talk and embed", "[language][gpu]") {
  device_or_skip();
  const std::filesystem::path folder = random_models("^llama$");
  REQUIRE_FALSE(folder.empty());
  tools::LanguageCommand command;
  command.model = with_letters((folder / "llama-dense.gguf").string());
  command.text = "Once upon";
  command.context = 96;
  command.tokens = 12;
  command.sampling.seed = 3;
  const auto run = [&](int (*what)(const tools::LanguageCommand&, std::istream&, std::ostream&, std::ostream&),
                       const std::string& given = "") {
    std::istringstream in(given);
    std::ostringstream out, err;
    const int code = what(command, in, out, err);
    CAPTURE(err.str());
    CHECK(code == 0);
    return std::pair(out.str(), err.str());
  };
  const auto [text, figures] = run(tools::generate_command);
  CHECK(figures.find("tokens of prompt") != std::string::npos);
  CHECK(figures.find("MiB on the device") != std::string::npos);
  CHECK(text.size() > 6);
  CHECK(run(tools::generate_command).first == text);  // the same seed
  command.sampling.seed = 4;
  CHECK(run(tools::generate_command).first != text);
  command.sampling.seed = 3;
  command.stops = {text.substr(4, 3)};
  CHECK(run(tools::generate_command).first == text.substr(0, text.find(command.stops[0])) + "\n");
  command.stops.clear();

  command.system = "hm";
  command.tokens = 4;
  const auto [said, chat_figures] = run(tools::chat_command, "hello\nagain\n");
  CHECK(std::count(said.begin(), said.end(), '\n') >= 2);
  CHECK(chat_figures.find(" 0 were known") != std::string::npos);
  CHECK(chat_figures.rfind(" 0 were known") == chat_figures.find(" 0 were known"));  // the second time much was

  command.out = (folder / "vector.npy").string();
  CHECK(run(tools::embed_command).first.find("256 numbers of 10 tokens") != std::string::npos);
  const Result<onnx::HostTensor> vector = tools::read_npy(command.out);
  REQUIRE(vector.ok());
  double square = 0;
  for (const double x : vector->numbers()) square += x * x;
  CHECK(std::abs(square - 1) < 1e-5);

  command.model = (folder / "none.gguf").string();
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(tools::generate_command(command, in, out, err) == 1);
  CHECK(err.str().find("none.gguf") != std::string::npos);
}

}  // namespace
}  // namespace rlxgpu::core::testing
