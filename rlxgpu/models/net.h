// Net: a model's graph under construction. Functions of architectures are written with it and read like the papers:
//
//   void llama(Net& n) {
//     Tensor x = n.embedded();
//     for (const Layer& l : n.layers()) {
//       x = x + l.attention(l.rms_norm(x, "attn_norm"), {.rope = Rope::neighbours});
//       x = x + l.gated(l.rms_norm(x, "ffn_norm"), Gate::silu);
//     }
//     n.finish(x, Norm::rms);
//   }
//
// Names are those of GGUF files, a layer's without "blk.N."; products take what belongs to them with them: ".bias" and
// ".scale" where the file has such. Rows of x are tokens: those of one text (as many as a run says), or one token of
// each of several texts. What is missing in the file is an error of the graph that names it. Weights stay as they are
// in the file; all that is computed is f32.
#ifndef RLXGPU_MODELS_NET_H_
#define RLXGPU_MODELS_NET_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/blocks/weight.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"  // IWYU pragma: export
#include "rlxgpu/load/gguf.h"
#include "rlxgpu/models/metadata.h"

namespace rlxgpu::core::models {

enum class Norm : uint8_t { rms, layer };
enum class Rope : uint8_t { none, neighbours, halves };
enum class Gate : uint8_t { silu, gelu, relu, relu_squared };

// What a program is for. Either texts or tokens is 1.
struct NetPlan {
  int64_t texts = 1;        // side by side
  int64_t tokens = 1;       // of a text at once, at most
  bool any_count = false;   // as many tokens as a run says
  int64_t context = 512;    // tokens of a text that can be remembered
  bool embeddings = false;  // the output is a vector for each token, not the logits behind the last
};

struct AttentionParts {
  Rope rope = Rope::none;
  Norm norm = Norm::rms;  // of queries and keys, where the file has such norms
  double scale = 0;       // of scores; 0: 1 / sqrt(of a head's width)
  double softcap = 0;
  int64_t window = 0;    // so many keys, with the query's own
  double rope_base = 0;  // 0: the file's
  bool rope_scaled = true;
  double alibi = 0;  // the largest bias: keys far away count less
  bool causal = true;
  bool norm_after_rope = false;
  bool output_bias = true;  // where the file has one
};

struct MixtureParts {
  Gate gate = Gate::silu;
  enum class Choice : uint8_t { softmax, sigmoid, chosen_softmax } choice = Choice::softmax;
  bool normalised = true;  // the weights of the chosen experts
  double scale = 1;        // of these weights
  int64_t groups = 1, groups_used = 1;
  bool clamped = false;  // gpt-oss's gate
};

class Net;

// Weights whose names begin alike.
class Part {
 public:
  Part(Net& net, std::string prefix) : net_(net), prefix_(std::move(prefix)) {}

  bool has(std::string_view name) const;                                       // NAME, or NAME.weight
  const GgufTensor* stored(std::string_view name) const;                       // likewise
  Tensor weight(std::string_view name) const;                                  // in f32, of the file's shape
  Tensor linear(Tensor x, std::string_view name, bool biased = true) const;    // x W' scale + bias
  Tensor expert_linear(Tensor x, std::string_view name, Tensor expert) const;  // each row by the matrix of its expert
  Tensor rms_norm(Tensor x, std::string_view name) const;                      // over the last axis
  Tensor layer_norm(Tensor x, std::string_view name) const;                    // with a bias where there is one
  Tensor norm(Tensor x, std::string_view name, Norm kind) const;
  // down(act(gate x) (up x)), or down(act(up x)) in a file without a gate. Names end in "_exps", "_shexp" and the like.
  Tensor gated(Tensor x, Gate act, std::string_view ending = "") const;

  Net& net() const { return net_; }
  const Metadata& meta() const;
  std::string name(std::string_view rest) const { return prefix_ + std::string(rest); }

 private:
  Net& net_;
  std::string prefix_;
};

class Layer : public Part {
 public:
  Layer(Net& net, int index);
  int index() const { return index_; }

  // Keys and values of this layer are remembered from run to run.
  Tensor attention(Tensor x, const AttentionParts& parts) const;
  // Its parts, for those who need other queries, keys and values: (text, token, head, column).
  Tensor attend(Tensor q, Tensor k, Tensor v, const AttentionParts& parts) const;
  Tensor turned(Tensor heads, const AttentionParts& parts) const;

  // The keys that a query of this layer sees, by the file's pattern of layers: all of them (0), or so many. Without a
  // pattern in the file the last of every `period` layers sees all.
  int64_t window(int64_t period) const;

  // Each token's sum of some experts' results, by weights that the router gives.
  Tensor mixture(Tensor x, const MixtureParts& parts) const;

 private:
  Tensor head_norm(Tensor heads, std::string_view name, Norm kind) const;
  int index_;
};

class Net : public Part {
 public:
  Net(Builder& g, const Gguf& file, const Metadata& meta, const NetPlan& plan);

  Builder& g() const { return g_; }
  const NetPlan& plan() const { return plan_; }
  const Metadata& metadata() const { return meta_; }
  const Gguf& file() const { return file_; }
  int64_t width() const { return meta_.integer("embedding_length"); }
  std::vector<Layer> layers(int64_t count = -1);

  Tensor embedded();                         // the tokens' vectors
  Tensor learned_places();                   // vectors of their positions
  Tensor places() const { return places_; }  // of the rows of x, u32 (text, token)
  Tensor before() const { return before_; }  // tokens of each text that were there before, u32 (text)
  Dim texts() const { return plan_.texts; }
  Dim tokens() const { return tokens_; }
  Dim rows() const { return plan_.texts > 1 ? Dim(plan_.texts) : tokens_; }
  Tensor heads(Tensor x, int64_t count, int64_t size) const;  // (text, token, head, column)
  Tensor flat(Tensor heads) const;                            // rows again

  // By their whole names; every name is one param.
  const Weight& matrix(std::string_view name);
  Tensor plain(std::string_view name);
  Tensor state(std::string_view name, const Shape& shape);  // of each text: (text, ...)

  struct Finish {
    double scale = 1;  // of the logits
    double softcap = 0;
  };
  Tensor last(Tensor x) const;  // the rows that finish() looks at
  // The logits after the last token of each text, or every token's vector.
  void finish(Tensor x, Norm norm, const Finish& finish);
  void finish(Tensor x, Norm norm) { finish(x, norm, Finish()); }

 private:
  Builder& g_;
  const Gguf& file_;
  const Metadata& meta_;
  NetPlan plan_;
  Dim tokens_;
  Tensor tokens_input_, before_, places_;
  std::map<std::string, Weight, std::less<>> matrices_;
  std::map<std::string, Tensor, std::less<>> plain_;
};

Tensor softcapped(Tensor x, double cap);  // cap tanh(x / cap); x itself for a cap of 0

namespace internal {

Tensor activated(Tensor x, Gate act);
}  // namespace internal

}  // namespace rlxgpu::core::models

#endif  // RLXGPU_MODELS_NET_H_
