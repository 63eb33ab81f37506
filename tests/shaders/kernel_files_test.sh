#!/bin/bash
# Every kernel file is WGSL as it stands: tint accepts it, marks and directives included.
#
#   kernel_files_test.sh TINT FILE...
set -uo pipefail
tint=$1
shift
[ $# -ge 5 ] || { echo "only $# kernel files found: the test is broken"; exit 1; }
failed=0
for file in "$@"; do
  if ! "$tint" --format spirv --validate -o /dev/null "$file"; then
    echo "FAILED: $file"
    failed=$((failed + 1))
  fi
  [ "$(head -n 1 "$file")" = '/*/**/R"wgsl(*/' ] || { echo "FAILED: $file does not begin with /*/**/R\"wgsl(*/"; failed=$((failed + 1)); }
  [ "$(tail -n 1 "$file")" = '//)wgsl"' ] || { echo "FAILED: $file does not end with //)wgsl\""; failed=$((failed + 1)); }
done
echo "$# kernel files, $failed failures"
[ "$failed" = 0 ]
