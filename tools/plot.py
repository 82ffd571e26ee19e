#!/usr/bin/env python3
"""Pictures of a run: tools/plot.py NAME.h5 [-o PREFIX] [--format png,svg]

  PREFIX-thermo.png     temperature, energies and pressure against time; from NAME.json where it stands beside NAME.h5,
                        else from the observables stored with the frames
  PREFIX-snapshots.png  the xy plane, first and last frame, coloured by local order or by speed; by order, where that changes,
                        the frame between them in which it is half way, too
  PREFIX-gr.png         radial distribution function: of the first frame, of the last one, and the mean over frames
  PREFIX-gr.csv         its numbers: r, g (mean over frames), r_outer and neighbors (how many there are up to r_outer: the
                        coordination number where g has its first minimum), g_first, g_last
  PREFIX-neighbors.png  with --neighbors FILE: the bonds of a neighbour list as report.neighbors writes it (2-D)

The mean is over all frames from --from STEP on, of more than 100 over 100 that are spread evenly. Pairs are divided by those of
independent particles at the same density, per area in two dimensions. In an open box only particles that lie as deep inside as the
longest r are at the centre of shells, and the density is that of this inner part.

Needs numpy, h5py and matplotlib (Debian: python3-numpy python3-h5py python3-matplotlib).
"""
import argparse
import json
import os
import sys

from interpreter import need, run

need(__name__, ("numpy", "h5py", "matplotlib"))
import matplotlib
import numpy as np
from drawing import BLACK, BLUE, COLUMN, FORMATS, PAGE, VERMILION, plt, save, use_style
from matplotlib.collections import LineCollection
from structure import MAX_PAIRS, RadialDistribution, hexatic_order, longest_distance, nearest_image, steinhardt_order
from trajectory import open_trajectory
from scripts import Parser, guess, one_of  # found by trajectory

MAX_FRAMES = 100  # that the mean of g(r) is over
MAX_CIRCLES = 5_000  # that are circles in an SVG: more are a bitmap in it, or no viewer is quick with the file


# --- the data ---------------------------------------------------------------------------------------------------------


class Frame:
    """One configuration: position [n, dimension] within the box, length and periodic [dimension], speed or None."""

    def __init__(self, file, k):
        particles = file["particles/all"]
        self.dimension = d = int(file["parameters/mdmini"].attrs["dimension"])
        self.step = int(particles["position/step"][k])
        self.time = float(particles["position/time"][k])
        self.periodic = np.array([bytes(word) == b"periodic" for word in particles["box"].attrs["boundary"]])[:d]
        # where all axes are open there is no box; a length along an open axis has no effect
        self.length = np.diag(particles["box/edges/value"][k])[:d].astype(float) if self.periodic.any() else np.ones(d)
        self.position = particles["position/value"][k, :, :d].astype(float)
        self.speed = None
        if "velocity" in particles:
            self.speed = np.linalg.norm(particles["velocity/value"][k], axis=1)
        self.place()

    def place(self):
        """Sets low and high, the corners of the box; along an open axis, of the particles."""
        wrapped = np.mod(self.position, self.length)
        wrapped[wrapped >= self.length] = 0  # a tiny negative coordinate rounds to the length itself
        self.position = np.where(self.periodic, wrapped, self.position)
        self.low = np.where(self.periodic, 0, self.position.min(axis=0))
        self.high = np.where(self.periodic, self.length, self.position.max(axis=0))

    @property
    def density(self):
        return len(self.position) / np.prod(np.maximum(self.high - self.low, 1e-9))


def load_thermo(path, file):
    """Arrays by name; from the report beside the trajectory if it has them, for it holds more points than frames."""
    report = os.path.splitext(path)[0] + ".json"
    if os.path.exists(report):
        with open(report, encoding="utf-8") as stream:
            thermo = json.load(stream).get("thermo")
        if thermo:
            return {key: np.array(values, dtype=float) for key, values in thermo.items()}
    names = {"total_energy": "internal_energy"}
    keys = ["temperature", "pressure", "potential_energy", "kinetic_energy", "total_energy", "conserved_energy"]
    thermo = {key: file[f"observables/{names.get(key, key)}/value"][:] for key in keys}
    thermo["time"] = file["particles/all/position/time"][:]
    return thermo


def read_neighbors(path, n_atoms):
    """Pairs (i, j) of a text file with rows `i count j1 j2 ...`, both directions, each once."""
    rows, columns = [], []
    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            words = line.split("#")[0].split()
            if not words:
                continue
            try:
                row = [int(word) for word in words]
            except ValueError:
                raise ValueError(f"{path}:{number}: not a row of integers") from None
            if len(row) < 2 or len(row) != 2 + row[1]:
                raise ValueError(f"{path}:{number}: not `i count j1 j2 ...` with as many ids as the count says")
            if min(row[:1] + row[2:]) < 0 or max(row[:1] + row[2:]) >= n_atoms:
                raise ValueError(f"{path}:{number}: an id is not among the {n_atoms} of the trajectory")
            rows += [row[0]] * row[1]
            columns += row[2:]
    pairs = np.array([rows + columns, columns + rows], dtype=np.int64).reshape(2, -1)
    return np.unique(pairs, axis=1)


