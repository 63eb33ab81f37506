"""Headers that clang reads once, not once for each file that includes them.

    precompiled_header(name = "common", header = "common.h", deps = ["//rlxgpu:dynamic"])

    precompiled_library(name = "a", srcs = ["a.cc"], hdrs = ["a.h"], precompiled = ":common", deps = [...])

    precompiled_sources(name = "a_test_sources", srcs = ["a_test.cc"], precompiled = ":common", deps = [...])
    cc_test(name = "a_test", deps = [":a_test_sources"])

For those who build rlxgpu itself, on Linux (.bazelrc sets //rlxgpu:precompiled). Elsewhere, and with other compilers, files read
their headers as ever: they include what they use all the same.
"""

load("@bazel_skylib//rules:common_settings.bzl", "BuildSettingInfo")
load("@bazel_tools//tools/build_defs/cc:action_names.bzl", "CPP_COMPILE_ACTION_NAME")
load("@rules_cc//cc:defs.bzl", "cc_library")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain", "use_cc_toolchain")

_Precompiled = provider("A header that clang has read.", fields = {
    "file": "The .pch file; None where there is none.",
    "inputs": "It, and what it was made of, which clang looks up for what it has to say.",
})

def _tools(ctx):
    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    return toolchain, features

def _read_by(ctx):
    return cc_common.merge_compilation_contexts(compilation_contexts = [dep[CcInfo].compilation_context for dep in ctx.attr.deps])

def _clang(ctx, source, output, flags, inputs, pic, **kwargs):
    """Has clang make a file of a source, with the flags that Bazel would give it."""
    toolchain, features = _tools(ctx)
    read = _read_by(ctx)
    command = dict(
        action_name = CPP_COMPILE_ACTION_NAME,
        feature_configuration = features,
        variables = cc_common.create_compile_variables(
            cc_toolchain = toolchain,
            feature_configuration = features,
            include_directories = read.includes,
            output_file = output.path,
            preprocessor_defines = read.defines,
            quote_include_directories = read.quote_includes,
            source_file = source.path,
            system_include_directories = read.system_includes,
            use_pic = pic,
            user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts + flags,
        ),
    )
    ctx.actions.run(
        # Names of headers are absolute in a .pch, and must hold in every sandbox.
        env = cc_common.get_environment_variables(**command) | {"PWD": "/proc/self/cwd"},
        arguments = cc_common.get_memory_inefficient_command_line(**command),
        executable = cc_common.get_tool_for_action(feature_configuration = features, action_name = CPP_COMPILE_ACTION_NAME),
        inputs = depset([source], transitive = [read.headers, toolchain.all_files, inputs]),
        outputs = [output],
        **kwargs
    )

def _is_pic(ctx):
    toolchain, features = _tools(ctx)
    return toolchain.needs_pic_for_dynamic_libraries(feature_configuration = features) and ctx.var["COMPILATION_MODE"] != "opt"

def _precompiled_header(ctx):
    if find_cc_toolchain(ctx).compiler != "clang" or not ctx.attr._wanted[BuildSettingInfo].value:
        return [_Precompiled(file = None, inputs = depset())]
    precompiled = ctx.actions.declare_file(ctx.label.name + ".pch")
    _clang(
        ctx,
        ctx.file.header,
        precompiled,
        flags = ["-xc++-header", "-fpch-instantiate-templates", "-Xclang", "-fno-pch-timestamp"],
        inputs = depset(),
        pic = _is_pic(ctx),
        mnemonic = "CppPrecompile",
        progress_message = "Precompiling " + ctx.file.header.short_path,
    )
    return [_Precompiled(file = precompiled, inputs = depset([precompiled, ctx.file.header], transitive = [_read_by(ctx).headers]))]

def _compiled(ctx):
    precompiled = ctx.attr.precompiled[_Precompiled]
    if precompiled.file == None:
        toolchain, features = _tools(ctx)
        return cc_common.compile(
            name = ctx.label.name,
            actions = ctx.actions,
            cc_toolchain = toolchain,
            compilation_contexts = [_read_by(ctx)],
            feature_configuration = features,
            srcs = ctx.files.srcs,
            user_compile_flags = ctx.attr.copts,
        )[1]
    pic = _is_pic(ctx)
    objects = []
    for source in ctx.files.srcs:
        objects.append(ctx.actions.declare_file("_objs/%s/%s.o" % (ctx.label.name, source.basename[:-len(".cc")])))
        _clang(
            ctx,
            source,
            objects[-1],
            # Bazel knows when it is out of date.
            flags = ["-Wall", "-Wextra", "-include-pch", precompiled.file.path, "-Xclang", "-fno-validate-pch"] + ctx.attr.copts,
            inputs = precompiled.inputs,
            pic = pic,
            mnemonic = "CppCompile",
            progress_message = "Compiling " + source.short_path,
        )
    return cc_common.create_compilation_outputs(
        objects = None if pic else depset(objects),
        pic_objects = depset(objects) if pic else None,
    )

def _precompiled_sources(ctx):
    toolchain, features = _tools(ctx)
    linking_context, _ = cc_common.create_linking_context_from_compilation_outputs(
        name = ctx.label.name,
        actions = ctx.actions,
        alwayslink = ctx.attr.alwayslink,
        cc_toolchain = toolchain,
        compilation_outputs = _compiled(ctx),
        disallow_dynamic_library = True,
        feature_configuration = features,
        linking_contexts = [dep[CcInfo].linking_context for dep in ctx.attr.deps],
    )
    runfiles = ctx.runfiles().merge_all([dep[DefaultInfo].default_runfiles for dep in ctx.attr.deps])
    return [CcInfo(linking_context = linking_context), DefaultInfo(runfiles = runfiles)]

_DEPS = {"deps": attr.label_list(providers = [CcInfo], doc = "What is included.")}

precompiled_header = rule(
    implementation = _precompiled_header,
    attrs = _DEPS | {
        "header": attr.label(allow_single_file = [".h"], mandatory = True),
        "_wanted": attr.label(default = "//rlxgpu:precompiled"),
    },
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
)

precompiled_sources = rule(
    implementation = _precompiled_sources,
    attrs = _DEPS | {
        "alwayslink": attr.bool(default = True),
        "copts": attr.string_list(),
        "precompiled": attr.label(providers = [_Precompiled], mandatory = True),
        "srcs": attr.label_list(allow_files = [".cc"]),
    },
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
)

def precompiled_library(name, precompiled, srcs, deps, hdrs = [], visibility = None):
    """A cc_library.

    Args:
      name: as for cc_library.
      precompiled: a precompiled_header.
      srcs: as for cc_library.
      deps: as for cc_library.
      hdrs: as for cc_library.
      visibility: as for cc_library.
    """
    cc_library(
        name = name + "_headers",
        hdrs = hdrs + [file for file in srcs if file.endswith(".h")],
        visibility = ["//visibility:private"],
        deps = deps,
    )
    precompiled_sources(
        name = name + "_sources",
        srcs = [file for file in srcs if file.endswith(".cc")],
        alwayslink = False,
        precompiled = precompiled,
        visibility = ["//visibility:private"],
        deps = [":" + name + "_headers"],
    )
    cc_library(
        name = name,
        visibility = visibility,
        deps = [
            ":" + name + "_headers",
            ":" + name + "_sources",
        ],
    )
