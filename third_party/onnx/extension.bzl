"""Finds libonnx, which is in no registry, and gives it as @onnx.

    @onnx//:onnx    onnx/onnx_pb.h, onnx/defs/schema.h, libonnx and the protobuf that it was made with

It is the system's. Where there is none, everything that does not read ONNX files still builds.
"""

_LIBRARY = """
cc_library(
    name = "onnx",
    defines = ["ONNX_ML=1", "ONNX_NAMESPACE=onnx"],
    linkopts = ["-lonnx", "-lprotobuf-lite"],
)
"""

_MISSING = """
cc_library(
    name = "onnx",
    hdrs = [":missing_onnx"],
)
genrule(
    name = "missing_onnx",
    outs = ["include/onnx/onnx_pb.h"],
    cmd = "echo 'rlxgpu: libonnx was not found: install it (Debian: apt-get install libonnx-dev libprotobuf-dev)' >&2; exit 1",
    message = "Looking for libonnx",
)
"""

def _onnx_repository(ctx):
    here = ctx.path("/usr/include/onnx/onnx_pb.h").exists and ctx.path("/usr/include/google/protobuf/message_lite.h").exists
    ctx.file("BUILD.bazel", "\n".join([
        'load("@rules_cc//cc:defs.bzl", "cc_library")',
        'package(default_visibility = ["//visibility:public"])',
        _LIBRARY if here else _MISSING,
    ]))

_onnx = repository_rule(_onnx_repository, local = True)

onnx = module_extension(lambda _: _onnx(name = "onnx"))
