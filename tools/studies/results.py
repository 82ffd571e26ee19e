"""What the runs of a study say: results.json, results.csv and the table on the terminal, made anew from the runs at any time.

A run is that of a point in a round, whichever shard made it; where there are several, the first one counts. A shard that makes
some of the points has runs of the base of its own: they count for nothing but that its points are compared with them. Points whose
verification failed, that crashed, were refused or too slow have no speed, and stand in no ratio, effect or ranking."""
import csv
import json
import math
from pathlib import Path

import numpy as np

from scripts import save_json

from . import stats
from .definition import JOINT, OWN_POINTS
from .records import outcome_text, read_study
from .rungs import differences, lacks_as_one_process
from .scaling import lines as scaling_lines, scaling
from .view import FEW_STEPS, drift_steps, steps_text, with_few_steps

STAGE_FIGURES = ("seconds_per_step", "share", "gb_per_s", "gflop_per_s", "bytes_per_step", "flops_per_step")
KERNEL_FIGURES = ("stage", "name", "block_size", "registers", "shared_bytes", "local_bytes", "occupancy", "launches")
# Of the provenance of a run: what is that of the machine and the program, not of the moment or of the settings.
SAME = ("version", "commit", "dirty", "build_type", "c_compiler", "c_flags", "hdf5", "backend", "backend_libraries", "machine",
        "machine_details", "kernels_folder", "host", "gpu", "cpu")


def number(value):
    """As JSON has it: null where there is none."""
    return None if value is None or not math.isfinite(value) else value


def interval_record(found):
    return {"value": number(found.value), "low": number(found.low), "high": number(found.high), "n": found.n}


def run_speed(run):
    return run["report"]["atom_steps_per_second"] if run else math.nan


def apart(keys):
    """The keys of the program: those that vary together told apart."""
    return {one for key in keys for one in key.split(JOINT)}


class PointRuns:
    """The runs of one point."""

    def __init__(self, point, runs, n_rounds):
        self.point, self.id, self.n_rounds = point, point["id"], n_rounds
        self.runs = sorted(runs, key=lambda run: (run["started"], run["shard"], run["round"]))
        ended = [run for run in self.runs if run["status"] != "ok"]
        # One failure counts, whatever the other runs say.
        self.made = {(run["shard"], run["round"]): run for run in self.runs if run["status"] == "ok"}
        first = {}
        for run in self.made.values():
            first.setdefault(run["round"], run)
        self.ok = sorted(first.values(), key=lambda run: run["round"])
        self.status = ended[0]["status"] if ended else "measured" if self.ok else "refused" if point["reason"] else "not run"
        self.reason = ended[0]["reason"] if ended else point["reason"] or ("" if self.ok else "not run yet")
        self.ran = next((run["ran"] for run in self.runs if run["report"]), {})
        self.dropped = set()

    def is_measured(self):
        return self.status == "measured"

    def verdict(self):
        if self.status == "failed":
            return "FAILED"
        verified = [run["report"]["verdict"] for run in self.ok if run["verified"]]
        return verified[0] if verified else None

    def used(self):
        return [run for run in self.ok if (run["shard"], run["round"]) not in self.dropped]

    def speeds(self, blocks):
        """[n_blocks] of all runs that were made, nan where a shard has none in a round."""
        return np.array([run_speed(self.made.get(block)) for block in blocks], dtype=float)

    def series(self, rounds, base=None):
        """[n_rounds], nan where the point has no run that counts. base: what it is to be compared with; where the shard of a run has
        a run of the base of its own, the speed is that beside the run of the base that counts. nan, too, where it should
        have one, as a shard that makes some of the points, and has none yet."""
        used = {run["round"]: run for run in self.used()}
        beside = {run["round"]: run for run in base.ok} if base else {}
        found = []
        for n_round in rounds:
            run = used.get(n_round)
            here = base.made.get((run["shard"], n_round)) if run and base else None
            is_alone = run and base and not here and int(run["shard"].split("/")[1]) > self.n_rounds
            found.append(math.nan if is_alone else run_speed(run) * (run_speed(beside[n_round]) / run_speed(here) if here else 1))
        return np.array(found, dtype=float)

    def step_counts(self):
        """The numbers of steps of its runs: one, but where parts have chosen them apart."""
        return sorted({run["report"]["n_steps"] for run in self.made.values()})

    def median(self, get):
        """Of the runs that count; where none does, of those that failed."""
        runs = self.used() or [run for run in self.runs if run["report"]]
        values = [value for value in map(get, runs) if value is not None]
        return float(np.median(values)) if values else None

    def force_error(self):
        """The worst of the force checks over its bound, of the first run that was compared with the reference."""
        verified = [run["report"] for run in self.runs if run["report"] and run["verified"]]
        checks = [check for check in verified[0]["checks"] if check["name"].startswith("forces")] if verified else []
        if not checks:
            return None
        rms = [check["rms"] for check in checks if check.get("rms") is not None]
        known = [check["value"] is not None and check["limit"] for check in checks]
        worst = max(check["value"] / check["limit"] for check in checks) if all(known) else None
        return {"worst": worst, "rms": max(rms) if rms else None}

    def stages(self):
        found = {}
        for name in [stage["stage"] for stage in self.used()[0]["report"]["stages"]] if self.used() else []:
            def one(key, run, per_step=False, name=name):
                row = next((row for row in run["report"]["stages"] if row["stage"] == name), {})
                value = row.get(key)
                scale = (row["calls"] if key.startswith("model") else 1) / run["report"]["n_steps"] if per_step else 1
                return None if value is None else value * scale
            figures = [self.median(lambda run, key=key, per=per: one(key, run, per)) for key, per in
                       (("seconds", True), ("share", False), ("gb_per_s", False), ("gflop_per_s", False),
                        ("model_bytes", True), ("model_flops", True))]
            if figures[0]:
                found[name] = dict(zip(STAGE_FIGURES, figures))
        return found


