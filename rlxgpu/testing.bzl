"""rlxgpu_gpu_test: one Catch2 program, run on every adapter that this machine can have.

    load("@rlxgpu//rlxgpu:testing.bzl", "rlxgpu_gpu_test")

    rlxgpu_gpu_test(
        name = "matmul_test",
        srcs = ["matmul_test.cc"],
        deps = ["//rlxgpu/kernels/matmul", "@catch2//:catch2_main"],
    )

The program is built once, as :matmul_test; the tests are :matmul_test_lavapipe and :matmul_test_swiftshader. Each sets
VK_DRIVER_FILES from RLXGPU_LAVAPIPE_ICD or RLXGPU_SWIFTSHADER_ICD (./dev gives both) and RLXGPU_TEST_ADAPTER to its own name.

Drivers are as they are out of the box: a test runs the code that users run. A test of many kernels waits for lavapipe's
compiler, not for what it compiles; --test_env=GALLIVM_PERF=nopt (./dev test --quick) turns its optimiser off, to know sooner.
"""

load("@rules_cc//cc:defs.bzl", "cc_binary")

ADAPTERS = ["lavapipe", "swiftshader"]

_SCRIPT = """#!/bin/sh
if [ ! -e "${{{variable}:-}}" ]; then
  echo "{variable} names no Vulkan driver (\\"${{{variable}:-}}\\"): run ./dev test, or --test_env={variable}=/path/to/the/icd.json" >&2
  exit 1
fi
export VK_DRIVER_FILES="${variable}" VK_ICD_FILENAMES="${variable}" RLXGPU_TEST_ADAPTER={adapter}
exec "$TEST_SRCDIR/{program}" "$@"
"""

def _adapter_test_impl(ctx):
    program = ctx.executable.program
    path = program.short_path
    script = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(
        script,
        _SCRIPT.format(
            adapter = ctx.attr.adapter,
            program = path[len("../"):] if path.startswith("../") else ctx.workspace_name + "/" + path,
            variable = "RLXGPU_%s_ICD" % ctx.attr.adapter.upper(),
        ),
        is_executable = True,
    )
    runfiles = ctx.runfiles([program]).merge(ctx.attr.program[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = script, runfiles = runfiles)]

_adapter_test = rule(
    implementation = _adapter_test_impl,
    attrs = {
        "adapter": attr.string(values = ADAPTERS),
        "program": attr.label(executable = True, cfg = "target"),
    },
    test = True,
)

def rlxgpu_gpu_test(name, adapters = ADAPTERS, size = "medium", timeout = "long", shard_count = None, flaky = False, args = [], tags = [], visibility = None, **kwargs):
    """One program, one test for each adapter.

    Args:
      name: of the program; a test's name has "_" and the adapter after it.
      adapters: those on which to run it.
      size: of each test, as for cc_test.
      timeout: of each test. Long, because drivers compile kernels when they first meet them.
      shard_count: of each test.
      flaky: as for cc_test.
      args: given to the program by each test.
      tags: of the tests and the program; "gpu" and the adapter are added to the tests.
      visibility: of the program.
      **kwargs: what cc_binary takes: srcs, deps, data, copts...
    """
    cc_binary(
        name = name,
        testonly = True,
        tags = tags,
        visibility = visibility,
        **kwargs
    )
    for adapter in adapters:
        _adapter_test(
            name = name + "_" + adapter,
            adapter = adapter,
            args = args,
            flaky = flaky,
            program = name,
            shard_count = shard_count,
            size = size,
            tags = tags + ["gpu", adapter],
            timeout = timeout,
        )
