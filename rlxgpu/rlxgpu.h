// All of rlxgpu: graphs, ops, executables.
#ifndef RLXGPU_RLXGPU_H_
#define RLXGPU_RLXGPU_H_

#include "kernels/elementwise/elementwise.h"
#include "kernels/matmul/matmul.h"
#include "kernels/movement/movement.h"
#include "kernels/reduce/arg.h"
#include "kernels/reduce/reduce.h"
#include "kernels/scan/scan.h"
#include "kernels/scatter/scatter.h"
#include "kernels/softmax/softmax.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/executable.h"

#endif  // RLXGPU_RLXGPU_H_
