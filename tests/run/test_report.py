"""The report of a study: every point stands in it once and in its place, what failed is neither ranked nor drawn, the numbers
drawn are those of results.json, pictures are neither empty nor cut, and the same input makes the same files."""
import importlib.util
import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"
if not importlib.util.find_spec("matplotlib") and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON) \
        and os.path.exists(SYSTEM_PYTHON):
    os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-B"] + sys.argv)  # the distribution's modules are there
for module in ("numpy", "matplotlib"):
    if not importlib.util.find_spec(module):
        print(f"skipped: no {module} (Debian: python3-{module})")
        sys.exit(77)

import itertools
import json
import random
import re
from pathlib import Path

import drawing
import matplotlib.collections
import numpy as np
import program
from studies import pictures, report, view
from studies.definition import StudyError
from studies.ceilings import read_ceilings, stage_rows

SIZES = ((20, 32000), (63, 1000188))
SHORT = 10000  # steps: too short for a drift. (5e-5 + 2e-3 / sqrt(32000)) / 5e-9 = 12236, of a million atoms 10400
CEILINGS = {"ceilings": {"memory_bandwidth": {"unit": "GB/s", "cpu": 21, "cuda": 4100}, "l2_bandwidth": {"cuda": 9500},
                         "shared_bandwidth": {"cuda": 31000}, "peak_single": {"cuda": 2000}, "peak_double": {"cuda": 1000}},
            "provenance": {"machine": "a GPU"}}
PEERS = """# of another program
system,atoms,rule,program,precision,value,unit,source
lj,32000,every,OTHER,double,9600,steps/s,"a page, a table"
lj,1000188,every,OTHER,double,1.2e9,atom-steps/s,a page
"""


# --- results of a study that nobody made ------------------------------------------------------------------------------


def estimate(chance, value, share=0.01):
    return {"value": value, "low": value * (1 - share * chance.uniform(0.5, 1)),
            "high": value * (1 + share * chance.uniform(0.5, 1)), "n": 5}


def compared(chance, value):
    outcome = "not distinguishable" if abs(value - 1) < 0.02 else "faster" if value > 1 else "slower"
    return {**estimate(chance, value), "p": 0.4 if outcome.startswith("not") else 0.0004, "outcome": outcome}


def point_of(chance, system, label, settings, speed, against):
    """A measured point; against: {kind of ratio: speed}."""
    precision = settings.get("run.precision", "mixed")
    stages = {stage: {"seconds_per_step": 1e-5 * k, "share": 0.2, "gb_per_s": 700.0 * k,
                      "gflop_per_s": 700.0 * k * intensity or None,
                      "bytes_per_step": 1e6, "flops_per_step": 1e6 * intensity}
              for k, (stage, intensity) in enumerate((("sort", 0), ("force", 6.1), ("integrate", 0.16)), start=1)}
    kernels = [{"stage": "force", "name": "k", "launches": 9, "occupancy": float(settings.get("launch.block_size", 64)) / 512}]
    around = estimate(chance, speed)
    return {"id": f"{system}/{label}", "system": system, "label": label, "settings": settings, "changed": "",
            "ran": {"run.precision": precision}, "status": "measured", "reason": "", "verdict": "PASSED",
            "deterministic": settings.get("neighbor.write") != "atomic", "n_late_rebuilds": 0, "n_steps": 2 * SHORT, "n_runs": 6,
            "n_used": 5, "speed": around, "speeds": [0.99 * speed, speed, 1.01 * speed], "load_1min": 0.5,
            "ratio": compared(chance, speed / against["ratio"]) if "ratio" in against else None,
            "step_ratio": compared(chance, speed / against["step_ratio"]) if "step_ratio" in against else None,
            "force_error": {"worst": 0.004 * chance.uniform(0.9, 1.1), "rms": None},
            "drift": -1e-8 * chance.uniform(0.5, 2), "joules_per_atom_step": None, "stages": stages, "kernels": kernels}


