"""Curves of a study: speed against a factor of numbers, against the number of atoms, against accuracy."""
import numpy as np
from drawing import BLACK, COLUMN, PAGE, SERIES, label_ticks, plt

from matplotlib.lines import Line2D

from .marks import (MAX_LINES, Picture, confidence, error_bars, far_note, late, late_mark, late_note, legend_below,
                    log_ticks, not_below_zero)
from .view import is_number, unit_of

SIZES = ("system.cells", "system.atoms")  # keys of systems that differ in size alone
ACCURACY = (("rms", r"rms force error ($\varepsilon/\sigma$)"), ("worst", "largest force error over its bound"))
BELOW_LABEL = 30  # points from an axis to what stands below its label
LETTERS = "abcdefgh"  # of the front of accuracy against speed


def sweep_lines(view, system, factor):
    """[(what is the same along a line, points by number, points at levels that are no numbers)], the base's first."""
    lines = {}
    for point in view.measured(system):
        rest = tuple((f["key"], view.level(point, f)) for f in view.factors if f["key"] != factor["key"])
        lines.setdefault(rest, []).append(point)
    base = view.base(system)
    own = tuple((f["key"], view.level(base, f)) for f in view.factors if f["key"] != factor["key"]) if base else None
    chosen = sorted(lines, key=lambda rest: rest != own)
    if view.design != "full" or len(chosen) > MAX_LINES:
        chosen = chosen[:1]
    result = []
    for rest in chosen:
        at = [(view.level(point, factor), point) for point in lines[rest]]
        numbers = sorted(((float(level), point) for level, point in at if is_number(level)), key=lambda entry: entry[0])
        name = " ".join(view.short(f"{key}={level}") for key, level in rest)
        result.append((name, numbers, [(level, point) for level, point in at if not is_number(level)]))
    return [line for line in result if line[1]]


def occupancy_of(point):
    """{stage: occupancy of the kernel that it launches most}, where the report of the run has kernels."""
    found = {}
    for kernel in point.get("kernels") or []:
        if kernel.get("occupancy") is not None:
            before = found.get(kernel["stage"])
            if not before or kernel["launches"] > before["launches"]:
                found[kernel["stage"]] = kernel
    return {stage: kernel["occupancy"] for stage, kernel in found.items()}


def occupancy_changes(points):
    """Whether it depends at all on what these points differ in."""
    return any(occupancy_of(point) != occupancy_of(points[0]) for point in points)


def draw_sweep(view, factor):
    """Speed against a factor of numbers, and below it the occupancy of the kernels of the base's line, if the factor is about that."""
    lines = {system["id"]: sweep_lines(view, system, factor) for system in view.systems}
    systems = [system for system in view.systems if lines[system["id"]]]
    has_kernels = any(occupancy_changes([p for _, p in lines[system["id"]][0][1]]) for system in systems)
    n, n_lines = len(systems), max(len(lines[system["id"]]) for system in systems)
    figure, grid = plt.subplots(1 + has_kernels, n, squeeze=False, sharex="col", constrained_layout=True,
                                figsize=(COLUMN if n == 1 else PAGE, (3.9 if has_kernels else 2.4) + 0.14 * n_lines))
    for column, system in enumerate(systems):
        draw_sweep_speed(grid[0, column], system, lines[system["id"]])
        if has_kernels:
            _, entries, words = lines[system["id"]][0]
            places = sweep_places(lines[system["id"]])
            draw_sweep_occupancy(grid[1, column], entries, [(places[level], point) for level, point in words])
        grid[-1, column].set_xlabel(factor["key"])
        sweep_axis(grid[:, column], lines[system["id"]])
    names = [name for name, _, _ in lines[systems[0]["id"]]]
    if len(names) > 1:
        handles = [Line2D([], [], color=color, marker=marker, linestyle=dashes, label=name)
                   for name, (color, _, marker, dashes) in zip(names, SERIES)]
        if has_kernels:  # whose own names stand below
            grid[0, 0].legend(handles=handles, loc="best")
        else:
            legend_below(grid[-1, 0], handles, n_columns=1)
    points = [p for system in systems for _, entries, words in lines[system["id"]] for _, p in entries + words]
    return Picture(f"sweep-{factor['key']}", f"Median speed with {confidence(view, points)} against {factor['key']}"
                   + (f"; below, the theoretical occupancy of each stage's kernel{f' with {names[0]}' if names[0] else ''}"
                      if has_kernels else "")
                   + f".{late_note(points)}{far_note(view, points)}", figure)


def sweep_places(lines):
    """{level that is a word: its place on the axis}, beyond the numbers."""
    numbers = sorted({x for _, entries, _ in lines for x, _ in entries})
    gap = (numbers[-1] - numbers[0]) / max(len(numbers) - 1, 1) or 1
    words = dict.fromkeys(level for _, _, words in lines for level, _ in words)
    return {word: numbers[-1] * 2 ** k if is_wide(numbers) else numbers[-1] + k * gap
            for k, word in enumerate(words, start=1)}


