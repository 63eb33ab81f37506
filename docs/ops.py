#!/usr/bin/env python3
"""Writes what follows from the headers of ops: docs/ops.md, and the headers of families, rlxgpu/ops/*.h.

  ops.py FOLDER            says what is not up to date; exit code 1 if anything is
  ops.py FOLDER --write    writes it
  ops.py FOLDER --measure  measures what headers cost to include (docs/include_costs.txt), then writes it

An op's line is the first sentence of the comment above its function, or else of its header.
"""

import glob
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "headers"))
import namespaces  # noqa: E402

COSTS = "docs/include_costs.txt"


def sentence(lines):
    """The first sentence of a comment."""
    text = " ".join(line[2:].strip() for line in lines if line != "//")
    text = re.split(r"(?<=[.:])\s{2,}", text)[0]
    end = re.search(r"(?<![.][.])[.](?=\s|$)", text)
    text = text[:end.start()] if end else text.rstrip(":")
    return text.strip()


def comment_of(lines, i):
    """The comment that ends right above line i."""
    while i > 0 and lines[i - 1].startswith("template"):
        i -= 1
    first = i
    while first > 0 and lines[first - 1].startswith("//"):
        first -= 1
    return lines[first:i]


def head_of(lines):
    """The comment of the header up to its example, without the calls that it begins with."""
    head = []
    for line in lines:
        if line == "//" or not line.startswith("//"):
            break
        head.append(line)
    text = sentence(head)
    called = re.match(r"(?:[\w, ]|\([^()]*\))+: (.*)", text)
    return called.group(1) if called else text


def small(line):
    """As it goes on behind a colon."""
    return line[0].lower() + line[1:] if re.match(r"[A-Z][a-z]*\b", line) else line


def signature(text):
    text = re.sub(r"^(?:\[\[nodiscard\]\] )?(?:inline |constexpr )*", "", re.sub(r"\s+", " ", text)).strip()
    text = re.sub(r",? ?Site \w+ = std::source_location::current\(\)", "", text)
    text = re.sub(r",? ?Site \w+(?=[,)])", "", text)
    text = text.split(") {")[0].split(";")[0].strip()
    return text if text.endswith(")") else text + ")"


def families():
    """family -> [(header, [(name, signature, line)])]"""
    files = {}
    for path in sorted(glob.glob("rlxgpu/kernels/**/*.h", recursive=True)):
        with open(path, encoding="utf-8") as file:
            files[path] = file.read().split("\n")
    names = namespaces.names_of_ops(files)
    found = {}
    for path in sorted(names):
        lines, ops = files[path], []
        functions, _ = namespaces.declared(lines)
        for name in functions:
            if name not in names[path]:
                continue
            for _, text in functions[name]:
                at = next(i for i, line in enumerate(lines) if line and text.startswith(line.split(") {")[0][:60]) and
                          re.search(r"\b" + name + r"\(", line))
                line = sentence(comment_of(lines, at))
                ops.append((name, signature(text), line))
        found.setdefault(path.split("/")[2], []).append((path, head_of(lines), ops))
    return found


def targets():
    """header -> the Bazel target that has it"""
    found = {}
    for path in glob.glob("rlxgpu/kernels/*/BUILD.bazel"):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        folder = os.path.dirname(path)
        for rule in re.findall(r"cc_library\((.*?)\n\)", text, re.S):
            name = re.search(r'name = "(\w+)"', rule).group(1)
            for header in re.findall(r'"([\w/]+\.h)"', (re.search(r"\bhdrs = \[(.*?)\]", rule, re.S) or [None, ""])[1]):
                short = "//" + folder + ("" if name == os.path.basename(folder) else ":" + name)
                found[folder + "/" + header] = short
    return found


def costs():
    found = {}
    if os.path.exists(COSTS):
        with open(COSTS, encoding="utf-8") as file:
            for line in file:
                if not line.startswith("#"):
                    header, *numbers = line.split()
                    found[header] = numbers
    return found


