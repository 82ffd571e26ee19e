"""The picture of the stages on the roofline of measured ceilings (ceilings.py)."""
import numpy as np
from drawing import BLACK, COLUMN, SERIES, plt
from matplotlib.lines import Line2D

from .ceilings import NAMES, ROOFS, lacks, roof, roofline_points, stage_rows
from .marks import Picture, legend_below, log_ticks

SLANTED = {"memory_bandwidth": "-", "l2_bandwidth": "--", "shared_bandwidth": ":"}  # dashes of the lines


def draw_roofline(view, system, ceilings):
    rows = [row for row in stage_rows(view, system, ceilings) if row["intensity"]]
    stages = list(dict.fromkeys(row["stage"] for row in rows))
    points = roofline_points(view, system)
    roofs = {name: roof(ceilings, system, name) for name in ROOFS}
    peaks = [roofs[name] for name in ("peak_single", "peak_double") if roofs[name]]
    ridges = [max(peaks) / roofs[name] for name in SLANTED if roofs[name]] if peaks else []
    low = min([row["intensity"] for row in rows] + ridges) / 3
    high = max([row["intensity"] for row in rows] + ridges) * 4
    figure, axes = plt.subplots(figsize=(COLUMN, 3.3), constrained_layout=True)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(low, high)
    bottom = min(peaks + [row["gflop_per_s"] for row in rows] + [low * roofs[name] for name in SLANTED if roofs[name]]) / 3
    # Without a peak nothing ends the slanted roofs: a decade of the highest is to be seen, which its name needs.
    slanted = [low * roofs[name] * 10 for name in SLANTED if roofs[name]] if not peaks else []
    top = max(peaks + [row["gflop_per_s"] for row in rows] + slanted) * 3
    axes.set_ylim(bottom, top)
    for row in rows:
        color, _, marker, _ = SERIES[stages.index(row["stage"]) % len(SERIES)]
        fastest = row["point"] is points[-1]
        mark, = axes.plot(row["intensity"], row["gflop_per_s"], marker, markersize=5, markeredgecolor=color, zorder=4,
                          color=color if fastest else "white", markeredgewidth=1)
        mark.set_gid(f"{row['point']['id']} {row['stage']}")
    axes.set_xlabel("operations a byte (of the model)")
    axes.set_ylabel("GFLOP/s")
    log_ticks(axes.xaxis)
    log_ticks(axes.yaxis)
    handles = [Line2D([], [], linestyle="", marker=marker, color=color, label=stage)
               for stage, (color, _, marker, _) in zip(stages, SERIES)]
    legend_below(axes, handles, n_columns=4)
    axes.set_title(system["label"])
    draw_roofs(axes, roofs, low, high)  # last: names lie along lines, whose slope on the page depends on all the rest
    filled = "filled: " + view.name(points[-1]) + (f"; open: {view.name(points[0])}" if len(points) > 1 else "")
    missing = lacks(ceilings, system, points)
    note = f" Not measured: {missing}." if missing else ""
    return Picture(f"roofline-{system['id']}",
                   f"{system['label']}: stages on the roofline of measured ceilings; {filled}. Bytes and operations are those "
                   f"of the model; what a cache holds may stand above the roof of main memory.{note}", figure)


def draw_roofs(axes, roofs, low, high):
    """Slanted: bytes a second times operations a byte, up to the highest peak; level: peaks of arithmetic."""
    peaks = {name: roofs[name] for name in ("peak_single", "peak_double") if roofs[name]}
    highest = max(peaks.values(), default=np.inf)
    for name, dashes in SLANTED.items():
        if roofs[name]:
            end = min(high, min(highest, axes.get_ylim()[1]) / roofs[name])
            line, = axes.plot([low, end], [low * roofs[name], end * roofs[name]], color=BLACK, linewidth=1,
                              linestyle=dashes, label=NAMES[name])
            line.set_gid(name)
            centred = name == "memory_bandwidth" and end > 30 * low
            x = np.sqrt(low * end) if centred else low * (high / low) ** 0.06
            axes.annotate(NAMES[name], (x, x * roofs[name]), xytext=(-2, 2), textcoords="offset points", fontsize=6,
                          rotation=slope(axes), rotation_mode="anchor", ha="center" if centred else "left", va="bottom")
    steepest = max((roofs[name] for name in SLANTED if roofs[name]), default=np.inf)
    for name, value in peaks.items():
        line, = axes.plot([max(low, value / steepest), high], [value, value], color=BLACK, linewidth=1, label=NAMES[name])
        line.set_gid(name)
        above = value == highest  # the lower one has its name below, or they meet where the two are near
        axes.annotate(NAMES[name], (high, value), xytext=(-3, 2 if above else -2), textcoords="offset points", fontsize=6,
                      ha="right", va="bottom" if above else "top")


def slope(axes):
    """Degrees at which a line of constant bandwidth rises on the page."""
    (x0, x1), (y0, y1) = np.log10(axes.get_xlim()), np.log10(axes.get_ylim())
    axes.figure.canvas.draw()  # only now the layout says how large the axes are
    box = axes.get_window_extent()
    return np.degrees(np.arctan2(box.height / (y1 - y0), box.width / (x1 - x0)))
