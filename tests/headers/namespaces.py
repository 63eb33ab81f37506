#!/usr/bin/env python3
"""Keeps `using namespace rlxgpu` to what a user writes with.

All of rlxgpu is in rlxgpu::core. Namespace rlxgpu itself holds using-declarations alone, each at the end of the header
that declares the name. In the headers of ops this program writes them: functions that make tensors, and the types that
their signatures name. In other headers they are written by hand.

  namespaces.py FOLDER          says what does not hold; exit code 1 if anything does
  namespaces.py FOLDER --write  mends it: namespaces, qualified names and the declarations of ops
"""

import glob
import os
import re
import sys

# Makers of tensors that only other ops call, and types that users write as braces.
NOT_FOR_USERS = set("""probe_matrix filled sum_to last_axis windowed_frames pad_matrix scales_beside columns_by_head reduce
                       Axes IntList""".split())
FOR_USERS = {"kEnd", "kWholeTensor"}
# These are written as users write, who know nothing of rlxgpu::core.
OF_USERS = ("tests/consumer/", "tests/single_command/", "tests/install/", "tests/strangers/", "tests/headers/names.cc",
            "benchmarks/compile_time/")

OF_POSIX = ("rlxgpu/runtime/platform.cc", "rlxgpu/load/mapped_file.cc")

RESULT = r"(?:\[\[nodiscard\]\] )?((?:inline |constexpr )*)([\w<>]+) (\w+)\("
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|enum class|using) (\w+)(?: :[^:].*)?(?: \{| =).*")


def blocks_of_users(lines):
    """Index ranges of the namespace blocks that hold nothing but using-declarations."""
    found = []
    for i, line in enumerate(lines):
        if line == "namespace rlxgpu {" and re.match(r"using core::|namespace \w+ = core::", (lines[i + 1:] or [""])[0]):
            end = next(j for j in range(i, len(lines)) if lines[j].startswith("}  // namespace rlxgpu"))
            found.append((i, end))
    return found


def in_core(lines):
    """The lines with everything moved into rlxgpu::core."""
    kept = {i for first, last in blocks_of_users(lines) for i in range(first, last + 1)}
    moved = []
    for i, line in enumerate(lines):
        if i not in kept:
            line = re.sub(r"^((?:\}  // )?namespace rlxgpu)(?!::core|\w)", r"\1::core", line)
            code, slashes, comment = line.partition("//")
            if not slashes or not code.startswith("}"):
                code = re.sub(r'(?<![\w:"`])rlxgpu::(?!core\b)(?=\w)', "rlxgpu::core::", code)
            if not code.startswith("namespace") or i not in kept:
                line = code + slashes + comment
        moved.append(line)
    return moved


def declared(lines):
    """Functions and types directly in rlxgpu::core: name -> (first line, text up to its end, result)."""
    functions, types, spaces = {}, {}, []
    for i, line in enumerate(lines):
        opened = re.match(r"(?:inline )?namespace ([\w:]*) ?\{", line)
        if opened and "}" not in line:
            spaces.append(opened.group(1))
        elif line.startswith("}  // namespace"):
            spaces.pop()
        elif spaces == ["rlxgpu::core"]:
            function = re.match(RESULT, line)
            kind = TYPE.match(line)
            if function and function.group(2) not in ("return", "void"):
                text = line
                for more in lines[i + 1:i + 12]:
                    if re.search(r"[{;]\s*$", text) or re.search(r"\) \{", text):
                        break
                    text += " " + more.strip()
                functions.setdefault(function.group(3), []).append((function.group(2), text.split(") {")[0]))
            elif line.startswith("inline constexpr") and FOR_USERS & set(re.findall(r"\w+", line)):
                types.update({name: "" for name in FOR_USERS & set(re.findall(r"\w+", line))})
            elif kind:
                text = line
                for more in lines[i + 1:]:
                    if re.match(r"\}|^$", more) or text.rstrip().endswith(";") and text == line:
                        break
                    text += " " + more.split("//")[0].strip()
                types[kind.group(1)] = text
    return functions, types


def names_of_ops(files):
    """header -> names for users."""
    headers = {path: declared(lines) for path, lines in files.items() if path.startswith("rlxgpu/kernels/") and path.endswith(".h")}
    types = {name: text for _, all_types in headers.values() for name, text in all_types.items()}
    of_tensors = {"Tensor"} | {name for name, text in types.items()
                               if re.search(r"[ {](?:Vec<)?Tensor>? \w+", text) and text.startswith("struct")
                               and not name.endswith(("Options", "Weights"))}
    wanted, reached = {}, []
    for path, (functions, _) in headers.items():
        for name, overloads in functions.items():
            for result, text in overloads:
                bare = re.sub(r"^Vec<(\w+)>$", r"\1", result)
                if bare in of_tensors and name not in NOT_FOR_USERS and not name.startswith("rlx_"):
                    wanted.setdefault(path, set()).add(name)
                    reached += re.findall(r"\w+", text)
    seen = set()
    while reached:
        name = reached.pop()
        if name in types and name not in seen and name not in NOT_FOR_USERS:
            seen.add(name)
            if not re.match(r"class", types[name]):
                reached += re.findall(r"\w+", types[name])
    for path, (_, all_types) in headers.items():
        chosen = [name for name in all_types if name in seen | FOR_USERS]
        if chosen:
            wanted.setdefault(path, set()).update(chosen)
    return wanted


def block(names):
    lines, text = [], ""
    for name in sorted(names):
        if text and len(text) + len(", core::" + name) > 118:
            lines.append(text + ",")
            text = "    core::" + name
        else:
            text = text + ", core::" + name if text else "using core::" + name
    return ["namespace rlxgpu {", *lines, text + ";", "}  // namespace rlxgpu"]


def with_names(lines, names):
    for first, last in reversed(blocks_of_users(lines)):
        del lines[first:last + 1]
        if first < len(lines) and lines[first] == "" and lines[first - 1] == "":
            del lines[first]
    if names:
        end = max(i for i, line in enumerate(lines) if line.startswith("#endif"))
        lines[end:end] = block(names) + [""]
    return lines


def main():
    os.chdir(sys.argv[1])
    write = "--write" in sys.argv
    before = {}
    for folder in ("rlxgpu", "tests", "benchmarks"):
        for path in glob.glob(folder + "/**/*", recursive=True):
            if path.endswith((".h", ".cc")) and not path.startswith(OF_USERS):
                with open(path, encoding="utf-8") as file:
                    before[path] = file.read().split("\n")
    after = {path: in_core(list(lines)) for path, lines in before.items()}
    for path, lines in before.items():
        posix = [line for line in lines if re.match(r"#include <(?:unistd|fcntl|dlfcn|pthread|poll|sys/\w+)\.h>", line)]
        if posix and path.startswith("rlxgpu/") and not path.startswith(("rlxgpu/tools/",) + OF_POSIX):
            sys.exit(f"{path}: {posix[0]}: only {' and '.join(OF_POSIX)} speak POSIX")
    names = names_of_ops(after)
    for path in after:
        if path.startswith("rlxgpu/kernels/") and path.endswith(".h"):
            after[path] = with_names(after[path], names.get(path, ()))
    wrong = sorted(path for path in after if after[path] != before[path])
    for path in wrong:
        if write:
            with open(path, "w", encoding="utf-8") as file:
                file.write("\n".join(after[path]))
        print(path + (": mended" if write else ": its names are not where they belong; tests/headers/namespaces.py . --write"))
    if wrong and not write:
        sys.exit(1)
    print(f"{len(after)} files, {sum(map(len, names.values()))} names of ops for users")


if __name__ == "__main__":
    main()
