// Frozen<G, target> is the program of a graph type as a constant: traced, fused, lowered and planned by
// the compiler. KernelText<G, target, k> is the WGSL of its kernel k.
//
//   static_assert(Frozen<Mlp, kPortable>::view.steps.size() == 2);
//
// In two stages, graph and program. A constant cannot keep heap memory, so each needs its sizes before its
// contents: the graph is traced twice; the program is made once into arrays of likely sizes, then copied. A graph with
// an error does not compile: the error's text is in the message. So is the way out where a compiler's limits do not
// suffice.
#ifndef RLXGPU_COMPILE_FREEZE_H_
#define RLXGPU_COMPILE_FREEZE_H_

#include <array>

#include "rlxgpu/base/fixed_string.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/frozen_graph.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/wgsl/render.h"

namespace rlxgpu::core {

// A target with choices (choice.h): what a constant program is planned for, as a target alone is.
template <size_t kCount>
struct PlanWith {
  Target target;
  Choice choices[kCount];
};
template <const Target& kTarget, auto... kChoices>
inline constexpr PlanWith<sizeof...(kChoices)> kPlanWith{kTarget, {kChoices.choice()...}};

constexpr const Target& target_of(const Target& target) { return target; }
constexpr std::span<const Choice> choices_of(const Target&) { return {}; }
template <size_t kCount>
constexpr const Target& target_of(const PlanWith<kCount>& plan) {
  return plan.target;
}
template <size_t kCount>
constexpr std::span<const Choice> choices_of(const PlanWith<kCount>& plan) {
  return {plan.choices, kCount};
}

struct ProgramSizes {
  size_t buffers = 0, tensors = 0, ports = 0, scalars = 0, steps = 0, bindings = 0, step_immediates = 0, words = 0;
  size_t specs = 0, values = 0, operands = 0, attrs = 0, slots = 0, params = 0, binding_types = 0, immediates = 0;
  size_t names = 0, error = 0;

  constexpr bool fit(const ProgramSizes& most) const {
    return buffers <= most.buffers && tensors <= most.tensors && ports <= most.ports && scalars <= most.scalars &&
           steps <= most.steps && bindings <= most.bindings && step_immediates <= most.step_immediates &&
           words <= most.words && specs <= most.specs && values <= most.values && operands <= most.operands &&
           attrs <= most.attrs && slots <= most.slots && params <= most.params && binding_types <= most.binding_types &&
           immediates <= most.immediates && names <= most.names;
  }
};

constexpr ProgramSizes sizes_of(const Program& p) {
  const SpecPools& k = p.kernels;
  return {p.buffers.size(),    p.tensors.size(),         p.ports.size(), p.scalars.size(), p.steps.size(),
          p.bindings.size(),   p.step_immediates.size(), p.words.size(), k.specs.size(),   k.values.size(),
          k.operands.size(),   k.attrs.size(),           k.slots.size(), k.params.size(),  k.bindings.size(),
          k.immediates.size(), p.names.size(),           p.error.size()};
}

// What runtime/ needs of a program of at most these sizes. Apart from the kernels' specifications, which point to ops:
// an object file that holds only this does not hold the code of every op.
template <ProgramSizes kMost>
struct FrozenSteps {
  ProgramSizes sizes;
  FrozenPool<BufferDecl, kMost.buffers> buffers;
  FrozenPool<TensorDecl, kMost.tensors> tensors;
  FrozenPool<Port, kMost.ports> ports;
  FrozenPool<ScalarDecl, kMost.scalars> scalars;
  FrozenPool<Step, kMost.steps> steps;
  FrozenPool<StepBinding, kMost.bindings> bindings;
  FrozenPool<int32_t, kMost.step_immediates> step_immediates;
  FrozenPool<uint32_t, kMost.words> words;
  FrozenPool<KernelSpec, kMost.specs> specs;
  FrozenPool<BindingType, kMost.binding_types> binding_types;
  FrozenPool<DType, kMost.immediates> immediates;
  FrozenPool<char, kMost.names> names;

