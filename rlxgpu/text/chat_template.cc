#include "rlxgpu/text/chat_template.h"

#include <exception>
#include <minja/chat-template.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace rlxgpu::core {

struct ChatTemplate::Parsed {
  minja::chat_template chat;
};

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, std::string_view bos, std::string_view eos) {
  ChatTemplate result;
  try {
    result.parsed_ = std::make_shared<const Parsed>(
        Parsed{minja::chat_template(std::string(source), std::string(bos), std::string(eos))});
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("the model's chat template cannot be read: ", error.what()));
  }
  return result;
}

Result<ChatTemplate> ChatTemplate::of(const Gguf& file, const Vocabulary& vocabulary) {
  const auto source = file.text("tokenizer.chat_template");
  if (!source) return absl::NotFoundError("the file has no chat template (tokenizer.chat_template)");
  const auto text = [&](Token token) { return token < vocabulary.size() ? vocabulary.texts[token] : std::string(); };
  return parse(*source, text(vocabulary.bos), text(vocabulary.eos));
}

Result<std::string> ChatTemplate::text(std::span<const ChatMessage> messages, const ChatOptions& options) const {
  minja::chat_template_inputs inputs;
  inputs.add_generation_prompt = options.answer;
  inputs.messages = nlohmann::ordered_json::array();
  for (const ChatMessage& message : messages)
    inputs.messages.push_back({{"role", message.role}, {"content", message.content}});
  if (!options.tools.empty()) {
    inputs.tools = nlohmann::ordered_json::parse(options.tools, nullptr, false);
    if (!inputs.tools.is_array()) return absl::InvalidArgumentError("the tools are no JSON list");
  }
  try {
    return parsed_->chat.apply(inputs);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("the model's chat template cannot be run: ", error.what()));
  }
}

}  // namespace rlxgpu::core