def lose(point, status, verdict, reason):
    point.update(status=status, verdict=verdict, reason=reason, speed=None, ratio=None, step_ratio=None, n_used=0, stages={})


def make_points(chance, design, system, n_atoms, factors):
    if design == "ladder":
        chosen = [(f"rung-{k:02}", {}) for k in range(8)]
    elif design == "full":
        combinations = [dict(zip(factors, levels)) for levels in itertools.product(*factors.values())]
        chosen = [(" ".join(f"{key}={level}" for key, level in one.items()), one) for one in combinations]
    else:
        chosen = [("base", {})] + [(f"{key}={level}", {key: level}) for key, levels in factors.items() for level in levels[1:]]
    points, speeds = [], []
    for k, (label, settings) in enumerate(chosen):
        cost = 1 - 0.3 * (settings.get("neighbor.write") == "atomic") - 0.4 * (settings.get("run.precision") == "double")
        speeds.append(5e4 * n_atoms ** 0.8 * cost * chance.uniform(0.9, 1.1) * (1.5 ** k if design == "ladder" else 1))
        against = {"ratio": speeds[0]} if k else {}
        if design == "ladder" and k:
            against["step_ratio"] = speeds[-2]
        points.append(point_of(chance, system, label, settings, speeds[-1], against))
    lose(points[3], "failed", "FAILED", "forces off | by 3 bounds")
    lose(points[4], "refused", None, "no such combination")
    points[5].update(verdict="FAILED", reason="the energy went away")  # its speed is still there, and must not count
    points[2].update(n_late_rebuilds=7, n_steps=SHORT)
    return points


def make(design, factors, sizes=SIZES, seed=1):
    chance = random.Random(seed)
    systems, points, effects, ranking = [], [], [], {}
    for k, (cells, n_atoms) in enumerate(sizes):
        mine = make_points(chance, design, f"s{k}", n_atoms, factors)
        systems.append({"id": f"s{k}", "label": f"{n_atoms:,} atoms", "deck": "inputs/melt.txt", "words": {"run.steps": "2000"},
                        "n_atoms": n_atoms, "dimension": 3, "backend": "cuda", "base": mine[0]["id"], "aliases": [],
                        "levels": {"system.cells": str(cells)} if len(sizes) > 1 else {},
                        "warm_up": {"dropped_rounds": 1, "reason": "slower than the later rounds scatter"}})
        points += mine
        fast = sorted((p for p in mine if p["speed"]), key=lambda p: -p["speed"]["value"])
        ranking[f"s{k}"] = [[p["id"] for p in fast[:2]]] + [[p["id"]] for p in fast[2:]]  # the failed one with a speed, too
        if design == "full":
            for keys in [[key] for key in factors] + [list(pair) for pair in itertools.combinations(factors, 2)]:
                for levels in itertools.product(*(factors[key][1:] for key in keys)):
                    effects.append({"system": f"s{k}", "factors": keys, "levels": list(levels), "aliases": [],
                                    "besides": ["force.kernel", "memory.sort"] if "neighbor.write" in keys else [],
                                    **compared(chance, chance.uniform(0.8, 1.2))})
    return {"format": "mdmini-study 1", "name": f"{design}-try", "command": "tools/study.py try.ini --output try",
            "definition": {"design": design, "repeats": 6, "seed": 1}, "finished": False, "n_left_out": 3, "confidence": 0.95,
            "systems": systems, "factors": [{"key": key, "kind": "performance", "levels": levels, "base": levels[0]}
                                            for key, levels in factors.items()],
            "points": points, "effects": effects, "ranking": ranking,
            "not_ranked": {key: {"points": [], "reason": ""} for key in ranking},
            "determinism": [{"system": "s0", "point": points[1]["id"], "with": points[0]["id"],
                             "ratio": compared(chance, 1.4)}],
            "provenance": {"commit": "abcdef", "machine": "a GPU", "ecc": None, "gpu": None, "kernels_folder": None, "cpu": {"model": "abc"},
                           "missing": {"gpu": "no GPU here", "cpu.governor": "no cpufreq here"}},
            "provenance_differs": {"machine": ["a GPU", "another GPU"]}}


