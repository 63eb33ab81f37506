"""sh_binary, as built into Bazel 7."""

def sh_binary(**kwargs):
    native.sh_binary(**kwargs)
