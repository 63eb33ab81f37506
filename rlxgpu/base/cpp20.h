// One line for those who compile with an older standard, instead of hundreds: an include that is not there is the one
// error after which every compiler stops.
#ifndef RLXGPU_BASE_CPP20_H_
#define RLXGPU_BASE_CPP20_H_

#if (defined(_MSVC_LANG) ? _MSVC_LANG : __cplusplus) < 202002L
#include "rlxgpu needs C++20: compile with -std=c++20"
#endif

#endif  // RLXGPU_BASE_CPP20_H_
