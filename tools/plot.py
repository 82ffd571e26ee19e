#!/usr/bin/env python3
"""Pictures of a run: tools/plot.py NAME.h5 [-o PREFIX] [--format png,svg]

Of a run without frames tools/plot.py NAME.json makes those of these that need none: thermo, viscosity, msd, vacf and rdf. Heads of tables
have the units, `time (ps)`.

  PREFIX-thermo.png     temperature, energies and pressure against time; from NAME.json where it stands beside NAME.h5,
                        else from the observables stored with the frames
  PREFIX-snapshots.png  the xy plane, first and last frame, coloured by local order or by speed; by order, where that changes,
                        the frame between them in which it is half way, too
  PREFIX-gr.png         radial distribution function: of the first frame, of the last one, and the mean over what is
                        stationary
  PREFIX-gr.csv         its numbers: r, g (mean over frames), r_outer and neighbors (how many there are up to r_outer: the
                        coordination number where g has its first minimum), g_first, g_last
  PREFIX-neighbors.png  with --neighbors FILE: the bonds of a neighbour list as report.neighbors writes it (2-D)
  PREFIX-viscosity.png  of a run with analysis.pressure = tensor: autocorrelation of the shear stress, and its running integral, the
                        shear viscosity (Green-Kubo), with errors by means of ten blocks; the value is that where the correlation has
                        sunk to its error
  PREFIX-viscosity.csv  its numbers: time, correlation, correlation_error, viscosity, viscosity_error
  PREFIX-msd.png        of a run with analysis.msd_every: the mean square displacement with its error by windows, and the diffusion
                        coefficient from its slope over the second half of the lags
  PREFIX-vacf.png       with analysis.vacf_every: the velocity autocorrelation, and its running integral divided by the dimension, the
                        diffusion coefficient
  PREFIX-msd.csv        their numbers: time, msd (or vacf), its error, and the diffusion coefficient up to there (of displacements by the
  PREFIX-vacf.csv       local slope); if there are several types the same for each
  PREFIX-coefficients.csv  viscosity and diffusion coefficients, in words: quantity, by which method, of which atoms, value, error, unit,
                        remark (langevin makes other coefficients than the fluid has)
  PREFIX-rdf.png        with analysis.rdf_every: g(r) of all samples of the run, with its error by blocks, also of pairs of types;
                        PREFIX-rdf.csv has r, g and its errors

The mean is over the last half of the run. Where temperature or potential energy have a trend there, it is over the last quarter or
eighth, and where they have one to the end there is no mean. --from STEP names the first step instead. Of more than 100 frames it takes
100, evenly spread. The legend says which. Pairs are divided by those of independent particles at the same density, per area in two
dimensions. In an open box only particles that lie as deep inside as the longest r are at the centre of shells, and the density is that
of this inner part.

Needs numpy, h5py and matplotlib (Debian: python3-numpy python3-h5py python3-matplotlib).
"""
import argparse
import csv
import json
import os
import sys

from interpreter import need, run

need(__name__, ("numpy", "h5py", "matplotlib"))
import matplotlib
import numpy as np
from curves import RESULT, TENSOR, draw_curves, draw_rdf, draw_thermo
from diffusion import find_curves, load_report
from drawing import BLACK, BLUE, COLUMN, FORMATS, PAGE, VERMILION, plt, save, use_style
from kinds import kind_of, wrong_file
from labels import LABELS, with_units
from matplotlib.collections import LineCollection
from stationary import part_of_mean
from structure import MAX_PAIRS, RadialDistribution, hexatic_order, longest_distance, nearest_image, steinhardt_order
from trajectory import NOT_OURS, attribute, open_trajectory, part, texts
from scripts import Parser, guess, one_of  # found by trajectory

ALL = "particles/all/"
THERMO = ("temperature", "pressure", "potential_energy", "kinetic_energy", "total_energy", "conserved_energy")
SLAB = 1.2  # sigma: how thick what is drawn of three dimensions is
MAX_FRAMES = 100  # that the mean of g(r) is over
MAX_CIRCLES = 5_000  # that are circles in an SVG: more are a bitmap in it, or no viewer is quick with the file


# --- the data ---------------------------------------------------------------------------------------------------------


