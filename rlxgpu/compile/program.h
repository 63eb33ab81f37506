// Program: what a graph has become. Buffers, tensors in them, kernels, and steps that run kernels.
//
// Plain data in flat pools, so that it can be a constant of the compiler (Frozen, freeze.h) or a value
// (Program). Everything that reads programs takes a ProgramView of either: the checker, the listing,
// the renderer of WGSL, and runtime/, which executes one as it stands, in order:
//   for each step: pipeline of kernel, bind group of its bindings, immediates, dispatch of its grid.
#ifndef RLXGPU_COMPILE_PROGRAM_H_
#define RLXGPU_COMPILE_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "rlxgpu/base/text.h"
#include "rlxgpu/base/vec.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/target.h"
#include "rlxgpu/wgsl/spec.h"

namespace rlxgpu::core {

enum class BufferRole : uint8_t {
  input,     // written by the user before a run, one buffer for each input
  output,    // written by steps, read by the user after a run
  param,     // a weight: one BufferDecl for each; runtime may put several into one device buffer
  state,     // kept from run to run, read and written by steps, zero at first
  constant,  // its words are in the program, or computed when it is loaded
  scratch,   // shared over time by values that do not live at once
};

struct BufferDecl {
  BufferRole role = BufferRole::scratch;
  uint64_t bytes = 0;  // at least 16, a multiple of 16
  Range words = {};    // constant: of Program::words
  Table table = {};    // constant without words: computed when the program is loaded
};

struct TensorDecl : TensorType {
  int32_t buffer = -1;
  uint64_t offset = 0;  // a multiple of Target::offset_alignment
  uint64_t bytes = 0;   // what its elements take, a multiple of 4; 0 for an empty tensor
};

// A tensor known to the user by name.
struct Port {
  BufferRole role = BufferRole::input;  // input, output, param or state
  Range name;                           // of names
  int32_t tensor = -1;
};

// A number given with every run.
struct ScalarDecl {
  Range name;
  DType dtype = DType::u32;  // f32, i32 or u32
  int64_t most = -1;         // of a run-time extent: its largest value; -1 for other scalars
};

struct StepBinding {  // binding i of a step is @group(0) @binding(i) of its kernel
  int32_t tensor = -1;
  bool writes = false;
};

struct Step {
  int32_t kernel = -1;
  uint32_t grid[3] = {1, 1, 1};  // workgroups; never zero
  // When not -1: only ceil(grid[0] * value / most) groups of the x axis are needed, where value is this
  // scalar's (a run-time extent). Running all of them is right, too.
  int32_t grid_scalar = -1;
  Range bindings;               // of Program::bindings
  Range immediates;             // of Program::step_immediates: scalar indices; one 32-bit word each, in this order
  Range label;                  // of names: "op/dtype/variant"
  Range spec = {};              // of names: "op/variant{parameter=value,...}", all parameters; empty: maps and copies
  uint32_t line = 0;            // where the user wrote the op (Site); loaders number a model's nodes by it
  double flops = 0, bytes = 0;  // what the algorithm needs
};

struct Program {
  Vec<BufferDecl> buffers;
  Vec<TensorDecl> tensors;
  Vec<Port> ports;
  Vec<ScalarDecl> scalars;
  Vec<Step> steps;
  Vec<StepBinding> bindings;
  Vec<int32_t> step_immediates;
  Vec<uint32_t> words;  // of constant buffers, at their tensors' offsets
  SpecPools kernels;
  Text names;
  Text error;  // "" or what went wrong
};

struct ProgramView {
  Target target;
  std::span<const BufferDecl> buffers;
  std::span<const TensorDecl> tensors;
  std::span<const Port> ports;
  std::span<const ScalarDecl> scalars;
  std::span<const Step> steps;
  std::span<const StepBinding> bindings;
  std::span<const int32_t> step_immediates;
  std::span<const uint32_t> words;
  SpecView kernels;
  std::string_view names;

  constexpr std::string_view name(Range range) const {
    return names.substr(static_cast<size_t>(range.first), static_cast<size_t>(range.count));
  }
  // Index of the port with this role and name, or -1.
  constexpr int find_port(BufferRole role, std::string_view port) const {
    for (size_t i = 0; i < ports.size(); ++i) {
      if (ports[i].role == role && name(ports[i].name) == port) return static_cast<int>(i);
    }
    return -1;
  }
  constexpr int find_scalar(std::string_view scalar) const {
    for (size_t i = 0; i < scalars.size(); ++i) {
      if (name(scalars[i].name) == scalar) return static_cast<int>(i);
    }
    return -1;
  }
};

constexpr SpecView view_of(const SpecPools& pools) {
  return {span_of(pools.specs), span_of(pools.values), span_of(pools.operands), span_of(pools.attrs),
          span_of(pools.slots), span_of(pools.params), span_of(pools.bindings), span_of(pools.immediates)};
}

constexpr ProgramView view_of(const Program& program, const Target& target) {
  return {target,
          span_of(program.buffers),
          span_of(program.tensors),
          span_of(program.ports),
          span_of(program.scalars),
          span_of(program.steps),
          span_of(program.bindings),
          span_of(program.step_immediates),
          span_of(program.words),
          view_of(program.kernels),
          program.names.view()};
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_PROGRAM_H_
