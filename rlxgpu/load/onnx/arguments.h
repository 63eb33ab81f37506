// Arguments that ONNX ops took as attributes in one opset and take as operands in another.
#ifndef RLXGPU_LOAD_ONNX_ARGUMENTS_H_
#define RLXGPU_LOAD_ONNX_ARGUMENTS_H_

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rlxgpu/kernels/movement/int_list.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {

// The attribute, or the known elements of operand k; empty where there is neither.
inline std::vector<int64_t> integers_of(Node& n, std::string_view name, int k) {
  if (n.has(name)) return n.integers(name);
  return n.has(k) ? n.integers(k) : std::vector<int64_t>();
}

// Axes of a tensor of this rank: each once, counted from 0, sorted.
inline std::vector<int64_t> axes_of(const Node& n, std::vector<int64_t> axes, int rank) {
  for (int64_t& axis : axes) axis = n.axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) n.invalid("an axis is named twice");
  return axes;
}

inline IntList list_of(std::span<const int64_t> numbers) { return IntList(numbers); }

// The start, end and step of Slice for every axis of a tensor: clamped, so that `count` elements remain.
struct Cut {
  int64_t start = 0, end = 0, step = 1, count = 0;
};
inline std::vector<Cut> cuts_of(Node& n, std::span<const int64_t> extents) {
  const std::vector<int64_t> starts = integers_of(n, "starts", 1), ends = integers_of(n, "ends", 2);
  std::vector<int64_t> axes = integers_of(n, "axes", 3);
  const std::vector<int64_t> steps = n.has(4) ? n.integers(4) : std::vector<int64_t>();
  if (axes.empty()) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      (!steps.empty() && steps.size() != starts.size())) {
    n.invalid("starts, ends, axes and steps differ in length");
  }
  std::vector<Cut> cuts;
  for (const int64_t extent : extents) cuts.push_back({0, extent, 1, extent});
  for (size_t i = 0; i < starts.size(); ++i) {
    const int axis = n.axis(axes[i], static_cast<int>(extents.size()));
    const int64_t extent = extents[static_cast<size_t>(axis)], step = steps.empty() ? 1 : steps[i];
    if (step == 0) n.invalid("a step is 0");
    const auto from_end = [&](int64_t at) { return at < 0 && at >= INT64_MIN + extent ? at + extent : at; };
    Cut cut{.step = std::clamp<int64_t>(step, -INT32_MAX, INT32_MAX)};
    if (step > 0) {
      cut.start = std::clamp<int64_t>(from_end(starts[i]), 0, extent);
      cut.end = std::clamp<int64_t>(from_end(ends[i]), 0, extent);
      cut.count = cut.end > cut.start ? (cut.end - cut.start - 1) / cut.step + 1 : 0;
    } else {
      cut.start = std::clamp<int64_t>(from_end(starts[i]), -1, extent - 1);
      cut.end = std::clamp<int64_t>(from_end(ends[i]), -1, extent - 1);
      cut.count = cut.start > cut.end ? (cut.start - cut.end - 1) / -cut.step + 1 : 0;
    }
    cuts[static_cast<size_t>(axis)] = cut;
  }
  return cuts;
}

// The parts of Split along an axis of this extent, which they fill.
inline std::vector<int64_t> split_lengths(Node& n, int64_t extent) {
  std::vector<int64_t> lengths = integers_of(n, "split", 1);
  const int64_t parts = n.integer("num_outputs", n.result_count());
  if (parts != n.result_count()) n.invalid("num_outputs is ", parts, ", but the node has ", n.result_count());
  if (lengths.empty()) {
    const int64_t each = (extent + parts - 1) / parts;
    for (int64_t k = 0; k < parts; ++k) lengths.push_back(std::clamp<int64_t>(extent - k * each, 0, each));
  }
  if (lengths.size() != static_cast<size_t>(parts))
    n.invalid("split has ", lengths.size(), " lengths for ", parts, " results");
  int64_t total = 0;
  for (const int64_t length : lengths) {
    if (length < 0 || length > extent) n.invalid("a length is ", length);
    total += length;
  }
  if (total != extent) n.invalid("the lengths add up to ", total, ", the axis has ", extent);
  return lengths;
}

// Reshape's shape: 0 keeps the operand's extent (unless allowzero), -1 is what is left.
inline std::vector<int64_t> reshaped(const Node& n, std::vector<int64_t> to, std::span<const int64_t> from,
                                     bool allow_zero) {
  int64_t count = 1, fixed = 1;
  for (const int64_t extent : from) count *= extent;
  int open = -1;
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] == 0 && !allow_zero) {
      if (i >= from.size()) n.invalid("extent 0 stands for one that the operand does not have");
      to[i] = from[i];
    }
    if (to[i] == -1) {
      if (open >= 0) n.invalid("two extents are -1");
      open = static_cast<int>(i);
      continue;
    }
    if (to[i] < 0 || to[i] > INT32_MAX) n.invalid("an extent is ", to[i]);
    fixed *= to[i];
    if (fixed > INT32_MAX) n.invalid("the shape has more than 2^31 - 1 elements");
  }
  if (open >= 0) to[static_cast<size_t>(open)] = fixed == 0 ? 0 : count / fixed;
  return to;
}

// Unsqueeze's result.
inline std::vector<int64_t> unsqueezed(const Node& n, std::span<const int64_t> from, std::span<const int64_t> axes) {
  const auto rank = from.size() + axes.size();
  if (rank > static_cast<size_t>(kMaxRank)) n.unsupported("rank ", rank, " is above ", kMaxRank);
  const std::vector<int64_t> places = axes_of(n, {axes.begin(), axes.end()}, static_cast<int>(rank));
  std::vector<int64_t> to;
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    const bool fresh = std::find(places.begin(), places.end(), static_cast<int64_t>(i)) != places.end();
    to.push_back(fresh ? 1 : from[next++]);
  }
  return to;
}

inline std::vector<int64_t> squeezed(const Node& n, std::span<const int64_t> from, std::span<const int64_t> axes) {
  const std::vector<int64_t> places = axes_of(n, {axes.begin(), axes.end()}, static_cast<int>(from.size()));
  std::vector<int64_t> to;
  for (size_t i = 0; i < from.size(); ++i) {
    const bool named = std::find(places.begin(), places.end(), static_cast<int64_t>(i)) != places.end();
    if (named && from[i] != 1) n.invalid("axis ", i, " is not of extent 1");
    if (!(named || (axes.empty() && from[i] == 1))) to.push_back(from[i]);
  }
  return to;
}

}  // namespace rlxgpu::core::onnx

#endif  // RLXGPU_LOAD_ONNX_ARGUMENTS_H_
