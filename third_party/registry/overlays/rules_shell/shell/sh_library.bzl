"""sh_library, as built into Bazel 7."""

def sh_library(**kwargs):
    native.sh_library(**kwargs)
