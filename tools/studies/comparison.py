"""Two results side by side: reads runs (NAME.json), benchmarks (run/bench.sh) and studies (results.json) into points of one
shape, says what differs in the setting, refuses what is not the same physics, and judges the outcome. tools/compare.py is the
command."""
import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from kinds import wrong_file

from . import stats
from .view import steps_text

AVERAGES = ("temperature", "potential_energy", "pressure")
ALWAYS_NEW = ("started", "command", "run_id", "missing", "physics_keys", "all_without")  # of any two runs, or no setting
NO_TIME = ("time was up", "ended while it ran", "discarded")
NOT_BITS = ("output.", "report.", "restart.", "run.walltime", "host", "during the loop", "nvidia-smi", "deck_hash.all", "SLURM",
            "PBS", "LSB", "batch_job")  # settings that change nothing of what is computed
COMPARED = ("report", "record", "study")  # kinds of files
GOOD, UNCHECKED, BAD = 2, 1, 0
LOAD_APART = 0.5  # of loads: as if half a processor had other work in one of the two
RANKS = {"PASSED": GOOD, "energy kept": GOOD, "FAILED": BAD, "ENERGY LOST": BAD}


class Incomparable(Exception):
    """Two results that cannot be compared, or a file that is none; one message an item."""

    def __init__(self, messages):
        super().__init__("\n".join(messages))
        self.messages = messages


def is_physics(key):
    """Whether an option is of kind physics (mdmini --list-options); reports name them only by their values."""
    of_system = key.split(".")[0] in ("system", "potential", "ensemble") and key != "system.random"  # where numbers are made
    return of_system or key in ("run.steps", "run.timestep") or key.startswith("run.minimize")


@dataclass
class Point:
    """What was measured of one thing. inputs: what must be equal for a comparison; rank: None where it was not measured."""
    id: str
    inputs: dict
    verdict: str = None
    rank: int = None
    reason: str = ""
    speeds: list = field(default_factory=list)   # atom-steps/s of each run that counts
    stages: dict = field(default_factory=dict)   # {stage: seconds per step}
    figures: dict = field(default_factory=dict)  # {name: number}
    averages: dict = None                        # over the second half of the run; of a report of an older mdmini none
    ran: dict = field(default_factory=dict)      # {stage: switches as they ran}
    base_ratio: dict = None                      # of a study: to its own base
    load: float = None                           # of the machine before it (1 min), where that is known


@dataclass
class Result:
    path: str
    kind: str      # run, benchmark, study
    title: str
    settings: dict  # {name: value}
    inputs: dict    # what must be equal
    points: dict    # {id: Point}


# --- reading ----------------------------------------------------------------------------------------------------------


def flatten(value, name=""):
    """{dotted name: leaf} of nested objects, without what differs between any two runs."""
    if not isinstance(value, dict):
        return {name: value}
    found = {}
    for key, inner in value.items():
        if key not in ALWAYS_NEW:
            found.update(flatten(inner, f"{name}.{key}" if name else key))
    return found


def force_error(checks):
    """The worst of a report's force checks over its bound."""
    return max((check["value"] / check["limit"] for check in checks if check["name"].startswith("forces") and
                check["value"] is not None and check["limit"]), default=None)


