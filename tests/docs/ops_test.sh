#!/bin/bash
# docs/ops.md and the headers of families follow from the headers of ops.
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1
python3 docs/ops.py .