class SystemTable:
    """The points of a system with all that is said of them."""

    def __init__(self, record, points, study):
        self.record, self.points = record, points
        self.design, self.confidence = study["definition"]["design"], study["definition"]["confidence"]
        self.switches = set(study["switches"])
        self.drop_warm_up()
        self.base = points[0]
        if self.design == "ladder":  # the first rung that can be measured at all
            self.base = next((point for point in points if point.is_measured()), points[0])
        self.compared = {}
        for k, point in enumerate(points):
            self.compared[point.id] = self.compare(k, point)
        self.adjust()

    def blocks(self):
        """What one shard did in one round."""
        return sorted({block for point in self.points for block in point.made})

    def drop_warm_up(self):
        """Leading rounds of each shard until times are stationary."""
        dropped = []
        for shard in sorted({shard for shard, _ in self.blocks()}):
            mine = [block for block in self.blocks() if block[0] == shard]
            measured = [point for point in self.points if point.is_measured()]
            if not measured:
                continue
            times = 1 / np.array([point.speeds(mine) for point in measured]).T
            dropped += mine[:stats.warm_up(times)]
        for point in self.points:
            point.dropped = set(dropped)
        self.warm_up = {"dropped_rounds": len(dropped), "rounds": [[shard, n_round + 1] for shard, n_round in dropped],
                        "reason": "faster or slower than the later rounds scatter" if dropped else
                        "stationary from the start" if self.blocks() else "no runs"}

    def rounds(self):
        return sorted({run["round"] for point in self.points for run in point.used()})

    def ratio(self, base, other, beside=None):
        """other over base; beside: what both are compared with, if that is not the base."""
        one, two = (point.series(self.rounds(), beside or base) for point in (base, other))
        return stats.paired_ratio(one, two, self.confidence)

    def speeds(self, points):
        """[n_rounds, n_points], as they are to be compared."""
        return np.array([point.series(self.rounds(), self.base) for point in points]).T

    def has_no_effect(self, base, point):
        """It sets nothing but switches that say in the report how they ran, and these ran as in the base."""
        keys = apart(point.point["said"])
        return point is not base and keys and keys <= self.switches and point.ran == base.ran

    def twin(self, k, point):
        """The first point of a design of factors that ran the same; None where there is none."""
        base = self.base.point["settings"]
        for other in self.points[:k] if self.design not in OWN_POINTS else []:
            mine, theirs = ({**base, **one.point["settings"]} for one in (point, other))
            keys = apart(key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key))
            if other.is_measured() and keys <= self.switches and other.ran == point.ran:
                return other
        return None

    def compare(self, k, point):
        """{"ratio", "step_ratio"}: Ratios to the base, and of a ladder to the last rung before it that has a speed."""
        below = next((other for other in reversed(self.points[:k]) if other.is_measured()), None)
        against = below if self.design == "ladder" else self.base
        if not point.is_measured() or not against or not against.is_measured() or point is against:
            return {}
        same = against if self.has_no_effect(against, point) else self.twin(k, point)
        if same:
            point.status, point.reason = "without effect", f"it runs as {same.point['label']}"
            return {}
        found = {"ratio": self.ratio(self.base, point)}
        if self.design == "ladder":
            found["step_ratio"] = self.ratio(below, point)
        return found

    def adjust(self):
        """Many comparisons with one base: p values by Holm."""
        for kind in ("ratio", "step_ratio"):
            mine = [found for found in self.compared.values() if kind in found]
            for found, p in zip(mine, stats.adjust([found[kind].p for found in mine])):
                found[kind] = found[kind]._replace(p=float(p))

    def ratio_record(self, point, kind):
        ratio = self.compared[point.id].get(kind)
        if not ratio or math.isnan(ratio.value):
            return None
        return {**interval_record(ratio), "p": number(ratio.p), "outcome": stats.outcome(ratio, self.confidence)}

    def changed(self, k, point):
        against = self.base
        if self.design == "ladder":
            against = next((other for other in reversed(self.points[:k]) if other.ran), point)
        others = differences(point.ran, against.ran, apart(point.point["said"])) if point.ran and against.ran else ""
        return " ".join(filter(None, [point.point["change"], others]))

    def point_record(self, k):
        point = self.points[k]
        report = next((run["report"] for run in point.runs if run["report"]), {})
        speeds = point.series(self.rounds()) if point.is_measured() else np.array([])
        speed = stats.median_interval(speeds, self.confidence)
        step_counts = point.step_counts()
        return {"id": point.id, "system": self.record["id"], "label": point.point["label"], "settings": point.point["settings"],
                "changed": self.changed(k, point), "ran": point.ran, "status": point.status, "reason": point.reason,
                "verdict": point.verdict(), "deterministic": next((run["deterministic"] for run in point.runs if run["report"]), None),
                "n_late_rebuilds": max((run["report"]["n_late_rebuilds"] for run in point.runs if run["report"]), default=None),
                "n_steps": report.get("n_steps"), **({"n_steps_of_runs": step_counts} if len(step_counts) > 1 else {}),
                "n_runs": len({run["round"] for run in point.runs if run["report"]}), "n_used": len(point.used()),
                "speed": interval_record(speed) if speed.n else None, "speeds": [value for value in speeds if value == value],
                "ratio": self.ratio_record(point, "ratio"), "step_ratio": self.ratio_record(point, "step_ratio"),
                "force_error": point.force_error(), "drift": self.drift(point, min(step_counts, default=report.get("n_steps"))),
                "load_1min": point.median(lambda run: ((run["report"].get("conditions") or {}).get("before") or {}).get("load_1min")),
                "joules_per_atom_step": point.median(lambda run: run["report"].get("joules_per_atom_step")), "stages": point.stages(),
                "kernels": [{key: kernel[key] for key in KERNEL_FIGURES} for kernel in report.get("kernels", [])]}

    def drift(self, point, n_steps):
        """None, too, where the run was too short to have one."""
        if not n_steps or n_steps < drift_steps(self.record["n_atoms"]):
            return None
        return point.median(lambda run: run["report"]["energy_drift_per_atom_step"])

    def is_late(self, points, effect, base):
        """Whether one of those that an effect is about, at its levels or the base's, had rebuilds that came late."""
        told = {key: {level, base[key]} for key, level in zip(effect.factors, effect.levels)}
        return any(run["report"]["n_late_rebuilds"] for point in points for run in point.runs if run["report"]
                   if all(point.point["settings"][key] in levels for key, levels in told.items()))

    def ranking(self):
        """(groups of points, those that have a speed but stand in none, and why)."""
        measured = [point for point in self.points if point.is_measured()]
        if not measured:
            return [], {"points": [], "reason": ""}
        base = measured.index(self.base) if self.base in measured else None
        found = stats.groups(self.speeds(measured), self.confidence, base)
        left = [point for k, point in enumerate(measured) if k not in sum(found, [])]
        reason = "fewer than {} runs that count" if all(len(point.used()) < stats.MIN_ROUNDS for point in left) else \
            "fewer than {} rounds in common, with one another or with the base"
        return [[measured[i].id for i in group] for group in found], \
            {"points": [point.id for point in left], "reason": reason.format(stats.MIN_ROUNDS) if left else ""}

    def ran_besides(self, points, factors, levels, base):
        """The switches beside these factors that ran otherwise at these levels than at those of the base: then an effect is not of
        the factors alone. Of a full design such points are compared as have all other factors in common; of a fraction there
        are none, and what occurs at a level at all is compared."""
        groups = {}
        for point in points:
            setting = point.point["settings"]
            corner = tuple(setting[key] for key in factors)
            if all(level in (own, base[key]) for level, own, key in zip(corner, levels, factors)):
                others = tuple(value for key, value in setting.items() if key not in factors) if self.design == "full" else ()
                groups.setdefault(others, {}).setdefault(corner, []).append(point.ran)
        found = {}
        for corners in groups.values():
            for key in dict.fromkeys(key for runs in corners.values() for ran in runs for key in ran if key not in apart(factors)):
                at_corners = {frozenset(ran.get(key) for ran in runs if not lacks_as_one_process(ran, key)) for runs in corners.values()}
                if len(at_corners - {frozenset()}) > 1:
                    found[key] = None
        return list(found)

    def is_idle(self, points, key, levels, base):
        """Whether a factor changes nothing: it says in the report how it ran, and every level ran the same."""
        return all(one in self.switches and len({point.ran.get(one) for point in points}) == 1 for one in apart([key])) and \
            not any(self.ran_besides(points, [key], [level], base) for level in set(levels))

    def effects(self, factors):
        """Main effects and pairwise interactions on the logarithm of the speed, of the factors that change anything."""
        measured = [point for point in self.points if point.is_measured() or point.status == "without effect"]
        if self.design not in ("full", "fractional") or len(measured) < 2 or not factors or not self.rounds():
            return []
        logs = np.log(self.speeds(measured))
        base = self.points[0].point["settings"]
        levels = {key: [point.point["settings"][key] for point in measured] for key in factors}
        # Where the base's level has no speed, effects are told against the first that has one.
        base = {key: base[key] if base[key] in of_points else of_points[0] for key, of_points in levels.items()}
        levels = {key: of_points for key, of_points in levels.items() if not self.is_idle(measured, key, of_points, base)}
        found = stats.effects(logs, levels, self.confidence, base) if levels else []
        return [{"system": self.record["id"], "factors": effect.factors, "levels": effect.levels,
                 **interval_record(effect), "p": number(effect.p), "outcome": stats.outcome(effect, self.confidence),
                 "aliases": effect.aliases, "is_late": self.is_late(measured, effect, base),
                 "besides": self.ran_besides(measured, effect.factors, effect.levels, base)}
                for effect in found]

    def determinism(self):
        """Points that differ in one setting, and ran otherwise in no other switch, of which one gives the same bits each time: the
        ratio is the speed of the other over its speed, so what it is above 1 is the price of determinism. p is adjusted for all
        pairs of the system."""
        found = []
        measured = [point for point in self.points if point.is_measured()]
        base = self.points[0].point["settings"]
        for loose in measured:
            for strict in measured:
                if loose.ok[0]["deterministic"] or not strict.ok[0]["deterministic"]:
                    continue
                mine, theirs = ({**base, **point.point["settings"]} for point in (loose, strict))
                keys = [key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key)]
                if self.design == "ladder" or len(keys) > 1 or differences(loose.ran, strict.ran, apart(keys)):
                    continue
                found.append((loose.id, strict.id, self.ratio(strict, loose, self.base)))
        adjusted = stats.adjust([ratio.p for _, _, ratio in found])
        ratios = [ratio._replace(p=float(p)) for (_, _, ratio), p in zip(found, adjusted)]
        return [{"system": self.record["id"], "point": loose, "with": strict, "ratio":
                 {**interval_record(ratio), "p": number(ratio.p), "outcome": stats.outcome(ratio, self.confidence)}}
                for (loose, strict, _), ratio in zip(found, ratios)]


