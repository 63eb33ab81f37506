// rlxgpu beside Dawn: buffers, devices, queues and encoders of the caller's.
#include "rlxgpu/runtime/interop.h"

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/runtime/engine.h"
#include "tests/runtime/programs.h"
#include "tests/support/gpu.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::core::testing {
namespace {

using Floats = std::vector<float>;

// A device as somebody else would open it: an instance of its own, callbacks of its own.
struct Mine {
  wgpu::Instance instance;
  wgpu::Device device;
  wgpu::Queue queue;
};
std::atomic<int> my_errors = 0, my_losses = 0;

Mine open_mine(bool timed, bool synchronised) {
  Mine mine;
  const auto feature = wgpu::InstanceFeatureName::TimedWaitAny;
  wgpu::InstanceDescriptor instance{};
  instance.requiredFeatureCount = timed ? 1 : 0;
  instance.requiredFeatures = &feature;
  mine.instance = wgpu::CreateInstance(&instance);
  wgpu::Adapter adapter;
  mine.instance.WaitAny(mine.instance.RequestAdapter(nullptr, wgpu::CallbackMode::WaitAnyOnly,
                                                     [&](wgpu::RequestAdapterStatus, wgpu::Adapter found,
                                                         wgpu::StringView) { adapter = std::move(found); }),
                        0);
  if (!adapter) {
    if (std::getenv("RLXGPU_REQUIRE_GPU") != nullptr) FAIL("no adapter");
    SKIP("no adapter");
  }
  const auto locks = wgpu::FeatureName::ImplicitDeviceSynchronization;
  wgpu::DeviceDescriptor descriptor{};
  descriptor.requiredFeatureCount = synchronised ? 1 : 0;
  descriptor.requiredFeatures = &locks;
  descriptor.SetUncapturedErrorCallback([](const wgpu::Device&, wgpu::ErrorType, wgpu::StringView) { ++my_errors; });
  descriptor.SetDeviceLostCallback(wgpu::CallbackMode::AllowSpontaneous,
                                   [](const wgpu::Device&, wgpu::DeviceLostReason, wgpu::StringView) { ++my_losses; });
  mine.instance.WaitAny(adapter.RequestDevice(&descriptor, wgpu::CallbackMode::WaitAnyOnly,
                                              [&](wgpu::RequestDeviceStatus, wgpu::Device made, wgpu::StringView) {
                                                mine.device = std::move(made);
                                              }),
                        0);
  REQUIRE(mine.device);
  mine.queue = mine.device.GetQueue();
  return mine;
}

wgpu::Buffer buffer_of_mine(const wgpu::Device& device, uint64_t bytes) {
  wgpu::BufferDescriptor descriptor{};
  descriptor.size = bytes;
  descriptor.usage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;
  return device.CreateBuffer(&descriptor);
}

// y = x + 1, a kernel of the caller's, from one range to another.
void encode_plus_one(const wgpu::Device& device, const wgpu::CommandEncoder& encoder, const BufferRange& x,
                     const BufferRange& y) {
  wgpu::ShaderSourceWGSL source{};
  source.code = R"(
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < arrayLength(&y)) { y[id.x] = x[id.x] + 1.0; }
})";
  wgpu::ShaderModuleDescriptor module{};
  module.nextInChain = &source;
  wgpu::ComputePipelineDescriptor descriptor{};
  descriptor.compute.module = device.CreateShaderModule(&module);
  const wgpu::ComputePipeline pipeline = device.CreateComputePipeline(&descriptor);
  wgpu::BindGroupEntry entries[2];
  entries[0].binding = 0, entries[0].buffer = x.buffer, entries[0].offset = x.offset, entries[0].size = x.bytes;
  entries[1].binding = 1, entries[1].buffer = y.buffer, entries[1].offset = y.offset, entries[1].size = y.bytes;
  wgpu::BindGroupDescriptor group{};
  group.layout = pipeline.GetBindGroupLayout(0);
  group.entryCount = 2;
  group.entries = entries;
  const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
  pass.SetPipeline(pipeline);
  pass.SetBindGroup(0, device.CreateBindGroup(&group));
  pass.DispatchWorkgroups(1);
  pass.End();
}

Engine make(const Device& device, int64_t n) {
  absl::StatusOr<Engine> engine = doubler(n).engine(device);
  INFO(engine.status());
  REQUIRE(engine.ok());
  return *std::move(engine);
}

