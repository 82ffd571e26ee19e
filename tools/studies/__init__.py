"""Studies: a definition becomes points, points become runs, runs become a table. tools/study.py is the command.

    definition.py  the study file and the command line            -> Study
    listings.py    the program, asked for its options, variants and what it makes of a deck
    designs.py     Study and listings                             -> systems with their points
    rungs.py       the points of the ladder, and of one switch left out
    fractions.py   fractional two-level designs and their aliases
    steps.py       how many time steps a point is timed for, from a try in a small system
    runner.py      points in random order, resumed, in shards     -> runs.jsonl
    results.py     runs.jsonl, by the statistics of stats.py      -> results.json, results.csv, the table on the terminal
    report.py      results.json                                   -> report.md and pictures
"""
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
if str(TOP / "run") not in sys.path:
    sys.path.insert(0, str(TOP / "run"))  # runs that are watched, decks, budgets: shared with the benchmarks
