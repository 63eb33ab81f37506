// frames cuts a signal into pieces that may overlap; overlap_add puts such pieces together again.
//
//   Tensor f = frames(x, 400, 160);              // x: (..., samples), f: (..., count, 400), f[i] starts at sample 160 i
//   Tensor y = overlap_add(f, 160, 0, samples);  // sums of all pieces that cover a sample
//
// Both are maps: they join the kernel that reads or stores their elements.
#ifndef RLXGPU_KERNELS_SIGNAL_FRAMES_H_
#define RLXGPU_KERNELS_SIGNAL_FRAMES_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/wgsl/at.h"

namespace rlxgpu::core {

namespace signal {

// Attributes: length, hop.
constexpr void frames_infer(Infer& infer) {
  Shape shape = infer.shape(0);
  const int64_t length = infer.attr(0), hop = infer.attr(1);
  if (shape.rank() < 1) return infer.fail("needs a signal of rank 1 at least");
  if (length < 1 || hop < 1) return infer.fail("length ", length, " and hop ", hop, " must be 1 at least");
  const int last = shape.rank() - 1;
  if (shape.symbol(last) >= 0) return infer.fail("the number of samples must be known: it is a run-time extent");
  if (shape[last] < length) return infer.fail(shape[last], " samples are not enough for a piece of ", length);
  shape.set(last, 1 + (shape[last] - length) / hop);
  shape.push_back(length);
  infer.result(infer.dtype(0), shape);
}

constexpr void frames_at(At& at) {
  const int last = at.operand_shape(0).rank() - 1;
  Coords source = at.coords();
  source[last] = at.let(at.coord(last), " * ", at.attr(1), "u + ", at.coord(last + 1));
  at.result() << at.operand(0, source);
}

inline void frames_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  reference::Array& y = call.result();
  const int last = x.shape.rank() - 1;
  const int parts = x.dtype == c64 ? 2 : 1;
  for (int64_t i = 0; i < y.count(); ++i) {
    reference::Index index = y.index_of(i);
    index[last] = index[last] * call.attr(1) + index[last + 1];
    for (int part = 0; part < parts; ++part) y[parts * i + part] = x[parts * x.offset_of(index) + part];
  }
}

// Attributes: hop, offset, samples.
constexpr void overlap_add_infer(Infer& infer) {
  Shape shape;
  const Shape& given = infer.shape(0);
  if (given.rank() < 2) return infer.fail("needs pieces of signal: rank 2 at least");
  if (!is_float(infer.dtype(0))) return infer.fail("takes floats, not ", name_of(infer.dtype(0)));
  if (infer.attr(0) < 1 || infer.attr(1) < 0 || infer.attr(2) < 0)
    return infer.fail("hop, offset and samples must not be negative");
  for (int axis = 0; axis + 2 < given.rank(); ++axis) shape.push_back(given.dim(axis));
  shape.push_back(infer.attr(2));
  infer.result(infer.dtype(0), shape);
}

constexpr void overlap_add_at(At& at) {
  const int last = at.shape().rank() - 1;
  const int64_t count = at.operand_shape(0)[last], length = at.operand_shape(0)[last + 1], hop = at.attr(0);
  if (count == 0 || length == 0) {
    at.result() << "0.0";
    return;
  }
  const Name sample = at.let(at.coord(last), " + ", at.attr(1), 'u');
  const Name newest = at.let(sample, " / ", hop, 'u');  // of the pieces that may cover it
  Text sum;
  for (int64_t back = 0; back * hop < length; ++back) {
    const Name piece = at.let(newest, " - ", back, 'u');  // wraps below zero, and is then not inside
    const Name place = at.let(sample, " - ", piece, " * ", hop, 'u');
    Coords source = at.coords();
    source[last] = at.let("min(", piece, ", ", count - 1, "u)");
    source[last + 1] = at.let("min(", place, ", ", length - 1, "u)");
    const Name value = at.operand(0, source);
    sum << (back > 0 ? " + " : "") << "select(0.0, " << value << ", " << piece << " < " << count << "u && " << place
        << " < " << length << "u)";
  }
  at.result() << '(' << sum << ')';
}

inline void overlap_add_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  reference::Array& y = call.result();
  const int last = y.shape.rank() - 1;
  for (int64_t i = 0; i < x.count(); ++i) {
    reference::Index index = x.index_of(i);
    index[last] = index[last] * call.attr(0) + index[last + 1] - call.attr(1);
    if (index[last] >= 0 && index[last] < y.shape[last]) y[y.offset_of(index)] += x[i];
  }
}

}  // namespace signal

inline constexpr OpDef kFrames = {
    .name = "frames",
    .infer = signal::frames_infer,
    .at = signal::frames_at,
    .reads_elsewhere = true,
    .reference = signal::frames_reference,
};
inline constexpr OpDef kOverlapAdd = {
    .name = "overlap_add",
    .infer = signal::overlap_add_infer,
    .at = signal::overlap_add_at,
    .reads_elsewhere = true,
    .reference = signal::overlap_add_reference,
};

constexpr Tensor frames(Tensor x, int64_t length, int64_t hop, Site site = std::source_location::current()) {
  return apply(kFrames, {x}, {length, hop}, site);
}
// `samples` samples from `offset` on.
constexpr Tensor overlap_add(Tensor x, int64_t hop, int64_t offset, int64_t samples,
                             Site site = std::source_location::current()) {
  return apply(kOverlapAdd, {x}, {hop, offset, samples}, site);
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::frames, core::overlap_add;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_SIGNAL_FRAMES_H_
