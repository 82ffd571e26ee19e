"""results.json -> report.md with its pictures: what was run, a table for each system, what failed or was not run apart from
it, the ranking in groups, effects, accuracy, the price of determinism, the time of each stage, provenance, and the command
that makes it again. Everything in it follows from results.json (and from the files of ceilings and peers), so the same
input makes the same files."""
import csv
import re
from pathlib import Path

from kinds import wrong_file
from scripts import save_json, shell_path

from .ceilings import NAMES, ROOFS, lacks, roof, roofline_points, stage_rows
from .definition import StudyError
from .records import read_json
from .scaling import section as scaling_section
from .view import (DRIFT_RESOLVED, FAR, FEW_STEPS, SCATTER, View, brief, code, drift_steps, extremes, figures, fixed, is_far,
                   probability, scatters, step_counts, steps_text, table, unit_of, with_few_steps)

EFFECTS = (("Main effects", "Ratio of speeds of a level to the level of the base, averaged over the levels of the other "
            "factors."),
           ("Interactions", "By what two together differ from the product of both: 1 means that they do not meet."))
MEETS = {"faster": "more than the product", "slower": "less than the product"}  # outcomes of interactions
NAMES_OF_PICTURES = r"((bars|ratios|interactions|accuracy|roofline)-s\d+|sweep-[a-z_.]+|groups|sizes)\.(png|svg)"
NO_PICTURES = "No pictures: matplotlib is not here (Debian: python3-matplotlib)."
STAR = "\\*"  # behind a speed: rebuilds came late; to Markdown a mere * means something
LATE_NOTE = (f"{STAR} Rebuilds came late: the list has missed pairs, so this is not the speed of a correct list, and a "
             "ratio between a row with this mark and one without it is not the worth of a switch.")
LATE_EFFECT = f"{STAR} Points at this level or the base's had rebuilds that came late: not the worth of a switch with correct lists."
STEP_COUNTS_NOTE = ("**Runs of one point had different numbers of steps**, which parts of a study may choose apart; "
                    "`run.steps` makes them the same.")
BESIDE = "beside.json"  # what a report was made with that no run knows, so that it can be made again


def write(folder, results, ceilings=None, peers=()):
    """Writes report.md and the pictures into the folder; returns their paths. ceilings: of read_ceilings; peers: of
    read_peers; where they are not given, those of the last time."""
    folder, view = Path(folder), View(results)
    ceilings, peers = beside(folder, ceilings, peers)
    for path in folder.iterdir():  # of another time, when there may have been more to draw
        if re.fullmatch(NAMES_OF_PICTURES, path.name):
            path.unlink()
    paths, pictures = draw(folder, view, ceilings, peers)
    report = folder / "report.md"
    again = f"{results['command']} --output {shell_path(folder.resolve().name)}"
    report.write_text("\n".join(sections(view, ceilings, peers, pictures, again)) + "\n", encoding="utf-8")
    return [report, *paths]


def beside(folder, ceilings, peers):
    """(ceilings, peers) as given, and else as kept in the folder; keeps them there."""
    path = folder / BESIDE
    kept = read_json(path) if path.exists() else {}
    ceilings, peers = ceilings or kept.get("ceilings"), list(peers) or kept.get("peers") or []
    if ceilings or peers:
        save_json(str(path), {"ceilings": ceilings and {**ceilings, "path": Path(ceilings["path"]).name}, "peers": peers})
    return ceilings, peers


def draw(folder, view, ceilings, peers):
    """(paths of the files, [(name, caption)]); None in place of the pictures where they cannot be drawn."""
    try:
        from drawing import save, use_style

        from .pictures import choose
    except ImportError:
        return [], None
    use_style()
    paths, pictures = [], []
    for picture in choose(view, ceilings, peers):
        paths += save(picture.figure, str(folder / picture.name), ("png", "svg"))
        pictures.append((picture.name, picture.caption))
    return paths, pictures


