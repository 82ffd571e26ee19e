#!/usr/bin/env python3
"""Compares two results: two runs (NAME.json), two benchmarks (records of run/bench.sh) or two studies (their folders, or
results.json): two machines, two commits, two drivers. A is the older one, B what is asked about.

    tools/compare.py A B
    tools/compare.py --old a1.json a2.json a3.json --new b1.json b2.json b3.json

Of a run or a benchmark that was repeated --old and --new take all files. Those of one side must be of the same physics; their
speeds count together, and so does the worst verdict. A study has its repeats within.

First what differs in the setting: options, program, machine. Then, of each point that both have, speed with its ratio B / A,
verdict, accuracy, averages, and the stages that made the difference.

A speed is the median of the runs (of an even number the geometric mean of the two in the middle), the ratio that of the two
medians shown. Where both have three runs or more of a point, the ratio has an interval, and it is faster, slower or not
distinguishable (p values adjusted for all points of the comparison); with fewer it is a ratio and no more, and its speed is not judged. What differs between two sessions
on one machine without any reason, repeats within each do not show: below --tolerance no speed counts as worse.

Temperature, potential energy and pressure are averages over the second half of each run, with errors by means of blocks (averages of
NAME.json): "within the errors", or "differs" (Welch's t, p values adjusted in the same way). Of several runs of a side they are those
of the first. They count in no exit code.

Exit code 0: nothing is worse, of what could be judged; the last line says where there were too few runs for that (n_judged of
--json: points whose speed was). 1: a point is slower by more than --tolerance with confidence, or its verdict got worse (FAILED
where it PASSED, or no longer checked). 2: cannot be compared, since the physics differs or nothing is in common, or bad
input; what differs is on standard error. 141: nobody reads what it prints (| head).
"""
import argparse
import json
import sys

from interpreter import need, run

need(__name__, ("numpy",))
from studies import comparison
from scripts import Parser  # found by studies


def fraction(text):
    try:
        value = float(text)
    except ValueError:
        value = -1
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to below 1")
    return value


def read_arguments(words=None):
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="A B", help="result, or folder of a study, and what is compared with it")
    parser.add_argument("--old", nargs="+", metavar="FILE", help="in place of A: several runs of it, or records of run/bench.sh")
    parser.add_argument("--new", nargs="+", metavar="FILE", help="in place of B: the same")
    parser.add_argument("--tolerance", type=fraction, default=0.02, help="share of the speed that may be lost (0.02)")
    parser.add_argument("--confidence", type=fraction, default=0.95, help="of intervals and verdicts (0.95)")
    parser.add_argument("--json", action="store_true", help="the comparison as JSON")
    a = parser.parse_args(words)
    if a.old and a.new and not a.files:
        return a
    if len(a.files) != 2 or a.old or a.new:
        parser.error("two files are compared, A and B; of several on a side: --old FILE... --new FILE...")
    a.old, a.new = ([file] for file in a.files)
    return a


# --- text -------------------------------------------------------------------------------------------------------------


def shown(value, width=50):
    text = "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= width else text[:width - 3] + "..."