# --- the pictures -----------------------------------------------------------------------------------------------------


def plot_thermo(thermo, dimension):
    # What is conserved differs from the total energy by what a shift of the potential cuts off, and by heat: its drift is seen
    # as the change since the beginning only.
    kept = thermo["conserved_energy"]
    known = kept[np.isfinite(kept)]
    panels = [(r"temperature  $k_\mathrm{B}T/\varepsilon$", thermo["temperature"], BLUE),
              (r"potential energy  $U/N\varepsilon$", thermo["potential_energy"], BLUE),
              (r"total energy  $E/N\varepsilon$", thermo["total_energy"], BLUE),
              (r"conserved energy: drift", kept - known[0] if len(known) else kept, VERMILION),
              (rf"pressure  $P\sigma^{dimension}/\varepsilon$", thermo["pressure"], BLUE)]
    panels = [panel for panel in panels if np.isfinite(panel[1]).any()]  # an open box has no pressure
    figure, axes = plt.subplots(len(panels), 1, sharex=True, figsize=(COLUMN, 1.45 * len(panels) + 0.2), constrained_layout=True,
                                squeeze=False)
    marker = "o" if len(thermo["time"]) < 30 else ""
    for axis, (label, values, color) in zip(axes[:, 0], panels):
        axis.plot(thermo["time"], values, color=color, marker=marker, markersize=2.5)
        axis.set_ylabel(label)
        axis.ticklabel_format(axis="y", useOffset=False, scilimits=(-3, 5))
    figure.align_ylabels()
    axes[-1, 0].set_xlabel(r"time  $t/\tau$")
    axes[-1, 0].set_xlim(thermo["time"][0], max(thermo["time"][-1], thermo["time"][0] + 1e-9))
    return figure


def draw_particles(figure, axis, frame, chosen, color, low, high, **how):
    """Circles of diameter 0.9 sigma; where these are tiny, so large that they touch, or the colours drown in white."""
    axis.set_aspect("equal")
    axis.set_xlim(low[0], high[0])
    axis.set_ylim(low[1], high[1])
    figure.canvas.draw()  # only now the layout says how large a sigma is
    points = axis.get_window_extent().width / (high[0] - low[0]) * 72 / figure.dpi
    spacing = 1.1 * frame.density ** (-1 / frame.dimension)
    size = 0.9 * points if points > 4 else max(spacing * points, 0.3)
    return axis.scatter(*frame.position[chosen, :2].T, c=color, s=size**2, linewidths=0,
                        rasterized=len(chosen) > MAX_CIRCLES, **how)


def choose_slab(frame):
    """All particles in two dimensions; in three those of a slab of 1.2 sigma in the middle."""
    if frame.dimension == 2:
        return np.arange(len(frame.position))
    middle = (frame.low[2] + frame.high[2]) / 2
    chosen = np.flatnonzero(np.abs(frame.position[:, 2] - middle) < 0.6)
    return chosen[np.argsort(frame.position[chosen, 2], kind="stable")]  # the upper ones in front


def local_order(frame, part):
    """Of these particles: |psi6| in two dimensions, q6 in three."""
    return (hexatic_order if frame.dimension == 2 else steinhardt_order)(frame, part)


def choose_frames(file, n_frames, color):
    """The first and the last one, and where local order changes between them by more than a tenth, the one in which it is half way:
    that in which a crystal melts. Found by bisection."""
    ends = [Frame(file, k) for k in sorted({0, n_frames - 1})]
    if n_frames < 3 or color != "order":
        return ends
    order = [local_order(frame, choose_slab(frame)).mean() for frame in ends]
    if abs(order[1] - order[0]) <= 0.1:
        return ends
    low, high = 0, n_frames - 1
    while high - low > 1:
        k = (low + high) // 2
        middle = Frame(file, k)
        share = (local_order(middle, choose_slab(middle)).mean() - order[0]) / (order[1] - order[0])
        low, high = (k, high) if share < 0.5 else (low, k)
    return [ends[0], Frame(file, min(high, n_frames - 2)), ends[1]]


