#!/bin/bash
# lost_ones.py finds ones that nobody reads, and no others.
#
#   lost_ones_test.sh LOST_ONES
set -uo pipefail
lost_ones=$1 failed=0
# Instructions four bytes apart; a jump says how far it goes from the instruction behind it.
expect() {  # COUNT WHAT INSTRUCTION...
  local count=$1 what=$2 address=0 code=$'kernel:\n' said instruction
  shift 2
  for instruction; do
    printf -v code '%s%6x:\t%s\n' "$code" "$address" "${instruction/ /$'\t'}"
    address=$((address + 4))
  done
  said=$("$lost_ones" <<<"$code")
  if [[ $said != *"1 functions, 1 registers of ones, $count lost" ]]; then
    printf 'FAILED: %s:\n%s\n' "$what" "$said"
    failed=$((failed + 1))
  fi
}
ones='vpcmpeqd %ymm15, %ymm15, %ymm15'
expect 1 "the fault as it was found" "$ones" 'vpsubd %ymm31, %ymm2, %ymm3' 'retq '
expect 0 "ones that are read" "$ones" 'vpsubd %ymm15, %ymm2, %ymm3' 'retq '
expect 0 "read by the narrower name" "$ones" 'vpxor %xmm15, %xmm1, %xmm2' 'retq '
expect 0 "read by what writes it, too" "$ones" 'vpternlogd $120, (%rax){1to8}, %ymm6, %ymm15' 'retq '
expect 0 "kept in part by a mask" "$ones" 'vmovdqa32 %ymm1, %ymm15 {%k4}' 'vmovdqa %ymm15, (%rsp)' 'retq '
expect 1 "all of it written first" "$ones" 'vmovdqa32 %ymm1, %ymm15 {%k4} {z}' 'vmovdqa %ymm15, (%rsp)' 'retq '
expect 0 "compared" "$ones" 'vptest %ymm3, %ymm15' 'retq '
expect 0 "read on one of two ways" "$ones" 'je 4' 'vpxor %ymm15, %ymm15, %ymm15' 'vpaddd %ymm15, %ymm1, %ymm2' 'retq '
expect 1 "read on none" "$ones" 'je 4' 'vpaddd %ymm1, %ymm1, %ymm2' 'vpxor %ymm14, %ymm13, %ymm15' 'retq '
expect 0 "read in the next turn of a loop" 'vpaddd %ymm15, %ymm1, %ymm2' "$ones" 'jmp -12' 'retq '
expect 0 "an argument" 'vpcmpeqd %ymm1, %ymm1, %ymm1' 'callq *%rax' 'retq '
expect 0 "an address is no register" "$ones" 'vmovdqa (%rsp,%rax,4), %ymm1' 'vpaddd %ymm15, %ymm1, %ymm15' 'retq '
said=$("$lost_ones" sh -c 'printf "kernel:\n     0:\tretq\nsaid\n" >&2; exit 3' 2>&1)
[ $? = 3 ] || { echo "FAILED: the program's own failure is lost"; failed=1; }
[[ $said == *said*"1 functions, 0 registers"* ]] || { echo "FAILED: $said"; failed=1; }
exit $((failed > 0))
