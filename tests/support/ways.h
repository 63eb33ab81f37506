// ways_of(hash_of_case(graph, agreement), adapter, ...): how a case of check_agrees is run.
//
// A function of the case alone: of its graph, choices, numbers, given values and seed, never of what ran before it. So
// a filtered run does what a run of all tests did.
#ifndef RLXGPU_TESTS_SUPPORT_WAYS_H_
#define RLXGPU_TESTS_SUPPORT_WAYS_H_

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rlxgpu/base/hash_index.h"
#include "rlxgpu/graph/graph.h"
#include "tests/support/agree.h"

namespace rlxgpu::core::testing {

struct Way {
  bool forced = false;   // with the variants that the case asks for
  bool for_any = false;  // planned for any device
  bool baked = false;    // sizes
  bool operator==(const Way&) const = default;
};

// The two that tests know. Others run all of every case.
enum class Adapter { lavapipe, swiftshader, other };

inline Adapter adapter_named(std::string_view label) {
  return label.find("SwiftShader") != label.npos ? Adapter::swiftshader
         : label.find("llvmpipe") != label.npos  ? Adapter::lavapipe
                                                 : Adapter::other;
}

// `forces`: the case asks for variants. `all`: as if every adapter were the case's own.
inline std::vector<Way> ways_of(uint64_t hash, Adapter adapter, bool forces, bool all) {
  const bool second = adapter == Adapter::swiftshader, own = all || (hash & 1) == (second ? 1u : 0u);
  const bool baked = ((hash & 2) != 0) != second, for_any = ((hash & 4) != 0) != second,
             baked_for_any = ((hash & 8) != 0) != second;
  if (forces && all) return {{true, false, baked}, {true, true, !baked}};
  if (forces && own) return {{true, for_any, baked}};
  if (forces || !own) return {{false, false, baked}};
  return {{false, false, baked}, {false, true, baked_for_any}};
}

inline uint64_t hash_of_case(const Graph& graph, const Agreement& agreement) {
  Hash hash;
  const auto number = [&](auto value) { hash << static_cast<uint64_t>(value); };
  for (const Node& node : graph.nodes) {
    number(node.kind);
    hash << (node.kind == NodeKind::op ? node.op->name : graph.name(node.name));
    for (int k = 0; k < node.operands.count; ++k) number(graph.operand(node, k));
    for (const int64_t attr : graph.attributes(node)) number(attr);
    for (int i = 0; i < node.words.count; ++i) number(graph.words[static_cast<size_t>(node.words.first + i)]);
  }
  for (const Value& value : graph.values) {
    number(value.dtype), number(value.shape.rank());
    for (int axis = 0; axis < value.shape.rank(); ++axis) number(value.shape[axis]), number(value.shape.symbol(axis));
  }
  for (const Output& output : graph.outputs) {
    hash << graph.name(output.name);
    number(output.value);
  }
  for (const Choice& choice : agreement.choices) hash << choice.op << choice.variant;
  for (const auto& [name, value] : agreement.numbers) hash << std::string_view(name) << std::bit_cast<uint64_t>(value);
  for (const auto& [name, values] : agreement.given) {
    hash << std::string_view(name);
    for (const double value : values) hash << std::bit_cast<uint64_t>(value);
  }
  number(agreement.fuse), number(agreement.seed);
  return hash.value();
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_SUPPORT_WAYS_H_