def plot_snapshots(frames, color):
    shape = max((frame.high[1] - frame.low[1]) / max(frame.high[0] - frame.low[0], 1e-9) for frame in frames)
    width = (PAGE - 0.8) / len(frames) if len(frames) > 1 else PAGE - 2.8  # of a panel
    figure, axes = plt.subplots(1, len(frames), constrained_layout=True, squeeze=False,
                                figsize=(len(frames) * width + 0.8, np.clip(width * shape, 1.5, 9) + 0.6))
    chosen = [choose_slab(frame) for frame in frames]
    if color == "speed":
        values = [frame.speed[part] for frame, part in zip(frames, chosen)]
        label, low, high = r"speed  $v\tau/\sigma$", 0, max(np.percentile(v, 99.5) for v in values)
    elif frames[0].dimension == 2:
        values = [local_order(frame, part) for frame, part in zip(frames, chosen)]
        label, low, high = r"local hexatic order  $|\psi_6|$", 0, 1
    else:
        values = [local_order(frame, part) for frame, part in zip(frames, chosen)]
        label, low, high = r"local order  $q_6$", 0.2, 0.6  # liquid 0.3 to 0.45, fcc 0.575
    for axis, frame, value in zip(axes[0], frames, values):
        axis.set_title(f"step {frame.step:,}" + ("\n" if len(frames) > 2 else "   ") +
                       rf"$t = {frame.time:g}\,\tau$   mean {value.mean():.3f}")
        axis.set_xlabel(r"$x/\sigma$")
    axes[0, 0].set_ylabel(r"$y/\sigma$")
    bar = figure.colorbar(matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(low, high), "viridis"), ax=axes,
                          shrink=0.8, pad=0.02)
    bar.set_label(label)
    for axis, frame, part, value in zip(axes[0], frames, chosen, values):
        draw_particles(figure, axis, frame, part, value, frame.low, frame.high, cmap="viridis", vmin=low, vmax=high)
    return figure


def frames_of_mean(steps, first_step):
    """Indices of frames from a step on, at most MAX_FRAMES of them, spread evenly. steps: of all frames."""
    chosen = np.flatnonzero(steps >= first_step)
    if len(chosen) == 0:
        raise ValueError(f"--from {first_step:g}: the last frame is of step {steps[-1]}")
    if len(chosen) > MAX_FRAMES:
        chosen = chosen[np.linspace(0, len(chosen) - 1, MAX_FRAMES).round().astype(int)]
    return chosen


def average_distribution(file, ends, steps, chosen):
    """(g(r) summed over the chosen frames, its label). ends: the first and the last frame of the file; steps: of all frames."""
    mean = RadialDistribution(longest_distance(ends))
    for k in chosen:
        mean.add(Frame(file, k), max(MAX_PAIRS // 10, 4 * MAX_PAIRS // len(chosen)))
    return mean, rf"mean of {len(chosen)} frames, steps {steps[chosen[0]]:,} to {steps[chosen[-1]]:,}"


def distribution_table(mean, ends):
    """Columns of NAME-gr.csv. ends: g(r) of the first and of the last frame."""
    return {"r": mean.r, "g": mean.g, "r_outer": mean.edges[1:], "neighbors": mean.neighbors, "g_first": ends[0].g, "g_last": ends[-1].g}


def plot_distribution(frames, ends, mean, label):
    """frames, ends: the first and the last frame, and g(r) of them."""
    figure, axis = plt.subplots(figsize=(COLUMN, 2.8), constrained_layout=True)
    for frame, one, color, dashes in zip(frames, ends, [BLUE, VERMILION], ["-", "--"]):
        axis.plot(one.r, one.g, color=color, linestyle=dashes, linewidth=0.8, label=rf"step {frame.step:,}   $t = {frame.time:g}\,\tau$")
    if mean.n_frames > 1:
        axis.plot(mean.r, mean.g, color=BLACK, label=label)
    axis.axhline(1, color="0.6", linewidth=0.8, zorder=0)
    axis.set_xlabel(r"distance  $r/\sigma$")
    axis.set_ylabel(r"radial distribution function  $g(r)$")
    axis.set_xlim(0, mean.r[-1])
    # The peaks of a crystal at rest have any height; the scale is that of the last frame.
    axis.set_ylim(0, min(axis.get_ylim()[1], max(4, 1.3 * ends[-1].g.max())))
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1))
    return figure