def is_wide(numbers):
    return numbers[0] > 0 and numbers[-1] >= 4 * numbers[0]


def sweep_axis(column, lines):
    """Ticks at the levels, numbers and words."""
    numbers, places = sorted({x for _, entries, _ in lines for x, _ in entries}), sweep_places(lines)
    if is_wide(numbers):
        column[-1].set_xscale("log", base=2)
    label_ticks(column[-1].xaxis, numbers + list(places.values()), [f"{x:g}" for x in numbers] + list(places))
    column[-1].xaxis.set_minor_locator(plt.NullLocator())


def draw_sweep_speed(axes, system, lines):
    places = sweep_places(lines)
    scale, prefix = unit_of([point["speed"]["value"] for _, entries, _ in lines for _, point in entries])
    for (name, entries, words), (color, _, marker, dashes) in zip(lines, SERIES):
        x, y = [x for x, _ in entries], [point["speed"]["value"] / scale for _, point in entries]
        line, = axes.plot(x, y, marker=marker, color=color, linestyle=dashes, label=name or None, zorder=3)
        line.set_gid(" ".join(point["id"] for _, point in entries))
        for at, point in entries:
            error_bars(axes, at, point["speed"]["value"] / scale, point["speed"], scale, color=color)
            late_mark(axes, at, point["speed"]["value"] / scale, point)
        for level, point in words:
            mark, = axes.plot(places[level], point["speed"]["value"] / scale, marker=marker, color=color, zorder=3)
            mark.set_gid(point["id"])
            error_bars(axes, places[level], point["speed"]["value"] / scale, point["speed"], scale, color=color)
            late_mark(axes, places[level], point["speed"]["value"] / scale, point)
    axes.set_title(system["label"])
    axes.set_ylabel(f"speed ({prefix} atom-steps/s)")
    axes.margins(y=0.15)
    not_below_zero(axes)


def draw_sweep_occupancy(axes, entries, words):
    stages = list(dict.fromkeys(stage for _, point in entries for stage in occupancy_of(point)))
    for stage, (color, _, marker, dashes) in zip(stages, SERIES):
        at = [(x, 100 * occupancy_of(point)[stage]) for x, point in entries if stage in occupancy_of(point)]
        axes.plot(*zip(*at), marker=marker, color=color, linestyle=dashes, label=stage)
        shares = [100 * occupancy_of(point).get(stage, np.nan) for _, point in words]
        axes.plot([x for x, _ in words], shares, marker, color=color)
    axes.set_ylabel("occupancy (%)")
    axes.set_ylim(0, 108)
    legend_below(axes, axes.get_legend_handles_labels()[0], n_columns=3)


def draw_sizes(view, peers=()):
    """Speed against the number of atoms, a line a setting of the switches, and what other programs do."""
    lines = size_lines(view)
    n_peers = len({row["name"] for row in peers})
    figure, axes = plt.subplots(figsize=(COLUMN, 2.5 + 0.14 * (len(lines) + n_peers)), constrained_layout=True)
    speeds = [point["speed"]["value"] for _, entries in lines for _, point in entries] + [row["speed"] for row in peers]
    factor, prefix = unit_of(speeds)
    for (name, entries), (color, _, marker, dashes) in zip(lines, SERIES):
        line, = axes.plot([n for n, _ in entries], [p["speed"]["value"] / factor for _, p in entries], color=color,
                          marker=marker, linestyle=dashes, label=name, zorder=3)
        line.set_gid(" ".join(point["id"] for _, point in entries))
        for n, point in entries:
            error_bars(axes, n, point["speed"]["value"] / factor, point["speed"], factor, color=color)
    for name, marker in zip(dict.fromkeys(row["name"] for row in peers), "sD^vP*X"):
        rows = sorted((row for row in peers if row["name"] == name), key=lambda row: row["atoms"])
        axes.plot([row["atoms"] for row in rows], [row["speed"] / factor for row in rows], color="0.4", marker=marker,
                  linestyle=":", markerfacecolor="white", label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("atoms")
    axes.set_ylabel(f"speed ({prefix} atom-steps/s)")
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis)
    handles, _ = axes.get_legend_handles_labels()
    handles = [h[0] if isinstance(h, tuple) else h for h in handles]
    legend_below(axes, handles, n_columns=1 if max(len(h.get_label()) for h in handles) > 24 else 2)
    n_settings = len({view.name(p) for s in view.systems for p in view.measured(s)})
    some = f" Of {n_settings} settings: the base, the fastest and the slowest." if len(lines) < n_settings else ""
    points = [point for _, entries in lines for _, point in entries]
    note = late_note(points) + far_note(view, points)
    return Picture("sizes", f"Median speed against the number of atoms, with {confidence(view, points)}.{some}{note}",
                   figure)