class Frame:
    """One configuration: position [n, dimension] within the box, length and periodic [dimension], speed or None."""

    style = "lj"  # of its units

    def __init__(self, file, k):
        self.dimension = d = dimension_of(file)
        self.style = style_of(file)
        position = part(file, ALL + "position/value", 3)
        self.step = int(part(file, ALL + "position/step", 1, len(position))[k])
        self.time = float(part(file, ALL + "position/time", 1, len(position))[k])
        self.periodic = np.array([word == "periodic" for word in texts(attribute(file, ALL + "box", "boundary"))])[:d]
        self.length = np.ones(d)
        if self.periodic.any():  # an open axis has no length that counts, and a box with open axes alone may have none at all
            self.length = np.diagonal(part(file, ALL + "box/edges/value", 3, len(position))[k])[:d].astype(float)
        self.position = position[k, :, :d].astype(float)
        self.speed = None
        if ALL + "velocity" in file:
            self.speed = np.linalg.norm(part(file, ALL + "velocity/value", 3, len(position))[k], axis=1)
        if self.position.shape[1] != d or len(self.periodic) != d or len(self.length) != d or (self.length[self.periodic] <= 0).any():
            raise ValueError(f"{file.filename}: positions, {ALL}box@boundary and edges are not of {d} dimensions: {NOT_OURS}")
        if not len(self.position) or not np.isfinite(self.position).all():
            what = "numbers that are not finite" if len(self.position) else "no atoms"
            raise ValueError(f"{file.filename}: {ALL}position/value: frame {k} has {what}")
        self.place()

    def place(self):
        """Sets low and high, the corners of the box; along an open axis, of the particles."""
        wrapped = np.mod(self.position, self.length)
        wrapped[wrapped >= self.length] = 0  # a tiny negative coordinate rounds to the length itself
        self.position = np.where(self.periodic, wrapped, self.position)
        self.low = np.where(self.periodic, 0, self.position.min(axis=0))
        self.high = np.where(self.periodic, self.length, self.position.max(axis=0))

    def view(self):
        """The corners of what is drawn: at least two sigma wide, where open axes span less."""
        more = np.where(self.periodic, 0, np.maximum(2 * self.sigma - (self.high - self.low), 0) / 2)
        return self.low - more, self.high + more

    @property
    def labels(self):
        return LABELS[self.style]

    @property
    def sigma(self):
        """The unit of lengths that are drawn; in others than reduced units that of a liquid with as many particles per volume."""
        return 1 if self.style == "lj" else round(0.92 * self.density ** (-1 / self.dimension), 3)

    @property
    def density(self):
        return len(self.position) / np.prod(np.maximum(self.high - self.low, 1e-9))


def dimension_of(file):
    d = attribute(file, "parameters/mdmini", "dimension")
    if d not in (2, 3):
        raise ValueError(f"{file.filename}: parameters/mdmini@dimension is {d}: {NOT_OURS}")
    return int(d)


def style_of(file):
    """Of the units: a word of LABELS."""
    style = file["parameters/mdmini"].attrs.get("unit_style", b"lj")  # the first version wrote none
    style = style.decode() if isinstance(style, bytes) else str(style)
    if style not in LABELS:
        raise ValueError(f"{file.filename}: parameters/mdmini@unit_style is {style}: {NOT_OURS}")
    return style


def load_thermo(path, file):
    """Arrays by name; from the report beside the trajectory if it has them, for it holds more points than frames."""
    report = os.path.splitext(path)[0] + ".json"
    if os.path.exists(report):
        thermo = read_report(report)
        if thermo:
            return thermo
    n_frames = len(part(file, ALL + "position/value", 3))
    names = {"total_energy": "internal_energy"}
    thermo = {key: part(file, f"observables/{names.get(key, key)}/value", 1, n_frames)[:] for key in THERMO}
    thermo.update({key: part(file, f"{ALL}position/{key}", 1, n_frames)[:] for key in ("step", "time")})
    if "observables/pressure_tensor" in file:
        tensor = part(file, "observables/pressure_tensor/value", 3, n_frames)[:]
        thermo.update({key: tensor[:, "xyz".index(key[-2]), "xyz".index(key[-1])] for key in TENSOR})
    return thermo


