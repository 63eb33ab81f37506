// What most tests include, for clang to read once (precompiled.bzl). Tests include what they use all the same.
#ifndef RLXGPU_TESTS_SUPPORT_COMMON_H_
#define RLXGPU_TESTS_SUPPORT_COMMON_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

#endif  // RLXGPU_TESTS_SUPPORT_COMMON_H_
