#include "rlxgpu/generate/generator.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace rlxgpu::core {
namespace {

constexpr std::string_view kStateMagic = "rlxgpu state 1\n";

}  // namespace

// --- Answer --------------------------------------------------------------------------------------------------------

Answer::Answer(Generator& generator, const AnswerOptions& options)
    : generator_(&generator), options_(options), sampler_(options.sampling) {}

void Answer::advance() {
  if (finish_ != Finish::going_on) return;
  if (options_.cancelled && options_.cancelled()) return static_cast<void>(finish_ = Finish::cancelled);
  if (options_.tokens >= 0 && count_ >= options_.tokens) return static_cast<void>(finish_ = Finish::most_tokens);
  if (unread_) {
    if (static_cast<int64_t>(generator_->tokens().size()) >= generator_->context())
      return static_cast<void>(finish_ = Finish::context_full);
    status_ = generator_->read_more({&token_, 1});
    if (!status_.ok()) return static_cast<void>(finish_ = Finish::failed);
  }
  token_ = sampler_.draw(generator_->logits(), generator_->tokens());
  unread_ = true;
  ++count_;
  if (options_.ends && options_.ends(token_)) finish_ = Finish::ended;
}

// --- Generator -----------------------------------------------------------------------------------------------------

Result<Generator> Generator::create(const LanguageModel& model, const GeneratorOptions& options) {
  Generator generator(model);
  const int64_t trained = model.metadata().integer("context_length", 0, 4096);
  generator.context_ = options.context > 0 ? options.context : std::min<int64_t>(4096, trained);
  generator.piece_ = std::max<int64_t>(1, std::min(options.piece, generator.context_));
  if (model.architecture().encoder) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", model.metadata().architecture(), " reads texts and writes none: `rlxgpu embed` is for it"));
  }
  if (Result<Executable<DynamicGraph>*> one = generator.program(1); !one.ok()) return one.status();
  return generator;
}

// A recurrent model's programs read exactly so many tokens, others as many as a run says.
Result<Executable<DynamicGraph>*> Generator::program(size_t tokens) {
  for (const auto& [most, program] : programs_) {
    if (most == tokens) return program.get();
  }
  const bool counted = tokens > 1 && !model_.architecture().recurrent;
  Result<Executable<DynamicGraph>> made =
      model_.program({.tokens = static_cast<int64_t>(tokens), .any_count = counted, .context = context_}, memory_);
  if (!made.ok()) return made.status();
  programs_.emplace_back(tokens, std::make_unique<Executable<DynamicGraph>>(*std::move(made)));
  return programs_.back().second.get();
}

Status Generator::run(std::span<const Token> tokens) {
  const bool counted = tokens.size() > 1 && !model_.architecture().recurrent;
  Result<Executable<DynamicGraph>*> found = program(counted ? static_cast<size_t>(piece_) : tokens.size());
  if (!found.ok()) return found.status();
  Executable<DynamicGraph>& program = **found;
  const uint32_t before[] = {static_cast<uint32_t>(tokens_.size())};
  if (counted) {
    if (Status status = program.set("count", static_cast<double>(tokens.size())); !status.ok()) return status;
  }
  if (Status status = program.set("tokens", tokens); !status.ok()) return status;
  if (Status status = program.set("before", before); !status.ok()) return status;
  if (Status status = program.run().wait(); !status.ok()) return status;
  Result<std::vector<float>> logits = program.get<float>("logits");
  if (!logits.ok()) return logits.status();
  logits_ = *std::move(logits);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  return Status();
}

Status Generator::read_more(std::span<const Token> tokens) {
  if (static_cast<int64_t>(tokens_.size() + tokens.size()) > context_) {
    return absl::ResourceExhaustedError(absl::StrCat("the context of ", context_, " tokens is full: ", tokens_.size(),
                                                     " are in it, ", tokens.size(), " more were given"));
  }
  for (const Token token : tokens) {
    if (static_cast<int64_t>(token) >= model_.vocabulary())
      return absl::InvalidArgumentError(absl::StrCat("there is no token ", token));
  }
  while (!tokens.empty()) {
    size_t count = std::min(tokens.size(), static_cast<size_t>(piece_));
    if (model_.architecture().recurrent && count < static_cast<size_t>(piece_)) count = count >= 8 ? 8 : 1;
    if (Status status = run(tokens.first(count)); !status.ok()) return status;
    tokens = tokens.subspan(count);
  }
  return Status();
}

