// DeviceTensor: made, copied, cut, read and written, on the device.
#include "rlxgpu/runtime/device_tensor.h"

#include <array>
#include <numeric>
#include <vector>

#include "absl/status/status.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/weights.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Floats = std::vector<float>;

Floats counted(size_t n) {
  Floats values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

template <typename T>
T or_fail(Result<T> result) {
  INFO(result.status().ToString());
  REQUIRE(result.ok());
  return *std::move(result);
}

TEST_CASE("a tensor is zero at first, then what was written", "[gpu]") {
  const DeviceTensor x = or_fail(DeviceTensor::create(device_or_skip(), f32, {2, 3}));
  CHECK(x.count() == 6);
  CHECK(x.bytes() == 24);
  CHECK(or_fail(x.to_host<float>()) == Floats(6, 0));
  Transfer writing = x.write(counted(6));
  CHECK(writing.wait().ok());
  CHECK(writing.ready());
  CHECK(or_fail(x.to_host<float>()) == counted(6));
  CHECK(writing.get<float>().status().message() == "this transfer wrote: there is nothing to get");
}

TEST_CASE("every element type goes in and out, also where a word is not full", "[gpu]") {
  const Device device = device_or_skip();
  const DeviceTensor bytes = or_fail(DeviceTensor::of(device, {5}, std::array<uint8_t, 5>{1, 2, 3, 4, 5}));
  CHECK(or_fail(bytes.to_host<uint8_t>()) == std::vector<uint8_t>{1, 2, 3, 4, 5});
  const DeviceTensor halves = or_fail(DeviceTensor::of(device, {3}, std::array<Half, 3>{Half(1), Half(2), Half(3)}));
  CHECK(static_cast<float>(or_fail(halves.to_host<Half>())[2]) == 3.0f);
  const DeviceTensor copy = or_fail(bytes.clone());
  CHECK(or_fail(copy.to_host<uint8_t>()) == std::vector<uint8_t>{1, 2, 3, 4, 5});
  CHECK(bytes.to_host<float>().status().message() == "the tensor holds u8, not f32");
  CHECK(halves.write(Floats(3)).wait().message() == "the tensor holds f16, not f32");
}

TEST_CASE("an empty tensor and an empty handle", "[gpu]") {
  const DeviceTensor none = or_fail(DeviceTensor::create(device_or_skip(), f32, {0, 4}));
  CHECK(or_fail(none.to_host<float>()).empty());
  CHECK(none.clone().ok());
  const DeviceTensor empty;
  CHECK(!empty);
  CHECK(empty.read().wait().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(empty.clone().status().code() == absl::StatusCode::kFailedPrecondition);
  CHECK(empty.copy_from(none).code() == absl::StatusCode::kFailedPrecondition);
  CHECK(Transfer().wait().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("shapes that cannot be are refused in words", "[gpu]") {
  const Device device = device_or_skip();
  CHECK(DeviceTensor::create(device, f32, {-1, 4}).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(DeviceTensor::create(device, f32, {65536, 65536, 65536}).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(DeviceTensor::of(device, {2, 3}, Floats(5)).status().message() ==
        "tensor: given 20 bytes, needed 24 for f32[2,3]");
  CHECK(DeviceTensor::create(Device(), f32, {1}).status().code() == absl::StatusCode::kFailedPrecondition);
}

TEST_CASE("rows are the same memory", "[gpu]") {
  const DeviceTensor x = or_fail(DeviceTensor::of(device_or_skip(), {4, 2}, counted(8)));
  const DeviceTensor middle = or_fail(x.rows(1, 2));
  CHECK(or_fail(middle.to_host<float>()) == Floats{2, 3, 4, 5});
  CHECK(middle.write(Floats{9, 9, 9, 9}).wait().ok());
  CHECK(or_fail(x.to_host<float>()) == Floats{0, 1, 9, 9, 9, 9, 6, 7});
  CHECK(middle.clear().ok());
  CHECK(or_fail(x.to_host<float>()) == Floats{0, 1, 0, 0, 0, 0, 6, 7});
  CHECK(or_fail(or_fail(x.reshaped({8})).rows(6, 2)).count() == 2);
  CHECK(x.rows(3, 2).status().message() == "rows 3 to 5 of f32[4,2]");
  CHECK(x.reshaped({3}).status().message() == "f32[4,2] has no elements for f32[3]");
  const DeviceTensor odd = or_fail(DeviceTensor::of(device_or_skip(), {3, 1}, std::array<uint8_t, 3>{1, 2, 3}));
  CHECK(odd.rows(1, 1).status().code() == absl::StatusCode::kInvalidArgument);  // not at a word
}

TEST_CASE("ranges are copied along every axis, also within one tensor", "[gpu]") {
  const Device device = device_or_skip();
  const DeviceTensor from = or_fail(DeviceTensor::of(device, {2, 4, 3}, counted(24)));
  for (int axis = 0; axis < 3; ++axis) {
    CAPTURE(axis);
    Shape shape = from.shape();
    shape.set(axis, Dim(shape[axis] + 1));
    const DeviceTensor to = or_fail(DeviceTensor::create(device, f32, shape));
    REQUIRE(copy_range(from, 1, to, 2, shape[axis] - 2, axis).ok());
    const Floats found = or_fail(to.to_host<float>());
    for (int64_t i = 0, at = 0; i < shape[0]; ++i) {
      for (int64_t j = 0; j < shape[1]; ++j) {
        for (int64_t k = 0; k < shape[2]; ++k, ++at) {
          int64_t index[3] = {i, j, k};
          const bool copied = index[axis] >= 2;
          --index[axis];
          const float expected = copied ? static_cast<float>((index[0] * 4 + index[1]) * 3 + index[2]) : 0.0f;
          REQUIRE(found[static_cast<size_t>(at)] == expected);
        }
      }
    }
  }
  const DeviceTensor line = or_fail(DeviceTensor::of(device, {6}, counted(6)));
  REQUIRE(copy_range(line, 0, line, 1, 5).ok());  // as if through a copy
  CHECK(or_fail(line.to_host<float>()) == Floats{0, 0, 1, 2, 3, 4});
  CHECK(copy_range(line, 0, line, 2, 5).code() == absl::StatusCode::kInvalidArgument);
  CHECK(copy_range(from, 0, line, 0, 1).code() == absl::StatusCode::kInvalidArgument);
  CHECK(line.copy_from(from).message() == "copy: from f32[2,4,3] to f32[6]");
}

TEST_CASE("weights and states are tensors", "[gpu]") {
  const Device device = device_or_skip();
  const Weights weights(device);
  const Floats given = counted(4);
  REQUIRE(weights.set("a", f32, {4}, std::as_bytes(std::span(given))).ok());
  const DeviceTensor b = or_fail(weights.add("b", f32, {4}));
  REQUIRE(b.copy_from(or_fail(weights.tensor("a"))).ok());  // both lie in one buffer
  Floats found(4);
  REQUIRE(weights.get("b", std::as_writable_bytes(std::span(found))).ok());
  CHECK(found == counted(4));
  CHECK(weights.tensor("c").status().message() == "no param \"c\"");
  const States states(device);
  const DeviceTensor s = or_fail(states.add("s", f32, {4}));
  REQUIRE(s.write(counted(4)).wait().ok());
  REQUIRE(states.get("s", std::as_writable_bytes(std::span(found))).ok());
  CHECK(found == counted(4));
}

TEST_CASE("many reads are in flight, and see what was there when they were asked for", "[gpu]") {
  const DeviceTensor x = or_fail(DeviceTensor::create(device_or_skip(), f32, {1000}));
  std::vector<Transfer> reads;
  for (int i = 0; i < 50; ++i) {
    x.write(Floats(1000, static_cast<float>(i)));
    reads.push_back(x.read());
  }
  for (int i = 49; i >= 0; --i)
    CHECK(or_fail(reads[static_cast<size_t>(i)].get<float>()) == Floats(1000, static_cast<float>(i)));
}

TEST_CASE("tensors of another device, and of one that ends", "[gpu]") {
  const Device device = open_or_skip({}), other = device_or_skip();
  const DeviceTensor x = or_fail(DeviceTensor::of(device, {4}, counted(4))),
                     y = or_fail(DeviceTensor::create(other, f32, {4}));
  CHECK(y.copy_from(x).message() == "copy: the tensors are of different devices");
  const Transfer reading = x.read();
  device.destroy();
  reading.get<float>().status().IgnoreError();  // done before the end, or not
  CHECK(x.read().wait().code() == absl::StatusCode::kUnavailable);
  CHECK(x.write(counted(4)).wait().code() == absl::StatusCode::kUnavailable);
  CHECK(x.clone().status().code() == absl::StatusCode::kUnavailable);
  CHECK(x.clear().code() == absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace rlxgpu::core::testing
