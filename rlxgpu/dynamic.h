// Executable<DynamicGraph> runs a graph that is built at run time, through the same functions.
//
//   DynamicGraph graph;
//   Tensor x = graph->input("x", f32, {rows, 64});      // graph-> is a Builder
//   graph->output("y", softmax(x, -1));
//   auto exe = Executable<DynamicGraph>::create(device, graph);
//   if (!exe.ok()) return exe.status();                 // the text a static graph would not compile with
//   exe->set("x", data);  exe->run();
//   Result<std::vector<float>> y = exe->get<float>("y");
#ifndef RLXGPU_DYNAMIC_H_
#define RLXGPU_DYNAMIC_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rlxgpu/executable.h"
#include "rlxgpu/graph/written_out.h"

namespace rlxgpu::core {

// One that was moved from is a graph with an error, which its executable says.
class DynamicGraph {
 public:
  DynamicGraph() = default;
  DynamicGraph(DynamicGraph&& other) : builder_(other.give_away()) {}
  DynamicGraph& operator=(DynamicGraph&& other) {
    if (this != &other) builder_ = other.give_away();
    return *this;
  }

  Builder* operator->() { return builder_.get(); }
  Builder& operator*() { return *builder_; }
  const Graph& graph() const { return builder_->graph(); }

 private:
  std::unique_ptr<Builder> give_away() {
    auto empty = std::make_unique<Builder>();
    empty->fail(Site(), "this DynamicGraph was moved from");
    return std::exchange(builder_, std::move(empty));
  }

  std::unique_ptr<Builder> builder_ = std::make_unique<Builder>();  // tensors point to it: it must not move
};

// How sizes stand in kernels (compile/free_sizes.h).
enum class Sizes : uint8_t {
  free,   // read at run time: graphs that differ only in sizes share pipelines, which drivers take long to compile
  baked,  // literals: 1.2 to 2.2 times as fast on lavapipe; for a graph that runs many times
};

struct DynamicOptions {
  EngineOptions engine = {};
  Sizes sizes = Sizes::free;
  CompileOptions compile = {};
  const Target* target = nullptr;  // null: all that the device offers
  std::span<const WrittenOut> forms = {};  // of ops of your own, to be recognised besides rlxgpu's (graph/written_out.h)
  bool tuned = true;               // use what the tuner found on this adapter (tuner.h), unless compile.chooser is set
};

namespace internal {

Result<Session> start_session(const Device& device, const Graph& graph, const DynamicOptions& options);

}  // namespace internal

template <>
class Executable<DynamicGraph> {
 public:
  static Result<Executable> create(const Device& device, const DynamicGraph& graph, const DynamicOptions& options = {}) {
    Result<Session> session = internal::start_session(device, graph.graph(), options);
    if (!session.ok()) return session.status();
    Executable executable;
    executable.session_ = *std::move(session);
    return executable;
  }

  // The same on another thread, with progress and a way to cancel it: see creation.h.
  static Creation<Executable> create_async(const Device& device, DynamicGraph graph, const DynamicOptions& options = {}) {
    auto kept = std::make_shared<const DynamicGraph>(std::move(graph));
    return Creation<Executable>(device, options.engine, [device, kept, options](const EngineOptions& with) {
      DynamicOptions now = options;
      now.engine = with;
      return create(device, *kept, now);
    });
  }

  // Elements of an input, a weight or a state.
  template <typename Container>
    requires requires(const Container& c) { std::data(c); std::size(c); }
  Status set(std::string_view name, const Container& elements) {
    return set_elements(name, internal::storage_of<internal::ElementOfContainer<Container>>(), static_cast<int64_t>(std::size(elements)), std::data(elements));
  }
  template <typename T>
  Status set(std::string_view name, std::initializer_list<T> elements) {
    return set(name, std::span<const T>(elements.begin(), elements.size()));
  }
  // A scalar or a run-time extent.
  Status set(std::string_view name, double value) {
    const int scalar = session_.find_scalar(name);
    if (scalar < 0) return session_.no_scalar(name);
    return session_.set_scalar(scalar, value);
  }
  // `count` elements in storage layout, of a type known only at run time.
  Status set_elements(std::string_view name, DType dtype, int64_t count, const void* data) {
    const int port = session_.find_port(name);
    if (port < 0) return session_.no_tensor(name);
    if (!internal::storable(dtype, session_.dtype(port))) return other_type(port, name, dtype);
    return session_.set(port, session_.dtype(port), count, data);
  }

  // From now on the input, output, weight or state is this memory: see Engine::bind.
  Status bind(std::string_view name, const DeviceTensor& tensor) {
    const int port = session_.find_port(name);
    return port < 0 ? session_.no_tensor(name) : session_.bind(port, tensor);
  }
  // A handle to the memory that it has now.
  Result<DeviceTensor> tensor(std::string_view name) const {
    const int port = session_.find_port(name);
    if (port < 0) return session_.no_tensor(name);
    return session_.tensor(port);
  }

  Run run(const RunOptions& options = {}) { return session_.run(options); }
  // Records one run into an encoder of the caller's: see Engine::encode.
  Status encode(const wgpu::CommandEncoder& encoder) { return session_.engine().encode(encoder); }

  template <typename T>
  Result<std::vector<T>> get(std::string_view name) {
    const int port = session_.find_port(name);
    if (port < 0) return session_.no_tensor(name);
    std::vector<T> elements(static_cast<size_t>(session_.count(port)));
    if (Status status = get_elements(name, internal::storage_of<T>(), static_cast<int64_t>(elements.size()), elements.data()); !status.ok()) return status;
    return elements;
  }
  Status get_elements(std::string_view name, DType dtype, int64_t count, void* data) {
    const int port = session_.find_port(name);
    if (port < 0) return session_.no_tensor(name);
    if (!internal::storable(dtype, session_.dtype(port))) return other_type(port, name, dtype);
    return session_.get(port, session_.dtype(port), count, data);
  }
  // Elements of a tensor at its present extents; -1 when there is none of that name.
  int64_t count(std::string_view name) const {
    const int port = session_.find_port(name);
    return port < 0 ? -1 : session_.count(port);
  }

  Engine& engine() { return session_.engine(); }

 private:
  Status other_type(int port, std::string_view name, DType dtype) const {
    return invalid_argument("\"" + std::string(name) + "\" holds " + std::string(name_of(session_.dtype(port))) + ", not " + std::string(name_of(dtype)));
  }

  Session session_;
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::DynamicGraph, core::DynamicOptions, core::Sizes;
}  // namespace rlxgpu

#endif  // RLXGPU_DYNAMIC_H_