def point_of_runs(name, inputs, runs):
    """From the reports of a run that was repeated."""
    def one(get):
        values = [value for value in map(get, runs) if value is not None]
        return median(values) if values else None

    def per_step(report, stage):
        row = next((row for row in report["stages"] if row["stage"] == stage), {})
        n_timed = report["loop_seconds"] * (report["steps_per_second"] or 0)  # of a run that was resumed, not all
        return row["seconds"] / n_timed if row.get("seconds") and n_timed else None

    stages = {row["stage"]: one(lambda report, stage=row["stage"]: per_step(report, stage)) for row in runs[0]["stages"]}
    figures = {"force error / bound": force_error(runs[0].get("checks", [])),
               "energy drift per atom and step": one(lambda report: report["energy_drift_per_atom_step"]),
               "device bytes per atom": one(lambda report: report["memory_device_bytes"] / report["n_atoms"] or None),
               "joules per atom and step": one(lambda report: report.get("joules_per_atom_step")),
               "rebuilds": one(lambda report: report["n_rebuilds"]),
               "late rebuilds": one(lambda report: report["n_late_rebuilds"])}
    verdict = runs[0]["verdict"]
    load = one(lambda report: ((report.get("conditions") or {}).get("before") or {}).get("load_1min"))
    return Point(name, inputs, verdict, RANKS.get(verdict, UNCHECKED), "", [run["atom_steps_per_second"] for run in runs if run["atom_steps_per_second"]],
                 {key: value for key, value in stages.items() if value is not None},
                 {key: value for key, value in figures.items() if value is not None},
                 runs[0].get("averages"),
                 {row["stage"]: row["ran"] for row in runs[0]["stages"]}, load=load)


def clocks(report):
    """What the report says of the clocks during the loop."""
    during = report.get("conditions", {}).get("during") or {}
    found = flatten({"gpu": during.get("gpu"), "cpu_mhz": during.get("cpu_mhz")}, "during the loop")
    return {key: value for key, value in found.items() if key.endswith("mhz.median") and value is not None}


def read_run(path, data):
    options = {key: row["value"] for key, row in data["options"].items()}
    hashes = data["provenance"].get("deck_hash") or {}
    # Without the hash, which stands for the content of a file that is read, the name of that file has to do.
    physics = {key: Path(value).name if key == "system.file" else value for key, value in options.items() if is_physics(key)}
    point = point_of_runs("run", {"n_atoms": data["n_atoms"]}, [data])
    switches = {key: value for key, value in options.items() if not is_physics(key)}
    ranks = data.get("ranks") or {"n": 1}  # null: one process
    processes = {"processes": ranks["n"], "domains": " x ".join(map(str, ranks.get("grid") or [1]))}
    settings = {**switches, **processes, **flatten(data["provenance"]), **clocks(data)}
    title = f"{data['n_atoms']} atoms, {data['n_steps']} steps, {data['backend']}, {data['precision']} precision"
    return Result(path, "run", title, settings, {**physics, "physics of the deck (hash)": hashes.get("physics")}, {"run": point})


def read_row(row):
    inputs = {key: row[key] for key in ("atoms", "precision", "rule", "steps")}
    point = point_of_runs(row["row"], inputs, row["runs"]) if row["runs"] else Point(row["row"], inputs)
    point.verdict, point.reason = row["verdict"], row["not_run"] or ""
    if row["runs"]:
        point.rank = RANKS.get(row["verdict"], UNCHECKED)
    elif point.reason not in NO_TIME:
        point.rank, point.verdict = BAD, point.reason
    return point


def read_benchmark(path, data):
    state = (data["gpu_states"] or [None])[-1] or {}
    said = {f"nvidia-smi {key}": value for key, value in state.items() if not key.startswith(("temperature", "power"))}
    provenance = {key: value for key, value in (data["provenance"] or {}).items() if key != "deck_hash"}  # of the run that was the first
    settings = {**flatten(provenance), **said, "command": " ".join(data["command"])}
    points = [read_row(row) for row in data["rows"]]
    return Result(path, "benchmark", f"{len(points)} rows", settings, {}, {point.id: point for point in points})


def read_study_point(record, system):
    figures = {"force error / bound": (record.get("force_error") or {}).get("worst"),
               "energy drift per atom and step": record.get("drift"),
               "steps": steps_text(record) if "n_steps_of_runs" in record else record.get("n_steps"),
               "joules per atom and step": record.get("joules_per_atom_step")}
    point = Point(record["id"], system, record["verdict"], None, record.get("reason") or "")
    if record["status"] == "measured":
        point.rank = RANKS.get(record["verdict"], UNCHECKED)
        point.speeds = record["speeds"]
    elif record["status"] in ("failed", "crashed", "refused", "too slow"):
        point.rank, point.verdict = BAD, record["verdict"] if record["status"] == "failed" else record["status"]
    point.stages = {stage: row["seconds_per_step"] for stage, row in (record.get("stages") or {}).items()}
    point.figures = {key: value for key, value in figures.items() if value is not None}
    point.ran, point.base_ratio, point.load = record["ran"], record["ratio"], record.get("load_1min")
    return point


