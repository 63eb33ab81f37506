// Executable<G> runs the graph type G on a device, again and again.
//
//   Executable<Mlp> mlp(device);          // checked by the compiler, planned for the device in milliseconds
//   mlp.set<"w">(weights);                // once; "x" before every run
//   mlp.set<"x">(x);                      // std::array or span of fixed size: a wrong name, extent or
//   mlp.run();                            // type does not compile
//   Result<std::vector<float>> y = mlp.get<"y">();       // or absl::StatusOr<std::vector<float>>
//
// run() submits and returns; get() waits. An error of set() fails the next run, its Run and every get() until a run has
// gone well; an error of the constructor fails all of them: nothing is lost by not looking. For a graph that is only
// known at run time see dynamic.h. Thread-compatible; objects may be destroyed in any order.
//
// Executable<Mlp> uses all that the device offers, what the tuner found on it (tuner.h) and what switches force
// (docs/switches.md). Executable<Mlp, kPortable> is the compiler's program itself, WGSL and all: the same kernels on
// every device that covers the target, and no planning, hence no machine code of ops in the file that uses it.
#ifndef RLXGPU_EXECUTABLE_H_
#define RLXGPU_EXECUTABLE_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rlxgpu/base/fixed_string.h"
#include "rlxgpu/compile/freeze.h"
#include "rlxgpu/compile/typed_steps.h"
#include "rlxgpu/runtime/creation.h"
#include "rlxgpu/runtime/device_tensor.h"
#include "rlxgpu/runtime/element_types.h"
#include "rlxgpu/runtime/session.h"

namespace rlxgpu::core {

namespace internal {

// Plans the graph for the device and makes a session of it. Compiled once, in dynamic.cc: files that only run graphs
// do not hold the passes.
Result<Session> start_session(const Device& device, const Graph& graph, const EngineOptions& options,
                              std::span<const Choice> choices = {});

}  // namespace internal

// In place of a target: the program is planned for the device, when the executable is made.
struct PlannedForDevice {};
inline constexpr PlannedForDevice kThisDevice;

namespace internal {

// The program that the compiler makes: for the given target, or for every device.
template <const auto& kPlan, auto... kChoices>
constexpr const auto& plan_of() {
  if constexpr (std::same_as<decltype(kPlan), const PlannedForDevice&>) {
    return plan_of<kPortable, kChoices...>();
  } else if constexpr (sizeof...(kChoices) == 0) {
    return kPlan;
  } else {
    return kPlanWith<kPlan, kChoices...>;
  }
}

}  // namespace internal

// G has `static constexpr void build(Builder&)`. kPlan is kThisDevice or a Target. kChoices: kernel variants and values
// of their parameters for all calls that take them, such as choose<"matmul/tiled{rows_each=2}">; where the compiler
// plans, one that no call takes does not compile.
template <typename G, const auto& kPlan = kThisDevice, auto... kChoices>
class Executable {
  static constexpr bool kPlansForDevice = std::same_as<decltype(kPlan), const PlannedForDevice&>;
  using Constant = Frozen<G, internal::plan_of<kPlan, kChoices...>()>;

 public:
  // The steps of `program` as types: see compile/typed_steps.h. A std::tuple to std::tuple_size and std::tuple_element.
  using Steps = StepTuple<Constant>;

  // The compiler's program: for the target, or for every device. The compiler makes it where it is asked for: of an
  // executable that plans for its device, only here. Names, types and shapes of inputs and outputs are those of the
  // program that runs.
  static constexpr const ProgramView& program = Constant::view;

  explicit Executable(const Device& device, const EngineOptions& options = {}) : Executable(start(device, options)) {}
  static Result<Executable> create(const Device& device, const EngineOptions& options = {}) {
    return Executable(device, options).or_error();
  }
  // The same on another thread, with progress and a way to cancel it: see creation.h.
  static Creation<Executable> create_async(const Device& device, const EngineOptions& options = {}) {
    return Creation<Executable>(device, options, [device](const EngineOptions& with) { return create(device, with); });
  }

  // Elements of an input, a weight or a state; the value of a scalar or a run-time extent.
  template <FixedString kName, typename Container>
    requires requires(const Container& c) {
      std::data(c);
      std::size(c);
    }
  void set(const Container& elements) {
    constexpr NamedTensor kTensor = named<kName>();
    if constexpr (kTensor.found) {  // else named() has said what is wrong
      using T = internal::ElementOfContainer<Container>;
      constexpr TensorType kType = kTensor.type;
      static_assert(kTensor.kind != NodeKind::op, "this name is an output: it is not set");
      static_assert(internal::storable(internal::storage_of<T>(), kType.dtype),
                    "the graph holds another element type under this name");
      static_assert(internal::kFixedSize<Container> < 0 || kType.shape.dynamic() ||
                        internal::kFixedSize<Container> == kType.shape.count(),
                    "the graph holds another number of elements under this name");
      if (broken_.ok())
        session_.keep_error(session_.set(find(kName.view()), kType.dtype, static_cast<int64_t>(std::size(elements)),
                                         std::data(elements)));
    }
  }
  // set<"x">({1.0f, 2.0f})
  template <FixedString kName, typename T>
  void set(std::initializer_list<T> elements) {
    set<kName>(std::span<const T>(elements.begin(), elements.size()));
  }
  template <FixedString kName, typename Number>
    requires std::is_arithmetic_v<Number>
  void set(Number value) {
    static_assert(!kIsRight || find_scalar<G>(kName.view()).found, "the graph has no scalar or extent of this name");
    if (broken_.ok())
      session_.keep_error(session_.set_scalar(session_.find_scalar(kName.view()), static_cast<double>(value)));
  }