def read_report(path):
    """The thermo table of the report of a run; None where it has none."""
    try:
        with open(path, encoding="utf-8") as stream:
            thermo = json.load(stream).get("thermo")
        if not thermo:
            return None
        found = {key: np.array(thermo[key], dtype=float) for key in ("step", "time", *THERMO, *(key for key in TENSOR if key in thermo))}
        if {values.shape for values in found.values()} != {(len(found["step"]),)}:
            raise ValueError("its columns are not of one length")
        return found if len(found["step"]) else None
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path}: the thermo table cannot be read ({type(error).__name__}: {error}); without this file beside the "
                         "trajectory, that of its frames is drawn") from error


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


def draw_particles(figure, axis, frame, chosen, color, low, high, **how):
    """Circles of diameter 0.9 sigma; where these are tiny, so large that they touch, or the colours drown in white."""
    axis.set_aspect("equal")
    axis.set_xlim(low[0], high[0])
    axis.set_ylim(low[1], high[1])
    figure.canvas.draw()  # only now the layout says how large a sigma is
    points = axis.get_window_extent().width / (high[0] - low[0]) * 72 / figure.dpi * frame.sigma
    spacing = 1.1 * frame.density ** (-1 / frame.dimension) / frame.sigma
    size = 0.9 * points if points > 4 or len(frame.position) < 100 else max(spacing * points, 0.3)
    return axis.scatter(*frame.position[chosen, :2].T, c=color, s=size**2, linewidths=0,
                        rasterized=len(chosen) > MAX_CIRCLES, **how)


def lowest_of_slab(frame):
    """Where the slab begins: in the middle, or, where less than a third as many particles are there as in the fullest layer, as
    beside a vacuum, in that. (Of a crystal there may be one plane in the one, and two in the other.)"""
    z, thick = np.sort(frame.position[:, 2]), SLAB * frame.sigma
    first = np.append(z, (frame.low[2] + frame.high[2] - thick) / 2)
    counts = np.searchsorted(z, first + thick, side="right") - np.searchsorted(z, first)
    return first[-1] if 3 * counts[-1] >= counts.max() else first[counts.argmax()]


def choose_slab(frame):
    """All particles in two dimensions; in three those of a slab of SLAB sigma, the upper ones in front."""
    if frame.dimension == 2:
        return np.arange(len(frame.position))
    z, low = frame.position[:, 2], lowest_of_slab(frame)
    chosen = np.flatnonzero((z >= low) & (z <= low + SLAB * frame.sigma))
    return chosen[np.argsort(z[chosen], kind="stable")]


def local_order(frame, some):
    """Of these particles: |psi6| in two dimensions, q6 in three."""
    return (hexatic_order if frame.dimension == 2 else steinhardt_order)(frame, some)


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
    views = [frame.view() for frame in frames]
    shape = max((high[1] - low[1]) / (high[0] - low[0]) for low, high in views)
    width = (PAGE - 0.8) / len(frames) if len(frames) > 1 else PAGE - 2.8  # of a panel
    figure, axes = plt.subplots(1, len(frames), constrained_layout=True, squeeze=False,
                                figsize=(len(frames) * width + 0.8, np.clip(width * shape, 1.5, 9) + 0.6))
    chosen = [choose_slab(frame) for frame in frames]
    if color == "speed":
        values = [frame.speed[some] for frame, some in zip(frames, chosen)]
        label, low, high = frames[0].labels["speed"], 0, max(1e-9, *(np.percentile(v, 99.5) for v in values))
    else:
        values = [local_order(frame, some) for frame, some in zip(frames, chosen)]
        label, low, high = r"local hexatic order  $|\psi_6|$", 0, 1
        if frames[0].dimension == 3:
            label, low, high = r"local order  $q_6$", 0.2, 0.6  # liquid 0.3 to 0.45, fcc 0.575
    for axis, frame, value in zip(axes[0], frames, values):
        slab = "" if frame.dimension == 2 else \
            "\n" + rf"slab {frame.labels['z']} = {lowest_of_slab(frame):.2f} to {lowest_of_slab(frame) + SLAB * frame.sigma:.2f}"
        axis.set_title(f"step {frame.step:,}" + ("\n" if len(frames) > 2 else "   ") +
                       rf"{frame.labels['t'].format(frame.time)}   mean {value.mean():.3f}{slab}")
        axis.set_xlabel(frame.labels["x"])
    axes[0, 0].set_ylabel(frames[0].labels["y"])
    bar = figure.colorbar(matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(low, high), "viridis"), ax=axes,
                          shrink=0.8, pad=0.02)
    bar.set_label(label)
    for axis, frame, some, value, (corner, other) in zip(axes[0], frames, chosen, values, views):
        draw_particles(figure, axis, frame, some, value, corner, other, cmap="viridis", vmin=low, vmax=high)
    return figure


