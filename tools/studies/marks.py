"""What the pictures of a study are made of: rows, intervals, legends, the colours of outcomes."""
from collections import namedtuple

from drawing import BLACK, BLUE, COLUMN, GREY, PAGE, SERIES, VERMILION, label_ticks, plt
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from .stats import BOOTSTRAP_FROM
from .view import FAR, LATE, is_far

Picture = namedtuple("Picture", "name caption figure")
# (colour, hatch, marker) of a point by how it compares.
OUTCOMES = {"faster": (BLUE, "", "o"), "slower": (VERMILION, "////", "s"), "not distinguishable": (GREY, "....", "D"),
            "too few runs": ("white", "xxxx", "X"), None: (BLACK, "", "*")}
MAX_LINES = len(SERIES)


def legend_below(axes, handles, inches=0.42, n_columns=4):
    """Below the axis and its label, whatever the height of the picture."""
    shift = ScaledTranslation(0, -inches, axes.figure.dpi_scale_trans)
    inside = axes.get_legend()
    axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=axes.transAxes + shift,
                ncol=n_columns, handlelength=1.8, columnspacing=1.2, borderaxespad=0)
    if inside:
        axes.add_artist(inside)


def error_bars(axes, x, y, estimate, factor=1, upright=True, color=BLACK, zorder=4):
    """The interval of an estimate, where it has one."""
    if estimate.get("low") is None or estimate.get("high") is None:
        return
    reach = [[(estimate["value"] - estimate["low"]) / factor], [(estimate["high"] - estimate["value"]) / factor]]
    axes.errorbar([x], [y], fmt="none", ecolor=color, elinewidth=0.8, capsize=1.8, capthick=0.8, zorder=zorder,
                  **{"yerr" if upright else "xerr": reach})


def log_ticks(axis):
    """Ticks of a logarithmic axis as numbers that one reads: 0.5, 1, 2, or as powers of ten where these are long; 2 and
    5 between them where there is little more than a decade. It spans a decade at least, or it might have no tick."""
    axis.axes.autoscale_view()
    low, high = axis.get_view_interval()
    if high < 10 * low:
        wide = (10 * low / high) ** 0.5
        low, high = low / wide, high * wide
        (axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim)(low, high)
    plain = low > 1e-4 and high < 1e6

    def text(value, _):
        mantissa, exponent = f"{value:.0e}".split("e")
        return f"{value:g}" if plain else rf"${mantissa}\times10^{{{int(exponent)}}}$" if mantissa != "1" else \
            rf"$10^{{{int(exponent)}}}$"

    axis.set_major_locator(LogLocator(numticks=7))
    axis.set_major_formatter(FuncFormatter(text))
    def between(value, at):
        return text(value, at) if f"{value:.3e}"[:5] in ("2.000", "5.000") else ""

    axis.set_minor_formatter(FuncFormatter(between) if high / low < 110 else NullFormatter())


def rows_figure(n_rows, names):
    """A picture of one row a point; as wide as its names need."""
    width = COLUMN if max(map(len, names)) <= 24 else PAGE
    figure, axes = plt.subplots(figsize=(width, 0.17 * n_rows + 1.05), constrained_layout=True)
    label_ticks(axes.yaxis, range(n_rows), names)
    axes.set_ylim(n_rows - 0.4, -0.6)  # the first row at the top
    axes.tick_params(axis="y", length=0)
    return figure, axes


def figure_at_right(axes, row, text):
    axes.text(1.02, row, text, transform=axes.get_yaxis_transform(), va="center", ha="left", fontsize=7)


def outcome_of(comparison):
    return comparison["outcome"] if comparison else None


def outcome_handles(found, of, marks=False):
    words = {None: "base", "faster": f"faster than {of}", "slower": f"slower than {of}",
             "not distinguishable": f"not distinguishable from {of}"}
    handles = []
    for outcome, (color, hatch, marker) in OUTCOMES.items():
        if outcome in found:
            label = words.get(outcome, outcome)
            handles.append(Line2D([], [], color=color, marker=marker, linestyle="", label=label, markeredgecolor=BLACK,
                                  markeredgewidth=0.5) if marks
                           else Patch(facecolor=color, hatch=hatch, edgecolor=BLACK, linewidth=0.5, label=label))
    return handles


def late(point):
    return LATE if point.get("n_late_rebuilds") else ""


def late_mark(axes, x, y, point):
    """The mark beside what is drawn of a point at x, y (data)."""
    if late(point):
        axes.annotate(LATE, (x, y), xytext=(4, 1), textcoords="offset points", fontsize=8, ha="left", va="center", zorder=5)


def not_below_zero(axes):
    """Margins of an axis of speeds may go there; speeds do not."""
    axes.autoscale_view()
    if axes.get_ylim()[0] < 0:
        axes.set_ylim(bottom=0)


def late_note(points):
    return f" {LATE} rebuilds came late: not the speed of a correct list." if any(map(late, points)) else ""


def confidence(view, points):
    """Which intervals those of some speeds are (stats.median_interval)."""
    few = [point["speed"]["n"] < BOOTSTRAP_FROM for point in points]
    percent = f"{100 * view.results['confidence']:g} % intervals"
    if all(few):
        return f"{percent} (Student's, of the mean of the logarithms)"
    return f"{percent} of the median" + (f" (of fewer than {BOOTSTRAP_FROM} runs: Student's)" if any(few) else "")


def far_note(view, points, bases=None):
    """In words, the points whose interval ends far beyond all their runs; bases {point id: base}: of ratios."""
    far = [view.name(point) for point in points if is_far(point, bases[point["id"]] if bases else None)]
    if not far:
        return ""
    which = f"of {', '.join(dict.fromkeys(far))}" if len(set(far)) <= 3 else f"of {len(far)} points"
    return f" The interval {which} ends beyond {FAR} times all that was measured: runs are few, and scatter."
