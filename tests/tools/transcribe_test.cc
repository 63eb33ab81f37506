// What is said in recordings, against ONNX Runtime 1.30 on the same files (its CPU provider): the same tokens.
#include "rlxgpu/tools/transcribe.h"

#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/tools/vocabulary.h"
#include "rlxgpu/tools/wav.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::tools {
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

// Recordings of Debian's pocketsphinx-testdata; no token of ours differs.
struct Case {
  const char* file;
  std::vector<int32_t> tokens;
  const char* text;
};
const Case kCases[] = {
    {"001.wav", {12444, 310, 17651, 29889}, "Ten of clubs."},
    {"002.wav", {12458, 26624, 310, 17651, 29889}, "Four queen of clubs."},
    {"003.wav", {26647, 310, 17651, 29889}, "Seven of clubs."},
    {"004.wav", {22853, 29892, 5320, 29889}, "Five, five."},
    {"005.wav",
     {382, 523, 310, 805, 3076, 29892, 3023, 310, 17184, 1960, 29892, 9881, 310, 26490, 29889},
     "Eight of spades, four of cloves, seven of hearts."},
    {"sense_and_sensibility_01_austen_64kb-0870.wav",
     {1126, 3237, 29889, 2259, 360, 1161, 6115, 750, 769, 454,  275, 545, 304, 2050, 920,
      1568, 727,  1795,  367,  544, 566,  2705, 297, 670, 3081, 304, 437, 363, 963,  29889},
     "And Mr. John Dashwood had then leisure to consider how much there might be prudently in his power to do for "
     "them."},
    {"sense_and_sensibility_01_austen_64kb-0880.wav",
     {940, 471, 451, 385, 4486, 29899, 1028, 2662, 4123, 767, 29889},
     "He was not an ill-sposed young man."},
    {"sense_and_sensibility_01_austen_64kb-0890.wav",
     {25870, 304,   367, 3265, 11220, 29899, 23057, 287,  322,  3265, 1583,
      728,   29892, 338, 304,  367,   4486,  29899, 2218, 4752, 29892},
     "Unless to be rather cold-hearted and rather selfish, is to be ill-disposed,"},
    {"sense_and_sensibility_01_austen_64kb-0920.wav",
     {14302, 540,  8300, 263,  901, 18926, 519, 6114, 29892, 540, 1795,
      505,   1063, 1754, 1603, 901, 3390,  519, 1135, 540,   471, 29889},
     "Had he married a more amiable woman, he might have been made still more respectable than he was."},
    {"sense_and_sensibility_01_austen_64kb-0930.wav",
     {940, 1795, 1584, 505, 1063, 1754, 18926, 519, 3654, 29889},
     "He might even have been made amiable himself."},
    {"dhd.2934z.wav", {7803, 14183, 2211, 3023, 5225}, "Two nine three four zero"},
    {"goforward.wav", {2921, 6375, 3006, 27881, 29889}, "Go forward ten meters."},
    {"numbers.wav",
     {498, 13163, 2211, 3023, 29892, 4832, 17081, 3305, 1023, 29889},
     "Thirty three four, six ninety two."},
    {"something.wav", {2921, 9051, 322, 437, 1554, 29889}, "Go somewhere and do something."},
};

void listen(std::span<const Case> cases) {
  const std::string models = model_folder("moonshine-tiny"), recordings = model_folder("recordings");
  INFO("models are fetched by ./dev models");
  REQUIRE(std::filesystem::exists(models));
  REQUIRE(std::filesystem::exists(recordings));
  const Device device = testing::device_or_skip();
  absl::StatusOr<Transcriber> transcriber = Transcriber::open(device, models);
  REQUIRE(transcriber.status().ToString() == "OK");
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

// One, since drivers compile kernels for each length: half a minute without their cache.
TEST_CASE("a recording is understood as ONNX Runtime understands it", "[transcribe][gpu]") {
  listen(std::span(kCases).first(1));
}

// ./dev fuzz recordings
TEST_CASE("every recording is understood as ONNX Runtime understands it", "[.][every]") { listen(kCases); }

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
}  // namespace rlxgpu::core::tools
