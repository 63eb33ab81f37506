#!/bin/bash
# `rlxgpu inspect`, `rlxgpu run` and `rlxgpu doctor` on models of ONNX's suite.
#
#   model_test.sh RLXGPU
set -uo pipefail
rlxgpu=$1 data=/usr/share/libonnx-testdata/data out=$TEST_TMPDIR/out failed=0
export VK_DRIVER_FILES=${RLXGPU_LAVAPIPE_ICD:-} VK_ICD_FILENAMES=${RLXGPU_LAVAPIPE_ICD:-}
expect() {  # CODE TEXT ARG...: the exit code, and a text in what is printed
  local code=$1 text=$2 said got
  shift 2
  said=$("$rlxgpu" "$@" 2>&1)
  got=$?
  if [ "$got" != "$code" ] || ! grep -qF -- "$text" <<<"$said"; then
    printf 'FAILED: rlxgpu %s: exit code %s, expected %s and "%s" in\n%s\n' "$*" "$got" "$code" "$text" "$said" | head -n 40
    failed=$((failed + 1))
  fi
}

lstm=$data/node/test_lstm_defaults/model.onnx softmax=$data/node/test_softmax_example/model.onnx
expect 0 "ops     LSTM 1" inspect "$lstm"
expect 0 "recurrent/f32" inspect "$lstm" --program
expect 0 "right" run "$lstm" --check
expect 0 "compared one by one: all right" run "$lstm" --check
expect 0 "verdict   every step is right" doctor "$lstm"
expect 0 "with their sizes baked" doctor "$softmax" --baked
expect 1 "No such file" doctor "$data/none.onnx"
expect 0 "MB of weights, " run "$lstm"
expect 0 'the node that computes "Y_h"' run "$lstm" --profile
expect 0 "trace" run "$lstm" --trace "$TEST_TMPDIR/trace.json"
grep -q '"traceEvents"' "$TEST_TMPDIR/trace.json" || { echo "FAILED: no trace"; failed=$((failed + 1)); }
# What is written is read again: a softmax of a softmax.
expect 0 "y.npy" run "$softmax" --output-dir "$out"
expect 0 "right" run "$softmax" --input "x=$out/y.npy" --check
expect 2 "--runs 0: at least one run" run "$softmax" --runs 0
expect 1 "y.npy cannot be made: " run "$softmax" --output-dir "$out/y.npy"
expect 1 "cannot be made: " run "$softmax" --output-dir "$out/y.npy/further"
expect 0 "best of 3" run "$softmax" --runs 3
expect 2 'no input "z"' run "$softmax" --input "z=$out/y.npy"
expect 2 "NAME=VALUE" run "$softmax" --input x
expect 1 "No such file" run "$data/none.onnx"
expect 1 "not an ONNX file" run "$out/y.npy"
expect 1 "string tensors are not supported" inspect "$data/node/test_string_concat/model.onnx"
# Extents that nobody gave are 1, and an operand that decides a shape has to be given.
expect 1 'give the elements of input "shape"' run "$data/node/test_reshape_extended_dims/model.onnx"
# Files decide symbolic extents, and --extent those that no file does: y = x + z, all of [m, n].
sum=$TEST_TMPDIR/sum.onnx
port() { printf "$1"'\x15\x0a\x01'"$2"'\x12\x10\x0a\x0e\x08\x01\x12\x0a\x0a\x03\x12\x01m\x0a\x03\x12\x01n'; }
{
  printf '\x08\x0a\x42\x02\x10\x0d\x3a\x58\x0a\x0e\x0a\x01x\x0a\x01z\x12\x01y\x22\x03Add\x12\x01g'
  port '\x5a' x && port '\x5a' z && port '\x62' y
} > "$sum"
expect 0 "y float[1,3]" run "$sum" --input "x=$out/y.npy"
expect 0 "y float[2,4]" run "$sum" --extent m=2 --extent n=4
expect 0 'extent "m" is taken as 1' run "$sum" --extent n=4
expect 1 "is given with 3 elements along axis 1, where the model has 4" run "$sum" --input "x=$out/y.npy" --extent n=4
exit $((failed > 0))
