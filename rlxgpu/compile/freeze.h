// Frozen<G, target> is the program of a graph type as a constant: traced, fused, lowered and planned by
// the compiler. KernelText<G, target, k> is the WGSL of its kernel k.
//
//   static_assert(Frozen<Mlp, kPortable>::view.steps.size() == 2);
//
// In two stages, graph and program, each evaluated twice, once for the sizes and once for the contents,
// because a constant cannot keep heap memory. A graph with an error does not compile: the error's text is in the message.
#ifndef RLXGPU_COMPILE_FREEZE_H_
#define RLXGPU_COMPILE_FREEZE_H_

#include <array>

#include "rlxgpu/base/fixed_string.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/frozen_graph.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/wgsl/render.h"

namespace rlxgpu {

struct ProgramSizes {
  size_t buffers = 0, tensors = 0, ports = 0, scalars = 0, steps = 0, bindings = 0, step_immediates = 0, words = 0;
  size_t specs = 0, values = 0, operands = 0, attrs = 0, slots = 0, params = 0, binding_types = 0, immediates = 0;
  size_t names = 0, error = 0;
};

constexpr ProgramSizes sizes_of(const Program& p) {
  const SpecPools& k = p.kernels;
  return {p.buffers.size(),  p.tensors.size(),  p.ports.size(),    p.scalars.size(), p.steps.size(),  p.bindings.size(),
          p.step_immediates.size(), p.words.size(), k.specs.size(), k.values.size(), k.operands.size(), k.attrs.size(),
          k.slots.size(),    k.params.size(),   k.bindings.size(), k.immediates.size(), p.names.size(), p.error.size()};
}

template <ProgramSizes kSizes>
struct FrozenProgram {
  FrozenPool<BufferDecl, kSizes.buffers> buffers;
  FrozenPool<TensorDecl, kSizes.tensors> tensors;
  FrozenPool<Port, kSizes.ports> ports;
  FrozenPool<ScalarDecl, kSizes.scalars> scalars;
  FrozenPool<Step, kSizes.steps> steps;
  FrozenPool<StepBinding, kSizes.bindings> bindings;
  FrozenPool<int32_t, kSizes.step_immediates> step_immediates;
  FrozenPool<uint32_t, kSizes.words> words;
  FrozenPool<KernelSpec, kSizes.specs> specs;
  FrozenPool<LocalValue, kSizes.values> values;
  FrozenPool<int32_t, kSizes.operands> operands;
  FrozenPool<int64_t, kSizes.attrs> attrs;
  FrozenPool<SlotUse, kSizes.slots> slots;
  FrozenPool<ParamUse, kSizes.params> params;
  FrozenPool<BindingType, kSizes.binding_types> binding_types;
  FrozenPool<DType, kSizes.immediates> immediates;
  FrozenPool<char, kSizes.names> names;

  constexpr explicit FrozenProgram(const Program& p) {
    const SpecPools& k = p.kernels;
    buffers.fill(p.buffers.data()), tensors.fill(p.tensors.data()), ports.fill(p.ports.data()), scalars.fill(p.scalars.data());
    steps.fill(p.steps.data()), bindings.fill(p.bindings.data()), step_immediates.fill(p.step_immediates.data());
    words.fill(p.words.data()), specs.fill(k.specs.data()), values.fill(k.values.data()), operands.fill(k.operands.data());
    attrs.fill(k.attrs.data()), slots.fill(k.slots.data()), params.fill(k.params.data());
    binding_types.fill(k.bindings.data()), immediates.fill(k.immediates.data()), names.fill(p.names.view().data());
  }
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
            {specs.view(), values.view(), operands.view(), attrs.view(), slots.view(), params.view(), binding_types.view(), immediates.view()},
            {names.items, kSizes.names}};
  }
};

namespace internal {

template <typename G>
constexpr Program build_program(const Target& target) {
  CompileOptions options;
  options.simplify = false;  // it is already
  options.check = false;     // checked by tests: it would be a third of the work
  if constexpr (kGraphSizes<G>.error == 0) {
    return compile(kFrozenGraph<G>.thaw(), target, options);
  } else {
    return compile(trace<G>(), target, options);
  }
}

template <typename G, const Target& kTarget>
inline constexpr ProgramSizes kProgramSizes = sizes_of(build_program<G>(kTarget));

template <typename G, const Target& kTarget>
constexpr auto error_text() {
  if constexpr (kProgramSizes<G, kTarget>.error == 0) {
    return FixedString<0>();
  } else {
    return FixedString<kProgramSizes<G, kTarget>.error>(build_program<G>(kTarget).error.view());
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
template <typename G, const Target& kTarget, bool kIsRight = kProgramSizes<G, kTarget>.error == 0>
struct CheckGraph {
  static_assert(kIsRight, error_text<G, kTarget>());
  static constexpr bool kDone = true;
};
#pragma GCC diagnostic pop
#else
template <typename G, const Target& kTarget>
struct CheckGraph {
  static_assert(sizeof(GraphError<error_text<G, kTarget>()>) > 0);
  static constexpr bool kDone = true;
};
#endif

}  // namespace internal

template <typename G, const Target& kTarget = kPortable>
struct Frozen {
  static constexpr const ProgramSizes& sizes = internal::kProgramSizes<G, kTarget>;
  static_assert(internal::CheckGraph<G, kTarget>::kDone);
  static constexpr FrozenProgram<sizes> program{internal::build_program<G>(kTarget)};
  static constexpr ProgramView view = program.view(kTarget);
};

// The WGSL of kernel k of a frozen program: constants, put together by append_to().
template <typename G, const Target& kTarget, int kKernel>
struct KernelText {
  struct Sizes {
    size_t pieces = 0, written = 0;
  };
  static constexpr Pieces render() {
    Pieces pieces;
    render_kernel(Frozen<G, kTarget>::view.kernels, kKernel, pieces);
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

}  // namespace rlxgpu

#endif  // RLXGPU_COMPILE_FREEZE_H_
