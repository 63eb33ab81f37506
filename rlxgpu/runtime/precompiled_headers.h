// What comes from outside and most files of runtime/ include, for clang to read once (precompiled.bzl).
#ifndef RLXGPU_RUNTIME_PRECOMPILED_HEADERS_H_
#define RLXGPU_RUNTIME_PRECOMPILED_HEADERS_H_

#include <webgpu/webgpu_cpp.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

#endif  // RLXGPU_RUNTIME_PRECOMPILED_HEADERS_H_
