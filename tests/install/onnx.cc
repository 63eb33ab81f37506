// A program with a graph from a file: prints relu(x).
#include "rlxgpu/load/onnx/onnx.h"

#include <cstdio>

#include "rlxgpu/rlxgpu.h"

using namespace rlxgpu;

int main() {
  const Result<Device> device = open_device();
  const Result<onnx::Model> model = onnx::load("model.onnx");
  if (!device.ok() || !model.ok()) return std::puts(model.status().ToString().c_str()), 1;
  Result<onnx::Session> session = onnx::Session::create(*device, *model);
  if (!session.ok()) return std::puts(session.status().ToString().c_str()), 1;
  const double x[] = {-1, 2, 0.5};
  const Status set = session->set("x", onnx::HostTensor::of_numbers(onnx::ElementType::f32, {3}, x));
  session->run();
  const Result<onnx::HostTensor> y = session->get("y");
  if (!set.ok() || !y.ok()) return std::puts(y.status().ToString().c_str()), 1;
  std::printf("%g %g %g\n", y->number(0), y->number(1), y->number(2));
}
