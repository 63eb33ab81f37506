#include "rlxgpu/tools/check_command.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "rlxgpu/tools/examples.h"
#include "rlxgpu/tools/kernel_files.h"
#include "rlxgpu/tools/validate.h"

namespace rlxgpu::core::tools {
namespace {

struct Row {
  std::string what;
  int kernels = 1;
  absl::Status status;
};

// A kernel file with its parts in place of the comments that stand for them (wgsl/kernel_file.h). Their paths begin at
// a folder above the file.
absl::StatusOr<std::string> with_parts(const std::filesystem::path& path, int depth = 0) {
  std::ifstream file(path);
  if (!file || depth == 8) return absl::NotFoundError(absl::StrCat(path.string(), " cannot be read"));
  constexpr std::string_view kLead = "#include \"";
  std::string whole;
  for (std::string line; std::getline(file, line); whole += line + "\n") {
    if (!line.starts_with(kLead) || !line.ends_with('"')) continue;
    const std::string name = line.substr(kLead.size(), line.size() - kLead.size() - 1);
    std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
    while (!std::filesystem::exists(folder / name) && folder != folder.root_path()) folder = folder.parent_path();
    const absl::StatusOr<std::string> part = with_parts(folder / name, depth + 1);
    if (!part.ok())
      return absl::NotFoundError(absl::StrCat(path.string(), " includes ", name, ", which cannot be read"));
    line = absl::StrCat("*/\n", *part, "/*");
  }
  return whole;
}

Row check_file(Validator& validator, const std::string& path) {
  const absl::StatusOr<std::string> text = with_parts(path);
  if (!text.ok()) return {path, 0, text.status()};
  return {path, 1, validator.check_text(*text)};
}

Row check_example(Validator& validator, const Example& example) {
  Row row = {absl::StrCat("example ", example.name), 0, absl::OkStatus()};
  absl::StatusOr<RenderedProgram> program = render(example);
  if (program.ok()) row.kernels = static_cast<int>(program->kernels.size());
  row.status = program.ok() ? validator.check(program->view(), program->texts()) : program.status();
  return row;
}

std::vector<Row> check_all(const CheckCommand& command) {
  Validator validator;
  std::vector<Row> rows;
  for (const std::string& path : command.files) rows.push_back(check_file(validator, path));
  if (!command.files.empty()) return rows;
  for (const NamedKernelFile& file : kernel_files())
    rows.push_back({std::string(file.path), 1, validator.check_text(file.wgsl)});
  for (const Example& example : examples()) rows.push_back(check_example(validator, example));
  return rows;
}

nlohmann::ordered_json json_of(const std::vector<Row>& rows) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    list.push_back({{"what", row.what},
                    {"kernels", row.kernels},
                    {"ok", row.status.ok()},
                    {"message", std::string(row.status.message())}});
  }
  return list;
}

}  // namespace

int check_command(const CheckCommand& command, std::ostream& out, std::ostream& err) {
  const std::vector<Row> rows = check_all(command);
  int failed = 0;
  for (const Row& row : rows) failed += row.status.ok() ? 0 : 1;
  if (command.json) {
    out << json_of(rows).dump(2) << "\n";
    return failed == 0 ? 0 : 1;
  }
  for (const Row& row : rows) {
    out << absl::StrFormat("%-44s%3d %-9s%s\n", row.what, row.kernels, row.kernels == 1 ? "kernel" : "kernels",
                           row.status.ok() ? "ok" : "FAILED");
  }
  for (const Row& row : rows) {
    if (!row.status.ok()) err << "\n" << row.what << ": " << row.status.message() << "\n";
  }
  if (failed == 0) {
    out << "tint and Dawn's Null backend with default limits accept all of it\n";
  } else {
    err << failed << " of " << rows.size() << " failed\n";
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace rlxgpu::core::tools