FACTORS = {"neighbor.write": ["nonatomic", "atomic"], "run.precision": ["mixed", "double"],
           "launch.block_size": ["64", "128", "256"]}
STUDIES = {"full": make("full", FACTORS, SIZES[:1]), "ladder": make("ladder", {}, SIZES[:1]),
           "leave-one-out": make("leave-one-out", {"a.x": list("123"), "a.y": list("123"), "b.y": list("123")}, SIZES[:1]),
           "one-at-a-time": make("one-at-a-time", {"launch.block_size": "64 128 256 512 1024 32 96 192".split()}, SIZES[:1]),
           "alone": make("full", {"neighbor.write": list("abcdefg")})}


# --- the table --------------------------------------------------------------------------------------------------------


def rows_of(lines):
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines if line.startswith("| ")]


def sections_of(text):
    """{(## heading, ### heading or ""): lines}."""
    found, at = {}, ("", "")
    for line in text.splitlines():
        if line.startswith("## "):
            at = (line[3:], "")
        elif line.startswith("### "):
            at = (at[0], line[4:])
        else:
            found.setdefault(at, []).append(line)
    return found


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
            checks.that(len(rows) == len(mine) and len(marked) == sum(bool(effect["besides"]) for effect in mine),
                        f"{name}, {part}: {len(marked)} of {len(rows)} rows are marked")
        if name != "ladder":
            ranked = " ".join(" ".join(row) for row in rows_of(sections[heading, "Ranking"]))
            checks.that(all(row[0] in ranked for row in table[1:]), f"{name}: a point is not ranked: {ranked}")
    for expected in ("Unfinished: 3 runs", results["command"], "another GPU", "| commit | abcdef |", "| ecc | not known |",
                     "| gpu | not known: no GPU here |", "| kernels folder | the program's own |",
                     "No drift of runs of less than 13,000 steps", "| cpu.governor | not known: no cpufreq here |"):
        checks.that(expected in text, f"{name}: the report lacks {expected!r}")


def test_digits(checks):
    for value, low, high, expected in ((1.56623, 1.5573, 1.5753, ("1.566", "1.557 to 1.575")),
                                       (1.56623, 1.5655, 1.5670, ("1.5662", "1.5655 to 1.5670")),
                                       (0.0089012, 0.00885, 0.00895, ("0.00890", "0.00885 to 0.00895")),
                                       (1.3, 0.42, 2.3, ("1.3", "0.42 to 2.3")), (3.14, 0.0123, 17.4, ("3.1", "0.012 to 17")),
                                       (12345.6, 12000, 12800, ("12,300", "12,000 to 12,800")),
                                       (2.0, None, None, ("2.00", "-")), (None, None, None, ("-", "-"))):
        found = view.figures({"value": value, "low": low, "high": high})
        checks.that(found == expected, f"{value} from {low} to {high} is written as {found}")


# --- the pictures -----------------------------------------------------------------------------------------------------


def by_gid(figure):
    """{gid: artists} of what was drawn for a point."""
    found = {}
    for artist in figure.findobj(lambda artist: artist.get_gid() and not isinstance(artist, matplotlib.collections.Collection)):
        for gid in artist.get_gid().split(" s") if isinstance(artist, matplotlib.lines.Line2D) else [artist.get_gid()]:
            found.setdefault(gid if gid.startswith("s") or "/" not in gid else "s" + gid, []).append(artist)
    return found


def scale_of(axes):
    word = re.search(r"\((G|M|k)? ?atom-steps", " ".join([axes.get_xlabel(), axes.get_ylabel(), suplabel(axes.figure)]))
    return {"G": 1e9, "M": 1e6, "k": 1e3, None: 1}[word[1]]