Status Generator::read(std::span<const Token> tokens) {
  if (tokens.empty()) return absl::InvalidArgumentError("a prompt without tokens");
  const auto differ = std::mismatch(tokens.begin(), tokens.end(), tokens_.begin(), tokens_.end());
  auto common = static_cast<size_t>(differ.first - tokens.begin());
  if (common == tokens.size() && (common < tokens_.size() || logits_.empty()))
    --common;  // the last one's logits are wanted
  if (common < tokens_.size() && model_.architecture().recurrent) {
    common = 0;
    if (Status status = memory_.clear(); !status.ok()) return status;
  }
  tokens_.resize(common);
  reused_ = static_cast<int64_t>(common);
  return read_more(tokens.subspan(common));
}

Answer Generator::generate(std::span<const Token> prompt, const AnswerOptions& options) {
  Answer answer(*this, options);
  answer.status_ = read(prompt);
  if (!answer.status_.ok()) {
    answer.finish_ = Finish::failed;
  } else {
    answer.advance();
  }
  return answer;
}

// --- Its memory in a file ------------------------------------------------------------------------------------------

// Of the weights: names, sizes, and how each begins.
uint64_t Generator::identity() const {
  uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](const void* data, size_t size) {
    for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3;
  };
  for (const GgufTensor& tensor : model_.file().tensors()) {
    const size_t size = tensor.data.size();
    add(tensor.name.data(), tensor.name.size()), add(&size, sizeof(size));
    add(tensor.data.data(), std::min<size_t>(size, 256));
  }
  return hash;
}

Result<std::vector<std::pair<std::string, Shape>>> Generator::states() const {
  Result<DynamicGraph> graph = model_.graph({.context = context_});
  if (!graph.ok()) return graph.status();
  std::vector<std::pair<std::string, Shape>> found;
  for (const Node& node : graph->graph().nodes) {
    if (node.kind != NodeKind::state) continue;
    found.emplace_back(graph->graph().name(node.name), graph->graph().value(node.results.first).shape);
  }
  return found;
}

Status Generator::save(const std::string& path) const {
  Result<std::vector<std::pair<std::string, Shape>>> all = states();
  if (!all.ok()) return all.status();
  std::ofstream out(path, std::ios::binary);
  const uint64_t numbers[] = {identity(), static_cast<uint64_t>(context_), tokens_.size(), logits_.size()};
  out << kStateMagic;
  const auto put = [&](const void* data, size_t bytes) {
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  };
  put(numbers, sizeof(numbers)), put(tokens_.data(), tokens_.size() * 4), put(logits_.data(), logits_.size() * 4);
  for (const auto& [name, shape] : *all) {
    std::vector<std::byte> bytes(storage_bytes(f32, shape.count()));
    if (Status status = memory_.get(name, bytes); !status.ok()) return status;
    put(bytes.data(), bytes.size());
  }
  out.flush();
  return out ? Status() : Status(absl::UnavailableError(absl::StrCat(path, ": cannot be written")));
}

Status Generator::restore(const std::string& path) {
  Result<std::vector<std::pair<std::string, Shape>>> all = states();
  if (!all.ok()) return all.status();
  std::ifstream in(path, std::ios::binary);
  std::string magic(kStateMagic.size(), ' ');
  uint64_t numbers[4] = {};
  const auto take = [&](void* data, size_t bytes) {
    in.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
  };
  take(magic.data(), magic.size()), take(numbers, sizeof(numbers));
  if (!in || magic != kStateMagic)
    return absl::InvalidArgumentError(absl::StrCat(path, ": not the state of a generator"));
  if (numbers[0] != identity()) return absl::FailedPreconditionError(absl::StrCat(path, ": is of another model"));
  if (numbers[1] != static_cast<uint64_t>(context_)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": is of a context of ", numbers[1], " tokens, this one has ", context_));
  }
  if (numbers[2] > numbers[1] || numbers[3] > static_cast<uint64_t>(model_.vocabulary()))
    return absl::InvalidArgumentError(absl::StrCat(path, ": is damaged"));
  std::vector<Token> tokens(numbers[2]);
  std::vector<float> logits(numbers[3]);
  take(tokens.data(), tokens.size() * 4), take(logits.data(), logits.size() * 4);
  std::vector<std::vector<std::byte>> bytes;
  for (const auto& [name, shape] : *all) {
    bytes.emplace_back(storage_bytes(f32, shape.count()));
    take(bytes.back().data(), bytes.back().size());
  }
  if (!in) return absl::InvalidArgumentError(absl::StrCat(path, ": ends too early"));
  for (size_t i = 0; i < all->size(); ++i) {
    if (Status status = memory_.set((*all)[i].first, f32, (*all)[i].second, bytes[i]); !status.ok()) return status;
  }
  tokens_ = std::move(tokens), logits_ = std::move(logits);
  return Status();
}

}  // namespace rlxgpu::core
