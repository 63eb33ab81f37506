"""sh_test, as built into Bazel 7."""

def sh_test(**kwargs):
    native.sh_test(**kwargs)
