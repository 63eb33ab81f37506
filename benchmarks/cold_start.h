// Cold start: a new process, from its start to the first result of a product of 512 x 512 matrices.
//
//   if (argc == 3 && std::string_view(argv[1]) == kColdStart) return cold_start_child(argv[2]);   // first in main()
//   double seconds = cold_start_seconds("planned");                   // starts this program anew
//
// The child opens the device, makes the executable, gives it both operands, runs it and reads the product, which is
// checked. "planned" is Executable<G>, planned for the device; "constant" is the compiler's program, for any device. Let
// a first process fill the caches: pipelines in the library's, shaders in the driver's.
#ifndef BENCHMARKS_COLD_START_H_
#define BENCHMARKS_COLD_START_H_

#include <string_view>

namespace rlxgpu::core {

inline constexpr char kColdStart[] = "--cold-start";

int cold_start_child(std::string_view how);
double cold_start_seconds(const char* how);  // less than 0: the child failed

}  // namespace rlxgpu::core

#endif  // BENCHMARKS_COLD_START_H_
