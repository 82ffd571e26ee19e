#!/usr/bin/env python3
"""The picture of speeds beside other programs, by default that of README.md. It draws a record; it measures nothing.

For each size the fastest setting of each program that does not use double precision, or of one that uses nothing else the fastest,
in steps/s; above the bar of mdmini, how many times the speed of the best of the others it is. The file has the columns atoms, program, precision, rule, value (steps/s).

Needs matplotlib (Debian: python3-matplotlib)."""
import argparse
import csv
import os
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tools"))
from interpreter import need, run

need(__name__, ("matplotlib",))
from drawing import PAGE, SERIES, label_ticks, plt, save, use_style
from scripts import Parser

RECORD = TOP / "run/results/h200/peers.csv"


def read_speeds(path):
    """{program: {atoms: steps/s}}, the fastest of each."""
    with open(path, encoding="utf-8") as stream:
        rows = list(csv.DictReader(line for line in stream if not line.startswith("#")))
    not_double = {row["program"] for row in rows if row["precision"] != "double"}
    speeds = {}
    for row in rows:
        name = row["program"]
        if row["precision"] == "double" and name in not_double:
            continue
        mine = speeds.setdefault(name if name in not_double else f"{name}, double", {})
        mine[int(row["atoms"])] = max(mine.get(int(row["atoms"]), 0), float(row["value"]))
    return speeds


def over_the_best(speeds, atoms):
    """How many times the speed of the best other program mdmini has."""
    return speeds["mdmini"][atoms] / max(mine[atoms] for program, mine in speeds.items() if program != "mdmini" and atoms in mine)


def draw(speeds):
    sizes = sorted(speeds["mdmini"])
    width = 0.84 / len(speeds)
    figure, axis = plt.subplots(figsize=(PAGE, 2.5), constrained_layout=True)
    for k, (program, mine) in enumerate(speeds.items()):
        color, hatch = SERIES[k][:2]
        places = [(place + (k + 0.5) * width - 0.42, mine[atoms]) for place, atoms in enumerate(sizes) if atoms in mine]
        axis.bar(*zip(*places), width, color=color, hatch=hatch, edgecolor="white", linewidth=0.3, label=program)
    for place, atoms in enumerate(sizes):
        axis.annotate(f"{over_the_best(speeds, atoms):.0f} times the next", (place - 0.42, speeds["mdmini"][atoms]), (0, 2),
                      textcoords="offset points", ha="left", va="bottom", fontsize=7)
    axis.set_yscale("log")
    axis.set_ylim(50, 3 * max(speeds["mdmini"].values()))  # room for the label
    axis.set_ylabel("steps a second")
    axis.set_xlabel("atoms")
    label_ticks(axis.xaxis, range(len(sizes)), [f"{atoms:,}" for atoms in sizes])
    axis.tick_params(top=False)
    axis.legend(ncol=len(speeds), loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def main():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("record", nargs="?", metavar="PEERS.csv", default=str(RECORD), help="the speeds")
    parser.add_argument("-o", metavar="PREFIX", dest="prefix", help="of the picture; default: PEERS")
    arguments = parser.parse_args()
    use_style()
    try:
        speeds = read_speeds(arguments.record)
    except (OSError, KeyError, ValueError) as error:
        print(f"peers.py: error: {arguments.record}: no record of speeds: {error}", file=sys.stderr)
        return 2
    print(*save(draw(speeds), arguments.prefix or os.path.splitext(arguments.record)[0]))
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
