// The ops of the family kv_cache: docs/ops.md lists them. Written by docs/ops.py.
#ifndef RLXGPU_OPS_KV_CACHE_H_
#define RLXGPU_OPS_KV_CACHE_H_

#include "rlxgpu/kernels/kv_cache/kv_append.h"

#endif  // RLXGPU_OPS_KV_CACHE_H_
