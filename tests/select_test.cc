// nonzero, compress, unique, non_max_suppression.
#include "rlxgpu/kernels/select/select.h"

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/select/nms.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("select: what is wrong is said", "[select]") {
  const auto x = [](Builder& g) { return g.input("x", f32, {4, 6}); };
  CHECK(message_of([&](Builder& g) { compress(x(g), g.input("f", boolean, {7}), 1); }) ==
        "compress([4,6], [7]): more flags than elements along axis 1");
  CHECK(message_of([&](Builder& g) { compress(x(g), g.input("f", boolean, {4}), 2); }) ==
        "compress([4,6], [4]): axis 2 does not exist");
  CHECK(message_of([&](Builder& g) { unique(x(g), 2); }) == "unique([4,6]): axis 2 does not exist");
  CHECK(message_of([&](Builder& g) { nonzero(g.input("x", f32, {g.extent("n", 4)})); }) ==
        "nonzero([<=4]): run-time extents are not possible");
  CHECK(message_of([&](Builder& g) { search_sorted(x(g), g.input("v", f32, {2})); }) ==
        "search_sorted([4,6], [2]): the list must have one axis of a known extent");
  CHECK(message_of([&](Builder& g) {
          non_max_suppression(x(g), g.input("s", f32, {1, 2, 3}), {});
        }).ends_with("takes f32 boxes (batch, n, 4) and scores (batch, classes, n)"));
}

// What a graph of i32 outputs gives, and its numbers.
std::vector<int32_t> ints(Executable<DynamicGraph>& executable, const char* name) {
  const auto values = executable.get<int32_t>(name);
  REQUIRE(values.status().ToString() == "OK");
  return *values;
}

TEST_CASE("nonzero and compress, against the plain loop", "[select][gpu]") {
  const Device device = device_or_skip();
  const Shape shape = GENERATE(Shape{1}, Shape{7, 3, 5}, Shape{50, 100}, Shape{0, 4});
  CAPTURE(shape[0]);
  std::mt19937 random(7);
  std::vector<float> x;
  std::vector<uint8_t> flags;
  for (int64_t i = 0; i < shape.count(); ++i)
    x.push_back(random() % 3 == 0 ? static_cast<float>(1 + random() % 9) : 0.0f);
  for (int64_t i = 0; i < shape[0]; ++i) flags.push_back(random() % 2 == 0);
  DynamicGraph graph;
  const Tensor in = graph->input("x", f32, shape);
  const Selected where_set = nonzero(in), kept = compress(in, cast(graph->input("flags", u8, {shape[0]}), boolean), 0);
  graph->output("indices", where_set.values), graph->output("count", where_set.count);
  graph->output("kept", kept.values), graph->output("kept count", kept.count);
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", x).ok());
  REQUIRE(executable->set("flags", flags).ok());
  executable->run();
  std::vector<int64_t> set;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != 0) set.push_back(static_cast<int64_t>(i));
  }
  CHECK(ints(*executable, "count")[0] == static_cast<int32_t>(set.size()));
  const std::vector<int32_t> indices = ints(*executable, "indices");
  const Strides strides = dense_strides(shape);
  bool same = true;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    for (size_t k = 0; k < x.size(); ++k) {
      const int64_t expected = k < set.size() ? set[k] / strides[axis] % shape[axis] : -1;
      same = same && indices[static_cast<size_t>(axis) * x.size() + k] == expected;
    }
  }
  CHECK(same);
  std::vector<float> rows;
  const size_t width = shape[0] == 0 ? 0 : x.size() / static_cast<size_t>(shape[0]);
  for (size_t i = 0; i < flags.size(); ++i) {
    if (flags[i] != 0)
      rows.insert(rows.end(), x.begin() + static_cast<ptrdiff_t>(i * width),
                  x.begin() + static_cast<ptrdiff_t>((i + 1) * width));
  }
  if (width > 0) CHECK(ints(*executable, "kept count")[0] == static_cast<int32_t>(rows.size() / width));
  rows.resize(x.size());
  CHECK(*executable->get<float>("kept") == rows);
}

TEST_CASE("search_sorted and row_ranks agree with their references", "[select][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, i32, u8);
  for (const int64_t n : {0, 1, 6, 64, 100}) {
    CAPTURE(n, name_of(dtype));
    std::vector<double> sorted;
    for (int64_t i = 0; i < n; ++i) sorted.push_back(static_cast<double>(i / 3));
    check_agrees(
        device,
        [&](Builder& g) { g.output("y", search_sorted(g.input("list", dtype, {n}), g.input("v", dtype, {3, 5}))); },
        {.bound = {}, .given = {{"list", sorted}}});
  }
  check_agrees(device, [&](Builder& g) { g.output("y", row_ranks(g.input("x", dtype, {70, 2}))); }, {.bound = {}});
}

