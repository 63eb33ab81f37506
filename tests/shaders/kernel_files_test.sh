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

# Tint's SPIR-V sets a variable that has no value to zero where its function begins, not each time that a loop declares it
# (docs/drivers.md): in a loop it has a value, or a comment says that all of it is written before it is read.
declared_in_loops() {  # FILE
  awk '
    {
      code = $0
      sub(/\/\/.*/, "", code)
      if (loops > 0 && code ~ /(^|[^<[:alnum:]_])var +[[:alnum:]_]+ *:[^=;]*;/ && $0 !~ /written before it is read/) print NR ": " $0
      opens = code ~ /(^|[^[:alnum:]_])(for|while|loop)([^[:alnum:]_]|$)/
      count = length(code)
      for (i = 1; i <= count; i++) {
        char = substr(code, i, 1)
        if (char == "{") { depth++; is_loop[depth] = opens; loops += opens; opens = 0 }
        if (char == "}" && depth > 0) { loops -= is_loop[depth]; depth-- }
      }
    }' "$1"
}
printf 'fn f() {\n  for (var i = 0u; i < 3u; i++) {\n    if (i > 1u) {\n      var sums : array<f32, 4>;\n    }\n  }\n  var after : f32;\n}\n' >"$TEST_TMPDIR/loop.wgsl"
[ "$(declared_in_loops "$TEST_TMPDIR/loop.wgsl")" = '4:       var sums : array<f32, 4>;' ] || fail "variables in loops are not seen"
# The form that kernels use instead does store zeros in the loop.
cat >"$TEST_TMPDIR/zeroed.wgsl" <<'WGSL'
@group(0) @binding(0) var<storage, read_write> y : array<f32>;
@compute @workgroup_size(1)
fn main() {
  for (var i = 0u; i < 3u; i++) {
    var sums = array<f32, 4>();
    for (var j = 0u; j < 4u; j++) { sums[j] += 1.0f; }
    for (var j = 0u; j < 4u; j++) { y[i * 4u + j] = sums[j]; }
  }
}
WGSL
grep -q 'OpStore %sums ' <<<"$("$tint" --format spvasm "$TEST_TMPDIR/zeroed.wgsl")" || fail "a variable with a value gets none in a loop"

touch "$TEST_TMPDIR/included"
for file in "$@"; do
  [ "$(head -n 1 "$file")" = '/*/**/R"wgsl(*/' ] || fail "$file does not begin with /*/**/R\"wgsl(*/"
  [ "$(tail -n 1 "$file")" = '//)wgsl"' ] || fail "$file does not end with //)wgsl\""
  found=$(declared_in_loops "$file")
  [ -z "$found" ] || fail "$file: a loop declares a variable without a value: $found"
  case $file in *.part.wgsl) continue ;; esac
  with_parts "$file" >"$TEST_TMPDIR/whole.wgsl"
  "$tint" --format spirv --validate -o /dev/null "$TEST_TMPDIR/whole.wgsl" || fail "$file"
done
for file in "$@"; do
  case $file in *.part.wgsl) grep -qxF "$file" "$TEST_TMPDIR/included" || fail "$file is included by no kernel file" ;; esac
done
echo "$# kernel files, $failed failures"
[ "$failed" = 0 ]
