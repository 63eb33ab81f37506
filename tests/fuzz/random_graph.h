// random_graph: a program of a few ops of every family, or of a few layers of a real network's size, from a seed.
//
//   DynamicGraph graph = random_graph(42);      // the same for the same seed, on every machine
//
// Each Maker adds one op, with operands that it may take. An op that the builder refuses would end the graph:
// makers ask for nothing that a shape rule forbids.
#ifndef RLXGPU_TESTS_FUZZ_RANDOM_GRAPH_H_
#define RLXGPU_TESTS_FUZZ_RANDOM_GRAPH_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "rlxgpu/dynamic.h"
#include "tests/fuzz/compute_makers.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/large_makers.h"
#include "tests/fuzz/layer_makers.h"
#include "tests/fuzz/movement_makers.h"
#include "tests/fuzz/network_makers.h"
#include "tests/fuzz/trial.h"

namespace rlxgpu::core::fuzz {

struct Maker {
  int weight = 1;
  Tensor (*make)(Generator&) = nullptr;
};

inline constexpr Maker kMakers[] = {
    {14, make_float_unary}, {4, make_activation}, {16, make_arithmetic}, {4, make_integer_op}, {4, make_comparison},
    {3, make_logic},        {4, make_where},      {3, make_clamp},       {6, make_cast},       {3, make_complex},
    {4, make_reshape},      {5, make_transpose},  {6, make_slice},       {4, make_expand},     {3, make_pad},
    {3, make_roll},         {4, make_concat},     {4, make_gather},      {2, make_generated},  {8, make_reduction},
    {2, make_arg},          {4, make_softmax},    {7, make_matmul},      {3, make_scan},       {3, make_scatter},
    {6, make_layers},       {3, make_accumulate}, {3, make_resize},      {4, make_attention},  {4, make_norm},
    {2, make_rope},         {3, make_conv},       {2, make_pool},        {3, make_rearranged}, {3, make_gated},
    {2, make_sort},
};

// Layers of a real network's size.
inline constexpr Maker kLayerMakers[] = {
    {16, make_large_product}, {8, make_large_conv},      {5, make_large_gated},
    {4, make_large_grouped},  {2, make_large_attention},
};
// What is done between them. Nothing that chooses by comparing: of so many elements some are equal but for rounding.
inline constexpr Maker kBetweenMakers[] = {
    {2, make_activation}, {3, make_arithmetic}, {2, make_reshape}, {2, make_transpose},
    {2, make_slice},      {2, make_norm},       {2, make_softmax}, {1, make_reduction},
};

// One program in eight, and none of those with infinities.
constexpr bool is_large(uint64_t seed) { return seed % 8 == 1; }

inline Tensor make_one(Generator& generator, std::span<const Maker> makers) {
  int total = 0;
  for (const Maker& maker : makers) total += maker.weight;
  int64_t roll = generator.random.below(total);
  for (const Maker& maker : makers) {
    if (roll < maker.weight) return maker.make(generator);
    roll -= maker.weight;
  }
  return {};
}

// One to three layers, with something before each but the first now and then; what nothing reads is an output.
inline DynamicGraph large_graph(uint64_t seed) {
  DynamicGraph graph;
  Generator generator(*graph, seed);
  const int64_t layers = generator.random.between(1, 3);
  for (int64_t made = 0, attempts = 0; made < layers && (made == 0 || attempts < 20); ++attempts) {
    if (made > 0 && generator.random.chance(0.3)) generator.add(make_one(generator, kBetweenMakers));
    const Tensor layer = make_one(generator, kLayerMakers);
    made += layer.valid();
    generator.add(layer);
  }
  const Graph& g = graph.graph();
  std::vector<bool> is_read(g.values.size());
  for (const Node& node : g.nodes) {
    for (int k = 0; k < node.operands.count; ++k) is_read[static_cast<size_t>(g.operand(node, k))] = true;
  }
  for (size_t n = 0; n < g.nodes.size(); ++n) {
    const int32_t result = g.nodes[n].results.first;
    if (g.nodes[n].kind == NodeKind::op && !is_read[static_cast<size_t>(result)])
      graph->output("y" + std::to_string(g.outputs.size()), Tensor(&*graph, result));
  }
  return graph;
}

// `makers`: of small programs.
inline DynamicGraph random_graph(uint64_t seed, std::span<const Maker> makers = kMakers) {
  if (is_large(seed)) return large_graph(seed);
  DynamicGraph graph;
  Generator generator(*graph, seed);
  Random& random = generator.random;
  const int64_t ops = random.chance(0.04) ? 30 : random.between(2, 9);  // now and then more than a kernel can bind
  for (int64_t i = 0; i < ops; ++i) generator.add(make_one(generator, makers));
  if (!generator.last().valid()) generator.add(generator.any());

  int outputs = 0;
  const auto output = [&](Tensor t) { graph->output("y" + std::to_string(outputs++), t); };
  output(generator.last());
  while (outputs < 3 && random.chance(0.35)) output(random.pick(generator.pool()));
  return graph;
}

// Ways to compile it that must not matter, from the same seed.
inline Setting random_setting(const Graph& graph, uint64_t seed) {
  Random random(seed_for(seed, "setting"));
  Setting setting;
  setting.seed = seed;
  setting.fuse = !random.chance(0.1);
  setting.simplify = !random.chance(0.1);
  setting.portable = random.chance(is_large(seed) ? 0.1 : 0.3);
  setting.baked = random.chance(0.5);
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::op || node.op->variants.size() < 2 || !random.chance(is_large(seed) ? 0.3 : 0.4))
      continue;
    setting.choices.push_back({node.op->name, random.pick(node.op->variants).name});
  }
  return setting;
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_RANDOM_GRAPH_H_