def facts(provenance):
    """{name: value} of what should be the same in all runs of a study; what stands in a group has the group's name before it."""
    found = {}
    for key in SAME:
        value = provenance.get(key)
        found.update({f"{key}.{name}": one for name, one in value.items()} if isinstance(value, dict) else {key: value})
    return found


def provenance_differs(provenances):
    """{name: its values} where they are not all the same."""
    all_facts = [facts(one) for one in provenances]
    names = list(dict.fromkeys(name for one in all_facts for name in one))
    values = {name: sorted({str(one.get(name)) for one in all_facts}) for name in names}
    return {name: found for name, found in values.items() if len(found) > 1}


def parts_of_points(runs):
    """In how many parts the points of a round were made (runner.Share); 1 where each part made whole rounds."""
    shards = {}
    for run in runs:
        shards.setdefault((run["point"].split("/")[0], run["round"]), set()).add(run["shard"])
    return max((int(shard.split("/")[1]) for together in shards.values() if len(together) > 1 for shard in together), default=1)


def make_results(study, runs):
    """results.json of study.json and the runs of all shards."""
    definition, tables, by_point = study["definition"], [], {}
    for run in runs:
        by_point.setdefault(run["point"], []).append(run)
    for system in study["systems"]:
        points = [PointRuns(point, by_point.get(point["id"], []), definition["repeats"]) for point in study["points"]
                  if point["system"] == system["id"]]
        tables.append(SystemTable(system, points, study))
    rankings = {table.record["id"]: table.ranking() for table in tables}
    reports = [run["report"] for run in sorted(runs, key=lambda run: run["started"]) if run["report"]]
    provenances = [report["provenance"] for report in reports]
    keys = [factor["key"] for factor in study["factors"] if factor["kind"] != "physics"]
    n_left_out = sum(definition["repeats"] - len({run["round"] for run in point.ok}) for table in tables for point in table.points
                     if point.status in ("measured", "without effect", "not run"))
    return {"format": "mdmini-study 1", "name": definition["name"], "command": study["command"], "definition": definition,
            "finished": n_left_out == 0, "n_left_out": n_left_out, "parts": parts_of_points(runs),
            "confidence": definition["confidence"],
            "systems": [{**table.record, "base": table.base.id, "warm_up": table.warm_up} for table in tables],
            "factors": study["factors"],
            "points": [table.point_record(k) for table in tables for k in range(len(table.points))],
            "effects": [effect for table in tables for effect in table.effects(keys)],
            "ranking": {id: groups for id, (groups, _) in rankings.items()},
            "not_ranked": {id: left for id, (_, left) in rankings.items()},
            "determinism": [row for table in tables for row in table.determinism()],
            "scaling": scaling(tables, study["factors"]),
            "provenance": provenances[0] if provenances else {},
            "provenance_differs": provenance_differs(provenances)}