TEST_CASE("a buffer of the caller's is bound and stays the caller's", "[gpu]") {
  const Device device = open_or_skip({});
  const wgpu::Device native = native_device(device);
  const uint64_t offset = device.target().offset_alignment;
  const wgpu::Buffer mine = buffer_of_mine(native, offset + 256), out = buffer_of_mine(native, 256);
  const Floats x(64, 3);
  native_queue(device).WriteBuffer(mine, offset, x.data(), 256);
  {
    const Result<DeviceTensor> a = wrap(device, mine, f32, {64}, offset), b = wrap(device, out, f32, {64});
    REQUIRE(a.ok());
    REQUIRE(b.ok());
    Engine engine = make(device, 64);
    REQUIRE(engine.bind(0, *a).ok());
    REQUIRE(engine.bind(1, *b).ok());
    CHECK(engine.run().wait().ok());
    CHECK(device.memory().tensors == 0);
  }
  const Result<DeviceTensor> again = wrap(device, out, f32, {64});
  CHECK(*again->to_host<float>() == Floats(64, 6));
  CHECK(wrap(device, out, f32, {65}).status().message() ==
        "wrap: f32[65] takes 260 bytes; the buffer has 256, from 0 on");
  CHECK(wrap(device, out, f32, {1}, 2).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(wrap(device, nullptr, f32, {1}).status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(device.status().ok());
}

TEST_CASE("a buffer that may not be bound is a status of the run", "[gpu]") {
  const Device device = open_or_skip({});
  wgpu::BufferDescriptor descriptor{};
  descriptor.size = 256;
  descriptor.usage = wgpu::BufferUsage::CopySrc;
  const Result<DeviceTensor> x = wrap(device, native_device(device).CreateBuffer(&descriptor), f32, {64});
  REQUIRE(x.ok());
  Engine engine = make(device, 64);
  CHECK(engine.bind(0, *x).message() == "engine: bind \"x\": the buffer lacks the usage Storage");
  CHECK(engine.run().wait().ok());
}

TEST_CASE("a device is adopted, with its instance's and its own features", "[gpu]") {
  for (const bool timed : {true, false}) {
    for (const bool synchronised : {true, false}) {
      CAPTURE(timed, synchronised);
      const Mine mine = open_mine(timed, synchronised);
      {
        Result<Device> device = Device::adopt(mine.device, mine.queue);
        INFO(device.status().ToString());
        REQUIRE(device.ok());
        CHECK(!device->target().shader_f16);  // the adapter may have it, the device was made without
        CHECK(device->target().max_storage_buffers == 8);
        Engine engine = make(*device, 64);
        REQUIRE(engine.set_input(0, bytes_of(Floats(64, 5))).ok());
        CHECK(*engine.run({.read = true}).get<float>("y") == Floats(64, 10));
        CHECK(engine.run({.on_done = [](const Status&) {}}).wait().ok() == synchronised);
        CHECK(device->wait_idle().ok());
      }
      // It is still there.
      const wgpu::Buffer buffer = buffer_of_mine(mine.device, 16);
      const float one = 1;
      mine.queue.WriteBuffer(buffer, 0, &one, 4);
    }
  }
  CHECK(my_errors == 0);
  CHECK(!Device::adopt(nullptr, nullptr).ok());
}

TEST_CASE("threads take turns on an adopted device that does not synchronise them", "[gpu]") {
  const Mine mine = open_mine(true, false);
  const Result<Device> device = Device::adopt(mine.device, mine.queue);
  REQUIRE(device.ok());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      absl::StatusOr<Engine> engine = doubler(64 + t).engine(*device);
      if (!engine.ok()) return void(++wrong);
      for (int i = 0; i < 30; ++i) {
        const auto count = static_cast<size_t>(64 + t);
        const auto value = static_cast<float>(i);
        wrong += !engine->set_input(0, bytes_of(Floats(count, value))).ok();
        const Run run = engine->run({.read = i % 2 == 0});
        Floats y(count);
        wrong += !engine->get_output(1, room_of(y)).ok() || y != Floats(count, 2 * value);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(my_errors == 0);
}

TEST_CASE("errors of rlxgpu's on an adopted device are statuses, and the caller's are the caller's", "[gpu]") {
  const Mine mine = open_mine(true, true);
  const Result<Device> device = Device::adopt(mine.device, mine.queue);
  REQUIRE(device.ok());
  my_errors = 0;
  HandMade p;
  p.tensor("y", BufferRole::output, f32, {4});
  p.step("@compute @workgroup_size(1) fn main() { nonsense(); }", {{"y", true}}, {1, 1, 1});
  const absl::StatusOr<Engine> engine = p.engine(*device);
  CHECK(engine.status().code() == absl::StatusCode::kInvalidArgument);
  CHECK(absl::StrContains(engine.status().message(), "nonsense"));
  CHECK(my_errors == 0);
  wgpu::BufferDescriptor wrong{};
  wrong.size = 4;
  wrong.usage = wgpu::BufferUsage::MapRead | wgpu::BufferUsage::MapWrite;
  mine.device.CreateBuffer(&wrong);
  CHECK(my_errors == 1);
  CHECK(device->status().ok());
}

TEST_CASE("an adopted device is lost", "[gpu]") {
  const Mine mine = open_mine(true, true);
  const Result<Device> device = Device::adopt(mine.device, mine.queue);
  REQUIRE(device.ok());
  Engine engine = make(*device, 64);
  REQUIRE(engine.run().wait().ok());
  const int before = my_losses;
  mine.device.Destroy();
  CHECK(engine.run().wait().code() == absl::StatusCode::kUnavailable);
  CHECK(device->status().code() == absl::StatusCode::kUnavailable);
  CHECK(my_losses == before + 1);
}

TEST_CASE("two runs in an encoder of the caller's, with a kernel of the caller's between", "[gpu]") {
  for (const bool adopted : {false, true}) {
    CAPTURE(adopted);
    Mine mine;
    Device device;
    if (adopted) {
      mine = open_mine(true, true);
      device = *Device::adopt(mine.device, mine.queue);
    } else {
      device = open_or_skip({});
      mine.device = native_device(device), mine.queue = native_queue(device);
    }
    Engine first = make(device, 64), second = make(device, 64);
    REQUIRE(first.set_input(0, bytes_of(Floats(64, 4))).ok());
    const wgpu::CommandEncoder encoder = mine.device.CreateCommandEncoder();
    REQUIRE(first.encode(encoder).ok());
    encode_plus_one(mine.device, encoder, buffer_of(*first.tensor(1)), buffer_of(*second.tensor(0)));
    REQUIRE(second.encode(encoder).ok());
    const wgpu::CommandBuffer commands = encoder.Finish();
    mine.queue.Submit(1, &commands);
    Floats y(64);
    REQUIRE(second.get_output(1, room_of(y)).ok());
    CHECK(y == Floats(64, 18));  // 2 (2 * 4 + 1)
    CHECK(device.status().ok());
  }
  CHECK(Engine().encode(nullptr).code() == absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace rlxgpu::core::testing