def base_steps(data, system):
    return next((steps_text(point) for point in data["points"] if point["id"] == system["base"]), None)


def read_study(path, data):
    provenance = {key: value for key, value in data["provenance"].items() if key != "deck_hash"}  # of whichever run was the first
    systems, settings, definition = {}, flatten(provenance), data["definition"]
    texts = {f"text of {name}": value for name, value in definition.get("files", {}).items()}
    decks = {key: value for key, value in texts.items() if key[len("text of "):] in definition.get("decks", [])}
    settings.update({key: value for key, value in texts.items() if key not in decks})
    for system in data["systems"]:
        words = system["words"] or {}
        systems[system["id"]] = {"atoms": system["n_atoms"], "dimension": system["dimension"], "deck": system["deck"],
                                 **{key: value for key, value in words.items() if is_physics(key)}}
        settings.update({f"{system['id']}: {key}": value for key, value in words.items() if not is_physics(key)})
        settings[f"{system['id']}: base"] = system["base"]
        if definition.get("design") != "ladder":  # whose rungs have a number each
            settings[f"{system['id']}: steps of the base"] = base_steps(data, system)
    for key in ("base", "design", "repeats", "seconds", "limit", "launcher"):
        settings[f"study {key}"] = definition.get(key)
    settings.update({f"{key} (changed within the study)": values for key, values in data["provenance_differs"].items()})
    points = [read_study_point(record, systems[record["system"]]) for record in data["points"]]
    return Result(path, "study", f"{data['name']}, {len(points)} points", settings, decks, {point.id: point for point in points})


def read(path):
    """A Result. Incomparable where the file is none."""
    file = Path(path)
    if file.is_dir():
        file = file / "results.json"
        if not file.exists():
            raise Incomparable([f"{path}: a folder without results.json (tools/study.py --report FOLDER makes that of a study)"])
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise Incomparable([wrong_file(str(file), *COMPARED, why=error.strerror)]) from error
    except ValueError as error:
        raise Incomparable([wrong_file(str(file), *COMPARED, why=f"not a JSON file: {error}")]) from error
    if not isinstance(data, dict):
        data = {}
    if "atom_steps_per_second" in data and data["atom_steps_per_second"] is None:
        raise Incomparable([f"{file}: a run of no steps has no speed"])
    try:
        if data.get("format") == "mdmini-study 1":
            return read_study(str(path), data)
        if "rows" in data and "gpu_states" in data:
            return read_benchmark(str(path), data)
        if "atom_steps_per_second" in data and "options" in data:
            return read_run(str(path), data)
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise Incomparable([f"{file}: not as mdmini or its tools write it: {type(error).__name__} {error}"]) from error
    raise Incomparable([wrong_file(str(file), *COMPARED)])


# --- several results of one side --------------------------------------------------------------------------------------


def join_texts(values):
    """The value that all have; of several a text of them."""
    found = list(dict.fromkeys(map(str, values)))
    return values[0] if len(found) == 1 else ", ".join(found)


def join_medians(rows):
    """{name: median} of dictionaries of numbers."""
    return {name: median(row[name] for row in rows if name in row) for name in dict.fromkeys(name for row in rows for name in row)}


def join_points(points):
    """One point of the same one in several results: all speeds, the worst verdict, medians; averages of the first, as of a
    benchmark's runs: with the same random numbers the others are no new measurement."""
    there = [point for point in points if point.rank is not None] or points
    worst = min(there, key=lambda point: point.rank or BAD)
    joined = replace(there[0], verdict=worst.verdict, rank=worst.rank, reason=worst.reason)
    joined.speeds = [speed for point in there for speed in point.speeds]
    joined.stages, joined.figures = (join_medians([getattr(point, name) for point in there]) for name in ("stages", "figures"))
    joined.ran = {stage: join_texts([point.ran.get(stage) for point in there]) for stage in there[0].ran}
    loads = [point.load for point in there if point.load is not None]
    joined.load = median(loads) if loads else None
    return joined