def frames_of_mean(steps, thermo, first_step):
    """The same with at most MAX_FRAMES frames, spread evenly."""
    chosen, words = part_of_mean(steps, thermo, first_step)
    if len(chosen) > MAX_FRAMES:
        words = f"{MAX_FRAMES} of {len(chosen)}, evenly spread; {words}"
        chosen = chosen[np.linspace(0, len(chosen) - 1, MAX_FRAMES).round().astype(int)]
    return chosen, words


def empty_distribution(ends):
    return RadialDistribution(longest_distance(ends, 5 * ends[0].sigma), 0.02 * ends[0].sigma)


def average_distribution(file, ends, steps, chosen, words):
    """(g(r) summed over the chosen frames, its label). ends: the first and the last frame of the file; steps: of all frames; words: which
    part of the run the chosen ones are of."""
    mean = empty_distribution(ends)
    for k in chosen:
        mean.add(Frame(file, k), min(MAX_PAIRS, 4 * MAX_PAIRS // len(chosen)))
    span = f"mean of {len(chosen)} frames, steps {steps[chosen[0]]:,} to {steps[chosen[-1]]:,}\n" if len(chosen) > 1 else ""
    return mean, span + (words if len(chosen) > 1 or words.startswith("no mean") else "one frame is left: no mean")


def distribution_table(mean, ends, style):
    """Columns of NAME-gr.csv. ends: g(r) of the first and of the last frame; style: of the units."""
    columns = {"r": mean.r, "g": mean.g, "r_outer": mean.edges[1:], "neighbors": mean.neighbors, "g_first": ends[0].g, "g_last": ends[-1].g}
    return with_units(columns, style, {"r": "length"})


def plot_distribution(frames, ends, mean, label):
    """frames, ends: the first and the last frame, and g(r) of them."""
    figure, axis = plt.subplots(figsize=(COLUMN, 2.8), constrained_layout=True)
    for frame, one, color, dashes in zip(frames, ends, [BLUE, VERMILION], ["-", "--"]):
        axis.plot(one.r, one.g, color=color, linestyle=dashes, linewidth=0.8, label=f"step {frame.step:,}   " + frame.labels["t"].format(frame.time))
    if mean.n_frames > 1:
        axis.plot(mean.r, mean.g, color=BLACK, label=label)
    elif len(frames) > 1:
        axis.plot([], [], " ", label=label)
    axis.axhline(1, color="0.6", linewidth=0.8, zorder=0)
    axis.set_xlabel(frames[0].labels["r"])
    axis.set_ylabel(r"radial distribution function  $g(r)$")
    axis.set_xlim(0, mean.edges[-1])
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
    axis.set_xlabel(frame.labels["x"])
    axis.set_ylabel(frame.labels["y"])
    where = "" if (high == frame.high).all() else ", a corner of the box"
    axis.set_title(f"{len(pairs[0]) // 2:,} pairs, {count.mean():.2f} neighbours per atom{where}")
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


def draw_report(arguments):
    """As draw_all, of the report of a run without frames."""
    if kind_of(arguments.trajectory) != "report":
        raise ValueError(wrong_file(arguments.trajectory, "trajectory", "report"))
    with open(arguments.trajectory, encoding="utf-8") as stream:
        report = json.load(stream)
    thermo = read_report(arguments.trajectory)
    if not thermo:
        raise ValueError("holds no thermo table")
    volume, style, results = report.get("volume"), report["unit_style"], []
    dimension, base = int(report["options"]["system.dimension"]["value"]), os.path.splitext(arguments.trajectory)[0]
    yield from draw_thermo(thermo, style, dimension, np.nan if volume is None else volume, arguments.first_step, report, results)
    yield from draw_curves(find_curves(base, dimension, None, report), style, report, results)
    yield "coefficients", None, results
    yield from draw_rdf(base, style)


def draw_all(arguments):
    """Yields the kind of each picture that was asked for, its figure, and the columns of numbers that are kept beside it, or None. Of
    coefficients no figure, but rows."""
    if arguments.trajectory.endswith(".json"):
        yield from draw_report(arguments)
        return
    with open_trajectory(arguments.trajectory) as file:
        position = part(file, ALL + "position/value", 3)
        steps = part(file, ALL + "position/step", 1, len(position))[:]
        if len(steps) == 0:
            raise ValueError(f"{arguments.trajectory} holds no frame")
        thermo = load_thermo(arguments.trajectory, file)
        chosen, words = frames_of_mean(steps, thermo, arguments.first_step)
        frames = choose_frames(file, len(steps), arguments.color)
        if arguments.color == "speed" and frames[0].speed is None:
            raise ValueError(f"{arguments.trajectory} holds no velocities (output.velocities_every)")
        if arguments.neighbors and frames[0].dimension != 2:
            raise ValueError("--neighbors draws two-dimensional systems only")
        volume = np.prod(frames[0].length) if frames[0].periodic.all() else np.nan
        base, style, results = os.path.splitext(arguments.trajectory)[0], frames[0].style, []
        report = load_report(base)
        yield from draw_thermo(thermo, style, frames[0].dimension, volume, arguments.first_step, report, results)
        yield from draw_curves(find_curves(base, frames[0].dimension, file, report), style, report, results)
        yield "coefficients", None, results
        yield from draw_rdf(base, style)
        yield "snapshots", plot_snapshots(frames, arguments.color), None
        if arguments.neighbors:
            yield "neighbors", plot_neighbors(frames[0], read_neighbors(arguments.neighbors, len(frames[0].position))), None
        # Last, since it takes longest.
        ends = [frames[0], frames[-1]] if len(frames) > 1 else frames
        radial = [empty_distribution(ends).add(frame) for frame in ends]
        mean, label = average_distribution(file, ends, steps, chosen, words)
        yield "gr", plot_distribution(ends, radial, mean, label), distribution_table(mean, radial, style)


def save_table(path, columns):
    """CSV with a line of names. Returns the path."""
    np.savetxt(path, np.column_stack(list(columns.values())), fmt="%.8g", delimiter=",", header=",".join(columns), comments="")
    return path


def save_rows(path, names, rows):
    """CSV with a line of names; what is not known is empty. Returns the path."""
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows([word if isinstance(word, str) else f"{word:.8g}" if np.isfinite(word) else "" for word in row] for row in rows)
    return path


def picture_formats(text):
    for word in text.split(","):
        if word not in FORMATS:
            raise argparse.ArgumentTypeError(f"read {word!r}; allowed: {', '.join(FORMATS)}{guess(word, FORMATS)}")
    return list(dict.fromkeys(text.split(",")))


def main():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trajectory", metavar="NAME.h5", help="or NAME.json, of a run without frames")
    parser.add_argument("-o", metavar="PREFIX", dest="prefix", help="of the pictures; default: NAME")
    parser.add_argument("--format", type=picture_formats, default=["png"], dest="formats", metavar="FORMAT,...",
                        help="of every picture: png, svg, pdf (default: png)")
    parser.add_argument("--color", type=one_of("order", "speed"), metavar="{order,speed}", default="order",
                        help="of the snapshots (default: order)")
    parser.add_argument("--from", type=float, dest="first_step", metavar="STEP",
                        help="of the frames that the mean of g(r) is over (default: where the thermo table stops drifting)")
    parser.add_argument("--neighbors", metavar="FILE", help="a neighbour list to draw, as report.neighbors writes it")
    arguments = parser.parse_args()
    prefix = arguments.prefix or os.path.splitext(arguments.trajectory)[0]
    use_style()
    try:
        for kind, figure, columns in draw_all(arguments):
            if figure:
                print(*save(figure, f"{prefix}-{kind}", arguments.formats), sep="\n")
            if columns:
                path = f"{prefix}-{kind}.csv"
                print(save_table(path, columns) if figure else save_rows(path, RESULT, columns))
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        where = "" if str(error).startswith("--") or arguments.trajectory in str(error) else f"{arguments.trajectory}: "
        print(f"plot.py: error: {where}{error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
