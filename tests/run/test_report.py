"""The report of a study: every point stands in it once and in its place, what failed is not ranked, and the same input makes the
same files."""
import distribution

distribution.need("numpy", "matplotlib")

import copy
import csv
import json
import os
import re
import sys
from pathlib import Path

import drawing
import program
from invented_study import SHORT, CEILINGS, PEERS, lose, STUDIES, rows_of, sections_of
from studies import report
from studies.ceilings import read_ceilings
from studies.definition import StudyError
from studies import view
from studies.results import ADJUSTED, table_text, write_csv


def number_of(text):
    return float(text.replace(",", "").replace("\\*", ""))


def test_points(checks, name, results, text):
    """Each point in one of the two tables of its system, and what it has there; none that failed anywhere else."""
    sections = sections_of(text)
    for system in results["systems"]:
        heading = next(key for key in sections if key[0].startswith(system["label"]))[0]
        table, others = (rows_of(sections[heading, part]) for part in ("", "Without a speed"))
        scale = {"G": 1e9, "M": 1e6, "k": 1e3}[table[0][1][0]]
        listed = [row[0] for row in table[1:]] + [row[0] for row in others[1:]]
        points = [p for p in results["points"] if p["system"] == system["id"]]
        checks.that(sorted(listed) == sorted(f"`{p['label']}`" for p in points),
                    f"{name}, {system['id']}: the tables have {sorted(listed)}")
        for row in rows_of(sections[heading, "Accuracy against speed"])[1:]:
            n_steps = next(p["n_steps"] for p in points if row[0] == f"`{p['label']}`")
            checks.that((row[3] == "-") == (n_steps == SHORT), f"{name}: drift over {n_steps} steps: {row}")
        for point in points:
            good = point["status"] == "measured" and point["verdict"] == "PASSED"
            row = next(row for row in table + others if row[0] == f"`{point['label']}`")
            checks.that((row in table) == good, f"{name}: {point['id']} is in the wrong table")
            if good:
                low, high = (scale * number_of(part) for part in row[2].split(" to "))
                speed, unit = point["speed"], 0.2 * (point["speed"]["high"] - point["speed"]["low"])
                checks.near(scale * number_of(row[1]), speed["value"], unit, f"{name}: speed of {point['id']}")
                checks.near(low, speed["low"], unit, f"{name}: low end of {point['id']}")
                checks.near(high, speed["high"], unit, f"{name}: high end of {point['id']}")
                checks.that(("\\*" in row[1]) == bool(point["n_late_rebuilds"]), f"{name}: mark of {point['id']}: {row[1]}")
                ratio = point["step_ratio" if name == "ladder" else "ratio"]
                if ratio:
                    checks.near(number_of(row[3]), ratio["value"], 0.2 * (ratio["high"] - ratio["low"]),
                                f"{name}: ratio of {point['id']}")
                    checks.that(ratio["outcome"] in row, f"{name}: outcome of {point['id']}: {row}")
            else:
                checks.that(point["reason"].replace("|", "\\|") == row[-1], f"{name}: {point['id']} failed for {row[-1]!r}")
                elsewhere = [part for (head, part), lines in sections.items()
                             if head == heading and part not in ("", "Without a speed")
                             for one in rows_of(lines) if f"`{point['label']}`" in " ".join(one)]
                checks.that(not elsewhere, f"{name}: {point['id']} failed, and stands in {elsewhere}")
        effects = [effect for effect in results["effects"] if effect["system"] == system["id"]]
        for n, part in ((1, "Main effects"), (2, "Interactions")):
            head, *rows = rows_of(sections.get((heading, part), [])) or [[]]
            mine = [effect for effect in effects if len(effect["factors"]) == n]
            marked = [row for row in rows if head[-1] == "not of this switch alone" and row[-1] == "with `force.kernel`, `memory.sort`"]
            late = sum("\\*" in row[1] for row in rows)
            checks.that(not mine or late == sum(effect["is_late"] for effect in mine), f"{name}, {part}: {late} rows have the mark of late rebuilds")
            checks.that(len(rows) == len(mine) and len(marked) == sum(bool(effect["besides"]) for effect in mine),
                        f"{name}, {part}: {len(marked)} of {len(rows)} rows are marked")
        if name != "ladder":
            ranked = " ".join(" ".join(row) for row in rows_of(sections[heading, "Ranking"]))
            checks.that(all(row[0] in ranked for row in table[1:]), f"{name}: a point is not ranked: {ranked}")
    for expected in ("Unfinished: 3 runs", results["command"], "another GPU", "| commit | abcdef |", "| ecc | not known |",
                     "| gpu | not known: no GPU here |", "| kernels folder | the program's own |",
                     "No drift of runs of less than 13,000 steps", "| cpu.governor | not known: no cpufreq here |"):
        checks.that(expected in text, f"{name}: the report lacks {expected!r}")


