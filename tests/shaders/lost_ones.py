#!/usr/bin/env python3
"""Looks for LLVM 21's lost register of ones (docs/drivers.md) in the machine code that lavapipe makes.

    lost_ones.py PROGRAM ARG...        runs it, with all of its kernels compiled and looked at; fails if either fails
    lost_ones.py < CODE                what GALLIVM_DEBUG=asm has printed

The mark: vpcmpeqd makes ones in a register, and on no path does anything read that register before it is written again.
Compilers remove instructions like that; here another register, 16 higher, is read instead. So kernels are judged that no
test gives the inputs with which it would show.
"""
import os
import re
import subprocess
import sys

INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\t(\S+)(?:\t(.*))?$")
LABEL = re.compile(r"^(\S+):$")
SIZE = re.compile(r"^\d+$")
ONES = re.compile(r"^%([xy])mm(\d+), %\1mm\2, %\1mm\2$")
VECTOR = re.compile(r"%[xyz]mm(\d+)")
# Their last operand is read as well as written; those of the second kind are only read.
UPDATES = re.compile(r"vfn?m(add|sub)|vpternlog|vpermt2|vpermi2|vpdp|vpmadd52|vpshld|vpshrd|vdp")
COMPARES = re.compile(r"vu?comis|vptest$|vtestp")


def last_operand(text):
    """What comes after the last comma outside of parentheses."""
    depth = 0
    for i in range(len(text) - 1, -1, -1):
        depth += (text[i] == ")") - (text[i] == "(")
        if text[i] == "," and depth == 0:
            return text[i + 1:].strip()
    return text.strip()


def reads_and_writes(name, text, register):
    """Whether an instruction reads that vector register, and whether it writes all of it."""
    if name.startswith(("call", "ret")):
        return (register < 8, True)  # arguments and results; a function may change all others
    if register not in map(int, VECTOR.findall(text)):
        return (False, False)
    last = last_operand(text)
    target = re.match(r"%[xyz]mm(\d+)", last)
    if target is None or int(target.group(1)) != register or COMPARES.match(name):
        return (True, False)
    rest = text[: len(text) - len(last)]
    keeps = "{%k" in last and "{z}" not in last
    reads = keeps or UPDATES.match(name) is not None or register in map(int, VECTOR.findall(rest))
    return (reads, True)


def is_lost(code, start, register):
    """No path from behind code[start] reads the register before it is written; False where a path is not known."""
    at = {address: i for i, (address, _, _) in enumerate(code)}
    seen, todo = set(), [start + 1]
    while todo:
        i = todo.pop()
        while i < len(code) and i not in seen:
            seen.add(i)
            _, name, text = code[i]
            reads, writes = reads_and_writes(name, text, register)
            if reads:
                return False
            if writes or name.startswith("ret"):
                break
            if name.startswith("j"):
                if not re.match(r"^-?\d+$", text) or i + 1 >= len(code) or code[i + 1][0] + int(text) not in at:
                    return False
                todo.append(at[code[i + 1][0] + int(text)])  # jumps count from the next instruction
                if name == "jmp":
                    break
            i += 1
    return True


class Scan:
    def __init__(self):
        self.functions = self.ones = self.lost = 0
        self.label, self.code = "?", []

    def line(self, line):
        """True: a line of machine code."""
        match = INSTRUCTION.match(line)
        if match:
            if int(match.group(1), 16) == 0:
                self.close()
            text = (match.group(3) or "").split("#")[0].strip()
            self.code.append((int(match.group(1), 16), match.group(2), text))
            return True
        self.close()
        match = LABEL.match(line)
        self.label = match.group(1) if match else "?"
        return match is not None or SIZE.match(line) is not None or not line

    def close(self):
        if not self.code:
            return
        self.functions += 1
        for i, (address, name, text) in enumerate(self.code):
            match = ONES.match(text) if name == "vpcmpeqd" else None
            if match is None:
                continue
            self.ones += 1
            if is_lost(self.code, i, int(match.group(2))):
                self.lost += 1
                print(f"{self.label}: {address:x}: {name} {text}: ones that nobody reads")
                for near in self.code[max(0, i - 6): i + 12]:
                    print(f"  {near[0]:6x}: {near[1]} {near[2]}")
        self.code = []

    def verdict(self):
        self.close()
        print(f"{self.functions} functions, {self.ones} registers of ones, {self.lost} lost", flush=True)
        return self.lost == 0


def main():
    scan = Scan()
    if len(sys.argv) == 1:
        for line in sys.stdin:
            scan.line(line.rstrip("\n"))
        return 0 if scan.verdict() else 1
    environment = dict(os.environ, GALLIVM_DEBUG="asm", MESA_SHADER_CACHE_DISABLE="true")
    with subprocess.Popen(sys.argv[1:], env=environment, stderr=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stderr:
            if not scan.line(line.rstrip("\n")):
                sys.stderr.write(line)
    right = scan.verdict()
    return process.returncode or (0 if right else 1)


if __name__ == "__main__":
    sys.exit(main())
