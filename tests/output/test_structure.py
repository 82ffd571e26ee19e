"""What tools/plot.py draws of frames: pairs, g(r), local order, slabs and the choice of frames, against brute force and against what is known
of gases and crystals."""
import unittest.mock

from plotting import fcc, film, hexagonal, lattice, make_frame, plot

import numpy as np
import structure


def test_pairs():
    """As sets, against all pairs: 2-D and 3-D, periodic and open, uneven, and boxes of one and two cells."""
    random = np.random.default_rng(3)
    n_pairs = 0
    for length in ([9, 7], [4.1, 20], [6, 6.5, 7], [3.2, 8, 4.9], [2.5, 2.5, 2.5]):
        for periodic in ([True] * len(length), [False] * len(length), [True, False, True][:len(length)]):
            points = random.random((150, len(length))) ** 1.7 * length
            points[0] = 0
            points[1] = np.nextafter(length, 0)
            points[2] = -1e-18  # wraps to the length itself when it is rounded
            frame = make_frame(points, length, periodic)
            for cutoff in (0.4, 1.25):
                origins = np.arange(0, 150, 2)
                found = set()
                for k, j, vector in structure.find_pairs(frame, cutoff, origins):
                    portion = set(zip(origins[k].tolist(), j.tolist()))
                    assert len(portion) == len(k) and not portion & found, "a pair came twice"
                    found |= portion
                    assert np.allclose(np.linalg.norm(vector, axis=1) < cutoff, True)
                d = frame.position[:, None] - frame.position[None]
                d -= np.where(frame.periodic, frame.length * np.rint(d / frame.length), 0)
                near = np.linalg.norm(d, axis=2) < cutoff
                expected = {(i, j) for i in origins for j in np.flatnonzero(near[i]) if i != j}
                assert found == expected, (length, periodic, cutoff, len(found), len(expected))
                n_pairs += len(found)
    assert n_pairs > 5000


def test_portions():
    """A search that must be cut into portions finds the same."""
    frame = hexagonal(20)
    origins = np.arange(len(frame.position))
    whole = sorted((k, j) for a, b, _ in structure.find_pairs(frame, 2.5, origins) for k, j in zip(a, b))
    keep, structure.PORTION = structure.PORTION, 50
    parts = sorted((k, j) for a, b, _ in structure.find_pairs(frame, 2.5, origins) for k, j in zip(a, b))
    structure.PORTION = keep
    assert whole == parts and len(whole) == 18 * len(origins)


def distribution_of(*frames, **how):
    found = structure.RadialDistribution(structure.longest_distance(frames), **how)
    for frame in frames:
        found.add(frame)
    return found


def test_distribution():
    random = np.random.default_rng(5)
    for length, periodic in (([60, 60], [True, True]), ([20, 20, 20], [True] * 3), ([60, 60], [True, False]),
                             ([30, 20, 20], [False, True, True]), ([24, 24, 24], [False] * 3)):
        # An ideal gas: 1 within the noise of independent pairs, in each bin and on average.
        n, volume = 20000, np.prod(length)
        gas = make_frame(random.random((n, len(length))) * length, length, periodic)
        found = distribution_of(gas)
        r, g = found.r, found.g
        assert r[-1] > 4.9 and len(r) > 200
        outer = r > 1
        # With an open axis the inner part alone serves, and its own density fluctuates by one over the root of n.
        assert abs(g[outer].mean() - 1) < (0.003 if all(periodic) else 0.02), (periodic, g[outer].mean())
        assert np.abs(g[outer] - 1).max() < 0.15, np.abs(g[outer] - 1).max()
        assert abs(g[(r > 0.2) & (r < 1)].mean() - 1) < 0.04
        ball = np.pi * found.edges[-1] ** 2 if len(length) == 2 else 4 / 3 * np.pi * found.edges[-1] ** 3
        assert abs(found.neighbors[-1] / (n / volume * ball) - 1) < 0.03, "neighbours within the longest distance"

    # A drop in a wide open box, with some vapour far from it: the density is that of the inside.
    drop = random.random((60000, 3)) * 20 - 10
    drop = drop[np.linalg.norm(drop, axis=1) < 10]
    g = distribution_of(make_frame(drop, [1, 1, 1], [False] * 3)).g
    assert abs(g[50:100].mean() - 1) < 0.03, g[50:100].mean()

    # Crystals: shells at the known distances with the known number of neighbours, in open boxes as well.
    for periodic in (True, False):
        a = 1.1
        check_shells(hexagonal(20, a), periodic, a * np.array([1, np.sqrt(3), 2, np.sqrt(7)]), [6, 6, 6, 12])
        a = 1.68
        check_shells(fcc(9, a), periodic, a * np.sqrt([0.5, 1, 1.5, 2]), [12, 6, 24, 12])


