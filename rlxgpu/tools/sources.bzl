"""sources_of: the files that C++ libraries are made of, and all they depend on in this repository.

    sources_of(name = "kernel_files", suffixes = [".wgsl"], deps = ["//rlxgpu"])

For tests and tools that look at sources as files: shader texts, headers given to several compilers. Kernel files are found
as the textual_hdrs that they are, so a new kernel needs no second list.
"""

_Sources = provider("Source files of a library and its dependencies.", fields = ["files"])

def _collect(target, ctx):
    if target.label.workspace_name != ctx.label.workspace_name:
        return [_Sources(files = depset())]
    own = []
    for attribute in ["srcs", "hdrs", "textual_hdrs"]:
        for label in getattr(ctx.rule.attr, attribute, []):
            own += label[DefaultInfo].files.to_list()
    deps = [dep[_Sources].files for dep in getattr(ctx.rule.attr, "deps", []) if _Sources in dep]
    return [_Sources(files = depset(own, transitive = deps))]

_sources = aspect(implementation = _collect, attr_aspects = ["deps"])

def _sources_of(ctx):
    files = depset(transitive = [dep[_Sources].files for dep in ctx.attr.deps]).to_list()
    kept = []
    for file in files:
        wanted = not ctx.attr.suffixes or [s for s in ctx.attr.suffixes if file.path.endswith(s)]
        if wanted and file.is_source and file.owner.workspace_name == ctx.label.workspace_name:
            kept.append(file)
    return [DefaultInfo(files = depset(kept), runfiles = ctx.runfiles(kept))]

sources_of = rule(
    implementation = _sources_of,
    attrs = {
        "deps": attr.label_list(aspects = [_sources], providers = [CcInfo]),
        "suffixes": attr.string_list(doc = "Ends of the names to keep; all when empty."),
    },
)
