#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Makes bench.json and report.html of what was measured.

    report.py KERNEL RESULTS OUT            of the results in a folder
    report.py --readme BENCH.JSON README    the table of README, between its marks

Each figure is the median of the rounds, each ratio the median of the ratios within a round.
"""
import glob
import html
import json
import os
import sys
from math import ceil
from statistics import median

MIB = 1 << 20
OTHERS = ("dm-cache", "dm-cache-wt", "dm-writecache", "bcache")
RANDOM = {"read": "seq. read", "randread": "rnd. read", "write": "seq. write",
          "randwrite": "rnd. write"}


class Results:
    def __init__(self, results):
        self.results = results
        self.rounds = sorted({r["round"] for r in results})
        self.at = {(r["round"], r["target"], r["job"], r["pass"]): r for r in results}

    def names(self, key, **where):
        """Values of a key, in the order of their first results"""
        return list(dict.fromkeys(r[key] for r in self.results
                                  if all(r[k] == v for k, v in where.items())))

    def over_rounds(self, value):
        """Median over the rounds of value(get), where get(target, job, pass, key) is one round's;
        None if something it needs was not measured"""
        values = []
        for n in self.rounds:
            def get(target, job, pass_, key="iops", n=n):
                value = self.at[n, target, job, pass_]
                return value[key] if key in value else value["bytes_written"][key]
            try:
                values.append(value(get))
            except (KeyError, ZeroDivisionError):
                pass
        values = [v for v in values if v is not None]
        return median(values) if values else None

    def figure(self, target, job, pass_, key="iops"):
        return self.over_rounds(lambda get: get(target, job, pass_, key))


# ---------------------------------------------------------------- goals

def against(target, other, job, pass_, key="iops"):
    return lambda get: get(target, job, pass_, key) / get(other, job, pass_, key)


def best_of_others(target, job, pass_):
    def value(get):
        others = []
        for other in OTHERS:
            try:
                others.append(get(other, job, pass_))
            except KeyError:
                pass
        return get(target, job, pass_) / max(others, default=0)
    return value


def least_shift(kib, iops=140, mib_per_s=160, fast_ms=0.1, budget_mib_per_s=64):
    """How often a chunk is read before it is worth a swap with another one, the seconds that a
    hot set of 64 MiB needs at least: for these reads by the disk (see README.md), or for its bytes
    at the default migration_bandwidth; and how long the swaps themselves keep the disk busy"""
    slow_ms = 1000 / iops
    swap_ms = 2 * (slow_ms + fast_ms + kib / 1024 / mib_per_s * 1000)
    accesses = ceil(swap_ms / (slow_ms - fast_ms))
    least = max(64 / budget_mib_per_s, 65536 / kib * accesses / iops)
    return accesses, least, 65536 / kib * swap_ms / 1000


def goals(results):
    """Lines of (what, value of a round, least or None, most or None)"""
    yield "emptying a tier, against dd", lambda get: (
        get("fast", "empty", "320 MiB", "seconds") / get("tier", "empty", "320 MiB", "seconds")
    ), .85, None
    for pass_, least, most in (("write 128k", .95, None),
                               ("write 1m max_sectors_kb 127", .95, 1.05),
                               ("randwrite 4k once", .85, 1.3)):
        yield f"first {pass_}, against dm-linear", against("tier", "fast", "first", pass_), least, None
        if most:
            yield (f"first {pass_}: bytes that reach the tier, against dm-linear",
                   against("tier", "fast", "first", pass_, "fast"), None, most)
    for pass_, least in (("new", .5), ("mapped", .97)):
        yield (f"random write and fsync, {pass_}, against dm-linear",
               against("tier", "fast", "fsync", pass_), least, None)
    yield "hot set of 100 MiB: share promoted after 12 s", lambda get: (
        get("tier", "hot", "100 MiB", "fast") / (100 * MIB)), .95, None
    for target in ("tier", "tier-64k"):
        for pass_ in results.names("pass", target=target, job="overhead"):
            # An fsync hits nothing: where the disk has no cache, dm-linear does not even see it.
            yield (f"overhead, {pass_}, {target} against dm-linear",
                   against(target, "fast", "overhead", pass_),
                   None if pass_ == "randwrite fsync" else .97, None)
    for pass_ in results.names("pass", target="tier", job="published"):
        least = None if pass_ == "first randwrite" else .9 if pass_.startswith("first") else .95
        yield (f"published, {pass_}, against the best of {', '.join(OTHERS)}",
               best_of_others("tier", "published", pass_), least, None)
        if "rand" not in pass_:
            yield (f"published, {pass_}, against half of the file at the speed of each disk",
                   lambda get, p=pass_: get("tier", "published", p) * (
                       1 / get("fast", "published", p) + 1 / get("slow", "published", p)) / 2,
                   None, None)
    for other, least in (("dm-cache", 1), ("dm-writecache", 1), ("bcache", .85)):
        yield (f"zipf 1.1 over twice the fast device, again, tier-64k against {other}",
               against("tier-64k", other, "zipf", "again 1.1 twice"), least, None)
    for target, kib in (("tier", 1024), ("tier-64k", 64)):
        accesses, least, swaps = least_shift(kib)
        yield (f"hot set of 64 MiB moves, {target}: seconds until 90% are served fast; least: "
               f"{accesses} accesses of {65536 // kib} chunks, {least:.1f} s; in the goal is no time "
               f"of the disk for the swaps themselves, {swaps:.1f} s",
               lambda get, t=target: get(t, "shift", "moves", "seconds"), None, round(2 * least, 1))


# How the lines of a goal that may fall short begin, and where the time goes.
WHY = {
    "published, first write": "half of the file lies on the disk and is written there at once. What "
                              "others take in on flash they write to the disk later: see \"again\", "
                              "\"drain\" and the bytes that reached each disk",
    "random write and fsync, mapped": "a FLUSH is sent to the tier by the set, and not passed through",
    "hot set of 64 MiB moves, tier:": "the disk first serves the reads that make the moves worth while, "
                                      "then the moves themselves, a read and a write each, while it is "
                                      "asked for other chunks by 16 readers",
    "hot set of 64 MiB moves, tier-64k": "these swaps pay back in more than 10 s, so that they wait for "
                                         "the latency guard, whose floor is migration_min",
}

# ---------------------------------------------------------------- report.html

STYLE = """body { font: 15px sans-serif; max-width: 62em; margin: 2em auto; color: #222 }
table { border-collapse: collapse; margin: .5em 0 } td, th { padding: .15em .8em; text-align: right }
td:first-child, th:first-child { text-align: left } tr:nth-child(even) { background: #f3f3f3 }
.why { text-align: left }
.short { color: #b00; font-weight: bold } svg { display: block; margin: .5em 0 }
svg text { font: 12px sans-serif }"""


def number(value):
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(head, rows):
    """rows: of cells, or of (cell, class)"""
    yield "<table><tr>" + "".join(f"<th>{html.escape(h)}</th>" for h in head) + "</tr>"
    for row in rows:
        cells = (c if isinstance(c, tuple) else (c, "") for c in row)
        yield "<tr>" + "".join(f'<td class="{c}">{html.escape(str(t))}</td>' for t, c in cells) + "</tr>"
    yield "</table>"


def picture(values, unit):
    """Horizontal bars: values is of (name, number)"""
    most = max(v for _, v in values) or 1
    yield f'<svg width="760" height="{20 * len(values) + 4}" role="img">'
    for i, (name, value) in enumerate(values):
        y, width = 20 * i, 460 * value / most
        colour = "#c60" if name.startswith("tier") else "#aaa" if name in ("fast", "slow") else "#369"
        yield (f'<text x="110" y="{y + 14}" text-anchor="end">{html.escape(name)}</text>'
               f'<rect x="118" y="{y + 2}" width="{width:.1f}" height="16" fill="{colour}"/>'
               f'<text x="{width + 124:.1f}" y="{y + 14}">{number(value)} {unit}</text>')
    yield "</svg>"


def goal_rows(results):
    for what, value, least, most in goals(results):
        value = results.over_rounds(value)
        if value is None:
            continue
        short = least is not None and value < least or most is not None and value > most
        goal = "" if least is most is None else f"≥ {least}" if most is None else f"≤ {most}"
        why = next((w for start, w in WHY.items() if short and what.startswith(start)), "")
        yield what, (f"{value:.2f}", "short" if short else ""), goal, (why, "why")


def page(kernel, results):
    yield ('<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>dm-tier, measured</title>'
           f"<style>{STYLE}</style><h1>dm-tier, measured</h1>")
    yield (f"<p>Kernel {html.escape(kernel)}. Medians of {len(results.rounds)} rounds, ratios within a "
           "round. What is compared, and on which devices: tests/bench/README.md.</p><h2>Goals</h2>")
    yield from table(("", "measured", "goal", "why"), goal_rows(results))
    for job in results.names("job"):
        yield f"<h2>{html.escape(job)}</h2>"
        for pass_ in results.names("pass", job=job):
            yield f"<h3>{html.escape(pass_)}</h3>"
            targets = results.names("target", job=job, **{"pass": pass_})

            def column(key):
                return [results.figure(t, job, pass_, key) for t in targets]
            key, unit = ("iops", "IOPS") if None not in column("iops") else ("seconds", "s")
            yield from picture(list(zip(targets, column(key))), unit)
            columns = [column(k) for k in ("iops", "p50_us", "p99_us", "seconds")]
            columns += [[results.over_rounds(lambda get, t=t, d=d: get(t, job, pass_, d) / MIB)
                         for t in targets] for d in ("fast", "slow", "meta")]
            yield from table(("", "IOPS", "p50 µs", "p99 µs", "seconds", "MiB to fast", "to slow",
                              "to metadata"),
                             [(t, *map(number, c)) for t, *c in zip(targets, *columns)])
    yield "</html>"


# ---------------------------------------------------------------- README

MARKS = "<!-- make bench: begins -->\n", "<!-- make bench: ends -->\n"


def readme_rows(kernel, results):
    """Of a job's cells, first and again; of zipf again alone"""
    cells = {**{name: ("published", (f"first {rw}", f"again {rw}")) for rw, name in RANDOM.items()},
             "zipf 1.1 read": ("zipf", ("again 1.1 twice",))}
    cells = {name: c for name, c in cells.items() if c[0] in results.names("job")}
    yield f"| IOPS, {kernel} | {' | '.join(cells)} |"
    yield "|---" * (len(cells) + 1) + "|"
    for target in results.names("target", job="published"):
        if target == "fast":
            continue		# the file does not fit it
        values = [" / ".join(number(results.figure(target, job, pass_)) for pass_ in passes)
                  for job, passes in cells.values()]
        yield f"| {target} | {' | '.join(values)} |"


def readme(source, path):
    with open(source) as f:
        bench = json.load(f)
    with open(path) as f:
        before, rest = f.read().split(MARKS[0])
    rows = "\n".join(readme_rows(bench["kernel"], Results(bench["results"])))
    with open(path, "w") as f:
        f.write(before + MARKS[0] + rows + "\n" + MARKS[1] + rest.split(MARKS[1])[1])


def main(kernel, folder, out):
    results = []
    for path in sorted(glob.glob(f"{folder}/*.json")):
        with open(path) as f:
            results += json.load(f)
    if not results:
        sys.exit("bench: nothing was measured")
    with open(f"{out}/bench.json", "w") as f:
        f.write('{"kernel": %s, "results": [\n' % json.dumps(kernel))
        f.write(",\n".join(json.dumps(r) for r in results) + "\n]}\n")
    results = Results(results)
    with open(f"{out}/report.html", "w") as f:
        f.write("\n".join(page(kernel, results)) + "\n")
    for what, (value, short), goal, _ in goal_rows(results):
        print(f"{value:>7} {goal:8} {what}{'   SHORT OF IT' if short else ''}")
    print(f"{out}/bench.json, {out}/report.html")


if __name__ == "__main__":
    if sys.argv[1] == "--readme":
        readme(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
