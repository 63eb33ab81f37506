#!/bin/bash
# What chapters quote is code that tests compile: every ```cpp block of a chapter stands, line by line, in one of the files.
#
#   snippets_test.sh CHAPTER FILE...
set -euo pipefail
chapter=$1
shift
awk -v chapter="$chapter" '
  function trimmed(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }
  FILENAME != chapter { if (FILENAME != name) { name = FILENAME; text[++files] = "\n" } text[files] = text[files] trimmed($0) "\n"; next }
  /^```cpp$/ { inside = 1; block = "\n"; line = FNR; next }
  /^```$/ && inside {
    inside = 0; found = 0; ++blocks
    for (i = 1; i <= files; ++i) if (index(text[i], block)) found = 1
    if (!found) { printf "%s:%d: this block is in none of the files:%s", chapter, line, block; bad = 1 }
    next
  }
  inside { block = block trimmed($0) "\n" }
  END { printf "%d blocks, %d files\n", blocks, files; exit bad || blocks == 0 || files == 0 }' "$@" "$chapter"