def suplabel(figure):
    return figure._supylabel.get_text() if getattr(figure, "_supylabel", None) else ""


def interval_ends(axes, upright):
    """[(place, low, high)] of all error bars."""
    k = 1 if upright else 0
    return [(line[0][1 - k], line[0][k], line[1][k]) for collection in axes.collections
            if isinstance(collection, matplotlib.collections.LineCollection) for line in collection.get_segments()]


def has_interval(axes, estimated, scale, upright):
    return any(np.isclose(low * scale, estimated["low"]) and np.isclose(high * scale, estimated["high"])
               for _, low, high in interval_ends(axes, upright))


def test_bars(checks, look, picture, system=None):
    """Bars are as long as speeds, with their intervals; every measured point has one where all are to be shown."""
    drawn = by_gid(picture.figure)
    upright = picture.name == "groups"
    for gid, artists in drawn.items():
        point, bar = look.by_id[gid], artists[0]
        scale = scale_of(bar.axes)
        length = (bar.get_height() if upright else bar.get_width()) * scale
        checks.near(length, point["speed"]["value"], 1e-9 * length, f"{picture.name}: bar of {gid}")
        checks.that(has_interval(bar.axes, point["speed"], scale, upright), f"{picture.name}: no interval of {gid}")
    for axes in picture.figure.axes:
        ends = sorted((bar.get_x(), bar.get_x() + bar.get_width()) if upright else (bar.get_y(), bar.get_y() + bar.get_height())
                      for bar in axes.patches if bar.get_gid())
        checks.that(all(a[1] < b[0] + 1e-9 for a, b in zip(ends, ends[1:])), f"{picture.name}: bars lie on each other")
    if system:
        expected = {p["id"] for p in look.measured(system)}
        checks.that(set(drawn) == expected, f"{picture.name} draws {sorted(set(drawn) ^ expected)} otherwise than the table")


def test_marks(checks, look, picture):
    """Ratios, and points of accuracy against speed."""
    drawn = by_gid(picture.figure)
    for gid, artists in drawn.items():
        point = look.by_id[gid]
        if picture.name.startswith("ratios"):
            checks.near(artists[0].get_xdata()[0] if np.ndim(artists[0].get_xdata()) else artists[0].get_xdata(),
                        point["ratio"]["value"], 1e-9, f"{picture.name}: {gid}")
            checks.that(has_interval(artists[0].axes, point["ratio"], 1, False), f"{picture.name}: no interval of {gid}")
        else:
            x = [float(np.ravel(artist.get_xdata())[0]) for artist in artists]
            y = {float(np.ravel(artist.get_ydata())[0]) * scale_of(picture.figure.axes[0]) for artist in artists}
            errors = [point["force_error"]["worst"], *([abs(point["drift"])] if point["n_steps"] > SHORT else [])]
            checks.that(np.allclose(x, errors) and len(x) == len(errors), f"{picture.name}: {gid} at {x}")
            checks.that(np.allclose(list(y), point["speed"]["value"]), f"{picture.name}: {gid} at {y}")
    expected = {p["id"] for system in look.systems if picture.name.endswith(system["id"]) for p in look.measured(system)}
    missing = expected - set(drawn) - ({s["base"] for s in look.systems} if picture.name.startswith("ratios") else set())
    checks.that(not missing and drawn, f"{picture.name} lacks {missing}")


def test_lines(checks, look, picture):
    """Sweeps, and speed against size: lines through the speeds of their points."""
    n_points = 0
    for axes in picture.figure.axes:
        for line in axes.get_lines():
            ids = ["s" + part if k else part for k, part in enumerate((line.get_gid() or "").split(" s"))]
            if ids == [""]:
                continue
            points = [look.by_id[one] for one in ids]
            n_points += len(points)
            y = np.array(line.get_ydata()) * scale_of(axes)
            checks.that(np.allclose(y, [p["speed"]["value"] for p in points]), f"{picture.name}: {ids} at {y}")
            at = [next(s["n_atoms"] for s in look.systems if s["id"] == p["system"]) if picture.name == "sizes"
                  else float(p["settings"].get("launch.block_size", 64)) for p in points]
            checks.that(np.allclose(np.array(line.get_xdata(), dtype=float), at), f"{picture.name}: {ids} at {line.get_xdata()}")
    checks.that(n_points > 2, f"{picture.name}: {n_points} points")


