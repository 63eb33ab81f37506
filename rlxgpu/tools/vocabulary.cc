#include "rlxgpu/tools/vocabulary.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace rlxgpu::core::tools {

absl::StatusOr<Vocabulary> Vocabulary::open(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return absl::NotFoundError(absl::StrCat(path, " cannot be read"));
  absl::StatusOr<Vocabulary> vocabulary = parse(text.str());
  if (vocabulary.ok()) return vocabulary;
  return absl::Status(vocabulary.status().code(), absl::StrCat(path, ": ", vocabulary.status().message()));
}

absl::StatusOr<Vocabulary> Vocabulary::parse(std::string_view script) {
  const std::string_view lead = "llama_vocab_base64";
  // The assignment, not the uses before it.
  for (size_t at = script.find(lead); at != std::string_view::npos; at = script.find(lead, at + 1)) {
    std::string_view rest = script.substr(at + lead.size());
    while (!rest.empty() && (rest[0] == ' ' || rest[0] == '=')) rest.remove_prefix(1);
    if (rest.empty() || (rest[0] != '"' && rest[0] != '\'' && rest[0] != '`')) continue;
    const size_t end = rest.find(rest[0], 1);
    std::string lines;
    if (end == std::string_view::npos || !absl::Base64Unescape(rest.substr(1, end - 1), &lines)) break;
    Vocabulary vocabulary;
    for (const std::string_view line : absl::StrSplit(lines, '\n')) {
      uint32_t byte = 0;
      if (absl::StartsWith(line, "<0x") && absl::EndsWith(line, ">") &&
          absl::SimpleHexAtoi(line.substr(3, line.size() - 4), &byte)) {
        vocabulary.tokens_.emplace_back(1, static_cast<char>(byte));
      } else {
        vocabulary.tokens_.push_back(vocabulary.tokens_.size() < 3 ? std::string()
                                                                   : absl::StrReplaceAll(line, {{"\u2581", " "}}));
      }
    }
    return vocabulary;
  }
  return absl::InvalidArgumentError("no vocabulary (llama_vocab_base64) is in it");
}

std::string Vocabulary::text(std::span<const int32_t> tokens) const {
  std::string text;
  for (const int32_t token : tokens) {
    if (token >= 0 && static_cast<size_t>(token) < tokens_.size()) text += tokens_[static_cast<size_t>(token)];
  }
  return absl::StartsWith(text, " ") ? text.substr(1) : text;
}

}  // namespace rlxgpu::core::tools
