// Fusion: which nodes of a graph share kernels and which values need memory; what fuse() finds (fuse.h).
#ifndef RLXGPU_COMPILE_FUSION_H_
#define RLXGPU_COMPILE_FUSION_H_

#include <cstdint>

#include "rlxgpu/base/vec.h"

namespace rlxgpu::core {

// What the passes after it need to know.
struct Fusion {
  Vec<char> stored;     // by value: it has memory of its own
  Vec<int32_t> anchor;  // by node: the kernel op whose dispatches write it (itself if it is a root); else -1
  Vec<char> root;       // by node: its group is executed at its place in the order
  Vec<int32_t> next;    // by node: another root that the same dispatches write (not executed by itself); else -1
};

struct FuseOptions {
  bool fuse = true;     // false: every node has a kernel of its own, for comparison
  int max_nodes = 48;   // maps in one kernel
  int max_repeats = 4;  // times one element may be computed again because it is read at several coordinates
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_FUSION_H_
