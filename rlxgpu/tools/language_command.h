// `rlxgpu generate`, `rlxgpu chat` and `rlxgpu embed`: language models from GGUF files.
//
//   rlxgpu generate model.gguf "Once upon a time" --tokens 64 --seed 7
//   rlxgpu chat model.gguf --system "Be brief."
//   rlxgpu embed model.gguf "a text" --out vector.npy
//
// The text alone is on stdout; progress, speeds and memory on stderr. Ctrl-C ends the answer; in a chat, not the chat.
#ifndef RLXGPU_TOOLS_LANGUAGE_COMMAND_H_
#define RLXGPU_TOOLS_LANGUAGE_COMMAND_H_

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "rlxgpu/generate/sampler.h"

namespace rlxgpu::core::tools {

struct LanguageCommand {
  std::string model, adapter;
  std::string text;  // of generate and embed; "-": stdin
  int64_t context = 0, tokens = -1;
  SamplerOptions sampling;
  std::vector<std::string> stops;
  std::string system, out = "embedding.npy";
  bool terminal = false;  // stderr is one
};

// 0; 1 when the model cannot be had or fails; 2 when the arguments make no sense.
int generate_command(const LanguageCommand& command, std::istream& in, std::ostream& out, std::ostream& err);
int chat_command(const LanguageCommand& command, std::istream& in, std::ostream& out, std::ostream& err);
int embed_command(const LanguageCommand& command, std::istream& in, std::ostream& out, std::ostream& err);

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_LANGUAGE_COMMAND_H_