def read_peers(path):
    """[{"name", "atoms", "speed" (atom-steps/s), "source"}] of a CSV with the columns atoms, program, value, unit (steps/s
    or atom-steps/s) and, where they are there, precision, rule (of rebuilds) and source; lines that begin with # are
    passed over. StudyError: what is wrong with it, and where."""
    rows = []
    try:
        with open(path, newline="", encoding="utf-8") as stream:
            reader = csv.DictReader(line for line in stream if not line.startswith("#"))
            missing = [key for key in ("atoms", "program", "value", "unit") if key not in (reader.fieldnames or [])]
            if missing:
                raise StudyError([wrong_file(path, "peers", why=f"it has no column {', '.join(missing)}")])
            for number, row in enumerate(reader, start=1):
                rows.append(read_peer(row, f"{path}: row {number}"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise StudyError([wrong_file(path, "peers", why=getattr(error, "strerror", str(error)))]) from None
    return rows


def read_peer(row, where):
    try:
        atoms, value = int(row["atoms"]), float(row["value"])
    except (TypeError, ValueError):
        raise StudyError([f"{where}: atoms and value must be numbers"]) from None
    if row["unit"] not in ("steps/s", "atom-steps/s") or not atoms > 0 or not value > 0:
        raise StudyError([f"{where}: the unit must be steps/s or atom-steps/s, and atoms and value above 0"])
    name = ", ".join(filter(None, (row["program"], row.get("precision"), row.get("rule") and f"rebuild {row['rule']}")))
    return {"name": name, "atoms": atoms, "speed": value * (atoms if row["unit"] == "steps/s" else 1),
            "source": row.get("source") or ""}


def star(point):
    return STAR if point["n_late_rebuilds"] else ""


# --- the report -------------------------------------------------------------------------------------------------------


def sections(view, ceilings, peers, pictures, again=None):
    """All lines. again: the command that makes it once more."""
    shown = Shown(pictures)
    lines = [f"# Study: {view.results['name']}", ""]
    if not view.results["finished"]:
        lines += [f"**Unfinished: {view.results['n_left_out']} runs were not made.**", ""]
    lines += what_was_run(view)
    for system in view.systems:
        lines += [f"## {heading(view, system)}", "", *results_of(view, system), *others_of(view, system)]
        lines += shown.take(f"bars-{system['id']}", f"ratios-{system['id']}")
        lines += [*ranking_of(view, system), *effects_of(view, system), *shown.take(f"interactions-{system['id']}")]
        lines += [*accuracy_of(view, system), *shown.take(f"accuracy-{system['id']}"), *determinism_of(view, system)]
        lines += [*stages_of(view, system), *roofline_of(view, system, ceilings)]
        lines += shown.take(f"roofline-{system['id']}")
    lines += scaling_section(view.results)
    rest = shown.rest()
    lines += ["## All systems" if len(view.systems) > 1 else "## Factors", "", *rest] if rest else []
    lines += peers_table(peers) + provenance(view)
    if pictures is None:
        lines += [NO_PICTURES, ""]
    return lines + ["## Again", "", "```", again or view.results["command"], "```"]


class Shown:
    """Pictures that are still to be put somewhere."""

    def __init__(self, pictures):
        self.left = dict(pictures or [])

    def take(self, *names):
        lines = []
        for name in names:
            if name in self.left:
                lines += [f"![{name}]({name}.png)", "", f"{self.left.pop(name)} ([SVG]({name}.svg))", ""]
        return lines

    def rest(self):
        return self.take(*list(self.left))


def heading(view, system):
    backend = f", {system['backend']}" if system.get("backend") else ""
    return system["label"] + (backend if len(view.systems) == 1 or system["label"] else f"{system['id']}{backend}")


def what_was_run(view):
    from .stats import BOOTSTRAP_FROM  # here, so that runs are made where there is no numpy

    results, definition = view.results, view.results["definition"]
    points = results["points"]
    n_runs = sum(point["n_runs"] or 0 for point in points)
    percent = f"{100 * results['confidence']:g} %"
    what = [("design", f"{view.design}: {len(points)} points in {len(view.systems)} systems" if len(view.systems) > 1
             else f"{view.design}: {len(points)} points"),
            ("order", f"randomised complete blocks, {definition['repeats']} rounds asked for, seed {definition['seed']}; "
             f"{n_runs} runs made"),
            *([("parts", f"{results['parts']}, of some points each, with runs of the base of their own: ratios are to those; speeds of "
               "different parts are of other times or machines, and say nothing beside each other")]
              if results["parts"] > 1 else []),
            *([("length of a loop", loops_text(view))] if loops_text(view) else []),
            ("load of the machine", load_text(view)),
            ("verification", "the first run of a point against the double-precision reference on the CPU; the others repeat it"),
            ("speed", f"median of the runs that count, with its {percent} interval: of {BOOTSTRAP_FROM} runs and more of the median "
             "(bootstrap), of fewer Student's of the mean of the logarithms"),
            ("ratio", f"of speeds, to {'the rung below' if view.design == 'ladder' else 'the base'}, paired within a "
             f"round, with its {percent} interval (Student's, of the mean of the logarithms); p adjusted (Holm) within each system for all such ratios, as for all effects, "
             f"all pairs of the ranking and all prices of determinism, each for themselves; *not distinguishable* "
             f"where p is no less than {1 - results['confidence']:.2g}")]
    lines = ["## What was run", "", *table(["", ""], what)]
    systems = []
    for system in view.systems:
        words = system["words"]
        words = " ".join(f"{key}={value}" for key, value in words.items()) if isinstance(words, dict) else words or ""
        systems.append([system["label"], code(system["deck"]), code(words) if words else "", f"{system['n_atoms']:,}",
                        system["dimension"], code(base_name(view, system)),
                        warm_up_text(system.get("warm_up") or {})])
    lines += table(["system", "deck", "words", "atoms:", "dimensions:", "base", "warm-up"], systems)
    if results["factors"]:
        rows = [[code(f["key"]), f["kind"], ", ".join(level_text(f, level) for level in f["levels"])]
                for f in results["factors"]]
        lines += table(["factor", "kind", "levels (the base's in bold)"], rows)
    return lines


def loops_text(view):
    """How long the timed loops took; empty where there were none."""
    atoms = {system["id"]: system["n_atoms"] for system in view.systems}
    took = [n_steps * atoms[point["system"]] / point["speed"]["value"] for system in view.systems for point in view.measured(system)
            for n_steps in step_counts(point)]
    if not took:
        return ""
    wanted = view.results["definition"].get("seconds")
    text = f"{brief(min(took), 2)} to {brief(max(took), 2)} s"
    if not wanted or any("run.steps" in (system["words"] or {}) for system in view.systems):
        return text
    much = ": **much shorter; a new folder sets the steps anew**" if max(took) < wanted / 3 else ""
    return f"{text}, where {wanted:g} s were asked for{much}"


def load_text(view):
    loads = [point["load_1min"] for point in view.results["points"] if point.get("load_1min") is not None]
    if not loads:
        return "not known"
    n = (view.results["provenance"].get("cpu") or {}).get("processors")
    return (f"{min(loads):.1f} to {max(loads):.1f} before the runs (mean of a minute, with the runs before them; a median of each "
            f"point){f', of {n} processors' if n else ''}")


def level_text(factor, level):
    return f"**{level}**" if level == factor["base"] and factor["kind"] == "performance" else str(level)


def warm_up_text(warm_up):
    n = warm_up.get("dropped_rounds", 0)
    return f"{n or 'no'} round{'s' if n != 1 else ''} dropped: {warm_up.get('reason', '')}".rstrip(": ")


def base_name(view, system):
    base = view.base(system)
    return base["label"] if base else system["base"]


def results_of(view, system):
    """The table of what has a speed. Every point of a system stands in it or in that of the others, once."""
    points = view.ordered(system)
    if not points:
        return ["No point has a speed that counts.", ""]
    factor, prefix = unit_of([point["speed"]["value"] for point in points])
    to = "the rung below" if view.design == "ladder" else "base"
    ladder = view.design == "ladder"
    rows = []
    for point in points:
        speed, interval = figures(point["speed"], factor)
        compared = view.compared(point) or {}
        ratio, ratio_interval = figures(compared) if compared else ("-", "-")
        first = [figures(point["ratio"])[0] if point.get("ratio") else "-"] if ladder else []
        rows.append([code(point["label"]), speed + star(point), interval, ratio, ratio_interval, *first,
                     probability(compared.get("p")), compared.get("outcome", "base" if not ladder else "-"),
                     point["verdict"], f"{point['n_used']}/{point['n_runs']}", spread_text(point), steps_text(point),
                     point["changed"] or ""])
    changed = any(row[-1] for row in rows)
    rows = rows if changed else [row[:-1] for row in rows]
    head = ["point", f"{prefix} atom-steps/s:", "interval:", f"ratio to {to}:", "interval:",
            *(["to the first:"] if ladder else []), "p:", "outcome", "verdict", "runs used/made:",
            "slowest to fastest run:", "steps:",
            *(["what ran differently"] if changed else [])]
    note = [LATE_NOTE, ""] if any(point["n_late_rebuilds"] for point in points) else []
    few = with_few_steps(view.results, points, system["base"])
    note += [f"**Short loops:** {FEW_STEPS}: " + ", ".join(f"`{point['label']}` ({steps_text(point)})" for point in few) + ".", ""] if few else []
    note += [STEP_COUNTS_NOTE, ""] if any(len(step_counts(point)) > 1 for point in points) else []
    return table(head, rows) + note + scatter_note(view, system, points)


def spread_text(point):
    """The extremes of its runs, as shares of its speed."""
    ends = extremes(point)
    return " to ".join(f"{end / point['speed']['value']:.2f}" for end in ends) if ends else "-"


def scatter_note(view, system, points):
    """Words on runs that differ by factors, and on intervals that they do not bear."""
    lines, wide = [], [point for point in points if scatters(point)]
    if any(point["id"] == system["base"] for point in wide):
        slowest, fastest = extremes(view.base(system))
        lines += [f"**The runs of the base scatter by a factor of {fastest / slowest:.1f}: intervals and outcomes allow "
                  "for that where it came by chance, not where it hit one point more than others. Most likely something "
                  "else ran on the machine, or its clocks changed: measure again on a quiet one, in more rounds.**", ""]
    others = [code(point["label"]) for point in wide if point["id"] != system["base"]]
    if others:
        lines += [f"Runs of one point that differ by a factor of more than {SCATTER}: {', '.join(others)}.", ""]
    far = [code(point["label"]) for point in points if is_far(point)]
    if far:
        lines += [f"The interval ends beyond {FAR} times all runs, as these are few and scatter: {', '.join(far)}.", ""]
    return lines


def others_of(view, system):
    """What has no speed that counts, and why."""
    points = view.others(system)
    if not points:
        return []
    rows = [[code(point["label"]), "failed" if point["verdict"] == "FAILED" else point["status"], point["verdict"],
             point["n_runs"] or 0, point["reason"] or ""] for point in points]
    return ["### Without a speed", "", "Not compared and not ranked.", "",
            *table(["point", "status", "verdict", "runs:", "reason"], rows)]


def ranking_of(view, system):
    groups = view.results["ranking"].get(system["id"]) or []
    known = {point["id"]: point for point in view.measured(system)}
    groups = [[known[id] for id in group if id in known] for group in groups]
    groups = [group for group in groups if group]
    if view.design == "ladder" or len(known) < 2:
        return []
    left = view.results["not_ranked"][system["id"]]
    names = ", ".join(code(known[id]["label"]) for id in left["points"] if id in known)
    if sum(map(len, groups)) < 2:
        return ["### Ranking", "", f"There is none: {left['reason']}.", ""] if names else []
    rows, place = [], 1
    for group in groups:
        factor, prefix = unit_of([point["speed"]["value"] for point in group])
        ends = [figures(point["speed"], factor)[0] for point in (group[-1], group[0])]
        rows.append([place, ", ".join(code(point["label"]) + star(point) for point in group),
                     f"{' to '.join(dict.fromkeys(ends))} {prefix}"])
        place += len(group)
    return ["### Ranking", "", "Points of one row are not distinguishable from the fastest of it.", "",
            *table(["place:", "points", "atom-steps/s:"], rows), *([f"Not ranked: {names} ({left['reason']}).", ""] if names else [])]


def effects_of(view, system):
    effects = [effect for effect in view.results["effects"] if effect["system"] == system["id"]]
    lines = []
    for n, (title, note) in enumerate(EFFECTS, start=1):
        rows = []
        for effect in effects:
            if len(effect["factors"]) == n:
                ratio, interval = figures(effect)
                name = " and ".join(code(f"{key}={level}") for key, level in zip(effect["factors"], effect["levels"]))
                outcome = MEETS.get(effect["outcome"], effect["outcome"]) if n == 2 else effect["outcome"]
                rows.append([name, ratio + (STAR if effect["is_late"] else ""), interval, probability(effect["p"]), outcome, alias_text(effect.get("aliases") or []),
                             alone_text(effect)])
        if rows:
            head = ["effect", "ratio:", "interval:", "p:", "outcome", "cannot be told from", "not of this switch alone"]
            empty = [k for k in (5, 6) if not any(row[k] for row in rows)]
            head, *rows = ([cell for k, cell in enumerate(row) if k not in empty] for row in (head, *rows))
            late = [LATE_EFFECT, ""] if any(STAR in row[1] for row in rows) else []
            lines += [f"### {title}", "", note, "", *table(head, rows), *late]
    if system.get("aliases") and lines:
        lines += ["Of this fraction of all combinations these cannot be told apart: "
                  + "; ".join(alias_text(group, " = ") for group in system["aliases"]) + ".", ""]
    return lines


def alias_text(group, between=", "):
    return between.join(code(one if isinstance(one, str) else " x ".join(one)) for one in group)


def alone_text(effect):
    """What else ran otherwise at its levels."""
    besides = effect.get("besides")
    return f"with {', '.join(map(code, besides))}" if besides else ""


def accuracy_of(view, system):
    points = [p for p in view.measured(system) if p.get("force_error") or p["drift"] is not None]
    if not points:
        return []
    points.sort(key=lambda point: -point["speed"]["value"])
    rms = any((point.get("force_error") or {}).get("rms") is not None for point in points)
    rows = []
    factor, prefix = unit_of([point["speed"]["value"] for point in points])
    for point in points:
        error = point.get("force_error") or {}
        rows.append([code(point["label"]), figures(point["speed"], factor)[0] + star(point),
                     *([brief(error.get("rms"))] if rms else []), brief(error.get("worst")), brief(point["drift"]),
                     bits_text(point),
                     *([brief(point["joules_per_atom_step"])] if has_energy(points) else [])])
    head = ["point", f"{prefix} atom-steps/s:", *(["rms force error:"] if rms else []),
            "largest force error over its bound:", "drift:", "same bits each time",
            *(["J per atom-step:"] if has_energy(points) else [])]
    return ["### Accuracy against speed", "", "Force errors against the reference, and drift of the conserved energy per "
            "atom and step, in reduced units." + drift_note(system, points), "", *table(head, rows)]


def bits_text(point):
    """What the variants that ran promise of runs of one length; others end elsewhere."""
    if point.get("deterministic") and len(step_counts(point)) > 1:
        return "yes, of one number of steps"
    return {True: "yes", False: "no"}.get(point.get("deterministic"), "-")


def drift_note(system, points):
    if all(point["drift"] is not None for point in points):
        return ""
    return (f" No drift of runs of less than {drift_steps(system['n_atoms']):,} steps: the energy fluctuates by about the square "
            f"of the time step, and over fewer steps than that (at the time step of the melt, 0.005) this passes for a drift of "
            f"more than {DRIFT_RESOLVED:.0e}, which is what a safe list in double precision drifts by. `run.steps` makes runs longer.")


def has_energy(points):
    return any(point.get("joules_per_atom_step") is not None for point in points)


def determinism_of(view, system):
    rows = []
    for pair in view.results["determinism"]:
        if pair["system"] == system["id"]:
            ratio, interval = figures(pair["ratio"])
            names = [code(view.by_id[pair[key]]["label"]) for key in ("with", "point")]
            rows.append([*names, ratio, interval, probability(pair["ratio"].get("p")), pair["ratio"].get("outcome")])
    if not rows:
        return []
    return ["### Price of determinism", "", "Pairs that differ in one setting, and in nothing else as they ran: speed of the one that may change its bits over "
            "that of the one that repeats them.", "",
            *table(["same bits each time", "not", "ratio:", "interval:", "p:", "the second is"], rows)]


def stages_of(view, system):
    """Where the time of a step goes, of the base and of the fastest."""
    points = roofline_points(view, system)
    names = list(dict.fromkeys(stage for point in points for stage, entry in point["stages"].items()
                               if entry.get("seconds_per_step")))
    if not names:
        return []
    rows = []
    for stage in names:
        row = [stage]
        for point in points:
            entry = point["stages"].get(stage) or {}
            seconds, share = entry.get("seconds_per_step"), entry.get("share")
            row += [brief(seconds * 1e6) if seconds else "-", fixed(100 * share, 1) if share is not None else "-"]
        rows.append(row)
    head = ["stage"]
    for point in points:
        head += [f"{code(point['label'])}, µs a step:", "%:"]
    return ["### Time of the stages", "", *table(head, rows)]


def roofline_of(view, system, ceilings):
    if not ceilings:
        return []
    known = {name: roof(ceilings, system, name) for name in ROOFS}
    measured = ", ".join(f"{NAMES[name]} {brief(value)} {'GFLOP/s' if name.startswith('peak') else 'GB/s'}"
                         for name, value in known.items() if value)
    if not measured:
        return ["### Roofline", "", f"The file of ceilings has no roofs of the backend `{system.get('backend')}`.", ""]
    rows = [[code(row["point"]["label"]), row["stage"], *(["not known", brief(row["gb_per_s"]), "not known"] if row["gflop_per_s"] is None else
               map(brief, (row["intensity"], row["gb_per_s"], row["gflop_per_s"]))), row["bound"],
             brief(100 * row["share"], 2) if row["share"] is not None else "-"]
            for row in stage_rows(view, system, ceilings)]
    if not rows:
        return []
    name = ceilings["provenance"].get("machine")
    missing = lacks(ceilings, system, roofline_points(view, system))
    note = [f"**Not measured: {missing}**, so what holds a stage is not said. `mdmini --ceilings bandwidth "
            "arithmetic` measures both.", ""] if missing else []
    return ["### Roofline", "", f"Measured ceilings{f' of {name}' if name else ''}: {measured}. Bytes and operations are those "
            "of the model in the variants table: a stage whose data stay in a cache may pass 100 % of main memory. Where the "
            "model does not count operations they are not known, nor is the roof. A stage far below its roof is held by something "
            "else: latency, launches, too little work.", "", *note,
            *table(["point", "stage", "operations a byte:", "GB/s:", "GFLOP/s:", "roof above it", "% of that roof:"], rows)]


def peers_table(peers):
    if not peers:
        return []
    rows = [[row["name"], f"{row['atoms']:,}", brief(row["speed"] / 1e6), row["source"]] for row in peers]
    return ["### Other programs", "", *table(["program", "atoms:", "M atom-steps/s:", "source"], rows)]


def provenance(view):
    facts = view.results["provenance"]
    if not facts:
        return ["## Provenance", "", "No run left a report, so none is known.", ""]
    missing = dict(facts.get("missing") or {})
    rows = []
    for key, value in facts.items():
        if key not in ("command", "missing"):
            why = missing.pop(key, None) if value is None else None
            rows.append([key.replace("_", " "), f"not known: {why}" if why else fact_text(value, key)])
    rows += [[key.replace("_", " "), f"not known: {why}"] for key, why in missing.items()]
    lines = ["## Provenance", "", "Of the first run.", "", *table(["", ""], rows)]
    differs = view.results["provenance_differs"]
    if differs:
        lines += ["**Not the same in all runs:**", "",
                  *table(["", "values"], [[key.replace("_", " "), "; ".join(fact_text(value, key) for value in values)]
                                          for key, values in differs.items()])]
    else:
        lines += ["The same program on the same machine made all runs.", ""]
    return lines


def fact_text(value, key=""):
    if key == "kernels_folder" and value in (None, "None"):  # run/REPORT.md; values that differ are texts
        return "the program's own"
    if value is None or value == "":
        return "not known"
    if isinstance(value, dict):
        return ", ".join(f"{key.replace('_', ' ')} {fact_text(one, key)}" for key, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(fact_text, value)) or "none"
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
