#!/bin/bash
# The rlxgpu command: what it prints, and what it says of mistakes.
#
#   command_test.sh RLXGPU TINT
set -uo pipefail
rlxgpu=$1
export RLXGPU_TINT=$PWD/$2
failed=0
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

expect 0 "rlxgpu 0." --version
expect 0 "devices" --help
expect 2 "SUBCOMMANDS"
expect 109 "nonsense" nonsense
expect 0 "mlp" program
expect 0 "steps, " program mlp
expect 0 "matmul+" program mlp
expect 0 "10 steps, " program llama-layer
expect 0 "gated_matmul" program llama-layer
expect 0 "steps, " program mlp --here
expect 0 "layer_norm" program encoder-small --recognised
expect 0 "@compute" program mlp --wgsl
expect 0 '"rlxgpu": 1' program mlp --json
expect 2 'there is no example "nope"' program nope
expect 0 "manifest.json" export mlp --web "$TEST_TMPDIR/mlp"
expect 2 '"nope" is neither' export nope --web "$TEST_TMPDIR/nope"
expect 1 "no.onnx" export no.onnx --web "$TEST_TMPDIR/no"
expect 0 "rows_each" kernels matmul
expect 0 "1, 2, 4, 8" kernels matmul
expect 0 '"meaning"' kernels fft --json
expect 0 "subgroup_matrix" kernels matmul --target rdna3
expect 2 'there is no target "vax"' kernels --target vax
expect 2 'no op "nope" has kernels' kernels nope
expect 0 "accept all of it" check
expect 0 '"ok": true' check --json
good=$TEST_TMPDIR/good.wgsl bad=$TEST_TMPDIR/bad.wgsl wide=$TEST_TMPDIR/wide.wgsl
echo '@group(0) @binding(0) var<storage, read_write> y : array<f32>; @compute @workgroup_size(64) fn main() { y[0] = 1; }' >"$good"
echo '@compute @workgroup_size(64) fn main() { let x : f32 = 1u; }' >"$bad"
sed s/64/512/ "$good" >"$wide"
expect 0 "ok" check "$good"
expect 1 "cannot initialize" check "$good" "$bad"
expect 1 "512" check "$wide"
expect 1 "cannot be read" check "$TEST_TMPDIR/none.wgsl"
printf '/*/**/R"wgsl(*/\n/*)wgsl"\n#include "some.part.wgsl"\nR"wgsl(*/\n@compute @workgroup_size(1) fn main() { _ = same(); }\n//)wgsl"\n' >"$TEST_TMPDIR/whole.wgsl"
expect 1 "includes some.part.wgsl, which cannot be read" check "$TEST_TMPDIR/whole.wgsl"
printf '/*/**/R"wgsl(*/\nfn same() -> u32 { return 1u; }\n//)wgsl"\n' >"$TEST_TMPDIR/some.part.wgsl"
expect 0 "ok" check "$TEST_TMPDIR/whole.wgsl"
RLXGPU_TINT=/nowhere/tint expect 1 "RLXGPU_TINT" check "$good"
RLXGPU_ADAPTOR=x expect 0 "rlxgpu: the environment variable RLXGPU_ADAPTOR means nothing: see docs/switches.md" devices
expect 2 'there is no example "nope"' tune nope
expect 2 "none of f32" tune --matmul 8 8 8 --dtype i8
expect 1 "no adapter named like" calibrate --adapter nothing-of-that-name
results=$TEST_TMPDIR/results.json
echo '{"benchmarks": [{"name": "BM/8", "real_time": 2, "FLOP": 1e9, "bytes_per_second": 1e9}]}' >"$results"
expect 0 "1 results drawn in $TEST_TMPDIR/results.svg" plot "$results"
grep -q "</svg>" "$TEST_TMPDIR/results.svg" || { echo "FAILED: no SVG"; failed=$((failed + 1)); }
expect 1 'no benchmark "peer"' plot "$results" --baseline peer
expect 1 "no results to draw" plot "$results" --filter other
expect 1 "not what Google Benchmark writes" plot "$good"
expect 1 "cannot be read" plot "$TEST_TMPDIR/none.json"
[ "$failed" = 0 ]
