#!/bin/bash
# A tuning that is killed at any moment leaves a whole file, and what it had measured is known to the next.
#
#   tune_kill_test.sh RLXGPU
set -uo pipefail
rlxgpu=$1
export RLXGPU_CACHE_DIR=$TEST_TMPDIR/cache
if [ -n "${RLXGPU_LAVAPIPE_ICD:-}" ]; then export VK_DRIVER_FILES=$RLXGPU_LAVAPIPE_ICD VK_ICD_FILENAMES=$RLXGPU_LAVAPIPE_ICD; fi
failed=0
fail() { echo "FAILED: $*"; failed=$((failed + 1)); }

for delay in 0.05 0.2 0.4 0.6 0.9 1.3; do
  "$rlxgpu" tune encoder-small --points 1 >/dev/null 2>&1 &
  child=$!
  sleep "$delay"
  kill -9 "$child" 2>/dev/null
  wait "$child" 2>/dev/null
  said=$("$rlxgpu" devices 2>&1) || fail "devices after $delay s: $said"
  if [ -e "$RLXGPU_CACHE_DIR/tuning.json" ] && [ "$(tail -n 1 "$RLXGPU_CACHE_DIR/tuning.json")" != "}" ]; then fail "half a file after $delay s"; fi
done
said=$("$rlxgpu" tune encoder-small --points 1 2>&1) || fail "$said"
if grep -q "is ignored" <<<"$said"; then fail "$said"; fi
again=$("$rlxgpu" tune encoder-small --points 1 2>&1)
if ! grep -q "^0 measured, " <<<"$again"; then fail "$again"; fi
if [ -e "$RLXGPU_CACHE_DIR/tuning.json.old" ]; then fail "a damaged file was set aside"; fi
tail -n 1 <<<"$said"
[ "$failed" = 0 ]