def test_map(checks, look, picture):
    image = picture.figure.axes[0].get_images()[0].get_array()
    system = picture.name.split("-")[1]
    effects = [e for e in look.results["effects"] if e["system"] == system]
    found = np.sort(2 ** np.ma.compressed(np.ma.masked_invalid(image)))
    expected = np.sort([e["value"] for e in effects])
    checks.that(len(found) == len(expected) and np.allclose(found, expected), f"{picture.name}: {found}, expected {expected}")
    picture.figure.canvas.draw()
    ticks = [float(label.get_text()) for label in picture.figure.axes[1].get_yticklabels()]
    far = max(np.exp(np.abs(np.log(expected))))
    checks.that(len(ticks) == 5 and np.allclose(ticks, [1 / far, far ** -0.5, 1, far ** 0.5, far], rtol=0.005),
                f"{picture.name}: the scale has {ticks}, the cells {expected}")
    texts = [text.get_text() for text in picture.figure.axes[0].texts]
    for effect in effects:
        text = f"{effect['value']:.3g}"
        text = (text if effect["outcome"] != "not distinguishable" else f"({text})") + ("\u2020" if effect["besides"] else "")
        checks.that(text in texts,
                    f"{picture.name}: {text} is not written in {texts}")


def test_roofline(checks, look, picture, ceilings):
    drawn = by_gid(picture.figure)
    system = next(s for s in look.systems if picture.name.endswith(s["id"]))
    rows = [row for row in stage_rows(look, system, ceilings) if row["intensity"]]
    n = len({row["point"]["id"] for row in rows})
    checks.that(len(rows) == 2 * n, f"{picture.name}: {len(rows)} stages of {n} points")
    found = {artist.get_gid(): artist for artist in picture.figure.axes[0].get_lines() if artist.get_gid()}
    for row in rows:
        mark, entry = found[f"{row['point']['id']} {row['stage']}"], row["point"]["stages"][row["stage"]]
        x, y = (float(np.ravel(data)[0]) for data in mark.get_data())
        checks.near(y, entry["gflop_per_s"], 1e-6, f"{picture.name}: rate of {row['stage']}")
        checks.near(x, entry["gflop_per_s"] / entry["gb_per_s"], 1e-9, f"{picture.name}: operations a byte of {row['stage']}")
    for name, value in (("memory_bandwidth", 4100), ("peak_single", 2000), ("peak_double", 1000)):
        x, y = found[name].get_data()
        checks.near(y[0] / (x[0] if name == "memory_bandwidth" else 1), value, 1e-6 * value, f"{picture.name}: {name}")
    shares = {row["stage"]: (row["bound"], row["share"]) for row in rows}
    # force: 1400 GB/s at 6.1 operations a byte, above the ridge of 2000 / 4100; integrate: 2100 GB/s at 0.16, below it
    expected = {"force": ("arithmetic", 1400 * 6.1 / 2000), "integrate": ("memory", 2100 / 4100)}
    for stage, (bound, share) in expected.items():
        checks.that(shares[stage][0] == bound and abs(shares[stage][1] - share) < 1e-9, f"{stage}: {shares[stage]}")
    checks.that(drawn, f"{picture.name} is empty")


def text_of(results, ceilings=None, shown=()):
    """report.md, with the captions of these pictures alone: the pictures of a whole report take seconds."""
    return "\n".join(report.sections(view.View(results), ceilings, (), [(one.name, one.caption) for one in shown]))