  // From now on the input, output, weight or state is this memory, which has its type and its shape (run-time extents
  // at their largest): nothing is copied. See Engine::bind for what may be bound where.
  template <FixedString kName>
  void bind(const DeviceTensor& tensor) {
    if constexpr (named<kName>().found) {  // else named() has said what is wrong
      if (broken_.ok()) session_.keep_error(session_.bind(find(kName.view()), tensor));
    }
  }
  // A handle to the memory that it has now.
  template <FixedString kName>
  Result<DeviceTensor> tensor() const {
    if (!broken_.ok() || !named<kName>().found) return broken_;
    return session_.tensor(find(kName.view()));
  }

  // A run, with its outputs by name.
  class TypedRun : public Run {
   public:
    TypedRun() = default;
    explicit TypedRun(Run run) : Run(std::move(run)) {}
    using Run::get;
    // Waits for this very run. For runs with RunOptions::read; others have copied what is small or was read before.
    template <FixedString kName>
    auto get() const {
      constexpr NamedTensor kTensor = named<kName>();
      static_assert(!kTensor.found || kTensor.kind == NodeKind::op,
                    "a run has outputs only: use get of the executable");
      return Run::get<typename internal::ElementOf<kTensor.type.dtype>::Type>(kName.view());
    }
  };

  // Submits one run and returns. Several may be in flight.
  TypedRun run(const RunOptions& options = {}) {
    return TypedRun(broken_.ok() ? session_.run(options) : internal::failed_run(broken_, options));
  }
  // Records one run into an encoder of the caller's: see Engine::encode.
  Status encode(const wgpu::CommandEncoder& encoder) {
    return broken_.ok() ? session_.engine().encode(encoder) : broken_;
  }

  // Waits for the last run and copies a tensor out: an output, or what a state or weight holds now.
  template <FixedString kName>
  auto get() {
    constexpr DType kDType = named<kName>().type.dtype;
    using T = typename internal::ElementOf<kDType>::Type;
    using Elements = Result<std::vector<T>>;
    if (!broken_.ok()) return Elements(broken_);
    const int at = find(kName.view());
    std::vector<T> elements(static_cast<size_t>(session_.count(at)));
    const Status status = session_.get(at, kDType, static_cast<int64_t>(elements.size()), elements.data());
    return status.ok() ? Elements(std::move(elements)) : Elements(status);
  }
  // The same into memory of the caller's.
  template <FixedString kName, typename T>
  Status get(std::span<T> out) {
    constexpr NamedTensor kTensor = named<kName>();
    static_assert(!kTensor.found || internal::storable(internal::storage_of<T>(), kTensor.type.dtype),
                  "the graph holds another element type under this name");
    if (!broken_.ok()) return broken_;
    return session_.get(find(kName.view()), internal::storage_of<T>(), static_cast<int64_t>(out.size()), out.data());
  }

  // Why the constructor failed, or the first error since it was last asked for.
  Status status() { return broken_.ok() ? session_.take_error() : broken_; }
  Engine& engine() { return session_.engine(); }  // profile, warm_up, weights, states

 private:
  static constexpr bool kIsRight = internal::kIsTraced<G> && internal::kTracedSizes<G>.error == 0;

  template <FixedString kName>
  static constexpr NamedTensor named() {
    if constexpr (kIsRight) {
      constexpr NamedTensor kFound = find_tensor<G>(kName.view());
      static_assert(kFound.found, "the graph has no tensor of this name");
      return kFound;
    } else {
      return {};  // what is wrong is said by the constructor
    }
  }
  int find(std::string_view name) const { return session_.find_port(name); }

  static Result<Session> start(const Device& device, const EngineOptions& options) {
    static_assert(internal::CheckGraph<G>::kDone);  // what is wrong with the graph is said here
    if constexpr (kPlansForDevice) {
      const std::array<Choice, sizeof...(kChoices)> choices = {kChoices.choice()...};
      return internal::start_session(device, internal::trace<G>(), options, choices);
    } else {
      return load(device, options, std::make_index_sequence<program.kernels.specs.size()>());
    }
  }
  template <size_t... kIndex>
  static Result<Session> load(const Device& device, const EngineOptions& options, std::index_sequence<kIndex...>) {
    internal::note_constant_program();
    std::array<std::string, sizeof...(kIndex)> texts;
    (Constant::template Text<static_cast<int>(kIndex)>::append_to(texts[kIndex]), ...);
    const std::array<std::string_view, sizeof...(kIndex)> views = {std::string_view(texts[kIndex])...};
    return Session::create(device, Constant::loaded, views, options);
  }
  explicit Executable(Result<Session> session) {
    if (session.ok()) {
      session_ = *std::move(session);
    } else {
      broken_ = session.status();
    }
  }
  Result<Executable> or_error() && {
    if (!broken_.ok()) return broken_;
    return std::move(*this);
  }

  Session session_;
  Status broken_;  // why there is no session
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Executable, core::PlannedForDevice, core::kThisDevice;
}  // namespace rlxgpu

#endif  // RLXGPU_EXECUTABLE_H_
