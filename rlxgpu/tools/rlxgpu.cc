// The rlxgpu command: what is here, what a graph becomes, whether kernels are valid. One file for each subcommand.
#include <iostream>

#include "CLI/CLI.hpp"
#include "rlxgpu/tools/check_command.h"
#include "rlxgpu/tools/devices.h"
#include "rlxgpu/tools/program_command.h"

int main(int argc, char** argv) {
  CLI::App app("rlxgpu: tensor programs as GPU kernels, made by the C++ compiler");
  app.name("rlxgpu");
  app.set_version_flag("--version", "rlxgpu 0.1.0");
  app.require_subcommand(0, 1);
  app.footer("RLXGPU_ADAPTER chooses the adapter that programs run on: part of a name that `rlxgpu devices` prints.");

  bool devices_as_json = false;
  CLI::App* devices = app.add_subcommand("devices", "List the adapters of this machine: driver, features, limits");
  devices->add_flag("--json", devices_as_json, "Print JSON");

  rlxgpu::tools::ProgramCommand program;
  CLI::App* show = app.add_subcommand("program", "Show the program that an example graph becomes");
  show->add_option("NAME", program.name, "An example; without it, all are listed");
  CLI::Option* wgsl = show->add_flag("--wgsl", program.wgsl, "Print the WGSL of its kernels, too");
  show->add_flag("--json", program.json, "Print JSON: all of the program, with its WGSL")->excludes(wgsl);

  rlxgpu::tools::CheckCommand check;
  CLI::App* checks = app.add_subcommand("check", "Give kernels to tint and to Dawn's Null backend with default limits");
  checks->add_option("FILES", check.files, "WGSL files; without them, every kernel file and example of rlxgpu");
  checks->add_flag("--json", check.json, "Print JSON");

  CLI11_PARSE(app, argc, argv);
  if (*devices) return rlxgpu::tools::devices_command(devices_as_json, std::cout);
  if (*show) return rlxgpu::tools::program_command(program, std::cout, std::cerr);
  if (*checks) return rlxgpu::tools::check_command(check, std::cout, std::cerr);
  std::cerr << app.help();
  return 2;
}
