#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes scale.md, a table, and scale.svg, a picture, of what was measured.

    report.py FOLDER
"""
import glob
import json
import math
import os
import sys


def name(r):
    size = r["chunks"] * r["chunk, KiB"] >> 20
    for unit in "GTP":
        if size < 1024:
            return f"{size} {unit}iB"
        size >>= 10


def rows(results):
    yield ["", *(f"{name(r)}" for r in results)]
    for key in results[0]:
        yield [key, *(f"{r[key]:,}" for r in results)]


def markdown(lines):
    head, *rest = lines
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for line in rest:
        yield "| " + " | ".join(line) + " |"


def picture(results):
    """Seconds over chunks, both on a logarithmic scale"""
    keys = [k for k in results[0] if k.endswith(", s")]
    values = [max(r[k], .001) for r in results for k in keys]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    first, last = (math.log2(r["chunks"]) for r in (results[0], results[-1]))
    colours = ("#369", "#c60", "#393", "#939", "#a33", "#666", "#099", "#cc0")

    def x(r):
        return 60 + 420 * (math.log2(r["chunks"]) - first) / max(last - first, 1)

    def y(value):
        return 320 - 300 * (math.log10(max(value, .001)) - low) / (high - low)
    yield ('<svg xmlns="http://www.w3.org/2000/svg" width="860" height="360" '
           'font-family="sans-serif" font-size="12">')
    for power in range(low, high + 1):
        at = y(10 ** power)
        yield (f'<path d="M60 {at:.1f}H480" stroke="#ddd"/>'
               f'<text x="54" y="{at + 4:.1f}" text-anchor="end">{10 ** power:g} s</text>')
    for r in results:
        yield f'<text x="{x(r):.1f}" y="345" text-anchor="middle">{name(r)}</text>'
    for n, (key, colour) in enumerate(zip(keys, colours)):
        points = " ".join(f"{x(r):.1f},{y(r[key]):.1f}" for r in results)
        yield (f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
               f'<text x="510" y="{40 + 22 * n}" fill="{colour}">{key[:-3]}</text>')
    yield "</svg>"


def main(folder):
    results = []
    for path in glob.glob(f"{folder}/*.json"):
        with open(path) as f:
            results.append(json.load(f))
    if not results:
        sys.exit("scale: nothing was measured")
    results.sort(key=lambda r: r["chunks"] * r["chunk, KiB"])
    lines = "\n".join(markdown(rows(results)))
    for suffix, text in (("md", lines), ("svg", "\n".join(picture(results)))):
        with open(os.path.join(folder, f"scale.{suffix}"), "w") as f:
            f.write(text + "\n")
    print(lines)
    print(f"{folder}/scale.md, {folder}/scale.svg")


if __name__ == "__main__":
    main(*sys.argv[1:])
