"""Pictures of a study: results.json (and measured ceilings, and peers) -> figures. One function a picture; choose() says
which of them a study has, by its design. Every bar and point carries the id of its point as its gid, and only what is
measured is drawn."""
import textwrap

import numpy as np
from drawing import BLACK, COLUMN, GREY, PAGE, SERIES, label_ticks, plt
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from .ceilings import stage_rows
from .curves import accuracy_points, draw_accuracy, draw_sizes, draw_sweep, sweep_lines
from .marks import (MAX_LINES, OUTCOMES, Picture, confidence, error_bars, far_note, figure_at_right, late, late_mark,
                    late_note, legend_below, log_ticks, outcome_handles, outcome_of, rows_figure)
from .roofline import draw_roofline
from .view import figures, is_number, unit_of

NOT_ALONE = "\u2020"  # behind an effect: other switches ran differently, too
MAX_BARS = 40  # of a picture, but for the ladder, which is shown whole


def draw_bars(view, system):
    """Speeds with intervals, a bar a point; the colour says how it compares (ladder: with the rung below)."""
    ordered = view.ordered(system)
    points = ordered if view.design == "ladder" else ordered[:MAX_BARS]
    speeds = [point["speed"]["value"] for point in points]
    factor, prefix = unit_of(speeds)
    names = [view.name(point) + late(point) for point in points]
    figure, axes = rows_figure(len(points), names)
    if max(speeds) > 20 * min(speeds):
        axes.set_xscale("log")
        axes.set_xlim(min(speeds) / factor / 3, max(speeds) / factor * 1.5)
    for row, point in enumerate(points):
        color, hatch, _ = OUTCOMES[outcome_of(view.compared(point))]
        bar, = axes.barh(row, point["speed"]["value"] / factor, 0.72, color=color, hatch=hatch, edgecolor=BLACK,
                         linewidth=0.5)
        bar.set_gid(point["id"])
        error_bars(axes, point["speed"]["value"] / factor, row, point["speed"], factor, upright=False,
                   color=GREY if color == BLACK else BLACK)
        figure_at_right(axes, row, figures(point["speed"], factor)[0])
    axes.set_xlabel(f"{system['label']}: speed ({prefix} atom-steps/s)")
    below = "the rung below" if view.design == "ladder" else "the base"
    found = {outcome_of(view.compared(point)) for point in points}
    handles = outcome_handles(found, below)
    legend_below(axes, handles, n_columns=2 if figure.get_figwidth() > COLUMN else 1)
    left_out = f" The fastest {len(points)} of {len(ordered)}." if len(points) < len(ordered) else ""
    return Picture(f"bars-{system['id']}",
                   f"{system['label']}: median speed with {confidence(view, points)}; colour and hatch: against "
                   f"{below}.{left_out}{late_note(points)}{far_note(view, points)}", figure)


def draw_ratios(view, system):
    """Ratios to the base with their intervals: what each switch is worth."""
    points = [point for point in view.ordered(system) if (point.get("ratio") or {}).get("value")]
    figure, axes = rows_figure(len(points), [view.name(point) + late(point) for point in points])
    axes.axvline(1, color=BLACK, linewidth=0.8, linestyle="--", zorder=1)
    values = [point["ratio"]["value"] for point in points]
    if max(*values, 1) > 3 * min(*values, 1):
        axes.set_xscale("log")
    for row, point in enumerate(points):
        color, _, marker = OUTCOMES[outcome_of(point["ratio"])]
        mark, = axes.plot(point["ratio"]["value"], row, marker, color=color, markeredgecolor=BLACK, markeredgewidth=0.5,
                          zorder=3)
        mark.set_gid(point["id"])
        error_bars(axes, point["ratio"]["value"], row, point["ratio"], upright=False)
        figure_at_right(axes, row, figures(point["ratio"])[0])
    axes.grid(axis="y", linewidth=0.3, color=GREY)
    axes.set_xlabel(f"{system['label']}: ratio of speeds to the base")
    if axes.get_xscale() == "log":
        log_ticks(axes.xaxis)
    found = {outcome_of(point["ratio"]) for point in points}
    legend_below(axes, outcome_handles(found, "the base", marks=True),
                 n_columns=2 if figure.get_figwidth() > COLUMN else 1)
    note = far_note(view, points, {point["id"]: view.base(system) for point in points})
    return Picture(f"ratios-{system['id']}",
                   f"{system['label']}: ratio of speeds to the base ({view.name(view.base(system))}), paired within a "
                   f"round, with {100 * view.results['confidence']:g} % intervals (Student's, of the mean of the logarithms); "
                   f"below 1: slower than the base.{late_note(points)}{note}", figure)


