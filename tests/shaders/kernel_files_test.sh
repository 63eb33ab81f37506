#!/bin/bash
# Every kernel file is WGSL as it stands, marks and directives included, once its parts are put in: tint accepts it.
#
#   kernel_files_test.sh TINT FILE...
set -uo pipefail
tint=$1
shift
[ $# -ge 5 ] || { echo "only $# kernel files found: the test is broken"; exit 1; }
failed=0
fail() {
  echo "FAILED: $*"
  failed=$((failed + 1))
}

# The file with its parts in place of the comments that stand for them.
with_parts() {  # FILE
  local line path
  while IFS= read -r line; do
    if [[ $line =~ ^#include\ \"(.*)\"$ ]]; then
      path=${BASH_REMATCH[1]}
      echo "$path" >>"$TEST_TMPDIR/included"
      printf '*/\n'
      with_parts "$path"
      printf '/*\n'
    else
      printf '%s\n' "$line"
    fi
  done <"$1"
}

touch "$TEST_TMPDIR/included"
for file in "$@"; do
  [ "$(head -n 1 "$file")" = '/*/**/R"wgsl(*/' ] || fail "$file does not begin with /*/**/R\"wgsl(*/"
  [ "$(tail -n 1 "$file")" = '//)wgsl"' ] || fail "$file does not end with //)wgsl\""
  case $file in *.part.wgsl) continue ;; esac
  with_parts "$file" >"$TEST_TMPDIR/whole.wgsl"
  "$tint" --format spirv --validate -o /dev/null "$TEST_TMPDIR/whole.wgsl" || fail "$file"
done
for file in "$@"; do
  case $file in *.part.wgsl) grep -qxF "$file" "$TEST_TMPDIR/included" || fail "$file is included by no kernel file" ;; esac
done
echo "$# kernel files, $failed failures"
[ "$failed" = 0 ]
