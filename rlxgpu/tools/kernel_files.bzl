"""write_kernel_files: a C++ list of kernel files, name and text, for programs that carry them along."""

def _kernel_files(ctx):
    lines = ["// Generated: the kernel files that %s found." % ctx.label]
    for file in sorted([f.short_path for f in ctx.files.srcs if not f.basename.endswith(".part.wgsl")]):
        lines += ['{"%s",' % file, '#include "%s"' % file, "},"]
    out = ctx.actions.declare_file(ctx.attr.out)
    ctx.actions.write(out, "\n".join(lines) + "\n")
    return [DefaultInfo(files = depset([out]))]

write_kernel_files = rule(
    implementation = _kernel_files,
    attrs = {
        "out": attr.string(mandatory = True),
        "srcs": attr.label_list(allow_files = [".wgsl"]),
    },
)