  constexpr explicit FrozenSteps(const ProgramSizes& s) : sizes(s) {}
  constexpr ProgramView view(const Target& target) const {
    return {target,
            buffers.view(),
            tensors.view(),
            ports.view(),
            scalars.view(),
            steps.view(),
            bindings.view(),
            step_immediates.view(),
            words.view(),
            {specs.view(), {}, {}, {}, {}, {}, binding_types.view(), immediates.view()},
            {names.items, kMost.names}};
  }
};

// Holds all of it.
template <ProgramSizes kMost>
struct FrozenProgram : FrozenSteps<kMost> {
  FrozenPool<LocalValue, kMost.values> values;
  FrozenPool<int32_t, kMost.operands> operands;
  FrozenPool<int64_t, kMost.attrs> attrs;
  FrozenPool<SlotUse, kMost.slots> slots;
  FrozenPool<ParamUse, kMost.params> params;

  constexpr explicit FrozenProgram(const Program& p) : FrozenSteps<kMost>(sizes_of(p)) {
    if (!this->sizes.fit(kMost)) return;  // the sizes are all that is wanted
    const SpecPools& k = p.kernels;
    fill(p.buffers.data(), p.tensors.data(), p.ports.data(), p.scalars.data(), p.steps.data(), p.bindings.data(),
         p.step_immediates.data(), p.words.data(), k.specs.data(), k.values.data(), k.operands.data(), k.attrs.data(),
         k.slots.data(), k.params.data(), k.bindings.data(), k.immediates.data(), p.names.view().data());
  }
  // The same program in an array of other sizes.
  template <ProgramSizes kOther>
  constexpr explicit FrozenProgram(const FrozenProgram<kOther>& p) : FrozenSteps<kMost>(p.sizes) {
    fill(p.buffers.items, p.tensors.items, p.ports.items, p.scalars.items, p.steps.items, p.bindings.items,
         p.step_immediates.items, p.words.items, p.specs.items, p.values.items, p.operands.items, p.attrs.items,
         p.slots.items, p.params.items, p.binding_types.items, p.immediates.items, p.names.items);
  }
  constexpr ProgramView view(const Target& target) const {
    ProgramView all = FrozenSteps<kMost>::view(target);
    all.kernels.values = values.view(), all.kernels.operands = operands.view(), all.kernels.attrs = attrs.view();
    all.kernels.slots = slots.view(), all.kernels.params = params.view();
    return all;
  }

