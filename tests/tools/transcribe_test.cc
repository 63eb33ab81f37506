// What is said in recordings, against ONNX Runtime 1.30 on the same files (its CPU provider): the same tokens.
#include "rlxgpu/tools/transcribe.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/tools/vocabulary.h"
#include "rlxgpu/tools/wav.h"
#include "tests/support/gpu.h"

namespace rlxgpu::tools {
namespace {

TEST_CASE("a vocabulary is read from its script", "[transcribe]") {
  // <unk> <s> </s> <0x41> ▁the ing, in base64
  const std::string script =
      "use(llama_vocab_base64);\nconst llama_vocab_base64 = \"PHVuaz4KPHM+Cjwvcz4KPDB4NDE+CuKWgXRoZQppbmc=\";";
  const absl::StatusOr<Vocabulary> words = Vocabulary::parse(script);
  REQUIRE(words.status().ToString() == "OK");
  CHECK(words->size() == 6);
  CHECK(words->text(std::vector<int32_t>{1, 4, 5, 3, 4, 2, 99, -1}) == "theingA the");
  CHECK(Vocabulary::parse("const x = 1;").status().message() == "no vocabulary (llama_vocab_base64) is in it");
  CHECK(Vocabulary::open("/nowhere.js").status().message() == "/nowhere.js cannot be read");
}

TEST_CASE("what is missing of a model is said", "[transcribe]") {
  const Device device = testing::device_or_skip();
  const absl::StatusOr<Transcriber> none = Transcriber::open(device, "/nowhere");
  CHECK(none.status().message() == "/nowhere has no encoder_model.onnx: run `./dev models`, which fetches it from npm");
}

TEST_CASE("recordings are understood as ONNX Runtime understands them", "[transcribe][gpu]") {
  const std::string models = model_folder("moonshine-tiny"), recordings = model_folder("recordings");
  INFO("models are fetched by ./dev models");
  REQUIRE(std::filesystem::exists(models));
  REQUIRE(std::filesystem::exists(recordings));
  const Device device = testing::device_or_skip();
  absl::StatusOr<Transcriber> transcriber = Transcriber::open(device, models);
  REQUIRE(transcriber.status().ToString() == "OK");
  struct Case {
    const char* file;
    std::vector<int32_t> tokens;
    const char* text;
  };
  const Case cases[] = {
      {"001.wav", {12444, 310, 17651, 29889}, "Ten of clubs."},
      {"sense_and_sensibility_01_austen_64kb-0870.wav",
       {1126, 3237, 29889, 2259, 360, 1161, 6115, 750, 769, 454,  275, 545, 304, 2050, 920,
        1568, 727,  1795,  367,  544, 566,  2705, 297, 670, 3081, 304, 437, 363, 963,  29889},
       "And Mr. John Dashwood had then leisure to consider how much there might be prudently in his power to do for "
       "them."},
  };
  for (const Case& c : cases) {
    CAPTURE(c.file);
    const absl::StatusOr<Wav> wav = read_wav(recordings + "/" + c.file);
    REQUIRE(wav.status().ToString() == "OK");
    std::string last;
    const absl::StatusOr<Transcript> heard =
        transcriber->transcribe(wav->samples, [&](std::string_view text) { last = text; });
    REQUIRE(heard.status().ToString() == "OK");
    CHECK(heard->tokens == c.tokens);
    CHECK(heard->text == c.text);
    CHECK(last == c.text);
  }
  CHECK(transcriber->transcribe(std::vector<float>(100)).status().message() ==
        "a sound of 0.01 s; from 0.06 to 64 s are possible");
}

TEST_CASE("a sound of another rate is filtered and thinned out", "[transcribe][gpu]") {
  const Device device = testing::device_or_skip();
  const absl::StatusOr<std::vector<float>> same = at_16_khz(device, {1, 2, 3}, 16000);
  REQUIRE(same.status().ToString() == "OK");
  CHECK(*same == std::vector<float>{1, 2, 3});
  const absl::StatusOr<std::vector<float>> half = at_16_khz(device, std::vector<float>(4800, 0.5f), 48000);
  REQUIRE(half.status().ToString() == "OK");
  REQUIRE(half->size() == 1600);
  CHECK(std::abs((*half)[800] - 0.5f) < 1e-3f);
  CHECK(at_16_khz(device, {1}, 0).status().message() == "a sample rate of 0");
}

}  // namespace
}  // namespace rlxgpu::tools