def columns(rows, indent="  "):
    """Lines of a table whose cells are texts."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows)]
    return [(indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths))).rstrip() for row in rows]


def setting_lines(found):
    if not found["settings"]:
        return ["setting: the same"]
    rows = [(row["what"], shown(row["a"]), shown(row["b"])) for row in found["settings"]]
    return ["setting"] + columns([("", "A", "B"), *rows])


def ratio_cells(row):
    """The ratio, its interval and the outcome as texts."""
    ratio = row["ratio"]
    if not ratio:
        return "-", "", ""
    if ratio["low"] is None:
        single = row["a"]["n_runs"] == row["b"]["n_runs"] == 1
        return f"{ratio['value']:.4f}", "", "single runs: no interval" if single else row["outcome"]
    return f"{ratio['value']:.4f}", f"{ratio['low']:.4f}..{ratio['high']:.4f}", row["outcome"]


def speed_lines(found):
    rows = [("point", "A atom-steps/s", "B", "runs", "B / A", f"{found['confidence'] * 100:g} %", "", "verdict A", "B", "")]
    for row in found["points"]:
        a, b = row["a"], row["b"]
        ratio, interval, outcome = ratio_cells(row)
        rows.append((row["id"], shown(a["speed"]), shown(b["speed"]), f"{a['n_runs']}, {b['n_runs']}", ratio, interval, outcome,
                     shown(a["verdict"], 30), shown(b["verdict"], 30), "WORSE" if row["worse"] else ""))
    return columns(rows)


def stage_lines(row, least):
    """Stages of a point whose time per step changed by more than a share of the whole step."""
    stages = row.get("stages") or {}
    whole = sum(times["a"] or 0 for times in stages.values())
    cells = [(f"time of {stage}", f"{shown(times['a'])} s", f"{shown(times['b'])} s",
              f"{times['b'] / times['a']:.4f}" if times["a"] and times["b"] else "")
             for stage, times in stages.items() if abs((times["b"] or 0) - (times["a"] or 0)) > least * whole]
    return [(name + " per step", *rest) for name, *rest in cells]


def has_ratio(name, a, b):
    """A drift may have either sign, and is mostly noise: a ratio of two means nothing. Steps of several lengths are a text."""
    return a and b and "drift" not in name and not isinstance(a, str) and not isinstance(b, str)


def figure_lines(row):
    cells = []
    for name in [*row["a"]["figures"], *(name for name in row["b"]["figures"] if name not in row["a"]["figures"])]:
        a, b = row["a"]["figures"].get(name), row["b"]["figures"].get(name)
        if a != b:
            cells.append((name, shown(a), shown(b), f"{b / a:.4g}" if has_ratio(name, a, b) else ""))
    ratios = [row[side]["base_ratio"] and row[side]["base_ratio"]["value"] for side in "ab"]
    if any(ratios):
        cells.append(("speed over that of its base", shown(ratios[0]), shown(ratios[1]), ""))
    return cells


def average_text(average):
    error = "" if average["error"] is None else f" +- {average['error']:.2g}"
    return "-" if average["mean"] is None else f"{average['mean']:.6g}{error}"


def average_lines(averages):
    """The averages over the second half of both runs."""
    def outcome(row):
        reasons = dict.fromkeys(row[side]["why"] for side in "ab" if row[side]["why"])
        if row["a"]["mean"] == row["b"]["mean"]:
            return "the same to the bit"
        if reasons:
            return f"no error to go by: {'; '.join(reasons)}"
        return f"differs (p {row['p']:.2g})" if row["outcome"] == "differs" else row["outcome"]

    return [(f"mean {name.replace('_', ' ')}", average_text(row["a"]), average_text(row["b"]), outcome(row))
            for name, row in averages["of"].items() if row["a"]["mean"] is not None or row["b"]["mean"] is not None]


def average_note(found, row):
    """What to say of the averages of a point besides; None: nothing."""
    averages = row.get("averages")
    if not averages:
        return "averages: none, as A or B is of an older mdmini: run it again" if row["ratio"] and found["kind"] == "run" else None
    if averages["same"]:
        return None
    return "averages differ though program, machine and switches are the same: only switches that are not deterministic may do that " \
           "(mdmini --list-variants)" if averages["expected"] else \
           "averages differ in bits: sums in another order round differently, and may lead the particles apart"


def detail_lines(found):
    """What there is to say of each point besides its speed; what is the same of all points, once."""
    lines, averages = [], [row.get("averages") for row in found["points"]]
    all_same = all(averages) and all(one["same"] for one in averages)
    for row in found["points"]:
        cells = stage_lines(row, 0 if found["kind"] == "run" else found["tolerance"]) + figure_lines(row)
        if row.get("averages") and not all_same:
            cells += average_lines(row["averages"])
        note = average_note(found, row)
        mine = (columns(cells) if cells else []) + ([f"  {note}"] if note else [])
        lines += [row["id"], *mine] if mine else []
    return lines + ["averages: the same to the bit"] if all_same else lines


def last_lines(found):
    """What is worse; or how much it says that nothing is."""
    if found["worse"]:
        return [f"WORSE: {what}" for what in found["worse"]]
    n, n_judged = len(found["points"]), found["n_judged"]
    if n_judged == 0:
        more = " (--old FILE... --new FILE..., or tools/study.py)" if found["kind"] == "run" else ""
        return [f"too few runs to judge any speed: that takes three of each or more{more}. No verdict is worse"]
    left = f", of {n_judged} points; the speed of {n - n_judged} more could not be judged: too few runs" if n_judged < n else ""
    return [f"nothing is worse{left}"]


def text(found):
    lines = [f"A  {found['a']['path']}: {found['kind']}, {found['a']['title']}",
             f"B  {found['b']['path']}: {found['kind']}, {found['b']['title']}", "", *setting_lines(found), "", "outcome",
             *speed_lines(found), "", *detail_lines(found), ""]
    lines += [f"only in {side.upper()}: {', '.join(found['only_' + side])}" for side in "ab" if found["only_" + side]]
    return "\n".join(lines + last_lines(found))


def main(words=None):
    a = read_arguments(words)
    try:
        found = comparison.compare(a.old, a.new, a.confidence, a.tolerance)
    except comparison.Incomparable as why:
        print("\n".join(f"compare.py: {message}" for message in why.messages), file=sys.stderr)
        return 2
    found["exit_code"] = 1 if found["worse"] else 0
    print(json.dumps(found) if a.json else text(found))
    return found["exit_code"]


if __name__ == "__main__":
    sys.exit(run(main))