def check_shells(frame, periodic, distances, numbers):
    frame = make_frame(frame.position, frame.length, [periodic] * frame.dimension)
    found = distribution_of(frame)
    r, d = found.r, frame.dimension
    width = r[1] - r[0]
    shell = np.pi * np.diff(found.edges ** 2) if d == 2 else 4 / 3 * np.pi * np.diff(found.edges ** 3)
    density = {2: 2 / (1.1 ** 2 * np.sqrt(3)), 3: 4 / 1.68 ** 3}[d]
    neighbors = found.g * density * shell
    inside, so_far = np.zeros(len(r), bool), 0
    for distance, number in zip(distances, numbers):
        near = np.abs(r - distance) < 1.1 * width
        so_far += number
        if distance < r[-1]:
            # In a finite crystal the density of the part that is looked at depends on where it is cut.
            assert abs(neighbors[near].sum() / number - 1) < (0.001 if periodic else 0.3), (distance, neighbors[near].sum())
            assert abs(found.neighbors[near][-1] - so_far) < 1e-9, (distance, found.neighbors[near][-1], so_far)
        inside |= near
    assert not found.g[~inside & (r < distances[-1] + width)].any(), "pairs where the crystal has none"


def test_average():
    """Over frames: the sum of their pairs over the sum of what is expected."""
    random = np.random.default_rng(7)
    frames = [make_frame(random.random((500, 2)) * 20, [20, 20], [True, True]) for _ in range(40)]
    one, mean = distribution_of(frames[0]), distribution_of(*frames)
    assert mean.n_frames == 40 and mean.n_origins == 40 * 500
    assert np.allclose(mean.g, np.mean([distribution_of(frame).g for frame in frames], axis=0))
    scatter = [np.std(found.g[100:]) for found in (one, mean)]
    assert scatter[1] < scatter[0] / 4, scatter
    some = structure.RadialDistribution(5.0)
    some.add(frames[0], most_pairs=1000)
    assert some.n_origins < 60 and abs(some.g[100:].mean() - 1) < 0.3


def test_order():
    frame = hexagonal(12)
    everywhere = np.arange(len(frame.position))
    assert np.allclose(structure.hexatic_order(frame, everywhere), 1)
    square = lattice([(0, 0)], (1, 1), (16, 16))
    square.position += np.random.default_rng(1).normal(0, 0.02, square.position.shape)
    square.place()
    mean = structure.hexatic_order(square, np.arange(256)).mean()
    assert mean < 0.6, mean
    # Turned by any angle, it stays.
    angle = 0.3
    turned = frame.position @ np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    cluster = make_frame(turned, [1, 1], [False, False])
    middle = np.flatnonzero(np.linalg.norm(turned - turned.mean(axis=0), axis=1) < 6)
    assert len(middle) > 50 and np.allclose(structure.hexatic_order(cluster, middle), 1)

    crystal = fcc(5)
    q6 = structure.steinhardt_order(crystal, np.arange(len(crystal.position)))
    assert np.allclose(q6, 0.57452, atol=1e-5), q6[:3]  # the value of fcc: Steinhardt et al., table I
    gas = make_frame(np.random.default_rng(2).random((2000, 3)) * 10, [10, 10, 10], [True] * 3)
    assert structure.steinhardt_order(gas, np.arange(2000)).mean() < 0.4


def test_slabs():
    """A slab has atoms: in the middle, or where most are."""
    wet, crystal = film(3, 8), fcc(5)
    for points, length, at in ((wet, [8, 8, 30], (3, 8)), (np.concatenate([film(0, 4), film(26, 30, 250)]), [8, 8, 30], (26, 30)), ([[0.1, 0.2, 0.3]], [9, 9, 9], (0, 1.6)),
                               (film(0, 12, 800), [8, 8, 12], (5.4, 6.6)), (crystal.position, crystal.length, (3.6, 4.8))):
        frame = make_frame(np.array(points), length, [True] * 3)
        low, chosen = plot.lowest_of_slab(frame), plot.choose_slab(frame)
        assert len(chosen) and at[0] <= low + 1e-9 and low + plot.SLAB <= at[1] + 1e-9, (at, low, len(chosen))
        assert (np.abs(frame.position[chosen, 2] - low - plot.SLAB / 2) <= plot.SLAB / 2 + 1e-9).all()
    assert abs(plot.lowest_of_slab(crystal) - 3.6) < 1e-9, "of a crystal that fills the box the middle"


def test_stationary():
    """What the mean of g(r) is over: the last half; less where that drifts; what is asked for."""
    steps, random = np.arange(0, 50100, 100), np.random.default_rng(6)
    x = np.arange(0, 50001, 50) / 50000
    for temperature, n_frames, words in ((np.ones(len(x)), 100, "100 of 251, evenly spread; the last half of the run"),
                                         (np.maximum(0, 0.3 - x), 100, "100 of 251, evenly spread; the last half of the run"),
                                         (np.maximum(0, 0.7 - x), 100, "100 of 126, evenly spread; the last quarter of the run"),
                                         (np.maximum(0, 0.85 - x), 63, "the last eighth of the run"), (x, 1, "no mean: temperature or energy drift to the end")):
        noise = random.normal(0, 0.01, (2, len(x)))
        chosen, said = plot.frames_of_mean(steps, {"step": 50000 * x, "temperature": temperature + noise[0], "potential_energy": noise[1]}, None)
        assert len(chosen) == n_frames and said.startswith(words) and chosen[-1] == 500, (len(chosen), said)
    thermo = {"step": steps[:3], "temperature": np.ones(3), "potential_energy": np.full(3, np.nan)}
    assert plot.frames_of_mean(steps[:3], thermo, None)[0].tolist() == [1, 2] and plot.frames_of_mean(steps[:1], thermo, None)[0].tolist() == [0]
    chosen, said = plot.frames_of_mean(steps[:9], thermo, 600)
    assert chosen.tolist() == [6, 7, 8] and said == "from step 600 on, as asked"
    # However many frames and atoms there are, the mean rests on about as many pairs: some seconds of work.
    gas = make_frame(random.random((4000, 3)) * 16.8, [16.8] * 3, [True] * 3)
    with unittest.mock.patch.object(plot, "Frame", lambda file, k: gas):
        mean, label = plot.average_distribution(None, [gas], steps, np.arange(0, 500, 5), "the last half of the run")
    assert 0.8 < mean.counts.sum() / (4 * structure.MAX_PAIRS) < 1.2, mean.counts.sum()
    assert label == "mean of 100 frames, steps 0 to 49,500\nthe last half of the run", label


def test_frames():
    """Of a crystal that melts at frame 3 of 9 the pictures show the first frame, the one half way, and the last; of one that does not,
    and coloured by speed, the ends."""
    random = np.random.default_rng(7)
    crystal = hexagonal(10)

    def shaken(amplitude):
        return make_frame(crystal.position + random.normal(0, amplitude, crystal.position.shape), crystal.length, crystal.periodic)

    for amplitudes, color, expected in (([0, 0.02, 0.05, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5], "order", [0, 3, 8]),
                                        ([0] + 8 * [0.5], "order", [0, 1, 8]), (8 * [0] + [0.5], "order", [0, 7, 8]),
                                        (9 * [0.01], "order", [0, 8]), ([0, 0.2, 0.5], "speed", [0, 2]), ([0, 0.5], "order", [0, 1]),
                                        ([0], "order", [0])):
        frames = [shaken(amplitude) for amplitude in amplitudes]
        with unittest.mock.patch.object(plot, "Frame", lambda file, k: file[k]):
            chosen = plot.choose_frames(frames, len(frames), color)
        assert [frames.index(frame) for frame in chosen] == expected, (amplitudes, color, [frames.index(frame) for frame in chosen])


test_pairs()
test_portions()
test_frames()
test_slabs()
test_stationary()
test_distribution()
test_average()
test_order()
print("pairs, g(r), order, slabs, frames: as expected")
