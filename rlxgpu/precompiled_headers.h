// What comes from outside and many files of load/ and tools/ include, for clang to read once (precompiled.bzl).
#ifndef RLXGPU_PRECOMPILED_HEADERS_H_
#define RLXGPU_PRECOMPILED_HEADERS_H_

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <set>
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
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"

#endif  // RLXGPU_PRECOMPILED_HEADERS_H_
