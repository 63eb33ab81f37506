// Does not compile: errors_test.cc gives it to compilers and reads what they print. After //! is the sentence.
#include <array>
#include <span>

#include "rlxgpu/rlxgpu.h"

namespace rlxgpu::core::wrong {

struct Right {
  static constexpr void build(Builder& g) {
    const Tensor x = g.input("x", f32, {4, 8});
    const Tensor half = g.input("half", f16, {8});
    const Tensor scale = g.scalar("scale", f32);
    g.output("y", (x + cast(half, f32)) * scale);
  }
};

// clang-format off
void wrong(Executable<Right>& e, std::span<int> integers) {
  e.set<"z">(std::array<float, 32>{});     //! the graph has no tensor of this name
  e.set<"x">(std::array<float, 31>{});     //! the graph holds another number of elements under this name
  e.set<"x">(std::array<int, 32>{});       //! the graph holds another element type under this name
  e.set<"half">(std::array<float, 8>{});   //! the graph holds another element type under this name
  e.set<"x">(std::array<double, 32>{});    //! not an element type: use float, Half, BFloat16, (u)int32_t, (u)int8_t, bool or a complex of float
  e.set<"y">(std::array<float, 32>{});     //! this name is an output: it is not set
  e.set<"shift">(2.0f);                    //! the graph has no scalar or extent of this name
  static_cast<void>(e.get<"q">());         //! the graph has no tensor of this name
  static_cast<void>(e.get<"y">(integers));  //! the graph holds another element type under this name
}
// clang-format on

}  // namespace rlxgpu::core::wrong
