// Every architecture against libllama on the CPU: small models with random weights, which Debian's llama.cpp-tests
// writes. Prompts of 1, 7 and 40 tokens, then 20 tokens one by one.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/models/language_model.h"
#include "tests/language/llama_cpp.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

constexpr int kContext = 96;
using Program = Executable<DynamicGraph>;

std::vector<float> next(Program& program, std::span<const uint32_t> tokens, uint32_t before, bool counted) {
  if (counted) CHECK(program.set("count", static_cast<double>(tokens.size())).ToString() == "OK");
  CHECK(program.set("tokens", tokens).ToString() == "OK");
  CHECK(program.set("before", std::vector<uint32_t>{before}).ToString() == "OK");
  program.run();
  Result<std::vector<float>> logits = program.get<float>("logits");
  INFO(logits.status().ToString());
  REQUIRE(logits.ok());
  return *logits;
}

// The largest difference over the largest logit.
double error_of(const std::vector<float>& ours, const std::vector<float>& theirs) {
  double worst = 0, largest = 0;
  for (size_t i = 0; i < theirs.size(); ++i) {
    const double difference = std::abs(static_cast<double>(ours[i]) - static_cast<double>(theirs[i]));
    worst = std::isnan(difference) ? HUGE_VAL : std::max(worst, difference);
    largest = std::max(largest, std::abs(static_cast<double>(theirs[i])));
  }
  return worst / largest;
}

size_t best_of(const std::vector<float>& logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}
// How far the best is above the second, over the largest.
double lead_of(std::vector<float> logits) {
  std::partial_sort(logits.begin(), logits.begin() + 2, logits.end(), std::greater<>());
  const auto [least, most] = std::minmax_element(logits.begin(), logits.end());
  return static_cast<double>(logits[0] - logits[1]) /
         std::max(std::abs(static_cast<double>(*least)), std::abs(static_cast<double>(*most)));
}

// Random factors of angles may be next to zero: angles are then so large that f32, in which the judge computes them,
// does not tell where they end. These are as models have them. And libllama multiplies by ".scale" in some
// architectures only: those that do keep theirs.
void tame_factors(const std::string& path) {
  const Result<Gguf> file = Gguf::open(path);
  REQUIRE(file.ok());
  const Metadata meta(*file);
  const bool scaled =
      meta.architecture() == "qwen3" || meta.architecture() == "qwen3moe" || meta.architecture() == "cohere2";
  std::fstream out(path, std::ios::binary | std::ios::in | std::ios::out);
  std::ifstream whole(path, std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(whole), {}};
  // The data of a file are its end, in the order of its tensors.
  const std::byte* const first = file->tensors().front().data.data();
  const std::byte* last = first;
  for (const GgufTensor& t : file->tensors()) last = std::max(last, t.data.data() + (t.data.size() + 31) / 32 * 32);
  const size_t begin = all.size() - static_cast<size_t>(last - first);
  for (const GgufTensor& tensor : file->tensors()) {
    const bool factors = absl::StartsWith(tensor.name, "rope_f");
    if (!factors && (scaled || !absl::EndsWith(tensor.name, ".scale"))) continue;
    std::string bytes(tensor.data.size(), '\0');
    for (size_t i = 0; i < bytes.size() / 4; ++i) {
      const float value = factors ? 1 + static_cast<float>(i) / 16 : 1;
      std::memcpy(bytes.data() + 4 * i, &value, 4);
    }
    out.seekp(static_cast<std::streamoff>(begin + static_cast<size_t>(tensor.data.data() - first))) << bytes;
  }
}

struct Found {
  double error = 0;
  int tokens = 0, equal = 0, close = 0;  // decided alike, and too close to tell
};

void compare(Found& found, const std::vector<float>& ours, const std::vector<float>& theirs) {
  REQUIRE(ours.size() == theirs.size());
  found.error = std::max(found.error, error_of(ours, theirs));
  ++found.tokens;
  if (best_of(ours) == best_of(theirs)) {
    ++found.equal;
  } else if (lead_of(theirs) <= 2e-3) {
    ++found.close;
  }
}

Found compare_model(const Device& device, const std::string& path) {
  Result<LanguageModel> model = LanguageModel::load(device, path, {.sizes = Sizes::free});
  INFO(model.status().ToString());
  REQUIRE(model.ok());
  const LlamaCpp judge(path, kContext);
  REQUIRE(judge.ok());
  const States memory(device);
  const bool recurrent = model->architecture().recurrent;
  Result<Program> one = model->program({.context = kContext}, memory);
  REQUIRE(one.status().ToString() == "OK");
  std::optional<Program> many;
  Found found;
  for (const size_t length : {size_t{1}, size_t{7}, size_t{40}}) {
    CAPTURE(length);
    std::vector<uint32_t> prompt;
    for (size_t i = 0; i < length; ++i) prompt.push_back(static_cast<uint32_t>((i * 37 + length * 11 + 5) % 128));
    CHECK(memory.clear().ok());
    judge.clear();
    std::vector<float> ours;
    if (length == 1) {
      ours = next(*one, prompt, 0, false);
    } else {
      if (!many || recurrent) {
        Result<Program> made = model->program(
            {.tokens = recurrent ? static_cast<int64_t>(length) : 64, .any_count = !recurrent, .context = kContext},
            memory);
        REQUIRE(made.status().ToString() == "OK");
        many = *std::move(made);
      }
      ours = next(*many, prompt, 0, !recurrent);
    }
    std::vector<float> theirs = judge.next(prompt);
    compare(found, ours, theirs);
    for (uint32_t i = 0; length == 7 && i < 20; ++i) {
      const uint32_t token = static_cast<uint32_t>(best_of(theirs));
      ours = next(*one, std::vector{token}, static_cast<uint32_t>(length) + i, false);
      theirs = judge.next(std::vector{token});
      compare(found, ours, theirs);
    }
  }
  return found;
}

// Which architectures are compared: RLXGPU_NETWORKS=all, names as an expression, or a number, which brings three of
// them beside those that have parts of their own.
std::string wanted() {
  const char* const given = std::getenv("RLXGPU_NETWORKS");
  const std::string_view choice = given == nullptr ? "0" : given;
  const std::span<const ModelArchitecture> all = model_architectures();
  int number = 0;
  if (choice != "all" && !absl::SimpleAtoi(choice, &number)) return std::string(choice);
  std::vector<std::string_view> names = {"llama", "falcon-h1"};
  if (choice == "all") {
    for (const ModelArchitecture& a : all) names.push_back(a.name);
  }
  for (size_t i = 0; choice != "all" && i < 2; ++i)
    names.push_back(all[(static_cast<size_t>(number) * 2 + i) % all.size()].name);
  return absl::StrCat("^(", absl::StrJoin(names, "|"), ")$");
}

TEST_CASE("logits are those of libllama", "[language][gpu]") {
  const Device device = device_or_skip();
  const std::string expression = wanted();
  CAPTURE(expression);
  const std::filesystem::path folder = random_models(expression);
  REQUIRE_FALSE(folder.empty());
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!absl::EndsWith(name, ".gguf")) continue;
    ++count;
    CAPTURE(name);
    tame_factors(entry.path());
    const Found found = compare_model(device, entry.path());
    absl::PrintF("%-28s error %.1e  equal %d of %d, too close %d\n", name, found.error, found.equal, found.tokens,
                 found.close);
    std::fflush(stdout);
    CHECK(found.error <= 1e-3);
    CHECK(found.equal + found.close == found.tokens);
  }
  CHECK(count > 0);
}

}  // namespace
}  // namespace rlxgpu::core::testing