def test_half_known(checks, path):
    """Without a roof of arithmetic nothing holds a stage; nor one whose operations nobody counted. Names of roofs stay inside."""
    results = json.loads(json.dumps(STUDIES["ladder"]))
    for point in results["points"]:
        point["stages"].get("integrate", {}).update(gflop_per_s=None, flops_per_step=None)
    look, system = view.View(results), results["systems"][0]
    whole = read_ceilings(path)
    for lost, words in (((), ""), (("peak_single", "peak_double"), "the roof of arithmetic in single precision"),
                        (("memory_bandwidth",), "the roof of main memory")):
        ceilings = {**whole, "roofs": {name: {} if name in lost else roof for name, roof in whole["roofs"].items()}}
        rows = stage_rows(look, system, ceilings)
        held = {row["stage"]: row["bound"] for row in rows}
        checks.that(held == {"sort": None if lost else "memory", "force": None if lost else "arithmetic", "integrate": None},
                    f"without {lost}: held by {held}")
        picture = pictures.draw_roofline(look, system, ceilings)
        text = text_of(results, ceilings, [picture])
        lines = rows_of(sections_of(text)["32,000 atoms, cuda", "Roofline"])
        for row in lines[1:]:
            checks.that((row[2] == row[4] == "not known") == (row[1] == "integrate"), f"without {lost}: {row}")
            checks.that((row[5] == row[6] == "-") == (bool(lost) or row[1] == "integrate"), f"without {lost}: {row}")
        checks.that((f"**Not measured: {words}**" in text) == bool(words) and (f"Not measured: {words}." in text) == bool(words),
                    f"without {lost} the report does not say so")
        test_room(checks, f"without {lost}", picture)
        axes = picture.figure.axes[0]
        for label in axes.texts:
            box, frame = label.get_window_extent(), axes.get_window_extent()
            checks.that(frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1,
                        f"without {lost}: {label.get_text()} leaves the frame: {box} of {frame}")
        drawing.plt.close(picture.figure)


def test_words(checks, look, picture):
    """Late rebuilds are marked, what a caption says is so, and no speed is below zero."""
    kind, figure = picture.name.split("-")[0], picture.figure
    if kind in ("groups", "sweep"):
        drawn = {point["id"] for point in map(look.by_id.get, by_gid(figure)) if point and point["n_late_rebuilds"]}
        n_marks = sum(text.get_text() == "*" for axes in figure.axes for text in axes.texts)
        checks.that(n_marks == len(drawn), f"{picture.name}: {n_marks} marks of {len(drawn)} points whose rebuilds came late")
        checks.that(("rebuilds came late" in picture.caption) == bool(drawn), f"{picture.name}: {picture.caption}")
    if kind in ("groups", "sweep", "accuracy"):
        checks.that(all(axes.get_ylim()[0] >= 0 for axes in figure.axes), f"{picture.name}: a speed below zero")
    if kind == "accuracy":
        checks.that("half the error" in picture.caption, f"{picture.name}: {picture.caption}")


def test_wide_intervals(checks):
    """Intervals that reach down to nothing draw no axis below zero."""
    for name, kinds in (("one-at-a-time", ("sweep", "accuracy")), ("full", ("sweep", "accuracy"))):
        results = json.loads(json.dumps(STUDIES[name]))
        for point in results["points"]:
            if point["speed"]:
                point["speed"]["low"] *= 0.01
        look = view.View(results)
        for picture in pictures.choose(look):
            if picture.name.startswith(kinds):
                test_words(checks, look, picture)
            drawing.plt.close(picture.figure)


