#!/usr/bin/env python3
"""A picture of what the streams of the GPU and the threads of the host did when:

  mdmini inputs/melt.txt report.trace=off.json output.pipeline=off
  mdmini inputs/melt.txt report.trace=on.json  output.pipeline=on
  tools/timeline.py off.json on.json -o timeline.png --from 100 --to 140

One panel a trace, one row a stream or thread, one colour a kind of work; where nothing is drawn it was idle. Where several
kinds are finer than what one can see, they stand on top of each other, as high as their share of the time. Times are
milliseconds from the beginning of the time loop. The share beside a row is that of work, without waits, in the window.
The files open in https://ui.perfetto.dev and chrome://tracing as well.

Needs matplotlib (Debian: python3-matplotlib).
"""
import argparse
import json
import math
import os
import sys

from interpreter import need, run

need(__name__, ("matplotlib",))
from drawing import BLUE, FORMATS, GREEN, GREY, ORANGE, PAGE, PALE, SKY, VERMILION, label_ticks, plt, save, use_style
from kinds import wrong_file
from matplotlib.patches import Patch
from scripts import Parser  # found by kinds

# Waits are hatched as well: no work is done in them.
KINDS = {"steps": (BLUE, "forces and integration"), "list": (ORANGE, "rebuild of the list"),
         "gather": (SKY, "sums, gathering of frames"), "copy": (GREEN, "copy to the host"),
         "write": (VERMILION, "into files"), "wait": (GREY, "waits")}
IDLE = PALE
PHASES = "phases"  # of the run as a whole: not drawn, but they say where the loop is
WIDTH = 1600  # points in which nothing finer than one of them is drawn


class Wrong(Exception):
    """What is wrong with a file, or with what was asked for."""


# --- the data ---------------------------------------------------------------------------------------------------------


class Row:
    """A stream or thread: spans (begin, end, kind, name), sorted, in milliseconds from the loop's beginning."""

    def __init__(self, process, name):
        self.process, self.name, self.spans = process, name, []