 private:
  constexpr void fill(const BufferDecl* b, const TensorDecl* t, const Port* p, const ScalarDecl* c, const Step* s,
                      const StepBinding* sb, const int32_t* si, const uint32_t* w, const KernelSpec* ks,
                      const LocalValue* v, const int32_t* o, const int64_t* a, const SlotUse* su, const ParamUse* pu,
                      const BindingType* bt, const DType* im, const char* n) {
    const ProgramSizes& sizes = this->sizes;
    this->buffers.fill(b, sizes.buffers), this->tensors.fill(t, sizes.tensors), this->ports.fill(p, sizes.ports);
    this->scalars.fill(c, sizes.scalars), this->steps.fill(s, sizes.steps), this->bindings.fill(sb, sizes.bindings);
    this->step_immediates.fill(si, sizes.step_immediates), this->words.fill(w, sizes.words);
    this->specs.fill(ks, sizes.specs), this->binding_types.fill(bt, sizes.binding_types);
    this->immediates.fill(im, sizes.immediates), this->names.fill(n, sizes.names);
    values.fill(v, sizes.values), operands.fill(o, sizes.operands), attrs.fill(a, sizes.attrs);
    slots.fill(su, sizes.slots), params.fill(pu, sizes.params);
  }
};

namespace internal {

#ifdef __clang__
inline constexpr std::string_view kTooLarge =
    "the graph takes more steps than clang allows for a constant: compile with -fconstexpr-steps=100000000, or build "
    "it at run "
    "time, as a DynamicGraph";
#else
inline constexpr std::string_view kTooLarge =
    "the graph takes more steps than g++ allows for a constant: compile with -fconstexpr-ops-limit=1000000000 and "
    "-fconstexpr-loop-limit=10000000, or build it at run time, as a DynamicGraph";
#endif

inline constexpr std::string_view kNotConstant =
    "the compiler cannot evaluate build() and says why; where a limit is met, a DynamicGraph has none";

// Has the compiler say why it cannot evaluate build().
template <typename G>
constexpr bool let_compiler_explain() {
  if constexpr (!kIsTraced<G> && !kIsTooLarge<G>) {
    constexpr GraphSizes kSizes = part_sizes<G, kAllNodes, 0>();
    return kSizes.error == 0;
  }
  return true;
}

template <typename G, typename Plan>
constexpr Program build_program(const Plan& plan) {
  CompileOptions options;
  options.simplify = false;  // it is already
  options.check = false;     // checked by tests: it would be a third of the work
  options.choices = choices_of(plan);
  Program program = compile(kFrozenGraph<G>.thaw(), target_of(plan), options);
  for (const Choice& choice : options.choices) {
    bool taken = !program.error.empty();
    for (const Step& step : program.steps) {
      const std::string_view names = program.names.view();
      taken = taken ||
              fits(names.substr(static_cast<size_t>(step.spec.first), static_cast<size_t>(step.spec.count)), choice);
    }
    if (!taken)
      program.error << choice.op << '/' << choice.variant
                    << " is chosen, but no call of the graph takes it on this target";
  }
  return program;
}

// Sizes that the program of a graph seldom exceeds, so that it need not be made twice.
constexpr ProgramSizes likely_sizes(const GraphSizes& g) {
  const size_t n = g.nodes;
  return {n + 8,
          n + 32,
          n + 8,
          g.scalars,
          n + 16,
          4 * n + 32,
          g.scalars * 4 + 16,
          g.words + n + 64,
          n / 8 + 24,
          n / 4 + 160,
          n / 4 + 160,
          n / 4 + 320,
          n / 8 + 96,
          n / 4 + 480,
          n / 8 + 128,
          16,
          g.names + 4 * n + 2048,
          0};
}

template <typename G, const auto& kPlan>
inline constexpr FrozenProgram<likely_sizes(kTracedSizes<G>)> kLikelyProgram{build_program<G>(kPlan)};

// What a compiler prints of a constant that takes too many steps is long: of a large graph we find out first.
template <typename G, const auto& kPlan>
concept HasProgram = kTracedSizes<G>.nodes <= 100 ||
                     requires { typename std::bool_constant<(build_program<G>(kPlan).steps.size() >= 0)>; };

// A program, or the error of the graph or of the program.
template <typename G, const auto& kPlan>
constexpr ProgramSizes program_sizes() {
  if constexpr (!kIsTraced<G>) {
    return {.error = 1};
  } else if constexpr (kTracedSizes<G>.error != 0) {
    return {.error = kTracedSizes<G>.error};
  } else if constexpr (!HasProgram<G, kPlan>) {
    return {.error = kTooLarge.size()};
  } else {
    return kLikelyProgram<G, kPlan>.sizes;
  }
}
template <typename G, const auto& kPlan>
inline constexpr ProgramSizes kProgramSizes = program_sizes<G, kPlan>();

// The program in arrays of its own sizes.
template <typename G, const auto& kPlan>
constexpr FrozenProgram<kProgramSizes<G, kPlan>> freeze_program() {
  using Exact = FrozenProgram<kProgramSizes<G, kPlan>>;
  if constexpr (kProgramSizes<G, kPlan>.error != 0) {
    return Exact(Program());
  } else if constexpr (kProgramSizes<G, kPlan>.fit(likely_sizes(kTracedSizes<G>))) {
    return Exact(kLikelyProgram<G, kPlan>);
  } else {
    return Exact(build_program<G>(kPlan));
  }
}

// The error of a graph, as text of fixed size.
template <typename G>
constexpr auto graph_error_text() {
  if constexpr (!kIsTraced<G>) {
    constexpr std::string_view kWhy = kIsTooLarge<G> ? kTooLarge : kNotConstant;
    return FixedString<kWhy.size()>(kWhy);
  } else if constexpr (kTracedSizes<G>.error == 0) {
    return FixedString<0>();
  } else {
    return FixedString<kTracedSizes<G>.error>(Traced<G>::trace().error.view());
  }
}
// That of its program; nothing if the graph has one, which is said once.
template <typename G, const auto& kPlan>
constexpr auto program_error_text() {
  constexpr size_t kSize = kProgramSizes<G, kPlan>.error;
  if constexpr (!kIsTraced<G> || kTracedSizes<G>.error != 0 || kSize == 0) {
    return FixedString<0>();
  } else if constexpr (!HasProgram<G, kPlan>) {
    return FixedString<kSize>(kTooLarge);
  } else {
    return FixedString<kSize>(build_program<G>(kPlan).error.view());
  }
}

// Says the error of a graph. Older compilers cannot compute the text of a static_assert: there it is the
// template argument of a type that has no definition.
template <auto kText>
struct GraphError;
template <auto kText>
  requires(kText.size() == 0)
struct GraphError<kText> {};

#if (defined(__clang__) && __clang_major__ >= 20) || (!defined(__clang__) && defined(__GNUC__) && __GNUC__ >= 14)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wc++26-extensions"
template <typename G, bool kIsRight = kIsTraced<G> && kTracedSizes<G>.error == 0>
struct CheckGraph {
  static_assert(kIsRight, graph_error_text<G>());
  static constexpr bool kDone = let_compiler_explain<G>();
};
template <typename G, const auto& kPlan, bool kIsRight = program_error_text<G, kPlan>().size() == 0>
struct CheckProgram {
  static_assert(kIsRight, program_error_text<G, kPlan>());
  static constexpr bool kDone = true;
};
#pragma GCC diagnostic pop
#else
template <typename G>
struct CheckGraph {
  static_assert(sizeof(GraphError<graph_error_text<G>()>) > 0);
  static constexpr bool kDone = let_compiler_explain<G>();
};
template <typename G, const auto& kPlan>
struct CheckProgram {
  static_assert(sizeof(GraphError<program_error_text<G, kPlan>()>) > 0);
  static constexpr bool kDone = true;
};
#endif

}  // namespace internal

template <typename G, const auto& kPlan, int kKernel>
struct KernelText;

template <typename G, const auto& kPlan = kPortable>
struct Frozen {
  static constexpr const ProgramSizes& sizes = internal::kProgramSizes<G, kPlan>;
  static_assert(internal::CheckGraph<G>::kDone);
  static_assert(internal::CheckProgram<G, kPlan>::kDone);
  static constexpr FrozenProgram<sizes> program = internal::freeze_program<G, kPlan>();
  static constexpr ProgramView view = program.view(target_of(kPlan));
  // What is loaded on a device: the same without the kernels' specifications.
  static constexpr FrozenSteps<sizes> steps = program;
  template <int kKernel>
  using Text = KernelText<G, kPlan, kKernel>;
  static constexpr ProgramView loaded = steps.view(target_of(kPlan));
};

// The WGSL of kernel k of a frozen program: constants, put together by append_to().
template <typename G, const auto& kPlan, int kKernel>
struct KernelText {
  struct Sizes {
    size_t pieces = 0, written = 0;
  };
  static constexpr Pieces render() {
    Pieces pieces;
    render_kernel(Frozen<G, kPlan>::view.kernels, kKernel, pieces);
    return pieces;
  }
  static constexpr Sizes sizes = [] {
    const Pieces pieces = render();
    return Sizes{pieces.pieces().size(), pieces.written().size()};
  }();
  struct Contents {
    FrozenPool<Piece, sizes.pieces> pieces;
    FixedString<sizes.written> written;
  };
  static constexpr Contents contents = [] {
    const Pieces pieces = render();
    Contents frozen{{}, FixedString<sizes.written>(pieces.written())};
    frozen.pieces.fill(pieces.pieces().data());
    return frozen;
  }();
  template <typename String>
  static constexpr void append_to(String& out) {
    join(contents.pieces.items, sizes.pieces, contents.written.view(), out);
  }
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_FREEZE_H_
