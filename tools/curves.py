"""Pictures and numbers of a run that need no frames: thermo curves, shear viscosity, displacements, velocity autocorrelation, g(r) as
the run has sampled it.

draw_... yield the kind of a picture, its figure, and the columns of numbers that are kept beside it, or None. results: a list that gets
a row for each coefficient, RESULT."""
import os
import sys

import numpy as np
from diffusion import read_table
from drawing import BLACK, BLUE, COLUMN, VERMILION, plt
from labels import LABELS, UNITS, with_units
from stationary import part_of_mean
from viscosity import FACTORS, N_BLOCKS, Viscosity, traceless

TENSOR = tuple(f"pressure_{axes}" for axes in ("xx", "yy", "zz", "xy", "xz", "yz"))
RESULT = ("quantity", "by", "of", "value", "error", "unit", "remark")


def plot_thermo(thermo, dimension, labels):
    # What is conserved differs from the total energy by what a shift of the potential cuts off, and by heat: its drift is seen
    # as the change since the beginning only.
    kept = thermo["conserved_energy"]
    known = kept[np.isfinite(kept)]
    panels = [(labels["temperature"], thermo["temperature"], BLUE),
              (labels["potential_energy"], thermo["potential_energy"], BLUE),
              (labels["total_energy"], thermo["total_energy"], BLUE),
              (labels["drift"], kept - known[0] if len(known) else kept, VERMILION),
              (labels[f"pressure{dimension}"], thermo["pressure"], BLUE)]
    panels = [panel for panel in panels if np.isfinite(panel[1]).any()]  # an open box has no pressure
    figure, axes = plt.subplots(len(panels), 1, sharex=True, figsize=(COLUMN, 1.45 * len(panels) + 0.2), constrained_layout=True,
                                squeeze=False)
    marker = "o" if len(thermo["time"]) < 30 else ""
    for axis, (label, values, color) in zip(axes[:, 0], panels):
        axis.plot(thermo["time"], values, color=color, marker=marker, markersize=2.5)
        axis.set_ylabel(label)
        axis.ticklabel_format(axis="y", useOffset=False, scilimits=(-3, 5))
    figure.align_ylabels()
    axes[-1, 0].set_xlabel(labels["time"])
    axes[-1, 0].set_xlim(thermo["time"][0], max(thermo["time"][-1], thermo["time"][0] + 1e-9))
    return figure


def langevin_acts(report, first_step):
    """Whether langevin acts after that step, by the report; None is no report, or one without the deck."""
    options = (report or {}).get("options", {})
    value = lambda key: options.get(f"ensemble.{key}", {}).get("value")
    last_step = value("last_step")
    return value("thermostat") == "langevin" and (last_step in (None, "auto") or float(last_step) > first_step)


def remark_of(report, first_step, name):
    """What is to be said of the value of a coefficient that is sampled from that step on: "" or a remark."""
    return f"langevin acts: friction changes {name}" if langevin_acts(report, first_step) else ""


def tell_remark(remark, key):
    if remark:
        print(f"plot.py: {remark}, which is not that of the fluid: hold the temperature up to ensemble.last_step and sample from there on "
              f"({key}), or take csvr with a relaxation time of some tau", file=sys.stderr)


# --- viscosity --------------------------------------------------------------------------------------------------------


def find_viscosity(thermo, style, dimension, volume, first_step):
    """(Viscosity, the part of the run in words, its first step); ValueError: why there is none, and the way out."""
    if not np.isfinite(volume):
        raise ValueError("an open box has no pressure: take system.boundary = periodic")
    chosen, words = part_of_mean(thermo["step"], thermo, first_step)
    steps, times = thermo["step"][chosen], thermo["time"][chosen]
    apart = np.flatnonzero(np.diff(steps) != steps[min(1, len(steps) - 1)] - steps[0])  # the last step may be out of turn
    rows = slice(0, apart[0] + 1 if len(apart) else len(steps))
    parts = [(weight, values[chosen][rows]) for weight, values in traceless(thermo, dimension)]
    if not all(np.isfinite(values).all() for _, values in parts):
        raise ValueError("rows without the pressure tensor are among those of the mean: begin it after them (--from STEP)")
    interval = (times[1] - times[0]) if len(times) > 1 else 0
    found = Viscosity(parts, dimension, volume, thermo["temperature"][chosen][rows].mean(), interval, FACTORS[style][dimension])
    return found, words, steps[0]


def plot_viscosity(found, words, dimension, labels):
    figure, axes = plt.subplots(2, 1, sharex=True, figsize=(COLUMN, 3.6), constrained_layout=True)
    shown = len(found.time) if found.end is None else min(len(found.time), max(3 * found.end, 10))
    for axis, values, errors, label in zip(axes, (found.product / found.product[0], found.viscosity),
                                           (found.product_error / found.product[0], found.viscosity_error),
                                           ("stress correlation  $C(t)/C(0)$", "viscosity  " + labels[f"viscosity{dimension}"])):
        axis.fill_between(found.time[:shown], (values - errors)[:shown], (values + errors)[:shown], color=BLUE, alpha=0.3, linewidth=0)
        axis.plot(found.time[:shown], values[:shown], color=BLUE)
        axis.axhline(0, color="0.6", linewidth=0.8, zorder=0)
        axis.set_ylabel(label)
        if found.end is not None:
            axis.axvline(found.time[found.end], color=VERMILION, linestyle="--", linewidth=0.8)
    value = "the correlation has not sunk to its error: a longer run" if found.end is None else \
        rf"$\eta$ = {found.value:.4g} $\pm$ {found.error:.2g} {labels[f'of_viscosity{dimension}']} at {labels['t'].format(found.time[found.end])}"
    axes[0].set_title(f"{value}\n{words}")
    axes[-1].set_xlabel(labels["time"])
    axes[-1].set_xlim(0, found.time[shown - 1])
    return figure


