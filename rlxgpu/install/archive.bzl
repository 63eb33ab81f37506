"""object_archive: one static library of libraries of this repository and of all they depend on in it."""

def _objects_of(deps, repository):
    found = []
    for dep in deps:
        for linker_input in dep[CcInfo].linking_context.linker_inputs.to_list():
            if linker_input.owner.workspace_name != repository:
                continue
            for library in linker_input.libraries:
                found += library.pic_objects or library.objects or []
    return found

def _object_archive(ctx):
    beside = {file: None for file in _objects_of(ctx.attr.beside, ctx.label.workspace_name)}
    objects = {file: None for file in _objects_of(ctx.attr.deps, ctx.label.workspace_name) if file not in beside}.keys()
    archive = ctx.actions.declare_file("lib" + ctx.label.name + ".a")
    arguments = ctx.actions.args()
    arguments.add(archive)
    arguments.add_all(objects)
    ctx.actions.run_shell(  # q: members may have one name
        command = 'rm -f "$1" && ar qcsD "$@"',
        arguments = [arguments],
        inputs = objects,
        outputs = [archive],
        mnemonic = "Archive",
    )
    return [DefaultInfo(files = depset([archive]), runfiles = ctx.runfiles([archive]))]

object_archive = rule(
    implementation = _object_archive,
    attrs = {
        "beside": attr.label_list(providers = [CcInfo], doc = "Libraries whose objects are in another archive."),
        "deps": attr.label_list(providers = [CcInfo]),
    },
)
