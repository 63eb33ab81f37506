#!/bin/bash
# Headers outside runtime/ compile without a warning and with no flag but -std=c++20, on compilers old and new.
#
#   headers_test.sh each COMPILER...       every header by itself (see chains.py), with the first of the compilers that is here
#   headers_test.sh together COMPILER...   all headers in one file, with every compiler that is here
#
# Run in a folder that has rlxgpu/.
set -uo pipefail
how=$1
shift
compilers=()
for compiler in "$@"; do
  if command -v "$compiler" >/dev/null; then compilers+=("$compiler"); else echo "there is no $compiler on this machine"; fi
done
[ ${#compilers[@]} != 0 ] || exit 1

check() {  # COMPILER HEADER...: prints what the compiler says, if anything
  local said
  said=$(printf '#include "%s"\n' "${@:2}" | "$1" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -I . -x c++ - 2>&1)
  if [ $? != 0 ] || [ -n "$said" ]; then printf 'FAILED: %s %s\n%s\n' "$1" "${*: -1}" "$said"; fi
}
export -f check

headers=$(find -L rlxgpu -name '*.h' -not -path 'rlxgpu/runtime/*' | sort)
count=$(wc -w <<<"$headers")
[ "$count" -gt 20 ] || { echo "only $count headers found: the test is broken"; exit 1; }
if [ "$how" = each ]; then
  compilers=("${compilers[0]}")
  chains=$("$(dirname "$0")/chains.py" rlxgpu) || exit 1
  [ "$(wc -w <<<"$chains")" = "$count" ] || { echo "$(wc -w <<<"$chains") headers in chains, not $count: chains.py is broken"; exit 1; }
  report=$(xargs -P 2 -I {} bash -c "check ${compilers[0]} {}" <<<"$chains")
else
  report=$(for compiler in "${compilers[@]}"; do check "$compiler" $headers; done)
fi
if [ -n "$report" ]; then
  printf '%s\n' "$report" | head -n 200
  exit 1
fi
echo "$count headers, $how: no error and no warning with ${compilers[*]}"
