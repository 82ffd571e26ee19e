"""Results of studies that nobody made, and what a report of them says, part by part."""
import itertools
import random
import re

from studies import report, view

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
    points[2].update(n_late_rebuilds=7, n_steps=SHORT, drift=None)
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
                                    "is_late": "run.precision" in keys,
                                    **compared(chance, chance.uniform(0.8, 1.2))})
    return {"format": "mdmini-study 1", "name": f"{design}-try", "command": "tools/study.py try.ini --output try",
            "definition": {"design": design, "repeats": 6, "seed": 1}, "finished": False, "n_left_out": 3, "parts": 1, "confidence": 0.95,
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


def text_of(results, ceilings=None, shown=()):
    """report.md, with the captions of these pictures alone: the pictures of a whole report take seconds."""
    return "\n".join(report.sections(view.View(results), ceilings, (), [(one.name, one.caption) for one in shown]))
