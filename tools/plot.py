#!/usr/bin/env python3
"""Pictures of a run: tools/plot.py NAME.h5 [-o PREFIX] [--format png,svg]

  PREFIX-thermo.png     temperature, energies and pressure against time; from NAME.json where it stands beside NAME.h5,
                        else from the observables stored with the frames
  PREFIX-snapshots.png  the xy plane, first and last frame, coloured by local order or by speed
  PREFIX-gr.png         radial distribution function of the first and the last frame
  PREFIX-neighbors.png  with --neighbors FILE: the bonds of a neighbour list as report.neighbors writes it (2-D)

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
from drawing import BLUE, COLUMN, FORMATS, PAGE, VERMILION, plt, save, use_style
from matplotlib.collections import LineCollection
from trajectory import open_trajectory
from scripts import Parser, guess, one_of  # found by trajectory

MAX_PAIRS = 4_000_000  # that are held in memory at once
MAX_CIRCLES = 5_000  # that are circles in an SVG: more are a bitmap in it, or no viewer is quick with the file


# --- the data ---------------------------------------------------------------------------------------------------------


class Frame:
    """One configuration: position [n, dimension] within the box, length and periodic [dimension], speed or None."""

    def __init__(self, file, k):
        particles = file["particles/all"]
        self.dimension = d = int(file["parameters/mdmini"].attrs["dimension"])
        self.step = int(particles["position/step"][k])
        self.time = float(particles["position/time"][k])
        self.length = np.diag(particles["box/edges/value"][k])[:d].astype(float)
        self.periodic = np.array([bytes(word) == b"periodic" for word in particles["box"].attrs["boundary"]])[:d]
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


# --- neighbours, order, correlation -----------------------------------------------------------------------------------


def find_pairs(frame, cutoff, origins):
    """Yields (k, j, vector) in portions: particle j is within cutoff of particle origins[k], and vector leads there.

    A grid of cells no smaller than the cutoff. cutoff is at most half of each periodic edge."""
    extent = np.maximum(frame.high - frame.low, 1e-9)
    # As many cells as particles are enough: a thin gas would ask for more memory than the pairs themselves.
    most = max(1, int(len(frame.position) ** (1 / frame.dimension)) + 1)
    shape = np.clip((extent / cutoff).astype(np.int64), 1, most)
    cell = np.minimum(((frame.position - frame.low) / extent * shape).astype(np.int64), shape - 1)
    flat = np.ravel_multi_index(cell.T, shape)
    order = np.argsort(flat, kind="stable")
    start = np.searchsorted(flat[order], np.arange(np.prod(shape) + 1))
    # An axis of one or two cells must not meet the same cell twice.
    steps = [[0] if n == 1 else [0, 1] if n == 2 and p else [-1, 0, 1] for n, p in zip(shape, frame.periodic)]
    for offset in np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, frame.dimension):
        other = cell[origins] + offset
        inside = (((other >= 0) & (other < shape)) | frame.periodic).all(axis=1)
        k_inside = np.flatnonzero(inside)
        c = np.ravel_multi_index(np.mod(other[inside], shape).T, shape)
        count = start[c + 1] - start[c]
        end = np.cumsum(count)
        first = 0
        while first < len(c):
            done = end[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(end, done + MAX_PAIRS, side="right")))
            n = count[first:last]
            within = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
            k = np.repeat(k_inside[first:last], n)
            j = order[np.repeat(start[c[first:last]], n) + within]
            vector = nearest_image(frame, frame.position[j] - frame.position[origins[k]])
            near = (np.einsum("ij,ij->i", vector, vector) < cutoff * cutoff) & (j != origins[k])
            yield k[near], j[near], vector[near]
            first = last


def nearest_image(frame, vector):
    return vector - np.where(frame.periodic, frame.length * np.rint(vector / frame.length), 0)


def nearest_vectors(frame, origins, n_nearest):
    """Vectors to the nearest particles [n_origins, n_nearest, dimension], 0 where there are fewer within reach."""
    # The sphere that holds four times as many on average: enough but in the thinnest places, which have no order.
    d = frame.dimension
    volume = 4 * n_nearest / frame.density
    reach = np.sqrt(volume / np.pi) if d == 2 else np.cbrt(0.75 * volume / np.pi)
    if frame.periodic.any():
        reach = min(reach, frame.length[frame.periodic].min() / 2)
    found = [(k, vector) for k, _, vector in find_pairs(frame, reach, origins)]
    k = np.concatenate([entry[0] for entry in found] or [np.zeros(0, dtype=np.int64)])
    vector = np.concatenate([entry[1] for entry in found] or [np.zeros((0, d))])
    order = np.lexsort((np.einsum("ij,ij->i", vector, vector), k))
    k, vector = k[order], vector[order]
    rank = np.arange(len(k)) - np.searchsorted(k, k)
    keep = rank < n_nearest
    result = np.zeros((len(origins), n_nearest, d))
    result[k[keep], rank[keep]] = vector[keep]
    return result


def hexatic_order(frame, origins):
    """|psi6| of the six nearest neighbours, 1 in a hexagonal crystal: Nelson, Halperin, PRB 19, 2457 (1979)."""
    vector = nearest_vectors(frame, origins, 6)
    z = vector[..., 0] + 1j * vector[..., 1]
    size = np.abs(z)
    z = np.divide(z, size, out=np.zeros_like(z), where=size > 0)
    return np.abs((z**6).mean(axis=1))


def steinhardt_order(frame, origins):
    """q6 of the twelve nearest neighbours (Steinhardt, Nelson, Ronchetti, PRB 28, 784 (1983)); the sum over
    m of |q_6m|^2 by the addition theorem: the mean of the Legendre polynomial P6 over all pairs of bonds."""
    vector = nearest_vectors(frame, origins, 12)
    size = np.linalg.norm(vector, axis=2, keepdims=True)
    unit = np.divide(vector, size, out=np.zeros_like(vector), where=size > 0)
    c2 = np.einsum("nai,nbi->nab", unit, unit) ** 2
    both = (size > 0) & (size > 0).transpose(0, 2, 1)
    p6 = np.where(both, (((231 * c2 - 315) * c2 + 105) * c2 - 5) / 16, 0)
    return np.sqrt(np.maximum(p6.mean(axis=(1, 2)), 0))


def radial_distribution(frame, r_max=5.0, width=0.02):
    """Distances and g(r): pairs found over those expected of independent particles at the same density.

    Along an open axis only particles further than r_max from the ends serve as origins, so that every shell is whole.
    Of a large system a random part serves."""
    extent = frame.high - frame.low
    limits = np.where(frame.periodic, extent / 2, extent / 4)
    r_max = min(r_max, limits.min())
    n_bins = max(1, int(r_max / width))
    edges = np.linspace(0, n_bins * width, n_bins + 1)
    deep = ((frame.position >= frame.low + edges[-1]) & (frame.position <= frame.high - edges[-1])) | frame.periodic
    origins = np.flatnonzero(deep.all(axis=1))
    shell = np.pi * np.diff(edges**2) if frame.dimension == 2 else 4 / 3 * np.pi * np.diff(edges**3)
    n_origins = int(MAX_PAIRS / max(1, frame.density * shell.sum())) + 1
    if len(origins) > n_origins:
        origins = np.random.default_rng(1).choice(origins, n_origins, replace=False)
    counts = np.zeros(n_bins)
    for _, _, vector in find_pairs(frame, edges[-1], origins):
        counts += np.histogram(np.sqrt(np.einsum("ij,ij->i", vector, vector)), edges)[0]
    n = len(frame.position)
    expected = len(origins) * frame.density * (n - 1) / n * shell
    return (edges[1:] + edges[:-1]) / 2, counts / np.maximum(expected, 1e-300)


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


def plot_snapshots(frames, color):
    shape = max((frame.high[1] - frame.low[1]) / max(frame.high[0] - frame.low[0], 1e-9) for frame in frames)
    width = (PAGE - 0.8) / 2 if len(frames) == 2 else PAGE - 2.8  # of a panel
    figure, axes = plt.subplots(1, len(frames), constrained_layout=True, squeeze=False,
                                figsize=(len(frames) * width + 0.8, np.clip(width * shape, 1.5, 9) + 0.6))
    chosen = [choose_slab(frame) for frame in frames]
    if color == "speed":
        values = [frame.speed[part] for frame, part in zip(frames, chosen)]
        label, low, high = r"speed  $v\tau/\sigma$", 0, max(np.percentile(v, 99.5) for v in values)
    elif frames[0].dimension == 2:
        values = [hexatic_order(frame, part) for frame, part in zip(frames, chosen)]
        label, low, high = r"local hexatic order  $|\psi_6|$", 0, 1
    else:
        values = [steinhardt_order(frame, part) for frame, part in zip(frames, chosen)]
        label, low, high = r"local order  $q_6$", 0.2, 0.6  # liquid 0.3 to 0.45, fcc 0.575
    for axis, frame, value in zip(axes[0], frames, values):
        axis.set_title(rf"step {frame.step:,}   $t = {frame.time:g}\,\tau$   mean {value.mean():.3f}")
        axis.set_xlabel(r"$x/\sigma$")
    axes[0, 0].set_ylabel(r"$y/\sigma$")
    bar = figure.colorbar(matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(low, high), "viridis"), ax=axes,
                          shrink=0.8, pad=0.02)
    bar.set_label(label)
    for axis, frame, part, value in zip(axes[0], frames, chosen, values):
        draw_particles(figure, axis, frame, part, value, frame.low, frame.high, cmap="viridis", vmin=low, vmax=high)
    return figure


def plot_distribution(frames):
    figure, axis = plt.subplots(figsize=(COLUMN, 2.5), constrained_layout=True)
    for frame, color, dashes in zip(frames, [BLUE, VERMILION], ["-", "--"]):
        r, g = radial_distribution(frame)
        axis.plot(r, g, color=color, linestyle=dashes, label=rf"step {frame.step:,}   $t = {frame.time:g}\,\tau$")
    axis.axhline(1, color="0.6", linewidth=0.8, zorder=0)
    axis.set_xlabel(r"distance  $r/\sigma$")
    axis.set_ylabel(r"radial distribution function  $g(r)$")
    axis.set_xlim(0, r[-1])
    # The peaks of a crystal at rest have any height; the scale is that of the last frame.
    axis.set_ylim(0, min(axis.get_ylim()[1], max(4, 1.3 * g.max())))
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2)
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
    """Yields the kind of each picture that was asked for, and its figure."""
    with open_trajectory(arguments.trajectory) as file:
        n_frames = len(file["particles/all/position/step"])
        if n_frames == 0:
            raise ValueError(f"{arguments.trajectory} holds no frame")
        frames = [Frame(file, k) for k in sorted({0, n_frames - 1})]
        thermo = load_thermo(arguments.trajectory, file)
    if arguments.color == "speed" and frames[0].speed is None:
        raise ValueError(f"{arguments.trajectory} holds no velocities (output.velocities_every)")
    if arguments.neighbors and frames[0].dimension != 2:
        raise ValueError("--neighbors draws two-dimensional systems only")
    yield "thermo", plot_thermo(thermo, frames[0].dimension)
    yield "snapshots", plot_snapshots(frames, arguments.color)
    yield "gr", plot_distribution(frames)
    if arguments.neighbors:
        yield "neighbors", plot_neighbors(frames[0], read_neighbors(arguments.neighbors, len(frames[0].position)))


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
    parser.add_argument("--neighbors", metavar="FILE", help="a neighbour list to draw, as report.neighbors writes it")
    arguments = parser.parse_args()
    prefix = arguments.prefix or os.path.splitext(arguments.trajectory)[0]
    use_style()
    try:
        for kind, figure in draw_all(arguments):
            print(*save(figure, f"{prefix}-{kind}", arguments.formats), sep="\n")
    except KeyError as error:
        print(f"plot.py: error: {arguments.trajectory}: not as mdmini writes a trajectory: {error}", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"plot.py: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
