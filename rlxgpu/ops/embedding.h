// The ops of the family embedding: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_EMBEDDING_H_
#define RLXGPU_OPS_EMBEDDING_H_

#include "rlxgpu/kernels/embedding/embedding.h"

#endif  // RLXGPU_OPS_EMBEDDING_H_