def plot_neighbors(frame, pairs):
    """Half of each bond is drawn from each of its ends; of a bond through a periodic face all, so that it reaches the
    face on both sides."""
    n = len(frame.position)
    # No more than some thousand atoms can be told apart: of a larger system the corner, where periodic bonds are.
    high = frame.high if n <= 1500 else np.minimum(frame.high, frame.low + np.sqrt(1000 / frame.density))
    begin = frame.position[pairs[0]]
    direct = frame.position[pairs[1]] - begin
    bond = nearest_image(frame, direct)
    through = (bond != direct).any(axis=1)
    end = begin + np.where(through, 1, 0.5)[:, None] * bond
    seen = (begin <= high + np.abs(bond).max(initial=0)).all(axis=1)
    lines = np.stack([begin[seen], end[seen]], axis=1)
    count = np.bincount(pairs[0], minlength=n)
    figure, axis = plt.subplots(figsize=(5, 4.3), constrained_layout=True)
    axis.set_xlabel(r"$x/\sigma$")
    axis.set_ylabel(r"$y/\sigma$")
    part = "" if (high == frame.high).all() else ", a corner of the box"
    axis.set_title(f"{len(pairs[0]) // 2:,} pairs, {count.mean():.2f} neighbours per atom{part}")
    axis.add_collection(LineCollection(lines, colors="0.55", linewidths=0.4))
    low_count, high_count = count.min() - 0.5, count.max() + 0.5
    scale = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(low_count, high_count),
                                         plt.get_cmap("viridis", int(high_count - low_count)))
    bar = figure.colorbar(scale, ax=axis, shrink=0.85)
    bar.set_label("neighbours")
    bar.set_ticks(np.unique(np.linspace(count.min(), count.max(), 7).round()))
    shown = np.flatnonzero((frame.position <= high).all(axis=1))
    circles = draw_particles(figure, axis, frame, shown, count[shown], frame.low, high, cmap=scale.cmap,
                             vmin=low_count, vmax=high_count, zorder=2)
    circles.set_sizes(circles.get_sizes() * 0.2)  # smaller than life, so that bonds show
    return figure


def draw_all(arguments):
    """Yields the kind of each picture that was asked for, its figure, and the columns of numbers that are kept beside it, or None."""
    with open_trajectory(arguments.trajectory) as file:
        steps = file["particles/all/position/step"][:]
        if len(steps) == 0:
            raise ValueError(f"{arguments.trajectory} holds no frame")
        chosen = frames_of_mean(steps, arguments.first_step)
        frames = choose_frames(file, len(steps), arguments.color)
        if arguments.color == "speed" and frames[0].speed is None:
            raise ValueError(f"{arguments.trajectory} holds no velocities (output.velocities_every)")
        if arguments.neighbors and frames[0].dimension != 2:
            raise ValueError("--neighbors draws two-dimensional systems only")
        yield "thermo", plot_thermo(load_thermo(arguments.trajectory, file), frames[0].dimension), None
        yield "snapshots", plot_snapshots(frames, arguments.color), None
        if arguments.neighbors:
            yield "neighbors", plot_neighbors(frames[0], read_neighbors(arguments.neighbors, len(frames[0].position))), None
        # Last, since it takes longest.
        ends = [frames[0], frames[-1]] if len(frames) > 1 else frames
        radial = [RadialDistribution(longest_distance(ends)).add(frame) for frame in ends]
        mean, label = average_distribution(file, ends, steps, chosen)
        yield "gr", plot_distribution(ends, radial, mean, label), distribution_table(mean, radial)


def save_table(path, columns):
    """CSV with a line of names. Returns the path."""
    np.savetxt(path, np.column_stack(list(columns.values())), fmt="%.8g", delimiter=",", header=",".join(columns), comments="")
    return path


def picture_formats(text):
    for word in text.split(","):
        if word not in FORMATS:
            raise argparse.ArgumentTypeError(f"read {word!r}; allowed: {', '.join(FORMATS)}{guess(word, FORMATS)}")
    return list(dict.fromkeys(text.split(",")))


def main():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trajectory", metavar="NAME.h5")
    parser.add_argument("-o", metavar="PREFIX", dest="prefix", help="of the pictures; default: NAME")
    parser.add_argument("--format", type=picture_formats, default=["png"], dest="formats", metavar="FORMAT,...",
                        help="of every picture: png, svg, pdf (default: png)")
    parser.add_argument("--color", type=one_of("order", "speed"), metavar="{order,speed}", default="order",
                        help="of the snapshots (default: order)")
    parser.add_argument("--from", type=float, default=0, dest="first_step", metavar="STEP",
                        help="of the frames that the mean of g(r) is over (default: 0, all frames)")
    parser.add_argument("--neighbors", metavar="FILE", help="a neighbour list to draw, as report.neighbors writes it")
    arguments = parser.parse_args()
    prefix = arguments.prefix or os.path.splitext(arguments.trajectory)[0]
    use_style()
    try:
        for kind, figure, columns in draw_all(arguments):
            print(*save(figure, f"{prefix}-{kind}", arguments.formats), sep="\n")
            if columns:
                print(save_table(f"{prefix}-{kind}.csv", columns))
    except KeyError as error:
        print(f"plot.py: error: {arguments.trajectory}: not as mdmini writes a trajectory: {error}", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"plot.py: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
