#!/bin/bash
# The runner stays small: at most 8 KB when it is compressed as servers do.
set -eu
bytes=$(gzip -9 -c "$1" | wc -c)
echo "$1: $bytes bytes compressed, 8192 allowed"
[ "$bytes" -le 8192 ]