def test_conditions(checks):
    """Parts that share the points, and loops that are much shorter than what was asked for."""
    study = json.loads(json.dumps(STUDIES["full"]))
    for parts, seconds, steps, words in ((1, None, None, "| length of a loop |"), (7, None, None, "| parts | 7, of some points each"),
                                         (1, 1e9, None, "s were asked for: **much shorter"), (1, 1e9, "40", "| length of a loop |")):
        study["parts"], study["definition"]["seconds"] = parts, seconds
        for system in study["systems"]:
            system["words"] = {"run.steps": steps} if steps else {}
        text = "\n".join(report.sections(view.View(study), None, (), []))
        told = "| parts |" in text, "**much shorter" in text
        checks.that(told == (parts > 1, bool(seconds) and not steps) and words in text, f"{parts} parts, {seconds} s, {steps} steps: {text[:1500]}")


def test_digits(checks):
    for value, low, high, expected in ((1.56623, 1.5573, 1.5753, ("1.566", "1.557 to 1.575")),
                                       (1.56623, 1.5655, 1.5670, ("1.5662", "1.5655 to 1.5670")),
                                       (0.0089012, 0.00885, 0.00895, ("0.00890", "0.00885 to 0.00895")),
                                       (1.3, 0.42, 2.3, ("1.3", "0.42 to 2.3")), (3.14, 0.0123, 17.4, ("3.1", "0.012 to 17")),
                                       (12345.6, 12000, 12800, ("12,300", "12,000 to 12,800")),
                                       (2.0, None, None, ("2.00", "-")), (None, None, None, ("-", "-"))):
        found = view.figures({"value": value, "low": low, "high": high})
        checks.that(found == expected, f"{value} from {low} to {high} is written as {found}")


def test_left_open(checks):
    """On the terminal: an interval without 1 beside `(not distinguishable)` is explained, and nothing where there is none."""
    study = copy.deepcopy(STUDIES["leave-one-out"])
    study.update(name="x", confidence=0.95)
    ratios = [point["ratio"] for point in study["points"] if point["ratio"]]
    for ratio in ratios:
        ratio.update(value=1.01, low=0.99, high=1.03, outcome="not distinguishable")
    checks.that(ADJUSTED not in table_text(study), "a note without a reason")
    ratios[1].update(low=1.002)
    checks.that(ADJUSTED in table_text(study), "an interval without 1 is not explained")


