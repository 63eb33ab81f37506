// listing: a program as a person reads it.
//
//   2 steps, 2 kernels, weights 4.1 KB, scratch 2 KB in 1 slot
//     0  matmul+add+gelu/f32/tiled     1 x 2     x:f32[32,64] w:f32[64,16] b:f32[16] -> s4:f32[32,16]
#ifndef RLXGPU_COMPILE_LISTING_H_
#define RLXGPU_COMPILE_LISTING_H_

#include "rlxgpu/compile/program.h"

namespace rlxgpu::core {

// 1536 -> "1.5 KB"
constexpr void append_bytes(Text& out, uint64_t bytes) {
  constexpr std::string_view kUnits[] = {" B", " KB", " MB", " GB"};
  int unit = 0;
  uint64_t tenths = bytes * 10;
  while (tenths >= 10240 && unit < 3) {
    tenths = (tenths + 512) / 1024;
    ++unit;
  }
  out << tenths / 10;
  if (tenths % 10 != 0 && unit > 0) out << '.' << tenths % 10;
  out << kUnits[unit];
}

constexpr void pad_to(Text& out, size_t line_start, size_t column) {
  do out << ' ';
  while (out.size() - line_start < column);
}

class Lister {
 public:
  constexpr explicit Lister(const ProgramView& program) : program_(program) {}

  constexpr Text run() {
    uint64_t scratch = 0, params = 0;
    int slots = 0;
    for (const BufferDecl& buffer : program_.buffers) {
      if (buffer.role == BufferRole::scratch) scratch += buffer.bytes, ++slots;
      if (buffer.role == BufferRole::param) params += buffer.bytes;
    }
    out_ << program_.steps.size() << (program_.steps.size() == 1 ? " step, " : " steps, ") << program_.kernels.specs.size()
         << (program_.kernels.specs.size() == 1 ? " kernel, weights " : " kernels, weights ");
    append_bytes(out_, params);
    out_ << ", scratch ";
    append_bytes(out_, scratch);
    out_ << " in " << slots << (slots == 1 ? " slot\n" : " slots\n");
    for (size_t s = 0; s < program_.steps.size(); ++s) step(s, program_.steps[s]);
    return static_cast<Text&&>(out_);
  }

 private:
  constexpr void step(size_t s, const Step& step) {
    const size_t start = out_.size();
    if (s < 10) out_ << ' ';
    if (s < 100) out_ << ' ';
    out_ << s << "  " << program_.name(step.label);
    pad_to(out_, start, 40);
    out_ << step.grid[0];
    if (step.grid[1] * step.grid[2] > 1) out_ << " x " << step.grid[1];
    if (step.grid[2] > 1) out_ << " x " << step.grid[2];
    if (step.grid_scalar >= 0) out_ << " by " << program_.name(program_.scalars[static_cast<size_t>(step.grid_scalar)].name);
    pad_to(out_, start, 54);
    for (const StepBinding& binding : slice(program_.bindings, step.bindings)) {
      if (!binding.writes) tensor(binding.tensor), out_ << ' ';
    }
    for (const int32_t scalar : slice(program_.step_immediates, step.immediates)) {
      out_ << program_.name(program_.scalars[static_cast<size_t>(scalar)].name) << ' ';
    }
    out_ << "->";
    for (const StepBinding& binding : slice(program_.bindings, step.bindings)) {
      if (binding.writes) out_ << ' ', tensor(binding.tensor);
    }
    out_ << '\n';
  }

  constexpr void tensor(int32_t id) {
    const TensorDecl& tensor = program_.tensors[static_cast<size_t>(id)];
    const BufferRole role = program_.buffers[static_cast<size_t>(tensor.buffer)].role;
    if (role == BufferRole::scratch) {
      out_ << 's' << tensor.buffer;
    } else if (role == BufferRole::constant) {
      out_ << "constant";
    } else {
      for (const Port& port : program_.ports) {
        if (port.tensor == id) out_ << program_.name(port.name);
      }
    }
    out_ << ':' << name_of(tensor.dtype) << tensor.shape;
  }

  const ProgramView& program_;
  Text out_;
};

constexpr Text listing(const ProgramView& program) { return Lister(program).run(); }

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_LISTING_H_