def draw_thermo(thermo, style, dimension, volume, first_step, report, results):
    yield "thermo", plot_thermo(thermo, dimension, LABELS[style]), None
    if TENSOR[0] not in thermo:
        return
    try:
        found, words, first = find_viscosity(thermo, style, dimension, volume, first_step)
    except ValueError as why:
        print(f"plot.py: no viscosity: {why}", file=sys.stderr)
        return
    remark = remark_of(report, first, "the viscosity")
    tell_remark(remark, "--from STEP")
    if found.end is not None:
        results.append(("viscosity", f"pressure tensor, {N_BLOCKS} blocks", "", found.value, found.error, UNITS[style][f"viscosity{dimension}"], remark))
    columns = with_units(found.columns, style, {"time": "time", "correlation": f"stress{dimension}", "viscosity": f"viscosity{dimension}"})
    yield "viscosity", plot_viscosity(found, words + f"\n{remark}" * bool(remark), dimension, LABELS[style]), columns


# --- displacements and velocities -------------------------------------------------------------------------------------


def name_coefficient(curves, k, labels):
    mean, error = curves.coefficients[k]
    return (f"$D$ = {mean:.4g}" + (rf" $\pm$ {error:.2g}" if np.isfinite(error) else "") + f" {labels['of_diffusion']}" +
            (f" {curves.kinds[k]}" if k else ""))


def plot_band(axis, time, values, errors, k):
    color = (BLUE, VERMILION, BLACK)[k % 3]
    axis.fill_between(time, values - errors, values + errors, color=color, alpha=0.3, linewidth=0)
    axis.plot(time, values, color=color, linestyle=("-", "--", ":")[k // 3 % 3])


def plot_displacement(curves, remark, labels):
    figure, axis = plt.subplots(figsize=(COLUMN, 2.8), constrained_layout=True)
    later = curves.time[curves.half:]
    for k in range(len(curves.kinds)):
        plot_band(axis, curves.time[1:], curves.value[1:, k], curves.error[1:, k], k)
        line = 2 * curves.dimension * curves.coefficients[k][0] * (later - later.mean()) + curves.value[curves.half:, k].mean()
        axis.plot(later, line, color="0.4", linestyle="--", linewidth=1, label=name_coefficient(curves, k, labels))
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(labels["time"])
    axis.set_ylabel(labels["msd"])
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), title=remark or None)
    return figure


def plot_velocities(curves, remark, labels):
    figure, axes = plt.subplots(2, 1, sharex=True, figsize=(COLUMN, 3.6), constrained_layout=True)
    for k in range(len(curves.kinds)):
        plot_band(axes[0], curves.time, curves.value[:, k] / curves.value[0, k], curves.error[:, k] / curves.value[0, k], k)
        plot_band(axes[1], curves.time, curves.running(k), 0 * curves.time, k)
    axes[0].set_title("\n".join([*(name_coefficient(curves, k, labels) for k in range(len(curves.kinds))), *([remark] if remark else [])]))
    axes[0].set_ylabel(r"$\langle v(0)\,v(t)\rangle / \langle v^2\rangle$")
    axes[1].set_ylabel(labels["diffusion"])
    axes[0].axhline(0, color="0.6", linewidth=0.8, zorder=0)
    axes[-1].set_xlabel(labels["time"])
    axes[-1].set_xlim(0, curves.time[-1])
    return figure


def draw_curves(all_curves, style, report, results):
    first_step = float((report or {}).get("options", {}).get("analysis.msd_from", {}).get("value", 0))
    remark = remark_of(report, first_step, "$D$") if all_curves else ""
    tell_remark(remark.replace("$", ""), "analysis.msd_from")
    for curves in all_curves:
        how = "slope of the displacements" if curves.name == "msd" else "integral of the velocity autocorrelation"
        results += [("diffusion coefficient", how, curves.kinds[k] or "all atoms", mean, error, UNITS[style]["diffusion"], remark.replace("$", ""))
                    for k, (mean, error) in enumerate(curves.coefficients)]
        columns = with_units(curves.columns, style, {"time": "time", "msd": "msd", "vacf": "vacf", "diffusion": "diffusion"})
        yield curves.name, (plot_displacement if curves.name == "msd" else plot_velocities)(curves, remark, LABELS[style]), columns


# --- g(r) -------------------------------------------------------------------------------------------------------------


def draw_rdf(base, style):
    path, labels = base + ".rdf.csv", LABELS[style]
    if not os.path.exists(path):
        return
    try:
        kinds, r, g, error = read_table(path, "g", "r")
    except (ValueError, IndexError, OSError) as problem:
        raise ValueError(f"{path}: cannot be read ({type(problem).__name__}: {problem})") from problem
    figure, axis = plt.subplots(figsize=(COLUMN, 2.8), constrained_layout=True)
    for k, kind in enumerate(kinds):
        plot_band(axis, r, g[:, k], error[:, k], k)
        axis.lines[-1].set_label(kind.replace("of ", "") or "all atoms")
    axis.axhline(1, color="0.6", linewidth=0.8, zorder=0)
    axis.set_xlabel(labels["r"])
    axis.set_ylabel(r"radial distribution function  $g(r)$")
    axis.set_xlim(0, r[-1] + r[0])
    axis.set_ylim(bottom=0)
    if len(kinds) > 1:
        axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2)
    columns = {"r": r}
    for k, kind in enumerate(kinds):
        end = kind.replace("of types ", "_").replace(" ", "_")
        columns.update({"g" + end: g[:, k], f"g{end}_error": error[:, k]})
    yield "rdf", figure, with_units(columns, style, {"r": "length"})
