// The whole runtime in one translation unit, for programs built without Bazel:
//
//   g++ -std=c++20 -I path hello.cc path/rlxgpu/runtime/all.cc -lwebgpu_dawn -labsl_statusor -labsl_status
//   -labsl_strings
//
// NOLINTBEGIN(bugprone-suspicious-include)
#include "rlxgpu/dynamic.cc"
#include "rlxgpu/runtime/adapter.cc"
#include "rlxgpu/runtime/backend_preference.cc"
#include "rlxgpu/runtime/blob_cache.cc"
#include "rlxgpu/runtime/chooser.cc"
#include "rlxgpu/runtime/creation.cc"
#include "rlxgpu/runtime/device.cc"
#include "rlxgpu/runtime/device_tensor.cc"
#include "rlxgpu/runtime/done_thread.cc"
#include "rlxgpu/runtime/dry.cc"
#include "rlxgpu/runtime/engine.cc"
#include "rlxgpu/runtime/engine_by_step.cc"
#include "rlxgpu/runtime/engine_bind.cc"
#include "rlxgpu/runtime/engine_create.cc"
#include "rlxgpu/runtime/engine_profile.cc"
#include "rlxgpu/runtime/interop.cc"
#include "rlxgpu/runtime/memory_ledger.cc"
#include "rlxgpu/runtime/pipelines.cc"
#include "rlxgpu/runtime/run.cc"
#include "rlxgpu/runtime/session.cc"
#include "rlxgpu/runtime/simplest_variant.cc"
#include "rlxgpu/runtime/status.cc"
#include "rlxgpu/runtime/submission.cc"
#include "rlxgpu/runtime/switches.cc"
#include "rlxgpu/runtime/tensor_store.cc"
#include "rlxgpu/runtime/trust.cc"
#include "rlxgpu/runtime/tuner.cc"
#include "rlxgpu/runtime/tuning_file.cc"
#include "rlxgpu/runtime/verify.cc"
#include "rlxgpu/runtime/weights.cc"
// NOLINTEND(bugprone-suspicious-include)