def draw_groups(view):
    """Bars beside each other: the levels of a factor within those of another; of a single factor, within systems."""
    outer, inner = grouped_factors(view)
    panels = view.systems if outer else [None]
    figure, all_axes = plt.subplots(len(panels), 1, figsize=(COLUMN, 1.75 * len(panels) + 0.35), constrained_layout=True,
                                    squeeze=False)
    others = {inner["key"], outer["key"] if outer else None}
    points = [p for s in view.systems for p in view.measured(s) if view.at_base(p, others)]
    factor, prefix = unit_of([point["speed"]["value"] for point in points])
    for axes, system in zip(all_axes[:, 0], panels):
        groups = outer["levels"] if outer else [s["id"] for s in view.systems]
        width = 0.8 / len(inner["levels"])
        for point in points:
            if system and point["system"] != system["id"]:
                continue
            group = groups.index(view.level(point, outer) if outer else point["system"])
            k = inner["levels"].index(view.level(point, inner))
            color, hatch, _, _ = SERIES[k]
            x = group + (k - (len(inner["levels"]) - 1) / 2) * width
            bar, = axes.bar(x, point["speed"]["value"] / factor, width, color=color, hatch=hatch, edgecolor=BLACK,
                            linewidth=0.5)
            bar.set_gid(point["id"])
            error_bars(axes, x, point["speed"]["value"] / factor, point["speed"], factor)
            late_mark(axes, x, point["speed"]["value"] / factor, point)
        names = groups if outer else [textwrap.fill(s["label"], 48 // len(groups)) for s in view.systems]
        label_ticks(axes.xaxis, range(len(groups)), names)
        axes.tick_params(axis="x", length=0)
        axes.set_xlim(-0.6, len(groups) - 0.4)
        axes.set_ylabel(f"speed ({prefix} atom-steps/s)")
        if system:
            axes.set_title(system["label"])
    if outer:
        axes.set_xlabel(outer["key"])
    handles = [Patch(facecolor=color, hatch=hatch, edgecolor=BLACK, linewidth=0.5, label=level)
               for level, (color, hatch, _, _) in zip(inner["levels"], SERIES)]
    all_axes[0, 0].legend(handles=handles, title=inner["key"], title_fontsize=7, loc="lower center", ncol=4,
                          bbox_to_anchor=(0.5, 1.12 if outer else 1.0), handlelength=1.8)
    rest = [f["key"] for f in view.factors if f["key"] not in others]
    return Picture("groups", f"Median speed with {confidence(view, points)}"
                   + (f"; {', '.join(rest)} as in the base" if rest else "")
                   + f". No bar: no speed that counts.{late_note(points)}{far_note(view, points)}", figure)


def grouped_factors(view):
    """(outer, inner): the first two factors of the study, the one with fewer levels within; (None, the factor) of a
    single one."""
    usable = [factor for factor in view.factors if 2 <= len(factor["levels"]) <= MAX_LINES]
    if len(usable) < 2:
        return None, usable[0] if usable else None
    first, second = usable[:2]
    return (first, second) if len(second["levels"]) <= len(first["levels"]) else (second, first)


def effect_name(view, key, level):
    return view.short(f"{key}={level}" if level is not None else key)


def draw_interactions(view, system):
    """Heat map: main effects on the diagonal, pairwise interactions below it, as ratios of speeds."""
    effects = [e for e in view.results["effects"] if e["system"] == system["id"] and e["value"]]
    names = list(dict.fromkeys(name for e in effects for name in effect_terms(view, e)))
    matrix = np.full((len(names), len(names)), np.nan)
    texts = {}
    for effect in effects:
        places = sorted(names.index(name) for name in effect_terms(view, effect))
        row, column = places[-1], places[0]
        found = effect["outcome"] in ("faster", "slower")
        matrix[row, column] = effect["value"]
        text = f"{effect['value']:.3g}" if found else f"({effect['value']:.3g})"
        texts[row, column] = text + (NOT_ALONE if effect.get("besides") else "")
    side = min(max(0.62 * len(names), 1.4), PAGE - 2.4)
    figure, axes = plt.subplots(figsize=(side + 2.2, side + 1.1), constrained_layout=True)
    reach = max(np.nanmax(np.abs(np.log2(matrix))), 0.01)
    image = axes.imshow(np.log2(matrix), cmap="PuOr", vmin=-reach, vmax=reach)
    image.set_gid(system["id"])
    for (row, column), text in texts.items():
        dark = abs(np.log2(matrix[row, column])) > 0.65 * reach
        axes.text(column, row, text, ha="center", va="center", fontsize=7, color="white" if dark else BLACK)
    for k in range(len(names)):  # the diagonal is of another kind
        axes.add_patch(plt.Rectangle((k - 0.5, k - 0.5), 1, 1, fill=False, linewidth=1.2))
    label_ticks(axes.xaxis, range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    label_ticks(axes.yaxis, range(len(names)), names)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    bar = figure.colorbar(image, ax=axes, shrink=0.75, ticks=np.linspace(-reach, reach, 5),
                          format=FuncFormatter(lambda v, _: f"{2 ** v:.3g}"))
    bar.minorticks_off()
    bar.set_label("ratio of speeds")
    axes.set_title(system["label"])
    return Picture(f"interactions-{system['id']}",
                   f"{system['label']}: framed, the main effect of each factor; below, by what two together differ from "
                   "the product of both. 1: nothing; in brackets: not distinguishable from it, whatever its colour." +
                   (f" {NOT_ALONE} Not of these switches alone: others ran differently, too." if any(e.get("besides") for e in effects) else ""),
                   figure)


def effect_terms(view, effect):
    levels = effect.get("levels") or []
    levels = levels if len(levels) == len(effect["factors"]) else [None] * len(effect["factors"])
    return [effect_name(view, key, level) for key, level in zip(effect["factors"], levels)]


# --- which of them ----------------------------------------------------------------------------------------------------


def choose(view, ceilings=None, peers=()):
    """The pictures that the study has, one after the other. ceilings: of read_ceilings; peers: of read_peers."""
    systems = [system for system in view.systems if view.measured(system)]
    for system in systems:
        if view.design in ("leave-one-out", "one-at-a-time"):
            if any(p["id"] != system["base"] and (p.get("ratio") or {}).get("value") for p in view.measured(system)):
                yield draw_ratios(view, system)
        else:
            yield draw_bars(view, system)
    if systems and view.design == "full":
        outer, inner = grouped_factors(view)
        if inner and (outer or len(systems) > 1):
            yield draw_groups(view)
    for factor in view.factors:
        if sum(is_number(level) for level in factor["levels"]) >= 3 and view.design in ("full", "one-at-a-time"):
            if any(len(entries) > 1 for system in systems for _, entries, _ in sweep_lines(view, system, factor)):
                yield draw_sweep(view, factor)
    if len({system["n_atoms"] for system in systems}) > 1 or systems and peers:
        yield draw_sizes(view, peers)
    for system in systems:
        if any(len(e["factors"]) == 2 and e["value"] for e in view.results["effects"] if e["system"] == system["id"]):
            yield draw_interactions(view, system)
        if accuracy_points(view, system):
            yield draw_accuracy(view, system)
        if ceilings and any(row["intensity"] for row in stage_rows(view, system, ceilings)):
            yield draw_roofline(view, system, ceilings)
