#!/bin/bash
# Every op that a header of rlxgpu/kernels/elementwise defines has a line in table.h, from which tests and random graphs take it.
set -euo pipefail
cd rlxgpu/kernels/elementwise
missing=0 found=0
for op in $(grep -hoE '^inline constexpr OpDef k[A-Za-z0-9]+' -- *.h | sed 's/.* //' | sort -u); do
  found=$((found + 1))
  if ! grep -qE "^ *\{&$op, " table.h; then
    echo "$op is not in kElementwiseOps (rlxgpu/kernels/elementwise/table.h)" >&2
    missing=1
  fi
done
[ "$found" -ge 60 ] || { echo "only $found ops found: are the headers here?" >&2; exit 1; }
exit $missing
