// What a case runs follows from the case alone.
#include "tests/support/ways.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "tests/support/agree.h"

namespace rlxgpu::core::testing {
namespace {

uint64_t hash_of(int64_t rows, const Agreement& agreement) {
  Builder g;
  g.output("y", sum(g.input("x", f32, {rows, 7}) * 2.0f, 1));
  return hash_of_case(g.graph(), agreement);
}

TEST_CASE("the hash of a case is the same every time, and another one for every other case", "[support]") {
  const Agreement plain = {.bound = {}};
  CHECK(hash_of(3, plain) == hash_of(3, plain));
  const std::set<uint64_t> hashes = {hash_of(3, plain),
                                     hash_of(4, plain),
                                     hash_of(3, {.bound = {}, .choices = {{"sum", "rows"}}}),
                                     hash_of(3, {.bound = {}, .choices = {{"sum", "split"}}}),
                                     hash_of(3, {.bound = {}, .given = {{"x", {1.0}}}}),
                                     hash_of(3, {.bound = {}, .given = {{"x", {2.0}}}}),
                                     hash_of(3, {.bound = {}, .numbers = {{"n", 1.0}}}),
                                     hash_of(3, {.bound = {}, .fuse = false}),
                                     hash_of(3, {.bound = {}, .seed = 2})};
  CHECK(hashes.size() == 9);
}

TEST_CASE("a variant runs in each of its cases on one adapter, baked as often as free", "[support]") {
  int swiftshader = 0, baked = 0, for_any = 0;
  const int cases = 400;
  for (int64_t i = 0; i < cases; ++i) {
    const uint64_t hash = hash_of(i + 1, {.bound = {}, .choices = {{"sum", "rows"}}});
    const std::vector<Way> here = ways_of(hash, Adapter::lavapipe, true, false),
                           there = ways_of(hash, Adapter::swiftshader, true, false);
    REQUIRE((here.size() == 1 && there.size() == 1));
    CHECK(here[0].forced != there[0].forced);
    CHECK(here[0].baked != there[0].baked);
    const Way& forced = here[0].forced ? here[0] : there[0];
    swiftshader += there[0].forced, baked += forced.baked, for_any += forced.for_any;
  }
  for (const int half : {swiftshader, baked, for_any}) CHECK((half > cases * 0.4 && half < cases * 0.6));
}

TEST_CASE("a case without variants is planned for both adapters, and for any device on one", "[support]") {
  int baked = 0;
  const int cases = 400;
  for (int64_t i = 0; i < cases; ++i) {
    const uint64_t hash = hash_of(i + 1, {.bound = {}});
    const std::vector<Way> here = ways_of(hash, Adapter::lavapipe, false, false),
                           there = ways_of(hash, Adapter::swiftshader, false, false);
    CHECK((!here[0].for_any && !there[0].for_any && here[0].baked != there[0].baked));
    CHECK(here.size() + there.size() == 3);
    const Way& last = here.size() == 2 ? here[1] : there.back();
    CHECK(last.for_any);
    baked += last.baked;
  }
  CHECK((baked > cases * 0.4 && baked < cases * 0.6));
}

TEST_CASE("all: variants in both plans on every adapter, in all four ways between two of them", "[support]") {
  for (const uint64_t hash : {0u, 1u, 2u, 3u, 14u, 15u}) {
    std::vector<Way> ways = ways_of(hash, Adapter::lavapipe, true, true);
    for (const Way& way : ways_of(hash, Adapter::swiftshader, true, true)) ways.push_back(way);
    REQUIRE(ways.size() == 4);
    for (const bool for_any : {false, true}) {
      for (const bool baked : {false, true})
        CHECK(std::count(ways.begin(), ways.end(), Way{.forced = true, .for_any = for_any, .baked = baked}) == 1);
    }
  }
  CHECK(ways_of(5, Adapter::other, true, true).size() == 2);
}

TEST_CASE("adapters are known by their labels", "[support]") {
  CHECK(adapter_named("llvmpipe (LLVM 21.1.8, 256 bits) / Vulkan") == Adapter::lavapipe);
  CHECK(adapter_named("SwiftShader Device (Subzero) / Vulkan") == Adapter::swiftshader);
  CHECK(adapter_named("NVIDIA GeForce RTX 4090 / Vulkan") == Adapter::other);
}

}  // namespace
}  // namespace rlxgpu::core::testing
