#!/bin/bash
# The README is true: its program compiles by its one g++ command, prints what it says, and its mistake is the error it says.
#
# With `flags`: the same program and the library in it work without exceptions and RTTI, and under UBSan; an older standard is one
# error in one line.
#
#   single_command_test.sh [flags]      in a folder that has README.md and the sources
set -euo pipefail
checkout=$PWD
cd "$(mktemp -d "${TEST_TMPDIR:-/tmp}/single_command.XXXXXX")"
ln -s "$checkout" rlxgpu

block() {  # HEADING LANGUAGE N: the Nth such block of a section
  awk -v heading="## $1" -v fence="\`\`\`$2" -v wanted="$3" '
    /^## / { inside = $0 == heading; n = 0 }
    inside && copying && /^```$/ { exit }
    copying { print }
    inside && $0 == fence && ++n == wanted { copying = 1 }' rlxgpu/README.md
}

block "A complete program" cpp 1 >hello.cc
block "Without Bazel" sh 1 >command.sh
block "A complete program" text 1 >expected.txt
block "A complete program" text 2 >error.txt
for file in hello.cc command.sh expected.txt error.txt; do
  [ -s $file ] || { echo "README.md has no block for $file: see how this test finds it"; exit 1; }
done

if [ -n "${RLXGPU_LAVAPIPE_ICD:-}" ]; then export VK_DRIVER_FILES=$RLXGPU_LAVAPIPE_ICD VK_ICD_FILENAMES=$RLXGPU_LAVAPIPE_ICD; fi
if [ "${1:-}" = flags ]; then
  # vptr needs RTTI. With the other three, g++ does not know that a function's address is not null (its bug 71962), which
  # graphs that the compiler plans depend on.
  sanitizers='-fsanitize=undefined -fno-sanitize=vptr,null,nonnull-attribute,returns-nonnull-attribute -fno-sanitize-recover=all'
  sed -i "s/^g++ /&-fno-exceptions -fno-rtti $sanitizers /" command.sh
fi
cat command.sh
bash -e command.sh >found.txt
diff expected.txt found.txt || { echo "the program of README.md prints something else than it says"; exit 1; }

if [ "${1:-}" = flags ]; then
  for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    for header in rlxgpu dynamic executable graph/builder runtime/engine; do
      echo "#include \"rlxgpu/$header.h\"" >older.cc
      if $compiler -std=c++17 -I rlxgpu -fsyntax-only older.cc 2>said.txt; then echo "$header.h compiles as C++17"; exit 1; fi
      if [ "$(grep -c 'error:' said.txt)" != 1 ] || ! grep -q 'error: .*rlxgpu needs C++20: compile with -std=c++20' said.txt; then
        echo "$compiler -std=c++17 says of $header.h:"; cat said.txt; exit 1
      fi
    done
  done
  exit 0
fi

# "Write `matmul(x, b)` by mistake and the compiler says"
sed 's/matmul(x, w)/matmul(x, b)/' hello.cc >wrong.cc
if cmp -s hello.cc wrong.cc; then echo "README.md has no matmul(x, w) to get wrong"; exit 1; fi
mv wrong.cc hello.cc
if g++ -std=c++20 -I rlxgpu -fsyntax-only hello.cc 2>said.txt; then echo "the mistake compiles"; exit 1; fi
grep -qF -f error.txt said.txt || { echo "README.md says:"; cat error.txt; echo "the compiler says:"; cat said.txt; exit 1; }
