// All of rlxgpu, used for nothing.
#include "rlxgpu/rlxgpu.h"
