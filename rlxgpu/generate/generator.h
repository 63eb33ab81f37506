// Generator: writes tokens with a language model.
//
//   Result<LanguageModel> model = LanguageModel::load(device, "model.gguf");
//   Result<Tokenizer> tokenizer = Tokenizer::of(model->file());
//   Result<Generator> generator = Generator::create(*model);
//   for (Token t : generator->generate(tokenizer->encode("Once upon a time"))) std::cout << tokenizer->piece(t);
//
// What was read is remembered: of the next prompt only what differs is read (a recurrent model begins anew, unless the
// prompt goes on where it stands). A prompt is read in pieces. save() and restore() keep that memory in a file.
// Several generators share the weights of one model.
#ifndef RLXGPU_GENERATE_GENERATOR_H_
#define RLXGPU_GENERATE_GENERATOR_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rlxgpu/generate/sampler.h"
#include "rlxgpu/models/language_model.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/text/vocabulary.h"

namespace rlxgpu::core {

struct GeneratorOptions {
  int64_t context = 0;  // tokens that can be remembered; 0: as many as the model was trained for, at most 4096
  int64_t piece = 64;   // tokens of a prompt that are read at once
};

struct AnswerOptions {
  SamplerOptions sampling = {};
  int64_t tokens = -1;                   // at most; -1: until the model ends, or the context is full
  std::function<bool(Token)> ends = {};  // tokens that end the answer; they are not part of it
  std::function<bool()> cancelled = {};  // asked before every token
};

class Generator;

enum class Finish : uint8_t { going_on, ended, most_tokens, context_full, cancelled, failed };

// Tokens, made as one walks over them, once.
class Answer {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Token;
    using difference_type = std::ptrdiff_t;
    using pointer = const Token*;
    using reference = Token;
    Token operator*() const { return answer_->token_; }
    Iterator& operator++() { return answer_->advance(), *this; }
    void operator++(int) { answer_->advance(); }
    bool operator==(std::default_sentinel_t) const { return answer_->finish_ != Finish::going_on; }

   private:
    friend class Answer;
    explicit Iterator(Answer* answer) : answer_(answer) {}
    Answer* answer_;
  };
  Iterator begin() { return Iterator(this); }
  std::default_sentinel_t end() const { return {}; }

  Finish finish() const { return finish_; }         // why there are no more
  const Status& status() const { return status_; }  // of what failed

 private:
  friend class Generator;
  Answer(Generator& generator, const AnswerOptions& options);
  void advance();

  Generator* generator_;
  AnswerOptions options_;
  Sampler sampler_;
  int64_t count_ = 0;
  Token token_ = kNoToken;
  bool unread_ = false;  // the token has not been read by the model
  Finish finish_ = Finish::going_on;
  Status status_;
};

class Generator {
 public:
  static Result<Generator> create(const LanguageModel& model, const GeneratorOptions& options = {});

  Answer generate(std::span<const Token> prompt, const AnswerOptions& options = {});

  // Reads tokens until these are what is remembered; `logits` are then those behind the last.
  Status read(std::span<const Token> tokens);
  Status read_more(std::span<const Token> tokens);
  std::span<const float> logits() const { return logits_; }
  std::span<const Token> tokens() const { return tokens_; }  // that are remembered
  int64_t reused() const { return reused_; }                 // of them by the last read()
  int64_t context() const { return context_; }

  Status save(const std::string& path) const;
  Status restore(const std::string& path);

 private:
  explicit Generator(const LanguageModel& model) : model_(model), memory_(model.device()) {}
  Status run(std::span<const Token> tokens);
  Result<Executable<DynamicGraph>*> program(size_t tokens);
  uint64_t identity() const;
  Result<std::vector<std::pair<std::string, Shape>>> states() const;

  LanguageModel model_;
  States memory_;
  int64_t context_ = 0, piece_ = 64, reused_ = 0;
  std::vector<std::pair<size_t, std::unique_ptr<Executable<DynamicGraph>>>> programs_;  // by the most tokens at once
  std::vector<Token> tokens_;
  std::vector<float> logits_;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Answer, core::AnswerOptions, core::Finish, core::Generator, core::GeneratorOptions;
}  // namespace rlxgpu

#endif  // RLXGPU_GENERATE_GENERATOR_H_
