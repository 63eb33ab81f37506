#!/usr/bin/env python3
"""Orders headers into few chains, for checking that each can be included by itself.

    chains.py FOLDER...        # prints a chain to a line, every header of the folders in exactly one

In a chain every header includes, directly or not, all those before it. They bring nothing that it does not bring itself, so
a file that includes a chain compiles only if a file with each of its headers alone does, and headers that most of the
others need are not read again for each of them.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def included_by(header, known, found):
    """All that a header includes, directly or not."""
    if header not in found:
        found[header] = set()  # a cycle ends here
        for name in INCLUDE.findall(pathlib.Path(header).read_text()):
            if name in known:
                found[header] |= {name} | included_by(name, known, found)
    return found[header]


def chains_of(headers):
    """As few chains as there can be: pairs of neighbours are a greatest matching of headers with those they include."""
    found = {}
    known = set(headers)
    before, after = {}, {}

    def pair(header, seen):
        for name in sorted(included_by(header, known, found)):
            if name in seen:
                continue
            seen.add(name)
            if name not in after or pair(after[name], seen):
                after[name], before[header] = header, name
                return True
        return False

    for header in headers:
        pair(header, set())
    for last in headers:
        if last not in after:
            chain = [last]
            while chain[0] in before:
                chain.insert(0, before[chain[0]])
            yield chain


def main():
    headers = sorted(str(p) for folder in sys.argv[1:] for p in pathlib.Path(folder).rglob("*.h"))
    for chain in chains_of([h for h in headers if not h.startswith("rlxgpu/runtime/")]):
        print(*chain)


if __name__ == "__main__":
    main()
