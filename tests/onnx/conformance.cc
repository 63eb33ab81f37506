// Runs ONNX's conformance suite: as a test (in shards), or to write the table of docs/onnx.md.
//
//   conformance_test                      every case: none may fail, and only those in refused.txt may be refused
//   conformance_test --third              every third one, which third by the day or $RLXGPU_SEED
//   conformance_test --only softmax -v    cases whose name contains it, each with its outcome
//   conformance_test --table docs/onnx.md --refused tests/onnx/refused.txt        write both
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "rlxgpu/runtime/device.h"
#include "tests/onnx/suite.h"

namespace rlxgpu::core::testing {
namespace {

struct Ran {
  std::string name, op;
  Outcome outcome;
};

// Lines "name: reason", and comments.
std::set<std::string> allowed_refusals(const std::string& path) {
  std::set<std::string> names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') names.insert(line.substr(0, line.find(':')));
  }
  return names;
}

const char* word_of(Outcome::Kind kind) {
  switch (kind) {
    case Outcome::Kind::passed:
      return "passed";
    case Outcome::Kind::refused:
      return "refused";
    case Outcome::Kind::disputed:
      return "disputed";
    default:
      return "FAILED";
  }
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The reason without the name of the node, which differs from case to case.
std::string short_reason(const Outcome& outcome) {
  std::string why = one_line(outcome.why);
  if (const size_t at = why.find("): "); at != std::string::npos) why = why.substr(at + 3);
  return why.size() > 160 ? why.substr(0, 157) + "..." : why;
}

void write_refused(const std::string& path, const std::vector<Ran>& all) {
  std::ofstream file(path);
  file << "# Cases of ONNX's suite that are refused, and why. Written by conformance_test --refused; only these may "
          "be.\n";
  for (const Ran& ran : all) {
    if (ran.outcome.kind == Outcome::Kind::refused) file << ran.name << ": " << short_reason(ran.outcome) << "\n";
  }
}

void write_table(const std::string& path, const std::vector<Ran>& all) {
  struct Row {
    int passed = 0, refused = 0, disputed = 0, failed = 0;
    std::map<std::string, int> reasons;
  };
  std::map<std::string, Row> rows;
  Row total;
  for (const Ran& ran : all) {
    for (Row* row : {&rows[ran.op], &total}) {
      row->passed += ran.outcome.kind == Outcome::Kind::passed;
      row->refused += ran.outcome.kind == Outcome::Kind::refused;
      row->disputed += ran.outcome.kind == Outcome::Kind::disputed;
      row->failed += ran.outcome.kind == Outcome::Kind::failed;
    }
    if (ran.outcome.kind == Outcome::Kind::refused || ran.outcome.kind == Outcome::Kind::disputed)
      ++rows[ran.op].reasons[short_reason(ran.outcome)];
  }
  // What stands before the table is written by hand, and kept.
  std::string text, line;
  std::ifstream before(path);
  while (std::getline(before, line) && line != "<!-- table -->") text += line + "\n";
  before.close();
  std::ofstream file(path);
  file << text << "<!-- table -->\n";
  file << "Of " << all.size() << " cases " << total.passed << " pass, " << total.refused << " are refused, "
       << total.disputed << " have a disputed golden result, " << total.failed << " fail.\n\n";
  file << "| op | passed | refused | disputed | failed | because |\n|---|---|---|---|---|---|\n";
  for (const auto& [op, row] : rows) {
    file << "| " << op << " | " << row.passed << " | " << row.refused << " | " << row.disputed << " | " << row.failed
         << " | ";
    bool first = true;
    for (const auto& [reason, count] : row.reasons) {
      file << (first ? "" : "; ") << reason << (count > 1 ? " (" + std::to_string(count) + ")" : "");
      first = false;
    }
    file << " |\n";
  }
}

// The cases of this process: those of its shard, and of the third of the day.
bool is_ours(size_t i, bool third) {
  const auto number = [](const char* name, long otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr && *text != 0 ? std::atol(text) : otherwise;
  };
  const long shards = number("TEST_TOTAL_SHARDS", 1), shard = number("TEST_SHARD_INDEX", 0);
  const long day =
      std::chrono::duration_cast<std::chrono::hours>(std::chrono::system_clock::now().time_since_epoch()).count() / 24;
  const long seed = number("RLXGPU_SEED", day);
  if (static_cast<long>(i) % shards != shard) return false;
  return !third || (static_cast<long>(i) / shards + seed) % 3 == 0;
}

}  // namespace
}  // namespace rlxgpu::core::testing

int main(int argc, char** argv) {
  using namespace rlxgpu;
  using namespace rlxgpu::core::testing;
  std::string only, table, refused, allowed = "tests/onnx/refused.txt";
  bool third = false, verbose = false;
  CLI::App app("ONNX's conformance suite");
  app.add_option("--only", only, "Cases whose name contains this");
  app.add_option("--table", table, "Write the table of results into this file");
  app.add_option("--refused", refused, "Write the refused cases into this file");
  app.add_flag("--third", third, "Every third case");
  app.add_flag("-v", verbose, "Print every outcome");
  CLI11_PARSE(app, argc, argv);
  if (const char* status = std::getenv("TEST_SHARD_STATUS_FILE")) std::ofstream(status) << "";

  const std::vector<std::string> folders = suite_cases();
  if (folders.empty()) return std::puts("the suite is not here: apt-get install libonnx-testdata"), 1;
  Result<Device> device = open_device({.tuning = false});
  if (!device.ok()) return std::puts(device.status().ToString().c_str()), 1;
  const std::set<std::string> may_be_refused = allowed_refusals(allowed);
  const bool writes = !table.empty() || !refused.empty();
  std::vector<Ran> all;
  int bad = 0, passed = 0;
  for (size_t i = 0; i < folders.size(); ++i) {
    const std::string name = case_name(folders[i]);
    if (!is_ours(i, third) || name.find(only) == std::string::npos) continue;
    Ran ran{name, writes ? case_op(folders[i]) : "", run_case(*device, folders[i])};
    const Outcome& outcome = ran.outcome;
    const bool unexpected = outcome.kind == Outcome::Kind::refused && !writes && !may_be_refused.contains(name);
    const char* word = word_of(outcome.kind);
    if (verbose || outcome.kind == Outcome::Kind::failed || unexpected) {
      std::printf("%-8s %5.2f s  %s%s %s\n", word, outcome.seconds, name.c_str(),
                  unexpected ? " (not in refused.txt)" : "", one_line(outcome.why).c_str());
      std::fflush(stdout);
    }
    bad += outcome.kind == Outcome::Kind::failed || unexpected;
    passed += outcome.kind == Outcome::Kind::passed;
    all.push_back(std::move(ran));
  }
  std::printf("%zu cases, %d passed, %d wrong, on %s\n", all.size(), passed, bad, device->label().c_str());
  if (!table.empty()) write_table(table, all);
  if (!refused.empty()) write_refused(refused, all);
  return bad == 0 && !all.empty() ? 0 : 1;
}
