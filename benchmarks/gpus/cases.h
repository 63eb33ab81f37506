// What ./dev gpus report compiles: graphs of one op each, and programs.
#ifndef BENCHMARKS_GPUS_CASES_H_
#define BENCHMARKS_GPUS_CASES_H_

#include <functional>
#include <string>
#include <vector>

#include "rlxgpu/graph/builder.h"

namespace rlxgpu::core::gpus {

struct Case {
  std::string name;
  std::function<void(Builder&)> build;
  bool free = false;  // sizes are read at run time, as in models from files
};

std::vector<Case> cases();

}  // namespace rlxgpu::core::gpus

#endif  // BENCHMARKS_GPUS_CASES_H_