def test_scatter(checks):
    """What the runs scatter by, the load before them, and which interval it is, are said; an interval far beyond all runs, too."""
    for design, n, interval in (("full", 5, "(Student's, of the mean of the logarithms)"), ("leave-one-out", 9, "of the median")):
        results = json.loads(json.dumps(STUDIES[design]))
        base, other = results["points"][0], results["points"][1]
        for point in results["points"]:
            if point["speed"]:
                point["speed"]["n"] = n
        text = text_of(results)
        checks.that("scatter by" not in text and "differ by a factor" not in text and "ends beyond" not in text,
                    f"{design}: runs that do not scatter are said to")
        row = next(row for row in rows_of(text.splitlines()) if row[0] == f"`{base['label']}`" and len(row) > 9)
        checks.that("0.99 to 1.01" in row, f"{design}: the extremes of the base: {row}")
        checks.that("| load of the machine | 0.5 to 0.5 before the runs" in text, f"{design}: no load")
        speed = base["speed"]["value"]
        base["speeds"], other["speeds"] = [0.5 * speed, speed, 1.6 * speed], [s * k for s, k in zip(other["speeds"], (0.6, 1, 1))]
        other["speed"]["high"] = 2.1 * max(other["speeds"])
        if other["ratio"]:
            other["ratio"]["high"] = 2.1 * max(other["speeds"]) / min(base["speeds"])
        results["points"][2]["load_1min"] = 3.2
        text = text_of(results)
        for words in ("**The runs of the base scatter by a factor of 3.2:", f"by a factor of more than 1.5: `{other['label']}`.",
                      f"scatter: `{other['label']}`.", "0.50 to 1.60", "0.5 to 3.2 before the runs"):
            checks.that(words in text, f"{design}: the report lacks {words!r}")
        for picture in pictures.choose(view.View(results)):
            kind = picture.name.split("-")[0]
            if kind in ("bars", "groups", "sweep", "sizes", "ratios"):
                expected = "(Student's, of the mean of the logarithms)" if kind == "ratios" else interval
                checks.that(f"95 % intervals {expected}" in picture.caption, f"{design}, {picture.name}: {picture.caption}")
                said = "The interval of" in picture.caption and "ends beyond 2 times" in picture.caption
                checks.that(said == (other["id"] in by_gid(picture.figure)), f"{design}, {picture.name}: a wide interval is drawn "
                            f"without a word, or words without it: {picture.caption}")
            drawing.plt.close(picture.figure)


def test_room(checks, name, picture):
    """Nothing that is written reaches beyond the picture, and no two ticks of an axis lie on each other."""
    figure = picture.figure
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    checks.that(box.x0 > -0.01 and box.y0 > -0.01 and box.x1 < width + 0.01 and box.y1 < height + 0.01,
                f"{name}: {picture.name}: what is drawn reaches from {box.min} to {box.max} inches, of {width} x {height}")
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            places = [*zip(axis.get_majorticklocs(), axis.get_majorticklabels()),
                      *zip(axis.get_minorticklocs(), axis.get_minorticklabels())]
            boxes = [label.get_window_extent() for place, label in places
                     if label.get_text() and label.get_rotation() == 0 and low <= place <= high]
            meet = [a for a, b in itertools.combinations(boxes, 2) if a.shrunk(0.9, 0.9).overlaps(b.shrunk(0.9, 0.9))]
            checks.that(not meet, f"{name}: {picture.name}: labels of ticks overlap at {meet}")


EXPECTED = {"full": ["bars-s0", "groups", "sweep-launch.block_size", "sizes", "interactions-s0", "accuracy-s0",
                     "roofline-s0"],
            "ladder": ["bars-s0", "sizes", "accuracy-s0", "roofline-s0"],
            "leave-one-out": ["ratios-s0", "sizes", "accuracy-s0", "roofline-s0"],
            "one-at-a-time": ["ratios-s0", "sweep-launch.block_size", "sizes", "accuracy-s0", "roofline-s0"],
            "alone": ["bars-s0", "bars-s1", "groups", "sizes", "accuracy-s0", "roofline-s0", "accuracy-s1", "roofline-s1"]}