def write_csv(path, results):
    """A row for each point: its levels, and what is said of it."""
    keys = [factor["key"] for factor in results["factors"]]
    head = ["system", "n_atoms", "point", *keys, "status", "verdict", "deterministic", "n_late_rebuilds", "n_steps", "n_runs",
            "n_used", "atom_steps_per_second", "speed_low", "speed_high", "ratio", "ratio_low", "ratio_high", "p", "outcome",
            "step_ratio", "step_ratio_low", "step_ratio_high", "step_p", "step_outcome", "force_error_over_bound",
            "drift_per_atom_step", "joules_per_atom_step", "reason"]
    systems = {system["id"]: system for system in results["systems"]}
    with open(path, "w", newline="", encoding="utf-8") as stream:
        out = csv.writer(stream, lineterminator="\n")
        out.writerow(head)
        for point in results["points"]:
            system = systems[point["system"]]
            speed, ratio, step = (point[key] or {} for key in ("speed", "ratio", "step_ratio"))
            levels = {**system["levels"], **point["settings"]}
            row = [system["id"], system["n_atoms"], point["label"], *(levels.get(key) for key in keys),
                   *(point[key] for key in ("status", "verdict", "deterministic", "n_late_rebuilds")), steps_text(point, ""),
                   *(point[key] for key in ("n_runs", "n_used")),
                   *(speed.get(key) for key in ("value", "low", "high")),
                   *(one.get(key) for one in (ratio, step) for key in ("value", "low", "high", "p", "outcome")),
                   (point["force_error"] or {}).get("worst"), point["drift"], point["joules_per_atom_step"], point["reason"]]
            out.writerow(["" if value is None else value for value in row])


