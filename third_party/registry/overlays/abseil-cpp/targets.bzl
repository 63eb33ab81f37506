"""One cc_library for each of Abseil's targets in a package, all on the system's libraries."""

load("@rules_cc//cc:defs.bzl", "cc_library")

def system_targets(names):
    for name in names:
        cc_library(
            name = name,
            visibility = ["//visibility:public"],
            deps = ["@system_abseil//:libraries"],
        )
