#!/usr/bin/env python3
"""GPU memory that lavapipe gives out to a command: the sum of its mappings of "allocation fd", looked at every 5 ms.

  lavapipe_memory.py rlxgpu run encoder_model.onnx --extent batch_size=1 --extent num_samples=113600 --runs 3 --baked
  lavapipe_memory.py node moonshine_onnxruntime.js memory webgpu MODELS/moonshine-tiny RECORDING

Both say "loaded" when the model is, before its first run. Printed: the most until then, what there was then, and the most after it.
"""
import re
import subprocess
import sys
import threading
import time


def level(pid):
    try:
        with open(f"/proc/{pid}/maps") as maps:
            ranges = [re.match(r"([0-9a-f]+)-([0-9a-f]+)", line) for line in maps if "memfd:allocation fd" in line]
        return sum(int(r[2], 16) - int(r[1], 16) for r in ranges)
    except OSError:  # it ended in between
        return 0


process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
most = {"while loading": 0, "loaded": 0, "in runs": 0}


def listen():
    for line in process.stdout:
        if not most["loaded"] and "loaded" in line:
            most["loaded"] = level(process.pid)
        sys.stderr.write(line)


listener = threading.Thread(target=listen)
listener.start()
while process.poll() is None:
    now = level(process.pid)
    when = "in runs" if most["loaded"] else "while loading"
    most[when] = max(most[when], now)
    time.sleep(0.005)
listener.join()
print(", ".join(f"{when} {size / 2**20:.1f} MiB" for when, size in most.items()))
sys.exit(process.returncode)
