// The version of rlxgpu that a program is compiled with; that of MODULE.bazel.
#ifndef RLXGPU_VERSION_H_
#define RLXGPU_VERSION_H_

#define RLXGPU_VERSION_MAJOR 0
#define RLXGPU_VERSION_MINOR 1
#define RLXGPU_VERSION_PATCH 0
#define RLXGPU_VERSION "0.1.0"

#endif  // RLXGPU_VERSION_H_