def write_results(folder):
    """Makes everything derived anew; the results."""
    study, runs = read_study(folder)
    results = make_results(study, runs)
    save_json(str(Path(folder) / "results.json"), results)
    write_csv(Path(folder) / "results.csv", json.loads((Path(folder) / "results.json").read_text(encoding="utf-8")))
    return results


# ---- on the terminal

LATE = """* rebuilds came late: its list has missed pairs, so its speed is not that of a correct list, and a ratio between a row with
  this mark and one without it is not the worth of a switch (neighbor.rebuild = every at this interval and skin)"""


ADJUSTED = """(not distinguishable): its p value is adjusted for all comparisons of the table (Holm); its interval is not, and need
  not hold 1. More --repeats tell smaller differences apart"""


STEP_COUNTS = """runs of one point had different numbers of steps, and only those of one number may end with the same bits. Parts of a study may
  choose them apart; --words run.steps=N makes them the same"""


def is_left_open(point, is_ladder):
    """Not distinguishable, though its interval does not hold 1."""
    ratio = point["step_ratio" if is_ladder else "ratio"]
    return bool(ratio and ratio["outcome"] == "not distinguishable" and ratio["low"] is not None
                and not ratio["low"] <= 1 <= ratio["high"])


def row_text(point, is_ladder, width, steps_width):
    """A point as a line of the table."""
    speed, ratio = point["speed"], point["step_ratio" if is_ladder else "ratio"]
    if not speed or point["status"] != "measured":
        words = outcome_text(point["status"], point["reason"])
        return f"{point['label']:<{width}} {'-':>{steps_width}} {point['n_runs'] or '-':>4} {'-':>12}  {'-':>7} {'':>15}  " \
               f"{point['verdict'] or '':<8} {words}"
    late = "*" if point["n_late_rebuilds"] else " "
    found = f"{'-':>7} {'':>15}"
    if ratio:
        ends = f"{ratio['low']:.3f}..{ratio['high']:.3f}" if ratio["low"] is not None else ""
        found = f"{ratio['value']:7.3f} {ends:>15}"
    said = [point["changed"], "" if not ratio else {"not distinguishable": "(not distinguishable)", "too few runs": ""}
            .get(ratio["outcome"], ratio["outcome"])]
    return f"{point['label']:<{width}} {steps_text(point):>{steps_width}} {point['n_used']:4d} {speed['value']:12.4g}{late} {found}  " \
           f"{point['verdict'] or '':<8} {' '.join(filter(None, reversed(said)))}".rstrip()


