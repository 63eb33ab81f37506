// All of rlxgpu: graphs, ops, executables.
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

#endif  // RLXGPU_RLXGPU_H_