class Trace:
    def __init__(self, path):
        self.path = path
        try:
            with open(path, encoding="utf-8") as stream:
                data = json.load(stream)
        except OSError as error:
            raise Wrong(wrong_file(path, "trace", why=error.strerror)) from None
        except ValueError as error:
            raise Wrong(wrong_file(path, "trace", why=f"no JSON: {error}")) from None
        events = data.get("traceEvents") if isinstance(data, dict) else None
        if not isinstance(events, list):
            raise Wrong(wrong_file(path, "trace", why="it has no list of traceEvents"))
        try:
            self.read(events)
        except (KeyError, TypeError, AttributeError) as error:
            raise Wrong(f"{path}: an event lacks or spoils {error}") from None
        self.dropped = data.get("otherData", {}).get("dropped", 0)

    def read(self, events):
        process = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
        rows = {(e["pid"], e["tid"]): Row(process.get(e["pid"], ""), e["args"]["name"])
                for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
        values = []
        for event in events:
            if event["ph"] == "C":
                values.append((event["ts"], event["name"], event["args"]["value"]))
            if event["ph"] != "X":
                continue
            row = rows.get((event["pid"], event["tid"]))
            if row is None:
                raise Wrong(f"{self.path}: '{event['name']}' is on a track without a name")
            if row.name != PHASES and event["cat"] not in KINDS:
                raise Wrong(f"{self.path}: '{event['name']}' is of the unknown kind '{event['cat']}'")
            row.spans.append((event["ts"], event["ts"] + event["dur"], event["cat"], event["name"]))
        self.phases = {name: (begin, end) for row in rows.values() if row.name == PHASES
                       for begin, end, _, name in row.spans}
        if "loop" not in self.phases:
            raise Wrong(f"{self.path}: it shows no time loop")
        begin, end = self.phases["loop"]
        self.length = (end - begin) * 1e-3
        self.values = sorted(((t - begin) * 1e-3, value) for t, _, value in values)
        self.value_name = values[0][1] if values else None
        # The streams first: what a reader looks for is whether the compute stream is ever idle.
        self.rows = sorted((row for row in rows.values() if row.name != PHASES and row.spans),
                           key=lambda row: "stream" not in row.name)
        for row in self.rows:
            row.spans = sorted(((a - begin) * 1e-3, (b - begin) * 1e-3, kind, name) for a, b, kind, name in row.spans)
        if not self.rows:
            raise Wrong(f"{self.path}: it holds no spans")


def window(traces, first, last):
    """The stretch that is drawn, and the same for all traces, so that lengths compare."""
    first = 0.0 if first is None else first
    last = max(trace.length for trace in traces) if last is None else last
    if not first < last:
        raise Wrong(f"--from {first:g} --to {last:g}: nothing is between them")
    for trace in traces:
        if not any(a < last and b > first for row in trace.rows for a, b, _, _ in row.spans):
            raise Wrong(f"{trace.path}: nothing happens from {first:g} to {last:g} ms; its loop takes {trace.length:g} ms")
    return first, last


def clip(spans, first, last):
    return [(max(a, first), min(b, last), kind, name) for a, b, kind, name in spans if b > first and a < last]


def join(spans, gap):
    """Neighbours of one kind that no eye could tell apart are one."""
    joined = []
    for a, b, kind, name in spans:
        if joined and joined[-1][2] == kind and a - joined[-1][1] < gap:
            before = joined[-1]
            joined[-1] = (before[0], max(before[1], b), kind, before[3] if before[3] == name else "")
        else:
            joined.append((a, b, kind, name))
    return joined


def split(spans, first, last):
    """What fills points as a whole, as spans; of those that several spans share, how long each kind is there."""
    point = (last - first) / WIDTH
    whole, shared = [], {}

    def share(at, begin, end, kind):
        if end > begin:
            here = shared.setdefault(min(at, WIDTH - 1), {})
            here[kind] = here.get(kind, 0) + end - begin

    for a, b, kind, name in spans:
        low, high = (a - first) / point, (b - first) / point
        begin, end = math.ceil(low), math.floor(high)
        if begin > end:  # within one point
            share(end, low, high, kind)
            continue
        share(begin - 1, low, begin, kind)
        share(end, end, high, kind)
        if begin < end:
            whole.append((first + begin * point, first + end * point, kind, name))
    return whole, shared


def stack(shared):
    """(point, kind, bottom, height) of what shares points: heights are shares of what is there."""
    bars = []
    for at, times in sorted(shared.items()):
        bottom, total = 0, sum(times.values())
        for kind, time in times.items():
            bars.append((at, kind, bottom, time / total))
            bottom += time / total
    return bars


def busy(spans, first, last):
    """Share of the window in which a row works. Its spans do not overlap."""
    return sum(b - a for a, b, kind, _ in clip(spans, first, last) if kind != "wait") / (last - first)


def percent(share):
    if 0 < share < 0.001:
        return "< 0.1"
    return f"{100 * share:.0f}" if share >= 0.0995 or share == 0 else f"{100 * share:.1g}"


# --- the picture ------------------------------------------------------------------------------------------------------


def draw_row(axes, y, row, first, last):
    axes.broken_barh([(first, last - first)], (y - 0.36, 0.72), facecolor=IDLE, linewidth=0)
    point = (last - first) / WIDTH
    spans, shared = split(join(clip(row.spans, first, last), point), first, last)
    for kind, (colour, _) in KINDS.items():
        look = {"facecolor": colour, "linewidth": 0, "edgecolor": "#666666", "hatch": "////" if kind == "wait" else None}
        bars = [(a, b - a) for a, b, k, _ in spans if k == kind]
        if bars:
            axes.broken_barh(bars, (y - 0.36, 0.72), **look)
        small = [(first + at * point, y - 0.36 + 0.72 * bottom, 0.72 * height) for at, k, bottom, height in stack(shared) if k == kind]
        if small:
            x, bottoms, heights = zip(*small)
            axes.bar(x, heights, point, bottoms, align="edge", **look)
    for a, b, kind, name in spans:
        room = (b - a) / (last - first) * 95  # letters that fit into it
        if name and kind != "wait" and len(name) + 1 < room:
            axes.text((a + b) / 2, y, name, ha="center", va="center", fontsize=6,
                      color="black" if kind in ("list", "gather") else "white", clip_on=True)
    axes.text(last + 0.006 * (last - first), y, f"{percent(busy(row.spans, first, last))} %", va="center")


def draw_panel(axes, trace, title, first, last):
    n = len(trace.rows)
    for k, row in enumerate(trace.rows):
        draw_row(axes, n - 1 - k, row, first, last)
    labels = [row.name if "stream" in row.name else f"thread: {row.name}" for row in trace.rows]
    ticks = list(range(n - 1, -1, -1))
    inside = [(t, v) for t, v in trace.values if t <= last]
    if inside:
        top = max(max(v for _, v in inside), 1)
        times = [min(max(t, first), last) for t, _ in inside] + [last]
        heights = [-1.36 + 0.72 * v / top for _, v in inside]
        axes.step(times, heights + heights[-1:], where="post", color="black", linewidth=0.9)
        axes.text(last + 0.006 * (last - first), -1, f"of {top:g}", va="center")
        labels.append(trace.value_name)
        ticks.append(-1)
    label_ticks(axes.yaxis, ticks, labels)
    axes.set_xlim(first, last)
    axes.set_ylim(-1.6 if inside else -0.6, n - 0.4)
    lost = f"; {trace.dropped} events found no room in the trace" if trace.dropped else ""
    axes.set_title(f"{title}   (loop: {trace.length:.4g} ms{lost})", loc="left")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", top=False)


def draw(traces, titles, output, first, last):
    rows = [len(trace.rows) + bool(trace.values) for trace in traces]
    figure, panels = plt.subplots(len(traces) + 1, 1, sharex=True, constrained_layout=True,
                                  figsize=(PAGE, 0.8 + 0.3 * sum(rows) + 0.4 * len(rows)), gridspec_kw={"height_ratios": [*rows, 0.7]})
    for axes, trace, title in zip(panels, traces, titles):
        draw_panel(axes, trace, title, first, last)
    panels[-2].tick_params(labelbottom=True)
    panels[-2].set_xlabel("ms from the beginning of the time loop; at the right: share of the window with work")
    seen = {span[2] for trace in traces for row in trace.rows for span in clip(row.spans, first, last)}
    patches = [Patch(facecolor=colour, edgecolor="#666666", linewidth=0, hatch="////" if kind == "wait" else None, label=label)
               for kind, (colour, label) in KINDS.items() if kind in seen]
    patches.append(Patch(facecolor=IDLE, edgecolor="#CCCCCC", linewidth=0.5, label="idle"))
    panels[-1].axis("off")
    panels[-1].legend(handles=patches, loc="center", ncol=len(patches), fontsize=6, handlelength=1.4, columnspacing=1)
    prefix, ending = os.path.splitext(output)
    save(figure, prefix, [ending[1:]])


def main():
    parser = Parser(prog="timeline.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", metavar="TRACE.json", help="one panel each")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="picture: .png, .svg or .pdf")
    parser.add_argument("--from", dest="first", type=float, metavar="MS", help="begin here; default: with the loop")
    parser.add_argument("--to", dest="last", type=float, metavar="MS", help="end here; default: with the longest loop")
    parser.add_argument("--titles", nargs="+", metavar="TEXT", help="of the panels; default: the names of the files")
    arguments = parser.parse_args()
    use_style()
    titles = arguments.titles or [os.path.splitext(os.path.basename(path))[0] for path in arguments.traces]
    try:
        if len(titles) != len(arguments.traces):
            raise Wrong(f"--titles: {len(titles)} for {len(arguments.traces)} traces")
        if os.path.splitext(arguments.output)[1][1:] not in FORMATS:
            raise Wrong(f"{arguments.output}: the ending must be one of .{', .'.join(FORMATS)}")
        traces = [Trace(path) for path in arguments.traces]
        draw(traces, titles, arguments.output, *window(traces, arguments.first, arguments.last))
    except Wrong as wrong:
        print(f"timeline.py: {wrong}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"timeline.py: {arguments.output}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
