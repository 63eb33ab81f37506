"""The shared libraries of the system's Abseil, found when Bazel starts, since their number changes with every release."""

_PLACES = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib"]

def _system_abseil(ctx):
    libraries = []
    for place in _PLACES:
        folder = ctx.path(place)
        if folder.exists:
            libraries = [f.basename for f in folder.readdir() if f.basename.startswith("libabsl_") and f.basename.endswith(".so")]
        if libraries:
            break
    if not libraries:
        fail("Abseil's shared libraries were not found; on Debian: apt-get install libabsl-dev")

    # Only those that a program uses are linked into it.
    names = ["-l" + name[len("lib"):-len(".so")] for name in sorted(libraries)]
    ctx.file("BUILD.bazel", """load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "libraries",
    linkopts = {},
    visibility = ["//visibility:public"],
)
""".format(repr(["-Wl,--push-state,--as-needed"] + names + ["-Wl,--pop-state"])))

_system_repository = repository_rule(_system_abseil, local = True)
system = module_extension(lambda _: _system_repository(name = "system_abseil"))