def table_text(results):
    """The whole table for the terminal."""
    lines, is_ladder = [], results["definition"]["design"] == "ladder"
    percent = f"{results['confidence'] * 100:g} %"
    for system in results["systems"]:
        points = [point for point in results["points"] if point["system"] == system["id"]]
        width, steps_width = (max(len(text) for text in texts) for texts in (
            [point["label"] for point in points], [" " * 6, *map(steps_text, points)]))
        base = system["base"].split("/", 1)[1]
        against = "the rung below" if is_ladder else base
        lines += ["", f"{results['name']}: {system['backend']}, {system['label']}; ratio to {against}, {percent} interval",
                  f"{'point':<{width}} {'steps':>{steps_width}} {'runs':>4} {'atom-steps/s':>12}  {'ratio':>7} {percent:>15}  verdict"]
        lines += [row_text(point, is_ladder, width, steps_width) for point in points]
        if any(point["n_late_rebuilds"] and point["status"] == "measured" for point in points):
            lines.append(LATE)
        if any(is_left_open(point, is_ladder) for point in points):
            lines.append(ADJUSTED)
        few = [f"{point['label']} ({steps_text(point)})" for point in with_few_steps(results, points, system["base"])]
        if few:
            lines.append(f"{FEW_STEPS}: {', '.join(few)}")
        if any("n_steps_of_runs" in point for point in points):
            lines.append(STEP_COUNTS)
        if system["warm_up"]["dropped_rounds"]:
            lines.append(f"warm-up: {system['warm_up']['dropped_rounds']} rounds dropped, {system['warm_up']['reason']}")
        for group in system["aliases"]:
            lines.append("cannot be told apart: " + " = ".join(group))
    return "\n".join(lines + scaling_lines(results))