def page(found):
    measured, heading = costs(), ""
    if os.path.exists(COSTS):
        with open(COSTS, encoding="utf-8") as file:
            heading = file.readline()[2:].strip()
    count = sum(len({name for name, _, _ in ops}) for headers in found.values() for _, _, ops in headers)
    out = ["# Ops", "",
           f"{count} functions that make tensors, by family. This page is written from their headers (`docs/ops.py`), which say more.",
           "Each family has one header, `rlxgpu/ops/FAMILY.h`, and the Bazel target `@rlxgpu//rlxgpu/ops:FAMILY`;",
           "`rlxgpu/ops/all.h` has all of them. `rlxgpu/rlxgpu.h` has those with a star. Operators (`+`, `-`, `*`, `/`, `<`, ...) are",
           "elementwise ops, too. `Rhs` is a tensor or a number.", "",
           "| family | seconds to include, clang++ and g++ | |" if measured else "| family | not measured | |", "|---|---|---|"]
    with open("rlxgpu/rlxgpu.h", encoding="utf-8") as file:
        starred = set(re.findall(r"rlxgpu/kernels/(\w+)/", file.read()))
    for family in found:
        numbers = measured.get(f"rlxgpu/ops/{family}.h", ["?", "?"])
        star = " *" if family in starred else ""
        count = sum(len({name for name, _, _ in ops}) for _, _, ops in found[family])
        out.append(f"| [{family}](#{family}){star} | {numbers[0]}, {numbers[1]} | {count} function{'s' * (count != 1)} |")
    for header in ("rlxgpu/ops/all.h", "rlxgpu/rlxgpu.h"):
        numbers = measured.get(header, ["?", "?"])
        out.append(f"| `{header}` | {numbers[0]}, {numbers[1]} | |")
    out += ["", heading, ""]
    for family, headers in found.items():
        out += [f"## {family}", ""]
        for path, head, ops in headers:
            if not ops:
                continue
            out += [f"[{os.path.basename(path)}](../{path}): {small(head)}.", ""]
            for name, text, line in ops:
                out.append(f"- `{text}`" + (f": {small(line)}." if line else ""))
            out.append("")
    return "\n".join(out[:-1]) + "\n"


def header_of(family, headers):
    guard = f"RLXGPU_OPS_{family.upper()}_H_"
    includes = "\n".join(f'#include "{path}"' for path in headers)
    what = "Every family of ops." if family == "all" else f"The ops of the family {family}: docs/ops.md lists them."
    return f"// {what} Written by docs/ops.py.\n#ifndef {guard}\n#define {guard}\n\n{includes}\n\n#endif  // {guard}\n"


def build_file(found):
    of = targets()
    out = ['# Written by docs/ops.py.', 'load("@rules_cc//cc:defs.bzl", "cc_library")', "",
           'package(default_visibility = ["//visibility:public"])']
    deps = {family: sorted({of[path] for path, _, _ in headers}) for family, headers in found.items()}
    deps["all"] = sorted(":" + family for family in found)
    for family in sorted(deps):
        listed = "\n".join(f'        "{dep}",' for dep in deps[family])
        out += ["", "cc_library(", f'    name = "{family}",', f'    hdrs = ["{family}.h"],', "    deps = [", listed, "    ],", ")"]
    return "\n".join(out) + "\n"


def measure(found):
    """The least user time of some runs, over a file that includes nothing, of the front end alone."""
    headers = [f"rlxgpu/ops/{family}.h" for family in found] + ["rlxgpu/ops/all.h", "rlxgpu/rlxgpu.h"]
    compilers, least = ("clang++", "g++"), {}

    def run(compiler, header):
        before = os.times().children_user
        text = f'#include "{header}"\n' if header else ""
        subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-I.", "-x", "c++", "-"], input=text.encode(), check=True)
        return os.times().children_user - before

    for _ in range(2):
        for header in [""] + headers:
            for compiler in compilers:
                seconds = run(compiler, header)
                least[compiler, header] = min(seconds, least.get((compiler, header), seconds))
    with open(COSTS, "w", encoding="utf-8") as file:
        file.write(f"# Processor time of the front end over an empty file, the lesser of two runs, {time.strftime('%Y-%m-%d')}: "
                   "`docs/ops.py . --measure`.\n")
        for header in headers:
            file.write(header + "".join(f" {max(0, least[c, header] - least[c, '']):.2f}" for c in compilers) + "\n")


def main():
    os.chdir(sys.argv[1])
    found = families()
    if "--measure" in sys.argv:
        measure(found)
    wanted = {f"rlxgpu/ops/{family}.h": header_of(family, [path for path, _, _ in headers]) for family, headers in found.items()}
    wanted["rlxgpu/ops/all.h"] = header_of("all", [f"rlxgpu/ops/{family}.h" for family in found])
    if targets():  # not in a test, which sees no BUILD files
        wanted["rlxgpu/ops/BUILD.bazel"] = build_file(found)
    wanted["docs/ops.md"] = page(found)
    stale = []
    for path, text in wanted.items():
        now = open(path, encoding="utf-8").read() if os.path.exists(path) else None
        if now != text:
            stale.append(path)
            if "--write" in sys.argv or "--measure" in sys.argv:
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
    written = "--write" in sys.argv or "--measure" in sys.argv
    for path in stale:
        print(path + (": written" if written else ": not up to date; docs/ops.py . --write"))
    if stale and not written:
        sys.exit(1)
    print(f"{sum(len(ops) for headers in found.values() for _, _, ops in headers)} signatures of ops")


main()
