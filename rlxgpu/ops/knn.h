// The ops of the family knn: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_KNN_H_
#define RLXGPU_OPS_KNN_H_

#include "rlxgpu/kernels/knn/knn.h"

#endif  // RLXGPU_OPS_KNN_H_
