#!/bin/bash
# docs/examples/generate: writes a model, reads it, and says the same for the same seed.
#
#   generate_test.sh PROGRAM
set -euo pipefail
program=$1
folder=$(mktemp -d "${TEST_TMPDIR:-/tmp}/generate.XXXXXX")
if [ -n "${RLXGPU_LAVAPIPE_ICD:-}" ]; then export VK_DRIVER_FILES=$RLXGPU_LAVAPIPE_ICD VK_ICD_FILENAMES=$RLXGPU_LAVAPIPE_ICD; fi
fail() { echo "FAILED: $*"; exit 1; }
"$program" --make "$folder/model.safetensors"
first=$("$program" "$folder/model.safetensors" --count 20)
echo "$first"
[ "$(wc -w <<<"$first")" = 30 ] || fail "ten tokens of the prompt and twenty more were wanted"
[ "$first" = "$("$program" "$folder/model.safetensors" --count 20)" ] || fail "the same seed, other tokens"
[ "$first" != "$("$program" "$folder/model.safetensors" --count 20 --seed 2)" ] || fail "another seed, the same tokens"
# A prompt that ends in the middle of a block is read by both programs: its tokens change nothing else.
whole=$("$program" "$folder/model.safetensors" --count 5 --prompt $(cut -d' ' -f1-16 <<<"$first"))
[ "$whole" = "$(cut -d' ' -f1-21 <<<"$first") " ] || fail "a longer prompt goes on otherwise: $whole"
if "$program" "$folder/nothing" 2>"$folder/said"; then fail "a file that is not there is read"; fi
grep -q "NOT_FOUND" "$folder/said" || fail "said: $(cat "$folder/said")"
