#include "rlxgpu/runtime/simplest_variant.h"

#include <utility>

#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/extract.h"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/reference/storage.h"

namespace rlxgpu::core::internal {
int SimplestChooser::choose(void* context, const Call& call, std::span<const Variant* const> accepted,
                            ParameterValues&) {
  SimplestChooser& self = *static_cast<SimplestChooser*>(context);
  size_t simplest = accepted.size() - 1;
  for (size_t i = 0; i < accepted.size(); ++i) {  // the preferred one comes first, even if it is the simplest
    if (accepted[i]->name == call.op->variants.back().name) simplest = i;
  }
  if (self.accepted.empty()) {
    self.simplest = accepted[simplest]->name;
    for (const Variant* const variant : accepted) self.accepted.emplace_back(variant->name);
  }
  return static_cast<int>(simplest);
}

Result<std::unique_ptr<SimplestVariant>> SimplestVariant::create(const Device& device, const Target& target,
                                                                 const Graph& graph, int32_t node,
                                                                 std::string_view chosen,
                                                                 const reference::Numbers& numbers) {
  FuseOptions apart;
  apart.fuse = false;
  Vec<int32_t> origin;
  const Graph alone = extract_group(graph, fuse(graph, target, apart), node, &origin);
  SimplestChooser chooser;
  const RenderedProgram rendered = render_free(
      compile(alone, target, {.fuse = apart, .simplify = false, .chooser = {SimplestChooser::choose, &chooser}}),
      target);
  if (!rendered.program.error.empty()) return invalid_argument(rendered.program.error.view());
  if (chooser.simplest.empty() || chooser.simplest == chosen) return std::unique_ptr<SimplestVariant>();

  auto made = std::make_unique<SimplestVariant>();
  made->node_ = &graph.node(node);
  made->name_ = std::string(made->node_->op->name) + "/" + chooser.simplest;
  Result<Session> session =
      Session::create(device, rendered.view(), rendered.texts(), {.label = "verification by " + made->name_});
  if (!session.ok()) return session.status();
  made->session_ = *std::move(session);
  for (const auto& [name, value] : numbers) {
    const int scalar = made->session_.find_scalar(name);
    if (scalar < 0) continue;
    if (Status status = made->session_.set_scalar(scalar, value); !status.ok()) return status;
  }
  for (const Node& source : alone.nodes) {
    if (source.kind == NodeKind::op || source.kind == NodeKind::constant || source.kind == NodeKind::scalar) continue;
    const int32_t value = origin[static_cast<size_t>(source.results.first)];
    for (int k = 0; k < made->node_->operands.count; ++k) {
      if (graph.operand(*made->node_, k) != value) continue;
      made->operands_.push_back({made->session_.find_port(alone.name(source.name)), static_cast<size_t>(k)});
      break;
    }
  }
  for (const Output& output : alone.outputs)
    made->results_.push_back(made->session_.find_port(alone.name(output.name)));
  return made;
}

bool SimplestVariant::compute(const Node& node, reference::Call& call) {
  if (&node != node_) return false;
  const auto went_well = [this](const Status& status) {
    if (status_.ok()) status_ = status;
    return status.ok();
  };
  for (const Operand& operand : operands_) {
    reference::Array stored = *call.operands[operand.index];
    reference::round_to_storage(stored);
    if (!went_well(session_.set(operand.port, stored.dtype, stored.count(), reference::pack(stored).data())))
      return true;
  }
  if (!went_well(session_.run().wait())) return true;
  for (size_t k = 0; k < results_.size() && k < call.results.size(); ++k) {
    reference::Array& result = *call.results[k];
    if (result.count() == 0) continue;
    std::vector<uint32_t> words(storage_bytes(result.dtype, result.count()) / 4);
    if (!went_well(session_.get(results_[k], result.dtype, result.count(), words.data()))) return true;
    result = reference::unpack(result.dtype, result.shape, words);
  }
  return true;
}

}  // namespace rlxgpu::core::internal
