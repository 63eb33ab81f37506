#include "rlxgpu/load/onnx/batch_norm.h"

#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace rlxgpu::core::onnx {
namespace {

// How often each name is read, in branches and loops, too.
void count_reads(const GraphDef& graph, std::map<std::string, int>& reads) {
  for (const PortDef& output : graph.outputs) ++reads[output.name];
  for (const NodeDef& node : graph.nodes) {
    for (const std::string& name : node.inputs) ++reads[name];
    for (const Attribute& a : node.attributes) {
      if (a.graph != nullptr) count_reads(*a.graph, reads);
    }
  }
}

const Attribute* find(const NodeDef& node, std::string_view name) {
  for (const Attribute& a : node.attributes) {
    if (a.name == name) return &a;
  }
  return nullptr;
}

bool is(const NodeDef& node, std::string_view op) {
  return node.op == op && node.domain.empty() && !node.outputs.empty() && !node.outputs[0].empty();
}

class Folder {
 public:
  explicit Folder(GraphDef& graph) : graph_(graph) {}

  void run() {
    count_reads(graph_, reads_);
    for (const auto& [name, tensor] : graph_.constants) constants_[name] = tensor;
    std::map<std::string, size_t> convolutions;  // by their results
    std::set<size_t> gone;
    for (size_t k = 0; k < graph_.nodes.size(); ++k) {
      const NodeDef& node = graph_.nodes[k];
      const auto conv = node.inputs.empty() ? convolutions.end() : convolutions.find(node.inputs[0]);
      const bool folded = conv != convolutions.end() && is(node, "BatchNormalization") && reads_[node.inputs[0]] == 1 &&
                          fold(graph_.nodes[conv->second], node);
      const size_t by = folded ? conv->second : k;
      if (folded) gone.insert(k);
      for (const std::string& name : node.outputs) convolutions.erase(name), constants_.erase(name);
      if (folded || is(node, "Conv")) convolutions[node.outputs[0]] = by;
      const Attribute* value = is(node, "Constant") ? find(node, "value") : nullptr;
      if (value != nullptr) constants_[node.outputs[0]] = value->tensor;
    }
    size_t kept = 0;
    for (size_t k = 0; k < graph_.nodes.size(); ++k) {
      if (gone.contains(k)) continue;
      if (kept != k) graph_.nodes[kept] = std::move(graph_.nodes[k]);
      ++kept;
    }
    graph_.nodes.resize(kept);
  }

 private:
  // Elements of a constant of f32 with this shape.
  std::optional<std::vector<float>> floats(const std::string& name, const std::vector<int64_t>& shape) const {
    const auto found = constants_.find(name);
    if (found == constants_.end() || found->second.type() != ElementType::f32 || found->second.shape() != shape)
      return std::nullopt;
    std::vector<float> values(static_cast<size_t>(found->second.count()));
    if (!values.empty()) std::memcpy(values.data(), found->second.bytes().data(), values.size() * sizeof(float));
    return values;
  }

  std::string add(const std::string& like, std::vector<int64_t> shape, const std::vector<float>& values) {
    std::string name = like + ":normed";
    while (constants_.contains(name) || reads_.contains(name)) name += "'";
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    HostTensor tensor =
        HostTensor::of_bytes(ElementType::f32, std::move(shape), {bytes, bytes + values.size() * sizeof(float)});
    constants_[name] = tensor;
    graph_.constants.emplace_back(name, std::move(tensor));
    return name;
  }

  bool fold(NodeDef& conv, const NodeDef& norm) {
    if (norm.inputs.size() != 5 || conv.inputs.size() < 2 || conv.inputs.size() > 3) return false;
    float epsilon = 1e-5f;
    for (const Attribute& a : norm.attributes) {
      if (!a.refers_to.empty()) return false;
      if (a.name == "epsilon" && a.kind == Attribute::Kind::number) {
        epsilon = a.number;
      } else if (a.name != "momentum" && !(a.name == "training_mode" && a.integer == 0) &&
                 !(a.name == "spatial" && a.integer == 1)) {
        return false;
      }
    }
    for (size_t k = 1; k < norm.outputs.size(); ++k) {
      if (!norm.outputs[k].empty()) return false;
    }
    const auto found = constants_.find(conv.inputs[1]);
    if (found == constants_.end() || found->second.shape().size() < 3) return false;
    const std::vector<int64_t> shape = found->second.shape(), channels = {shape[0]};
    std::optional<std::vector<float>> w = floats(conv.inputs[1], shape), scale = floats(norm.inputs[1], channels),
                                      bias = floats(norm.inputs[2], channels), mean = floats(norm.inputs[3], channels),
                                      variance = floats(norm.inputs[4], channels);
    if (!w || !scale || !bias || !mean || !variance) return false;
    const bool has_bias = conv.inputs.size() == 3 && !conv.inputs[2].empty();
    std::optional<std::vector<float>> own = std::vector<float>(scale->size());
    if (has_bias) own = floats(conv.inputs[2], channels);
    if (!own) return false;
    const size_t each = scale->empty() ? 0 : w->size() / scale->size();
    for (size_t c = 0; c < scale->size(); ++c) {
      const double spread = static_cast<double>((*variance)[c]) + epsilon;
      if (!(spread > 0)) return false;  // the norm's own NaN or infinity is what the model means
      const double factor = (*scale)[c] / std::sqrt(spread);
      for (size_t i = c * each; i < (c + 1) * each; ++i) (*w)[i] = static_cast<float>((*w)[i] * factor);
      (*own)[c] = static_cast<float>((static_cast<double>((*own)[c]) - (*mean)[c]) * factor + (*bias)[c]);
    }
    conv.inputs = {conv.inputs[0], add(conv.inputs[1], shape, *w), add(norm.inputs[2], channels, *own)};
    conv.outputs[0] = norm.outputs[0];
    return true;
  }

  GraphDef& graph_;
  std::map<std::string, int> reads_;
  std::map<std::string, HostTensor> constants_;
};

}  // namespace

void fold_batch_norms(GraphDef& graph) { Folder(graph).run(); }

}  // namespace rlxgpu::core::onnx