def read_side(paths):
    """A Result of one file, or of several that are repeats of each other."""
    results = [read(path) for path in paths]
    first = results[0]
    if len(results) == 1:
        return first
    for result in results:
        if result.kind == "study":
            raise Incomparable([f"{result.path} is a study: of each side one (tools/study.py --repeats N makes more rounds of it)"])
        check_inputs(first, result)
    settings = {key: join_texts([result.settings.get(key) for result in results])
                for key in dict.fromkeys(key for result in results for key in result.settings)}
    names = dict.fromkeys(name for result in results for name in result.points)
    points = {name: join_points([result.points[name] for result in results if name in result.points]) for name in names}
    return Result(", ".join(result.path for result in results), first.kind, f"{len(results)} of them, {first.title}", settings,
                  first.inputs, points)


# --- comparing --------------------------------------------------------------------------------------------------------


def differing(a, b):
    """[{"what", "a", "b"}] of two dictionaries; None: not there."""
    return [{"what": key, "a": a.get(key), "b": b.get(key)} for key in [*a, *(key for key in b if key not in a)]
            if a.get(key) != b.get(key)]


def load_rows(a, b, common):
    """Of differing, the loads of the machine, where both are known and differ by much: the median of what the points met."""
    loads = [[one.points[key].load for key in common if one.points[key].load is not None] for one in (a, b)]
    found = [median(known) if known else None for known in loads]
    is_apart = all(loads) and abs(found[0] - found[1]) >= LOAD_APART
    return [{"what": "load of the machine before the runs (1 min)", "a": found[0], "b": found[1]}] if is_apart else []


def check_inputs(a, b):
    """Incomparable, with all that differs, unless both are of the same kind and physics."""
    if a.kind != b.kind:
        raise Incomparable([f"{a.path} is a {a.kind}, {b.path} a {b.kind}"])
    hashed = "physics of the deck (hash)"
    mine, theirs = dict(a.inputs), dict(b.inputs)
    if mine.get(hashed) and theirs.get(hashed):
        if mine[hashed] == theirs[hashed]:
            mine = theirs = {}
    else:
        mine.pop(hashed, None), theirs.pop(hashed, None)
    found = [(row["what"], row) for row in differing(mine, theirs)]
    common = [key for key in a.points if key in b.points]
    for key in common:
        where = {"run": "", "study": f"{key.split('/')[0]}: "}.get(a.kind, f"{key}: ")  # points of a system have the inputs of it
        found += [(where + row["what"], row) for row in differing(a.points[key].inputs, b.points[key].inputs)]
    if found:
        lines = [f"  {what}: {row['a']} in {a.path}, {row['b']} in {b.path}" for what, row in found]
        raise Incomparable(["different inputs:", *dict.fromkeys(lines)])
    if not common:
        raise Incomparable(["no point in common: " + ", ".join(one.points) + f" in {one.path}" for one in (a, b)])
    return common


def same_bits_expected(a, b, mine, theirs):
    """Whether program, machine and all that is done were the same, but for what is written."""
    rows = [row for row in differing(a.settings, b.settings) if not row["what"].startswith(NOT_BITS)]
    return not rows and mine.ran == theirs.ran and not a.settings.get("dirty")


def compare_averages(a, b, mine, theirs):
    """{"same", "expected", "of": {name: {"a", "b", "p"}}}; p is not adjusted yet, nan where there is no error to go by. None: one
    has no averages."""
    sides = [mine.averages, theirs.averages]
    if not all(sides):
        return None
    found = {}
    for name in AVERAGES:
        ours = [side[name] for side in sides]
        is_known = all(one["error"] is not None for one in ours)
        p = stats.welch_p(*stats.difference(*((one["mean"], one["error"], side["blocks"] - 1) for one, side in zip(ours, sides)))) \
            if is_known else math.nan
        found[name] = {"a": ours[0], "b": ours[1], "p": p}
    same = all(row["a"]["mean"] == row["b"]["mean"] for row in found.values())
    return {"same": same, "expected": same_bits_expected(a, b, mine, theirs), "of": found}


