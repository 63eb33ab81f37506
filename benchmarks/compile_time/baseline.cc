// What any program that uses Dawn pays.
#include "webgpu/webgpu_cpp.h"
