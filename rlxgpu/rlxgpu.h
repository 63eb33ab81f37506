// What most programs begin with: graphs, executables, and the ops of seven families (elementwise, matmul, movement,
// reduce, scan, scatter, softmax).
//
// The others cost more to include: rlxgpu/ops/FAMILY.h has one, rlxgpu/ops/all.h all of them (docs/ops.md).
#ifndef RLXGPU_RLXGPU_H_
#define RLXGPU_RLXGPU_H_

#include "rlxgpu/dynamic.h"
#include "rlxgpu/executable.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/scan/scan.h"
#include "rlxgpu/kernels/scatter/scatter.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/version.h"

#endif  // RLXGPU_RLXGPU_H_
