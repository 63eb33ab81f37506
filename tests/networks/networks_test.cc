// Real networks from npm against the double reference, each at three sizes, with sizes free and baked.
//
// $RLXGPU_NETWORKS chooses which (networks.h): `./dev test` three of them at one size, others each day; `./dev test
// --all` all, and then every step is verified, too.
#include "tests/networks/networks.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

std::vector<Network> table() {
  const char* const folder = std::getenv("TEST_SRCDIR");
  const char* const workspace = std::getenv("TEST_WORKSPACE");
  REQUIRE(folder != nullptr);
  REQUIRE(workspace != nullptr);
  Result<std::vector<Network>> table =
      read_table(std::string(folder) + "/" + workspace + "/third_party/environment/networks.txt");
  REQUIRE(table.status().ToString() == "OK");
  return *table;
}

TEST_CASE("networks are chosen by rotation and by name", "[networks]") {
  const std::vector<Network> all = table();
  CHECK(all.size() >= 12);
  CHECK(chosen(all, "all")->size() == all.size());
  const auto names = [&](std::string_view choice) {
    const Result<std::vector<Network>> networks = chosen(all, choice);
    std::string text;
    for (const Network& network : *networks) text += network.name + " ";
    return text;
  };
  const size_t part = all.size() / 3;
  CHECK(names("0") == all[0].name + " " + all[part].name + " " + all[2 * part].name + " ");
  CHECK(names(all[2].name + "," + all[1].name) == all[2].name + " " + all[1].name + " ");
  std::set<std::string> turn;  // what a whole turn of the rotation runs
  for (size_t number = 7; number < 7 + 3 * part; ++number) {
    const Result<std::vector<Network>> networks = chosen(all, std::to_string(number));
    for (const Network& network : *networks) {
      CHECK(network.sizes.size() == 1);
      turn.insert(network.name + " " + network.sizes[0]);
    }
  }
  CHECK(turn.size() == 3 * all.size());
  CHECK(chosen(all, "no-such").status().message() ==
        "\"no-such\" is no network of third_party/environment/networks.txt");
}

TEST_CASE("a network that is not there is said to be missing", "[networks]") {
  const Network none{"no-such", "none", "none@1", "none.onnx", {"x=1x3"}};
  int outcomes = 0;
  run_network(device_or_skip(), none, false, [&](const Outcome& outcome) {
    ++outcomes;
    CHECK(!outcome.right);
    CHECK(outcome.complaint.ends_with("/networks/no-such.onnx: `./dev models` fetches it, with npm"));
  });
  CHECK(outcomes == 2);
}

// What RLXGPU_NETWORKS says, or the number of this day.
std::string choice_of_today() {
  const char* const given = std::getenv("RLXGPU_NETWORKS");
  if (given != nullptr && *given != '\0') return given;
  const auto hours =
      std::chrono::duration_cast<std::chrono::hours>(std::chrono::system_clock::now().time_since_epoch());
  return std::to_string(hours.count() / 24);
}

TEST_CASE("networks give what their references give", "[networks][gpu]") {
  const std::string choice = choice_of_today();
  Result<std::vector<Network>> networks = chosen(table(), choice);
  REQUIRE(networks.status().ToString() == "OK");
  const Device device = device_or_skip();
  const bool every_step = std::getenv("RLXGPU_TEST_ALL") != nullptr;
  std::printf("RLXGPU_NETWORKS=%s on %s\n", choice.c_str(), device.label().c_str());
  for (const Network& network : *networks) {
    run_network(device, network, every_step, [&](const Outcome& outcome) {
      const std::string text = row(outcome);
      std::printf("%s\n", text.c_str());
      std::fflush(stdout);
      INFO("RLXGPU_NETWORKS=" << choice << ": " << text);
      CHECK(outcome.right);
    });
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing
