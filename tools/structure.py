"""Neighbours, local order and g(r) of a frame: position [n, dimension] within low and high, length and periodic [dimension]."""
import numpy as np

MAX_PAIRS = 2_000_000  # that g(r) of a frame rests on
PORTION = 30_000  # pairs that are held at once: they stay in the caches of a processor
REACH = 2  # cells on each side of a particle's own in which its neighbours are


def find_pairs(frame, cutoff, origins):
    """Yields (k, j, vector) in portions: particle j is within cutoff of particle origins[k], and vector leads there.

    A grid of cells no smaller than cutoff / REACH. cutoff is at most half of each periodic edge."""
    extent = np.maximum(frame.high - frame.low, 1e-9)
    # As many cells as particles are enough: a thin gas would ask for more memory than the pairs themselves.
    most = max(1, int(len(frame.position) ** (1 / frame.dimension)) + 1)
    shape = np.clip((REACH * extent / cutoff).astype(np.int64), 1, most)
    cell = np.minimum(((frame.position - frame.low) / extent * shape).astype(np.int64), shape - 1)
    flat = np.ravel_multi_index(cell.T, shape)
    order = np.argsort(flat, kind="stable")
    start = np.searchsorted(flat[order], np.arange(np.prod(shape) + 1))
    x = np.ascontiguousarray(frame.position[order].T)  # axis by axis: numpy is slow with rows of two or three numbers
    # Around a periodic axis of few cells no cell may be met twice, and the cell does not tell which image is the nearest.
    is_short = frame.periodic & (shape < 2 * REACH + 1)
    steps = [range(n) if short else range(-REACH, REACH + 1) for n, short in zip(shape, is_short)]
    for offset in np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, frame.dimension):
        other = cell[origins] + offset
        inside = (((other >= 0) & (other < shape)) | frame.periodic).all(axis=1)
        k_inside, other = np.flatnonzero(inside), other[inside]
        here = (frame.position[origins[inside]] - np.where(is_short, 0, other // shape) * frame.length).T
        c = np.ravel_multi_index(np.mod(other, shape).T, shape)
        count = start[c + 1] - start[c]
        end = np.cumsum(count)
        first = 0
        while first < len(c):
            done = end[first - 1] if first else 0
            last = max(first + 1, int(np.searchsorted(end, done + PORTION, side="right")))
            n = count[first:last]
            k = np.repeat(np.arange(first, last), n)
            j = np.arange(len(k)) + (start[c] - end + count + done)[k]
            vector = [x[axis][j] - here[axis][k] for axis in range(frame.dimension)]
            for axis in np.flatnonzero(is_short):
                vector[axis] -= frame.length[axis] * np.rint(vector[axis] / frame.length[axis])
            near = np.flatnonzero(sum(d * d for d in vector) < cutoff * cutoff)
            k, j = k_inside[k[near]], order[j[near]]
            other_one = j != origins[k]
            yield k[other_one], j[other_one], np.stack([d[near] for d in vector], axis=1)[other_one]
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


class RadialDistribution:
    """g(r): pairs found in shells over those expected of independent particles at the same density; a sum over frames.

    Origins are the particles that lie further than the longest distance from the ends of each open axis, so that every shell is
    whole; along periodic axes all. The density is that of the others in the volume where origins are: (n - 1) / V, in two
    dimensions per area. Of an open box it is so that of the inner part, and what evaporates does not count. A shell's volume
    is 4/3 pi (r2^3 - r1^3), in two dimensions pi (r2^2 - r1^2)."""

    def __init__(self, r_max, width=0.02):
        self.n_bins = max(1, int(r_max / width + 1e-9))  # 0.3 / 0.02 is a little below 15
        self.edges = np.linspace(0, self.n_bins * width, self.n_bins + 1)
        self.counts, self.expected = np.zeros(self.n_bins), np.zeros(self.n_bins)
        self.n_origins, self.n_frames = 0, 0
        self.random = np.random.default_rng(1)  # other origins in each frame

    def add(self, frame, most_pairs=None):
        """Of a large system a random part of the origins serves: as many as find so many pairs (MAX_PAIRS)."""
        far = np.where(frame.periodic, 0, self.edges[-1])
        deep = ((frame.position >= frame.low + far) & (frame.position <= frame.high - far)) | frame.periodic
        origins = np.flatnonzero(deep.all(axis=1))
        density = max(len(origins) - 1, 0) / np.prod(np.maximum(frame.high - frame.low - 2 * far, 1e-9))
        power = frame.dimension
        shells = (np.pi if power == 2 else 4 / 3 * np.pi) * np.diff(self.edges ** power)
        most_origins = int((most_pairs or MAX_PAIRS) / max(1, density * shells.sum())) + 1
        if len(origins) > most_origins:
            origins = self.random.choice(origins, most_origins, replace=False)
        for _, _, vector in find_pairs(frame, self.edges[-1], origins):
            shell = (np.sqrt(np.einsum("ij,ij->i", vector, vector)) / self.edges[1]).astype(np.int64)
            self.counts += np.bincount(np.minimum(shell, self.n_bins - 1), minlength=self.n_bins)
        self.expected += len(origins) * density * shells
        self.n_origins += len(origins)
        self.n_frames += 1
        return self

    @property
    def r(self):
        """The middles of the shells."""
        return (self.edges[1:] + self.edges[:-1]) / 2

    @property
    def g(self):
        return self.counts / np.maximum(self.expected, 1e-300)

    @property
    def neighbors(self):
        """Mean number of neighbours up to the outer edge of each shell: the coordination number where g has a minimum."""
        return np.cumsum(self.counts) / max(self.n_origins, 1)


def longest_distance(frames, r_max=5.0):
    """Up to where g(r) is found: half a periodic edge, a quarter of what an open axis spans."""
    return min(r_max, *(np.min(np.where(frame.periodic, 0.5, 0.25) * (frame.high - frame.low)) for frame in frames))
