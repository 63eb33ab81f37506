"""unit_test and gpu_test: cc_test and rlxgpu_gpu_test, made to be waited for less.

Clang reads once what most tests include (common.h), and compiles a test in a quarter of the time.
"""

load("@rules_cc//cc:defs.bzl", "cc_test")
load("//rlxgpu:precompiled.bzl", "precompiled_sources")
load("//rlxgpu:testing.bzl", "rlxgpu_gpu_test")

def _sources_of(name, srcs, copts, deps):
    """A library of a program's sources, if it has any of its own."""
    if not srcs:
        return deps
    precompiled_sources(
        name = name + "_sources",
        testonly = True,
        srcs = srcs,
        copts = copts,
        precompiled = "//tests/support:common",
        deps = deps,
    )
    return [":" + name + "_sources"]

def unit_test(name, deps, srcs = [], copts = [], **kwargs):
    """A program that needs no adapter.

    Args:
      name: of the test.
      deps: as for cc_test.
      srcs: as for cc_test.
      copts: as for cc_test.
      **kwargs: what else cc_test takes.
    """
    cc_test(name = name, deps = _sources_of(name, srcs, copts, deps), **kwargs)

def gpu_test(name, deps, srcs = [], copts = [], **kwargs):
    """A program that runs on every adapter.

    Args:
      name: of the program.
      deps: as for rlxgpu_gpu_test.
      srcs: as for rlxgpu_gpu_test.
      copts: as for rlxgpu_gpu_test.
      **kwargs: what else rlxgpu_gpu_test takes.
    """
    rlxgpu_gpu_test(name = name, deps = _sources_of(name, srcs, copts, deps), **kwargs)