def judge_averages(rows, confidence):
    """Outcomes from p values that are adjusted for all averages of all points."""
    averages = [row for point in rows if point.get("averages") for row in point["averages"]["of"].values()]
    for row, p in zip(averages, stats.adjust([row["p"] for row in averages])):
        row["p"] = None if math.isnan(p) else float(p)
        row["outcome"] = None if math.isnan(p) else "within the errors" if p >= 1 - confidence else "differs"


def verdict_of(point):
    return point.verdict if point.rank is not None else point.reason or "not run"


def compare_point(a, b, key, confidence, tolerance):
    """The record of one point, with p values that are not adjusted yet."""
    mine, theirs = a.points[key], b.points[key]
    row = {"id": key, "a": {}, "b": {}, "ratio": None, "outcome": None, "worse": []}
    for name, point in (("a", mine), ("b", theirs)):
        speeds = point.speeds if point.rank else []
        row[name] = {"verdict": verdict_of(point), "speed": stats.median(speeds) if speeds else None, "n_runs": len(speeds),
                     "figures": point.figures, "base_ratio": point.base_ratio}
    if mine.rank is not None and theirs.rank is not None and theirs.rank < mine.rank:
        row["worse"].append(f"verdict {verdict_of(theirs)}, was {verdict_of(mine)}")
    if mine.rank and theirs.rank and mine.speeds and theirs.speeds:
        row["ratio"] = stats.unpaired_ratio(mine.speeds, theirs.speeds, confidence)
        # Slower than the tolerance allows: as if what is allowed had been made up for.
        row["slack"] = stats.unpaired_ratio(mine.speeds, [speed / (1 - tolerance) for speed in theirs.speeds], confidence)
        row["stages"] = {stage: {"a": mine.stages.get(stage), "b": theirs.stages.get(stage)}
                         for stage in [*mine.stages, *(stage for stage in theirs.stages if stage not in mine.stages)]}
        row["averages"] = compare_averages(a, b, mine, theirs)
    return row


def as_record(ratio):
    return {key: None if math.isnan(value) else value for key, value in ratio._asdict().items()}


def judge(rows, confidence, tolerance):
    """Outcomes from p values that are adjusted for all points."""
    rated = [row for row in rows if row["ratio"]]
    for kind in ("ratio", "slack"):
        for row, p in zip(rated, stats.adjust([row[kind].p for row in rated])):
            row[kind] = row[kind]._replace(p=float(p))
    for row in rated:
        row["outcome"] = stats.outcome(row["ratio"], confidence)
        slack = row.pop("slack")
        if stats.outcome(slack, confidence) == "slower":
            row["worse"].append(f"slower by more than {tolerance:.3g}: {row['ratio'].value:.4g} of the speed")
        row["ratio"] = as_record(row["ratio"])


def compare(paths_a, paths_b, confidence=0.95, tolerance=0.02):
    """The comparison of two lists of files as one dictionary (tools/compare.py --json). Incomparable where there is none."""
    a, b = read_side(paths_a), read_side(paths_b)
    common = check_inputs(a, b)
    rows = [compare_point(a, b, key, confidence, tolerance) for key in common]
    judge(rows, confidence, tolerance)
    judge_averages(rows, confidence)
    return {"format": "mdmini-comparison 1", "kind": a.kind, "a": {"path": a.path, "title": a.title},
            "b": {"path": b.path, "title": b.title}, "confidence": confidence, "tolerance": tolerance,
            "settings": differing(a.settings, b.settings) + load_rows(a, b, common), "points": rows,
            "n_judged": sum(bool(row["ratio"]) and row["ratio"]["p"] is not None for row in rows),
            "only_a": [key for key in a.points if key not in b.points],
            "only_b": [key for key in b.points if key not in a.points],
            "worse": [f"{row['id']}: {text}" for row in rows for text in row["worse"]]}