def size_lines(view):
    """[(name, [(atoms, point)])] of each setting (and each deck, where these differ in more than size); of too many: the
    base, the fastest and the slowest at the largest size."""
    families = {}
    for system in view.systems:
        rest = " ".join(f"{key}={value}" for key, value in system.get("levels", {}).items() if key not in SIZES)
        for point in view.measured(system):
            name = " ".join(filter(None, [rest, view.name(point)])) + late(point)
            families.setdefault(name, []).append((system["n_atoms"], point))
    lines = [(name, sorted(entries, key=lambda entry: entry[0])) for name, entries in families.items()]
    if len(lines) <= MAX_LINES:
        return lines
    bases = {system["base"] for system in view.systems}
    largest = max(line[1][-1][0] for line in lines)
    lines = [line for line in lines if line[1][-1][0] == largest]
    lines.sort(key=lambda line: -line[1][-1][1]["speed"]["value"])
    own = [line for line in lines if line[1][-1][1]["id"] in bases]
    return own[:1] + [line for line in (lines[0], lines[-1]) if line not in own]

def accuracy_points(view, system):
    """Those whose error is known, and the measure that all of them have."""
    points = view.measured(system)
    for key, label in ACCURACY:
        known = [point for point in points if (point.get("force_error") or {}).get(key)]
        if len(known) > 1:
            return key, label, known
    return None


def accuracy_groups(points):
    """Points by the precision of their pairs, which is what accuracy follows first."""
    groups = {}
    for point in points:
        groups.setdefault((point.get("ran") or {}).get("run.precision") or "", []).append(point)
    return groups


def front(points, error):
    """Those that no other beats in both, from the fastest down: each of the next has less than half the error of the one
    before, for less than that is chance, and is the fastest of these."""
    chosen = []
    for point in sorted(points, key=lambda p: -p["speed"]["value"]):
        if not chosen or error(point) < error(chosen[-1]) / 2:
            chosen.append(point)
    return chosen


def draw_accuracy(view, system):
    """Speed against force error, and against drift of the energy; the front of those that none beats in both."""
    key, label, points = accuracy_points(view, system)
    panels = [(label, lambda p: p["force_error"][key], points)]
    drifting = [point for point in points if point["drift"]]
    if drifting:
        panels.append((r"drift $|\Delta E|/N$ and step ($\varepsilon$)", lambda p: abs(p["drift"]), drifting))
    factor, prefix = unit_of([point["speed"]["value"] for point in points])
    best = {p["id"]: p for _, error, shown in panels for p in front(shown, error)}
    best = sorted(best.values(), key=lambda point: -point["speed"]["value"])[:len(LETTERS)]
    figure, grid = plt.subplots(1, len(panels), figsize=(PAGE, 2.5 + 0.14 * len(best)), constrained_layout=True,
                                sharey=True, squeeze=False)
    for axes, (text, error, shown) in zip(grid[0], panels):
        edge = [(error(point), point["speed"]["value"] / factor) for point in front(shown, error)]
        axes.plot(*zip(*edge), color="0.6", linewidth=0.8, linestyle=":", zorder=1)
        for (precision, group), (color, _, marker, _) in zip(accuracy_groups(shown).items(), SERIES):
            for point in group:
                error_bars(axes, error(point), point["speed"]["value"] / factor, point["speed"], factor, color="0.4",
                           zorder=2)
                mark, = axes.plot(error(point), point["speed"]["value"] / factor, marker, color=color, label=precision,
                                  markeredgecolor=BLACK, markeredgewidth=0.4, zorder=3)
                mark.set_gid(point["id"])
        for letter, point in zip(LETTERS, best):
            if point in front(shown, error):
                axes.annotate(letter, (error(point), point["speed"]["value"] / factor), xytext=(4, 3),
                              textcoords="offset points", fontsize=7)
        axes.set_xscale("log")
        axes.set_xlabel(text)
        axes.margins(x=0.12, y=0.15)
        not_below_zero(axes)
        log_ticks(axes.xaxis)
    grid[0, 0].set_title(system["label"], loc="left")
    grid[0, 0].set_ylabel(f"speed ({prefix} atom-steps/s)")
    marks = [line for axes in grid[0] for line in axes.get_lines() if line.get_gid()]
    handles = {line.get_label(): line for line in marks}
    if len(handles) > 1:
        grid[0, 0].legend(handles=list(handles.values()), loc="best")
    text = "\n".join(f"{letter}  {view.name(point)}{late(point)}" for letter, point in zip(LETTERS, best))
    grid[0, 0].annotate(text, (0, 0), xytext=(0, -BELOW_LABEL), xycoords="axes fraction", textcoords="offset points", fontsize=7, va="top")
    return Picture(f"accuracy-{system['id']}",
                   f"{system['label']}: speed against accuracy. Dotted and lettered, from the fastest down: the fastest of those "
                   "with less than half the error of the one before, as less is chance. Speeds with "
                   f"{confidence(view, points)}." + late_note(points) + far_note(view, points), figure)
