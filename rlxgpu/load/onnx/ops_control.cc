// Branches and loops. They are gone when the model is loaded: a known condition chooses its branch, an unknown one
// selects between the results of both, and loops are unrolled.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

constexpr int64_t kMostTrips = 2048;

void import_if(Node& n) {
  const GraphDef &then = n.graph("then_branch"), &otherwise = n.graph("else_branch");
  if (n.can_be_known(0)) {
    std::vector<Value> results = n.run(n.flag(0) ? then : otherwise, {});
    for (size_t k = 0; k < results.size(); ++k) n.result(static_cast<int>(k), std::move(results[k]));
    return;
  }
  const std::vector<Value> yes = n.run(then, {}), no = n.run(otherwise, {});
  if (n.shape(0).count() != 1) n.invalid("the condition is not one element");
  const Tensor condition = reshape(n.tensor(0), Shape());
  for (int k = 0; k < n.result_count(); ++k) {
    if (!n.wants(k)) continue;
    const auto i = static_cast<size_t>(k);
    if (i >= yes.size() || i >= no.size()) n.invalid("the branches have fewer results");
    if (yes[i].kind() == Value::Kind::broken || no[i].kind() == Value::Kind::broken) {
      n.result(k, Value::broken());
      continue;
    }
    if (yes[i].kind() != Value::Kind::tensor || yes[i].kind() != no[i].kind() || yes[i].type() != no[i].type() ||
        !(yes[i].shape() == no[i].shape())) {
      n.refuse_unknown(0, absl::StrCat("result ", k, " of the branches differs in type or shape"));
    }
    n.result(k, where(condition, n.place(yes[i]), n.place(no[i])), yes[i].type());
  }
}

Value scalar(ElementType type, int64_t number) {
  return Value::known(HostTensor::of_integers(type, {}, std::vector{number}));
}

// What each trip computed, along a new axis.
void stack_results(Node& n, int k, const std::vector<Value>& trips, int64_t axis, bool backwards) {
  if (!n.wants(k)) return;
  if (trips.empty()) n.unsupported("result ", k, " of a loop that runs no trip has no known shape");
  std::vector<Tensor> parts;
  for (const Value& trip : trips) {
    if (trip.kind() == Value::Kind::broken) return n.result(k, Value::broken());
    if (trip.kind() != Value::Kind::tensor) n.unsupported("result ", k, " stacks sequences");
    const int at = n.axis(axis, trip.shape().rank() + 1);
    parts.insert(backwards ? parts.begin() : parts.end(), unsqueeze(n.place(trip), {at}));
  }
  n.check();
  n.result(k, concat(parts, n.axis(axis, trips[0].shape().rank() + 1)), trips[0].type());
}

void import_loop(Node& n) {
  const GraphDef& body = n.graph("body");
  const int carried = std::max(n.count() - 2, 0);
  const int64_t most = n.has(0) ? n.integer(0) : INT64_MAX;
  bool going = n.has(1) ? n.flag(1) : true;
  std::vector<Value> state;
  for (int k = 2; k < n.count(); ++k) state.push_back(n.value(k));
  std::vector<std::vector<Value>> stacked(body.outputs.size());
  for (int64_t trip = 0; going && trip < most; ++trip) {
    if (trip >= kMostTrips) n.unsupported("more than ", kMostTrips, " trips, which would all be unrolled");
    std::vector<Value> inputs = {scalar(ElementType::i64, trip), scalar(ElementType::boolean, 1)};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const std::vector<Value> results = n.run(body, inputs);
    if (results.size() < 1 + state.size()) n.invalid("the body has too few results");
    if (results[0].kind() == Value::Kind::broken) {  // reported where it broke
      for (int k = 0; k < n.result_count(); ++k) n.result(k, Value::broken());
      return;
    }
    if (!results[0].is_known() || results[0].elements().count() != 1)
      n.unsupported("whether the loop goes on is computed from data");
    going = results[0].elements().integer(0) != 0;
    state.assign(results.begin() + 1, results.begin() + 1 + carried);
    for (size_t k = 1 + state.size(); k < results.size(); ++k) stacked[k].push_back(results[k]);
  }
  for (int k = 0; k < n.result_count(); ++k) {
    if (k < carried) {
      n.result(k, state[static_cast<size_t>(k)]);
    } else {
      if (static_cast<size_t>(k) + 1 >= stacked.size()) n.invalid("the body has too few results");
      stack_results(n, k, stacked[static_cast<size_t>(k) + 1], 0, false);
    }
  }
}

// One slice of a tensor along an axis, without that axis.
Tensor taken(Tensor x, int axis, int64_t i) { return squeeze(narrow(x, axis, i, 1), {axis}); }

void import_scan(Node& n) {
  if (n.opset() < 9) n.unsupported("Scan of opset 8, with batches and lengths, is not supported");
  const GraphDef& body = n.graph("body");
  const int64_t scanned = n.integer("num_scan_inputs");
  if (scanned < 1 || scanned > n.count()) n.invalid("num_scan_inputs is ", scanned);
  const auto states = static_cast<size_t>(n.count() - scanned);
  const std::vector<int64_t> in_axes = n.integers("scan_input_axes"), out_axes = n.integers("scan_output_axes"),
                             in_backwards = n.integers("scan_input_directions"),
                             out_backwards = n.integers("scan_output_directions");
  const auto at = [](const std::vector<int64_t>& list, size_t i) { return i < list.size() ? list[i] : 0; };
  std::vector<Value> state;
  for (size_t k = 0; k < states; ++k) state.push_back(n.value(static_cast<int>(k)));
  int64_t trips = -1;
  for (size_t i = 0; i < static_cast<size_t>(scanned); ++i) {
    const int k = static_cast<int>(states + i);
    const int64_t extent = n.extent(k, n.axis(at(in_axes, i), n.rank(k)));
    if (trips >= 0 && extent != trips) n.invalid("the scanned operands differ in length");
    trips = extent;
  }
  if (trips > kMostTrips) n.unsupported("more than ", kMostTrips, " trips, which would all be unrolled");
  std::vector<std::vector<Value>> stacked(body.outputs.size());
  for (int64_t trip = 0; trip < trips; ++trip) {
    std::vector<Value> inputs = state;
    for (size_t i = 0; i < static_cast<size_t>(scanned); ++i) {
      const int k = static_cast<int>(states + i);
      const Tensor slice =
          taken(n.tensor(k), n.axis(at(in_axes, i), n.rank(k)), at(in_backwards, i) != 0 ? trips - 1 - trip : trip);
      n.check();
      inputs.push_back(Value::computed(slice, n.type(k)));
    }
    const std::vector<Value> results = n.run(body, inputs);
    if (results.size() < states) n.invalid("the body has too few results");
    state.assign(results.begin(), results.begin() + static_cast<int64_t>(states));
    for (size_t k = states; k < results.size(); ++k) stacked[k].push_back(results[k]);
  }
  for (int k = 0; k < n.result_count(); ++k) {
    const auto i = static_cast<size_t>(k);
    if (i < states) {
      n.result(k, state[i]);
    } else {
      if (i >= stacked.size()) n.invalid("the body has too few results");
      stack_results(n, k, stacked[i], at(out_axes, i - states), at(out_backwards, i - states) != 0);
    }
  }
}

constexpr OpImporter kOps[] = {
    {"If", import_if},
    {"Loop", import_loop},
    {"Scan", import_scan},
};

}  // namespace

Importers control_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