TEST_CASE("unique numbers, by hand", "[select][gpu]") {
  const Device device = device_or_skip();
  const bool sorted = GENERATE(true, false);
  DynamicGraph graph;
  const Unique u = unique(graph->input("x", f32, {2, 3}), {.sorted = sorted});
  graph->output("values", u.values), graph->output("first", u.first), graph->output("inverse", u.inverse),
      graph->output("counts", u.counts), graph->output("count", u.count);
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", std::vector<float>{2, 1, 1, 3, 4, 3}).ok());
  executable->run();
  using Ints = std::vector<int32_t>;
  const auto front = [](auto all) { return decltype(all)(all.begin(), all.begin() + 4); };
  CHECK(ints(*executable, "count") == Ints{4});
  CHECK(front(*executable->get<float>("values")) ==
        (sorted ? std::vector<float>{1, 2, 3, 4} : std::vector<float>{2, 1, 3, 4}));
  CHECK(front(ints(*executable, "first")) == (sorted ? Ints{1, 0, 3, 4} : Ints{0, 1, 3, 4}));
  CHECK(ints(*executable, "inverse") == (sorted ? Ints{1, 0, 0, 2, 3, 2} : Ints{0, 1, 1, 2, 3, 2}));
  CHECK(front(ints(*executable, "counts")) == (sorted ? Ints{2, 1, 2, 1} : Ints{1, 2, 2, 1}));
}

TEST_CASE("unique: the laws", "[select][gpu]") {
  const Device device = device_or_skip();
  const int axis = GENERATE(-1, 0, 1);  // -1: flat
  const bool sorted = GENERATE(true, false);
  CAPTURE(axis, sorted);
  const int64_t rows = 40, cols = 3;
  std::mt19937 random(3);
  std::vector<int32_t> x;
  for (int64_t i = 0; i < rows * cols; ++i) x.push_back(static_cast<int32_t>(random() % 3) - 1);
  DynamicGraph graph;
  const Tensor in = graph->input("x", i32, {rows, cols});
  const Unique u = axis < 0 ? unique(in, {.sorted = sorted}) : unique(in, axis, {.sorted = sorted});
  graph->output("values", u.values), graph->output("first", u.first), graph->output("inverse", u.inverse),
      graph->output("counts", u.counts), graph->output("count", u.count);
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", x).ok());
  executable->run();
  // Slices as vectors of numbers.
  const int64_t n = axis < 0 ? rows * cols : axis == 0 ? rows : cols, width = rows * cols / n;
  const auto slice_of = [&](const std::vector<int32_t>& all, int64_t i) {
    std::vector<int32_t> slice;
    for (int64_t k = 0; k < width; ++k)
      slice.push_back(all[static_cast<size_t>(axis == 1 ? k * cols + i : i * width + k)]);
    return slice;
  };
  std::set<std::vector<int32_t>> all;
  for (int64_t i = 0; i < n; ++i) all.insert(slice_of(x, i));
  const auto count = static_cast<int64_t>(all.size());
  const auto values = ints(*executable, "values"), first = ints(*executable, "first"),
             inverse = ints(*executable, "inverse"), counts = ints(*executable, "counts");
  CHECK(ints(*executable, "count")[0] == count);
  int64_t total = 0;
  bool found = true, in_order = true;
  for (int64_t k = 0; k < count; ++k) {
    total += counts[static_cast<size_t>(k)];
    found = found && slice_of(x, first[static_cast<size_t>(k)]) == slice_of(values, k);
    for (int64_t i = 0; i < first[static_cast<size_t>(k)]; ++i) found = found && slice_of(x, i) != slice_of(values, k);
    if (k > 0)
      in_order = in_order && (sorted ? slice_of(values, k - 1) < slice_of(values, k)
                                     : first[static_cast<size_t>(k - 1)] < first[static_cast<size_t>(k)]);
  }
  for (int64_t i = 0; i < n; ++i) found = found && slice_of(values, inverse[static_cast<size_t>(i)]) == slice_of(x, i);
  CHECK(found);
  CHECK(in_order);
  CHECK(total == n);
}

TEST_CASE("non_max_suppression agrees with the reference", "[select][gpu]") {
  const Device device = device_or_skip();
  struct Case {
    int64_t batch, classes, boxes;
    NmsOptions options;
  };
  const Case c = GENERATE(Case{1, 1, 1, {.most = 3}},
                          Case{2, 3, 40, {.most = 5, .overlap = 0.3f, .score = 0.25f, .has_score = true}},
                          Case{1, 2, 100, {.most = 100, .overlap = 0.1f, .centers = true}}, Case{1, 1, 5, {.most = 0}});
  std::mt19937 random(11);
  std::vector<double> boxes, scores;
  for (int64_t i = 0; i < c.batch * c.boxes * 4; ++i) boxes.push_back(static_cast<double>(random() % 1000) / 250);
  for (int64_t i = 0; i < c.batch * c.classes * c.boxes; ++i)
    scores.push_back(static_cast<double>(random() % 997) / 997);
  check_agrees(device,
               [&](Builder& g) {
                 const Selected s =
                     non_max_suppression(g.input("boxes", f32, {c.batch, c.boxes, 4}),
                                         g.input("scores", f32, {c.batch, c.classes, c.boxes}), c.options);
                 g.output("chosen", s.values), g.output("count", s.count);
               },
               {.bound = {}, .given = {{"boxes", boxes}, {"scores", scores}}});
}

}  // namespace
}  // namespace rlxgpu::core::testing
