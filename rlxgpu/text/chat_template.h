// ChatTemplate: a conversation as the text that a model was trained with, by the Jinja template in its file (minja).
//
//   Result<ChatTemplate> chat = ChatTemplate::of(model->file(), tokenizer->vocabulary());
//   Result<std::string> text = chat->text({{"system", "Be brief."}, {"user", "Hello!"}});
//   tokenizer->encode(*text, {.ends = false, .special = true});      // the template writes what begins a text itself
//
// A template that cannot be read or run is a status with its own words and the line.
#ifndef RLXGPU_TEXT_CHAT_TEMPLATE_H_
#define RLXGPU_TEXT_CHAT_TEMPLATE_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/load/gguf.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/text/vocabulary.h"

namespace rlxgpu::core {

struct ChatMessage {
  std::string role, content;  // "system", "user", "assistant", "tool"
};

struct ChatOptions {
  std::string tools = {};  // JSON: a list of functions that the model may call
  bool answer = true;      // ends where the model goes on
};

class ChatTemplate {
 public:
  static Result<ChatTemplate> of(const Gguf& file, const Vocabulary& vocabulary);
  static Result<ChatTemplate> parse(std::string_view source, std::string_view bos, std::string_view eos);

  Result<std::string> text(std::span<const ChatMessage> messages, const ChatOptions& options = {}) const;

 private:
  struct Parsed;
  std::shared_ptr<const Parsed> parsed_;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::ChatMessage, core::ChatOptions, core::ChatTemplate;
}  // namespace rlxgpu

#endif  // RLXGPU_TEXT_CHAT_TEMPLATE_H_
