#!/bin/bash
# docs/ops.md and the headers of families follow from the headers of ops.
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
python3 docs/ops.py .
! grep -n '| ?, ?' docs/ops.md || { echo "not measured: docs/ops.py . --measure"; exit 1; }