def test_files(checks, folder, name, ceilings, peers):
    """Pictures are there and not blank, labels are in the SVG, and a second time makes the same files."""
    results = STUDIES[name]
    paths = report.write(folder, results, ceilings, peers)
    text = (folder / "report.md").read_text()
    test_points(checks, name, results, text)
    for path in paths[1:]:
        checks.that(path.is_file() if isinstance(path, Path) else os.path.isfile(path), f"{path} is not there")
    for picture in sorted(folder.glob("*.png")):
        image = drawing.plt.imread(picture)[..., :3]
        share = (image.min(axis=2) < 0.9).mean()
        checks.that(min(image.shape[:2]) > 150 and share > 0.01, f"{picture.name}: {image.shape}, {share:.3f} of it drawn on")
        svg = picture.with_suffix(".svg").read_text()
        checks.that("<text" in svg and "atoms" in svg, f"{picture.name}: its SVG has no text")
        checks.that(f"({picture.name})" in text and f"({picture.stem}.svg)" in text, f"{picture.name} is not in the report")
    if name == "ladder":
        svg = (folder / "bars-s0.svg").read_text()
        for word in ("rung-00", "rung-02*", "rung-07", "speed (", "faster than the rung below"):
            checks.that(word in svg, f"the SVG of the ladder lacks {word!r}")
        checks.that(">rung-05" not in svg, "the SVG of the ladder has the rung that failed")
        (folder / "groups.svg").write_text("of another study")
        (folder / "mine.svg").write_text("of the user")
        report.write(folder, results, ceilings, peers)
        checks.that((folder / "mine.svg").exists() and not (folder / "groups.svg").exists(), "pictures of another time are gone")
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        report.write(folder, json.loads(json.dumps(results)), ceilings, peers)
        changed = [path.name for path in folder.iterdir() if path.read_bytes() != before.get(path.name)]
        checks.that(not changed, f"a second time, {changed} are other files")
        report.write(folder, results)
        changed = [path.name for path in folder.iterdir() if path.read_bytes() != before.get(path.name)]
        checks.that(not changed, f"with ceilings and peers of the first time, {changed} are other files")
        write_csv(folder / "results.csv", results)
        with open(folder / "results.csv", newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
            checks.that(len(rows) == len(results["points"]), f"results.csv has {len(rows)} rows of {len(results['points'])} points")
            for row, point in zip(rows, results["points"]):
                for kind, keys in (("ratio", ("p", "outcome")), ("step_ratio", ("step_p", "step_outcome"))):
                    told = point[kind] or {}
                    expected = {keys[0]: told.get("p"), keys[1]: told.get("outcome"), kind: told.get("value"), f"{kind}_low": told.get("low")}
                    checks.that(all(row[key] == ("" if value is None else str(value)) for key, value in expected.items()),
                                f"results.csv, {point['label']}: {row}, not {expected}")


def test_not_ranked(checks, folder):
    """A point that is left out of the ranking is named, and why."""
    results = json.loads(json.dumps(STUDIES["full"]))
    left = results["ranking"]["s0"].pop()[0]
    results["not_ranked"]["s0"] = {"points": [left], "reason": "few runs"}
    lines = sections_of(report.write(folder, results)[0].read_text())["32,000 atoms, cuda", "Ranking"]
    label = next(p["label"] for p in results["points"] if p["id"] == left)
    checks.that(f"Not ranked: `{label}` (few runs)." in lines and sum(label in line for line in lines) == 1, f"not ranked: {lines}")


def test_poor(checks, folder, ceilings, peers):
    """One run of each point has no intervals; of a study that has not run there is a report, too."""
    for design in ("full", "leave-one-out"):
        results = json.loads(json.dumps(STUDIES[design]))
        for one in [p[key] for p in results["points"] for key in ("speed", "ratio", "step_ratio") if p[key]] + results["effects"]:
            one.update(low=None, high=None, p=None)
        for p in results["points"]:
            for kind in ("ratio", "step_ratio"):
                if p[kind]:
                    p[kind]["outcome"] = "too few runs"
        results["ranking"]["s0"], results["not_ranked"]["s0"] = [], {"points": [p["id"] for p in results["points"]], "reason": "few runs"}
        text = report.write(folder, results, ceilings, peers)[0].read_text()
        checks.that("too few runs" in text and not re.search(r"\b(nan|None)\b", text), f"{design}: one run of each point")
        checks.that(sections_of(text)["32,000 atoms, cuda", "Ranking"] == ["", "There is none: few runs.", ""], f"{design}: no ranking")
        for p in results["points"]:
            lose(p, "not run", None, "time was up")
        results.update(effects=[], ranking={}, determinism=[], provenance={}, provenance_differs={})
        paths = report.write(folder, results, ceilings)
        text = paths[0].read_text()
        checks.that(len(paths) == 1 and text.count("time was up") == len(results["points"]), f"{design}: nothing ran: {paths}")


def test_without_matplotlib(checks, folder):
    keep = {key: sys.modules[key] for key in ("drawing", "studies.pictures")}
    sys.modules.update(dict.fromkeys(keep))
    try:
        paths = report.write(folder, STUDIES["ladder"])
    finally:
        sys.modules.update(keep)
    text = paths[0].read_text()
    checks.that(len(paths) == 1 and "No pictures" in text and "`rung-07`" in text, f"without matplotlib: {paths}")


def test_bad_files(checks, folder):
    bad = folder / "bad"
    for key, text, expected in (("ceilings", "{", "no JSON"), ("ceilings", "[1]", "no ceilings"),
                                ("ceilings", '{"ceilings": {"memory_bandwidth": 3}}', "no ceilings"),
                                ("ceilings", '{"quick": true, "ceilings": {"memory_bandwidth": {"cpu": 1}}}', "--quick"),
                                ("peers", "a,b\n1,2\n", "no column atoms, program, value, unit"),
                                ("peers", "atoms,program,value,unit\nx,y,1,steps/s\n", "row 1: atoms and value"),
                                ("peers", "atoms,program,value,unit\n1,y,1,steps/s\n5,y,1,ns/day\n", "row 2: the unit"),
                                ("peers", None, "no such file")):
        bad.unlink(missing_ok=True)
        if text:
            bad.write_text(text)
        try:
            {"ceilings": read_ceilings, "peers": report.read_peers}[key](str(bad))
            found = "it was taken"
        except StudyError as error:
            found = str(error)
        checks.that(str(bad) in found and expected in found, f"{text!r}: {found}, expected {expected!r}")


def main():
    checks = program.Checks()
    test_digits(checks)
    test_left_open(checks)
    test_conditions(checks)
    with program.temporary_folder() as folder:
        folder = Path(folder)
        ceilings, peers = folder / "ceilings.json", folder / "peers.csv"
        ceilings.write_text(json.dumps(CEILINGS))
        peers.write_text(PEERS)
        drawing.STYLE["savefig.dpi"] = 120  # coarser files are sooner made
        drawing.use_style()
        for name in ("ladder", "full"):
            (folder / name).mkdir()
            test_files(checks, folder / name, name, read_ceilings(ceilings), report.read_peers(peers))
        (folder / "plain").mkdir()
        test_without_matplotlib(checks, folder / "plain")
        (folder / "left").mkdir()
        test_not_ranked(checks, folder / "left")
        (folder / "poor").mkdir()
        test_poor(checks, folder / "poor", read_ceilings(ceilings), report.read_peers(peers))
        test_bad_files(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
