// kernel_families(): every op whose kernel variants have parameters, with a call of it as an example.
#ifndef RLXGPU_TOOLS_KERNEL_FAMILIES_H_
#define RLXGPU_TOOLS_KERNEL_FAMILIES_H_

#include <span>
#include <string_view>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core::tools {

struct KernelFamily {
  const OpDef* op;
  std::string_view call;  // in words
  void (*build)(Builder& g);
};

std::span<const KernelFamily> kernel_families();

}  // namespace rlxgpu::core::tools

#endif  // RLXGPU_TOOLS_KERNEL_FAMILIES_H_