def test_pictures(checks, name, results, ceilings, peers):
    look = view.View(results)
    if name == "leave-one-out":
        ratios = [point["ratio"] and point["ratio"]["value"] for point in look.ordered(results["systems"][0])]
        checks.that(ratios[0] is None and ratios[1:] == sorted(ratios[1:]), f"not the base, then what costs most: {ratios}")
    found = list(pictures.choose(look, ceilings, peers))
    names = [picture.name for picture in found if not (name == "leave-one-out" and picture.name.startswith("sweep"))]
    checks.that(names == EXPECTED[name], f"{name} has the pictures {names}")
    for picture in found:
        lost = {p["id"] for p in results["points"]} - {p["id"] for s in look.systems for p in look.measured(s)}
        drawn = " ".join(gid for gid in by_gid(picture.figure)) + " "
        checks.that(not any(f"{one} " in drawn for one in lost), f"{name}: {picture.name} draws what failed: {drawn}")
        kind = picture.name.split("-")[0]
        if kind in ("bars", "groups"):
            test_bars(checks, look, picture, next((s for s in look.systems if picture.name == f"bars-{s['id']}"), None))
        elif kind in ("ratios", "accuracy"):
            test_marks(checks, look, picture)
        elif kind in ("sweep", "sizes"):
            test_lines(checks, look, picture)
        elif kind == "interactions":
            test_map(checks, look, picture)
        elif kind == "roofline":
            test_roofline(checks, look, picture, ceilings)
        test_room(checks, name, picture)
        test_words(checks, look, picture)
        drawing.plt.close(picture.figure)


# --- the files --------------------------------------------------------------------------------------------------------


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


def test_peers(checks, path):
    """Steps a second become atom-steps a second, and both are drawn."""
    rows = report.read_peers(path)
    checks.that([row["speed"] for row in rows] == [32000 * 9600, 1.2e9], f"speeds of the others: {rows}")
    checks.that([row["atoms"] for row in rows] == [32000, 1000188], f"sizes of the others: {rows}")
    picture = pictures.draw_sizes(view.View(STUDIES["alone"]), rows)
    line = next(line for line in picture.figure.axes[0].get_lines() if line.get_label() == "OTHER, double, rebuild every")
    y = np.array(line.get_ydata()) * scale_of(picture.figure.axes[0])
    checks.that(np.allclose(y, [32000 * 9600, 1.2e9]), f"the others are drawn at {y}")
    drawing.plt.close(picture.figure)


def test_bad_files(checks, folder):
    bad = folder / "bad"
    for key, text, expected in (("ceilings", "{", "no JSON"), ("ceilings", "[1]", "no ceilings"),
                                ("ceilings", '{"ceilings": {"memory_bandwidth": 3}}', "no ceilings"),
                                ("ceilings", '{"quick": true, "ceilings": {"memory_bandwidth": {"cpu": 1}}}', "--quick"),
                                ("peers", "a,b\n1,2\n", "no column atoms, program, value, unit"),
                                ("peers", "atoms,program,value,unit\nx,y,1,steps/s\n", "row 1: atoms and value"),
                                ("peers", "atoms,program,value,unit\n1,y,1,steps/s\n5,y,1,ns/day\n", "row 2: the unit"),
                                ("peers", None, "No such file")):
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
    test_wide_intervals(checks)
    with program.temporary_folder() as folder:
        folder = Path(folder)
        ceilings, peers = folder / "ceilings.json", folder / "peers.csv"
        ceilings.write_text(json.dumps(CEILINGS))
        peers.write_text(PEERS)
        drawing.STYLE["savefig.dpi"] = 120  # coarser files are sooner made
        drawing.use_style()
        for name, results in STUDIES.items():
            test_pictures(checks, name, results, read_ceilings(ceilings), report.read_peers(peers))
        for name in ("ladder", "full"):
            (folder / name).mkdir()
            test_files(checks, folder / name, name, read_ceilings(ceilings), report.read_peers(peers))
        test_scatter(checks)
        test_half_known(checks, ceilings)
        test_peers(checks, peers)
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
