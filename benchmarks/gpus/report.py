#!/usr/bin/env python3
"""What ./dev gpus report and ./dev gpus check say about the kernels that compilers of GPUs have seen.

report.py table|check|record FOLDER GPU...    FOLDER/GPU.jsonl has a line of JSON for each kernel (report.cc)

`table` writes FOLDER/report.json and FOLDER/report.svg besides, a map of all kernels on all GPUs.
"""
import json
import os
import sys


def rows_of(folder, gpu):
    with open(os.path.join(folder, gpu + ".jsonl"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def name_of(row):
    return row["case"] + ": " + row["kernel"]


def hottest(row):
    return row.get("loop", row.get("whole"))


# Of a kernel on one GPU: the colour of its cell, and what is written in it.
def cell(row):
    if row is None:
        return "#ffffff", ""
    if "error" in row:
        return "#000000", "fails"
    if row["spills"] or row["scratch"]:
        return "#d7301f", "spills" if row["spills"] else "scratch"
    loop = hottest(row)
    if loop["matrix"]:
        return "#6a51a3", f"{loop['instructions'] / loop['matrix']:.1f}"
    share = min(loop["efficiency"], 1)
    light = round(95 - 55 * share)
    return f"hsl(140, 50%, {light}%)", f"{100 * share:.0f}" if loop["products"] else "\u00b7"


def heat_map(path, rows, gpus):
    """A row for each kernel, a column for each GPU."""
    names = []
    cells = {}
    for gpu in gpus:
        for row in rows[gpu]:
            name = name_of(row)
            if name not in names:
                names.append(name)
            cells[name, gpu] = row
    left, top, wide, high = 430, 90, 44, 16
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide * len(gpus) + 10}" height="{top + high * len(names) + 10}" '
             'font-family="sans-serif" font-size="10">', '<rect width="100%" height="100%" fill="#ffffff"/>']
    for x, gpu in enumerate(gpus):
        lines.append(f'<text transform="translate({left + wide * x + 26} {top - 6}) rotate(-60)">{gpu}</text>')
    for y, name in enumerate(names):
        place = top + high * y
        shown = name.replace("&", "&amp;").replace("<", "&lt;")
        lines.append(f'<text x="{left - 6}" y="{place + 12}" text-anchor="end">{shown}</text>')
        for x, gpu in enumerate(gpus):
            colour, text = cell(cells.get((name, gpu)))
            dark = "#ffffff" if colour in ("#000000", "#d7301f", "#6a51a3") else "#000000"
            lines.append(f'<rect x="{left + wide * x}" y="{place}" width="{wide - 1}" height="{high - 1}" fill="{colour}"/>'
                         f'<text x="{left + wide * x + wide // 2}" y="{place + 11}" text-anchor="middle" fill="{dark}">{text}</text>')
    lines.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def table(folder, gpus):
    all_rows = {gpu: rows_of(folder, gpu) for gpu in gpus}
    with open(os.path.join(folder, "report.json"), "w", encoding="utf-8") as file:
        json.dump(all_rows, file, indent=1)
    heat_map(os.path.join(folder, "report.svg"), all_rows, gpus)
    for gpu in gpus:
        rows = all_rows[gpu]
        print(f"\n{gpu}: {len(rows)} kernels")
        print("| kernel | groups/units | subgroup | registers | spills | scratch | occupancy | KB | of the hottest loop: products "
              "| matrix | memory | shared | all | efficiency |")
        print("|---|" + "---:|" * 13)
        for row in rows:
            if "error" in row:
                print(f"| {name_of(row)} | {row['error']} |")
                continue
            loop = hottest(row)
            print(f"| {name_of(row)} | {row['groups'] / row['units']:.1f} | {row['subgroup']} | {row['registers']} | {row['spills']} "
                  f"| {row['scratch']} | {row['occupancy']} | {row['code_bytes'] / 1024:.1f} | {loop['products']} | {loop['matrix']} "
                  f"| {loop['memory']} | {loop['shared']} | {loop['instructions']} | {100 * loop['efficiency']:.0f} % |")
    print(f"\n{folder}/report.json has all of it, {folder}/report.svg the map", file=sys.stderr)
    return 0


RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded.tsv")
WORSE = 1.05  # than what is recorded: a fault


def cost_of(row):
    """What must not grow: what is kept in memory, and instructions for each product of the hottest loop."""
    loop = hottest(row)
    products = loop["products"] + 128 * loop["matrix"]
    return row["spills"] + row["scratch"], loop["slots"] / products if products else 0


def recorded():
    if not os.path.exists(RECORDED):
        return {}
    with open(RECORDED, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    return {(gpu, name): (int(kept), float(cost)) for gpu, name, kept, cost in rows}


def faults_of(row, known):
    if "error" in row:
        return ["does not compile: " + row["error"]]
    kept, cost = cost_of(row)
    allowed, before = known or (0, 0)
    faults = []
    if kept > allowed:
        faults.append(f"{row['spills']} spills and {row['scratch']} bytes of scratch, {allowed} in all are recorded")
    if before and cost > WORSE * before:
        faults.append(f"{cost:.2f} slots a product, {before:.2f} are recorded")
    return faults


def check(folder, gpus):
    known = recorded()
    wrong = 0
    for gpu in gpus:
        rows = rows_of(folder, gpu)
        if not rows:
            print(f"{gpu}: nothing was compiled")
            wrong += 1
        for row in rows:
            faults = faults_of(row, known.get((gpu, name_of(row))))
            for fault in faults:
                print(f"{gpu}: {name_of(row)}: {fault}")
            wrong += bool(faults)
        print(f"{gpu}: {len(rows)} kernels", file=sys.stderr)
    if wrong:
        print(f"{wrong} kernels are worse than recorded; if that is meant, `./dev gpus record` writes what is now")
    return wrong > 0


def record(folder, gpus):
    """Replaces what is recorded of these GPUs. Kernels of one name in one case count together: the worst."""
    known = {key: value for key, value in recorded().items() if key[0] not in gpus}
    for gpu in gpus:
        for row in rows_of(folder, gpu):
            if "error" in row:
                print(f"{gpu}: {name_of(row)}: {row['error']}", file=sys.stderr)
                continue
            key = gpu, name_of(row)
            known[key] = tuple(map(max, known.get(key, (0, 0)), cost_of(row)))
    with open(RECORDED, "w", encoding="utf-8") as file:
        file.write("# By ./dev gpus record: GPU, kernel, registers and bytes kept in memory, slots a product. Mesa 26.1.6.\n")
        for (gpu, name), (kept, cost) in sorted(known.items()):
            file.write(f"{gpu}\t{name}\t{kept}\t{cost:.3f}\n")
    return 0


if __name__ == "__main__":
    sys.exit({"table": table, "check": check, "record": record}[sys.argv[1]](sys.argv[2], sys.argv[3:]))
