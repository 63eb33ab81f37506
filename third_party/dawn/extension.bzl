"""Finds Dawn, which is in no registry, and gives it as @dawn.

    @dawn//:webgpu_dawn    webgpu/webgpu_cpp.h and libwebgpu_dawn
    @dawn//:tint           the tint program, as a tool or as data

It is taken from the prefix in RLXGPU_DAWN (bazel build --repo_env=RLXGPU_DAWN=/prefix: a folder with include/ and lib/, as
`cmake --install` leaves it), else from the system. Where there is none, everything that does not need Dawn still builds.
"""

_SYSTEM = ["/usr/local", "/usr"]
_LIBRARY_FOLDERS = ["lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"]

_LIBRARY = """
cc_library(
    name = "webgpu_dawn",
    srcs = {srcs},
    hdrs = glob(["include/**/*.h"]),
    includes = ["include"],
    linkopts = {linkopts},
)
"""

_MISSING_LIBRARY = """
cc_library(
    name = "webgpu_dawn",
    hdrs = [":missing_dawn"],
)
"""

_MISSING = """
genrule(
    name = "missing_{what}",
    outs = ["{out}"],
    cmd = "echo {message} >&2; exit 1",
    message = "Looking for {what}",
)
"""

_NO_DAWN = "'rlxgpu: Dawn was not found{where}: install it (Debian forky: apt-get install libwebgpu-dawn-dev), or give its prefix, a folder with include/ and lib/: bazel build --repo_env=RLXGPU_DAWN=/prefix'"
_NO_TINT = "'rlxgpu: the tint program was not found{where}: install it (Debian forky: apt-get install dawn-tools), or give a prefix that has bin/tint: bazel build --repo_env=RLXGPU_DAWN=/prefix'"

def _libraries(ctx, prefix):
    """The files of libwebgpu_dawn below a prefix; the shared library before the archive."""
    for folder in _LIBRARY_FOLDERS:
        folder = ctx.path(prefix + "/" + folder)
        if folder.exists:
            files = [f for f in folder.readdir() if f.basename.startswith("libwebgpu_dawn.")]
            shared = [f for f in files if f.basename.startswith("libwebgpu_dawn.so") or f.basename.endswith(".dylib")]
            if shared or files:
                return shared or files
    return []

def _dawn_repository(ctx):
    given = ctx.getenv("RLXGPU_DAWN")
    prefixes = [given] if given else _SYSTEM
    where = " in RLXGPU_DAWN=" + given if given else ""
    build = [
        'load("@rules_cc//cc:defs.bzl", "cc_library")',
        'package(default_visibility = ["//visibility:public"])',
    ]

    found = None
    for prefix in prefixes:
        if not found and ctx.path(prefix + "/include/webgpu/webgpu_cpp.h").exists and _libraries(ctx, prefix):
            found = prefix
    if found:
        for part in ["dawn", "webgpu"]:
            if ctx.path(found + "/include/" + part).exists:
                ctx.symlink(found + "/include/" + part, "include/" + part)
        names = []
        for library in _libraries(ctx, found):
            ctx.symlink(library, "lib/" + library.basename)
            names.append("lib/" + library.basename)
        archive = names[0].endswith(".a")
        build.append(_LIBRARY.format(srcs = repr(sorted(names)), linkopts = repr(["-ldl", "-pthread"] if archive else [])))
    else:
        build.append(_MISSING_LIBRARY)
        build.append(_MISSING.format(what = "dawn", out = "include/webgpu/webgpu_cpp.h", message = _NO_DAWN.format(where = where)))

    tint = None
    for prefix in prefixes:
        if not tint and ctx.path(prefix + "/bin/tint").exists:
            tint = prefix + "/bin/tint"
    if tint:
        ctx.symlink(tint, "bin/tint")
        build.append('filegroup(name = "tint", srcs = ["bin/tint"])')
    else:
        build.append('filegroup(name = "tint", srcs = [":missing_tint"])')
        build.append(_MISSING.format(what = "tint", out = "bin/tint", message = _NO_TINT.format(where = where)))
    ctx.file("BUILD.bazel", "\n".join(build))

_dawn = repository_rule(_dawn_repository, local = True, environ = ["RLXGPU_DAWN"])

dawn = module_extension(lambda _: _dawn(name = "dawn"))
