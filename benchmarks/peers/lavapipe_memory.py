#!/usr/bin/env python3
"""The most GPU memory that lavapipe gives out to a command: the sum of its mappings of "allocation fd", looked at every 5 ms.

  lavapipe_memory.py rlxgpu run encoder_model.onnx --extent batch_size=1 --extent num_samples=113600 --runs 3 --baked
  lavapipe_memory.py node moonshine_onnxruntime.js memory webgpu MODELS/moonshine-tiny RECORDING

Both are then counted in the same way, weights and staging included.
"""
import re
import subprocess
import sys
import time

process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
most = 0
while process.poll() is None:
    try:
        with open(f"/proc/{process.pid}/maps") as maps:
            ranges = [re.match(r"([0-9a-f]+)-([0-9a-f]+)", line) for line in maps if "memfd:allocation fd" in line]
        most = max(most, sum(int(r[2], 16) - int(r[1], 16) for r in ranges))
    except OSError:  # it ended in between
        pass
    time.sleep(0.005)
print(f"{most / 2**20:.1f} MiB")
sys.exit(process.returncode)
