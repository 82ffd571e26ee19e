"""tools/studies/stats.py on synthetic timings with known answers: equal points are told apart no more often than stated, whatever
the noise; differences are found as often as theory expects; intervals, ranking, warm-up, effects and aliases."""
import itertools
import math
import time
from statistics import NormalDist

import numpy as np
from program import Checks
from studies import stats

N_POINTS = 4  # of a round of the synthetic machine
ROUNDS = (3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30)


def above(rate, n):
    """What a rate that is kept is not above in n tries, three standard deviations of the binomial."""
    return rate + 3 * math.sqrt(rate * (1 - rate) / n)


# --- a machine: the noise depends on when a run takes place, the order of the points of a round is drawn -----------------


def correlated(rng, shape, memory):
    x = rng.normal(size=shape)
    for k in range(1, len(x)):
        x[k] = memory * x[k - 1] + math.sqrt(1 - memory ** 2) * x[k]
    return x


def outliers(rng, shape, share):
    return np.log(10) * (rng.random(shape) < share)


NOISE = {  # logarithms of times [n_runs, n_series], in the order of the runs
    "normal": lambda rng, shape: 0.01 * rng.normal(size=shape),
    "log-normal": lambda rng, shape: 0.5 * rng.normal(size=shape),
    "heavy tails": lambda rng, shape: 0.01 * rng.standard_t(2, size=shape),
    "delays": lambda rng, shape: np.log1p(0.02 * rng.exponential(size=shape)),
    "outliers of 10x": lambda rng, shape: 0.01 * rng.normal(size=shape) + outliers(rng, shape, 0.03),
    "rounds that differ": lambda rng, shape: 0.01 * rng.normal(size=shape)
    + np.repeat(0.1 * rng.normal(size=(shape[0] // N_POINTS, shape[1])), N_POINTS, axis=0),
    "linear drift": lambda rng, shape: 0.005 * rng.normal(size=shape) + 0.01 / N_POINTS * np.arange(shape[0])[:, None],
    "memory of runs": lambda rng, shape: 0.01 * correlated(rng, shape, 0.9),
    "memory of rounds": lambda rng, shape: 0.005 * rng.normal(size=shape)
    + np.repeat(0.02 * correlated(rng, (shape[0] // N_POINTS, shape[1]), 0.7), N_POINTS, axis=0),
}


def run_machine(rng, noise, n_rounds, n_series):
    """Logarithms of times [n_rounds, n_points, n_series] of equal points."""
    in_time = NOISE[noise](rng, (n_rounds * N_POINTS, n_series)).reshape(n_rounds, N_POINTS, n_series)
    place = np.argsort(rng.random((n_rounds, N_POINTS, n_series)), axis=1)
    return np.take_along_axis(in_time, place, axis=1)


def test_equal(checks):
    n_series = 8000
    for noise, n_rounds in itertools.product(NOISE, ROUNDS):
        rng = np.random.default_rng(n_rounds)
        logs = run_machine(rng, noise, n_rounds, n_series)
        found = stats.centres(logs[:, 0] - logs[:, 1], 0.95)
        rate = np.mean(found.p < 0.05)
        checks.that(rate <= above(0.05, n_series), f"{noise}, {n_rounds} rounds: {rate:.4f} of equal points told apart")
        inside = np.mean((found.low <= 0) & (found.high >= 0))
        checks.that(inside >= 1 - above(0.05, n_series), f"{noise}, {n_rounds} rounds: intervals cover in {inside:.4f}")
        strict = np.mean(found.p < 0.001)
        checks.that(strict <= above(0.001, n_series), f"{noise}, {n_rounds} rounds: p < 0.001 in {strict:.5f}")
        if noise == "normal":  # as little as stated, yet not for want of trying
            checks.that(rate >= (0.05 if n_rounds < stats.TRIM_FROM else 0.04) - (above(0.05, n_series) - 0.05),
                        f"{n_rounds} rounds: only {rate:.4f} of equal points told apart")


def test_two_states(checks):
    """What the statistics do not keep, and say so: a clock that jumps between two states."""
    for n_rounds in ROUNDS:
        rng = np.random.default_rng(n_rounds)
        logs = 0.03 * (rng.random((n_rounds, 2, 8000)) < 0.5) + 0.001 * rng.normal(size=(n_rounds, 2, 8000))
        rate = np.mean(stats.centres(logs[:, 0] - logs[:, 1], 0.95).p < 0.05)
        checks.that(rate <= above(0.07, 8000), f"two states, {n_rounds} rounds: {rate:.4f} of equal points told apart")


# --- power ------------------------------------------------------------------------------------------------------------


def theory(n_rounds, shift):
    """Chance to find a shift of so many standard deviations of a normal difference: noncentral t, by the asymptotic variance of
    a trimmed mean."""
    normal, g = NormalDist(), n_rounds // stats.TRIM if n_rounds >= stats.TRIM_FROM else 0
    variance = 1.0
    if g:
        q, x = normal.inv_cdf(1 - g / n_rounds), np.linspace(-8, 8, 20001)
        density = np.exp(-x * x / 2) / math.sqrt(2 * math.pi)
        variance = np.sum(np.minimum(x * x, q * q) * density) * (x[1] - x[0]) / (1 - 2 * g / n_rounds) ** 2
    freedom = n_rounds - 3 * g - 1
    noncentral, critical = shift * math.sqrt(n_rounds / variance), stats.t_quantile(freedom, 0.05)
    s = np.linspace(1e-3, 4, 4000)  # the estimated over the true deviation: its density is that of chi / sqrt(freedom)
    weight = np.exp((freedom - 1) * np.log(s) - freedom * s * s / 2)
    finds = np.array([1 - normal.cdf(critical * x - noncentral) + normal.cdf(-critical * x - noncentral) for x in s])
    return np.sum(weight * finds) / np.sum(weight)


def test_power(checks):
    """Two per cent at a noise of one per cent: shifts of sqrt(2) deviations of a difference of two runs."""
    n_series = 10000
    for n_rounds in (3, 5, 7, 8, 10, 15, 20):
        logs = run_machine(np.random.default_rng(n_rounds), "normal", n_rounds, n_series)
        found = stats.centres(logs[:, 0] - logs[:, 1] + 0.02, 0.95)
        expected = theory(n_rounds, math.sqrt(2))
        # Two per cent for what the asymptotic variance is off by with few values.
        slack = 3 * math.sqrt(expected * (1 - expected) / n_series) + (0.02 if n_rounds >= stats.TRIM_FROM else 0)
        checks.near(np.mean(found.p < 0.05), expected, slack, f"a difference of 2 %, {n_rounds} rounds, found")
        checks.near(np.median(found.value), 0.02, 0.001, f"{n_rounds} rounds: its size")
    checks.that(theory(10, math.sqrt(2)) > 0.9 and theory(3, math.sqrt(2)) < 0.4, "theory is not trivial")


def test_disturbed(checks):
    """An outlier of 10x or rounds that differ do not hide a difference of two per cent in ten rounds."""
    n_series = 2000
    for noise in ("rounds that differ", "memory of rounds"):
        logs = run_machine(np.random.default_rng(1), noise, 10, n_series)
        found = stats.centres(logs[:, 0] - logs[:, 1] + 0.02, 0.95)
        checks.that(np.mean(found.p < 0.05) > 0.9, f"{noise}: 2 % found in {np.mean(found.p < 0.05):.3f}")
    logs = run_machine(np.random.default_rng(2), "normal", 10, n_series)
    difference = logs[:, 0] - logs[:, 1] + 0.02
    difference[3] -= np.log(10)
    found = stats.centres(difference, 0.95)
    checks.that(np.mean(found.p < 0.05) > 0.7, f"2 % beside an outlier against it: found in {np.mean(found.p < 0.05):.3f}")
    checks.near(np.mean(found.value), 0.02, 0.003, "the ratio beside an outlier")
    base = np.exp(logs[:, 0, 0])
    ratio = stats.paired_ratio(base, 1.02 * base)
    checks.that(abs(ratio.value - 1.02) < 1e-12 and ratio.low == ratio.high == ratio.value and ratio.p < 1e-50
                and stats.outcome(ratio) == "faster", f"a ratio without noise: {ratio}")


def test_ratio(checks):
    base, other = np.array([1.0, 2, 3, np.nan, 5]), np.array([2.0, 4.1, 5.9, 7, np.nan])
    ratio = stats.paired_ratio(base, other)
    checks.that(ratio.n == 3 and abs(ratio.value - 2) < 1e-12, f"pairs only where both ran: {ratio}")
    d = np.log(other[:3] / base[:3])
    t = np.mean(d) / np.std(d, ddof=1) * math.sqrt(3)
    checks.near(ratio.p, 1 - t / math.sqrt(t * t + 2), 1e-9, "p of three rounds, two degrees of freedom")
    checks.that(stats.outcome(ratio) == "faster" and stats.outcome(stats.paired_ratio(other, base)) == "slower", "verdicts")
    checks.that(stats.outcome(stats.paired_ratio(base, base)) == "not distinguishable", "a point is not faster than itself")
    uneven = stats.paired_ratio(np.ones(30), np.exp([0] * 16 + [1] * 14))  # the trimmed mean lies far from the median
    checks.that(uneven.value == uneven.low == 1 < uneven.high, f"an interval without its value: {uneven}")
    few = stats.paired_ratio(base[:2], other[:2])
    checks.that(stats.outcome(few) == "too few runs" and math.isnan(few.low) and few.n == 2 and few.value > 2,
                f"two rounds: {few}")
    none = stats.paired_ratio(base[3:], other[3:])
    checks.that(stats.outcome(none) == "too few runs" and none.n == 0 and math.isnan(none.value), f"no rounds: {none}")
    for bad in ([1.0, 0.0], [1.0, -2.0], [1.0, math.inf]):
        try:
            stats.paired_ratio(bad, [1.0, 1.0])
            checks.that(False, f"{bad} passed for times")
        except ValueError:
            checks.that(True, "")
    table = ((1, 0.05, 12.7062), (2, 0.05, 4.30265), (4, 0.001, 8.6103), (9, 0.05, 2.26216), (29, 0.01, 2.75639))
    for freedom, level, t in table:
        checks.near(stats.t_quantile(freedom, level), t, 6e-5 * t, f"Student's t, {freedom} degrees, {level}")
    # Degrees of freedom that are no whole number; of SciPy (stats.t.sf, stats.t.isf).
    for t, freedom, p in ((2.0, 2.5, 0.1573914957579659), (2.776445, 3.999, 0.05001401442801503), (3.2, 7.3, 0.014239668038658306),
                          (1.0, 1.5, 0.45113536727671033), (12.0, 5.75, 2.7508513268425834e-05), (0.0, 3.3, 1.0), (math.inf, 3.3, 0.0)):
        checks.near(float(stats.t_two_sided(t, freedom)), p, 1e-11 * p, f"P(|T| >= {t}), {freedom} degrees")
    for freedom, level, t in ((2.5, 0.05, 3.5746548420036834), (4.7, 0.01, 4.1678920401190584)):
        checks.near(stats.t_quantile(freedom, level), t, 1e-10 * t, f"Student's t, {freedom} degrees, {level}")
    checks.that(np.all(np.isnan(stats.t_two_sided([math.nan, math.nan], 3))), "P of nan")
    adjusted = stats.adjust([0.01, 0.04, math.nan, 0.03, 0.005])
    checks.that(np.allclose(adjusted, [0.03, 0.06, math.nan, 0.06, 0.02], equal_nan=True), f"Holm: {adjusted}")
    checks.that(np.allclose(stats.adjust([0.9, 0.8]), [1, 1]), "an adjusted p is not above 1")


def test_unpaired(checks):
    """Two sessions without rounds in common: equal ones are told apart no more often than stated, noise of either size."""
    n_tries = 150
    for (n_base, n_other), noise in itertools.product(((3, 3), (5, 5), (10, 10), (3, 12)), ("normal", "outliers of 10x")):
        rng = np.random.default_rng(n_base)
        base, other = (np.exp(NOISE[noise](rng, (n, n_tries))) for n in (n_base, n_other))
        found = [stats.unpaired_ratio(base[:, k], other[:, k] ** 3) for k in range(n_tries)]
        rate = np.mean([ratio.p < 0.05 for ratio in found])
        checks.that(rate <= above(0.05, n_tries), f"{noise}, {n_base} and {n_other} runs: {rate:.3f} told apart")
        checks.that(all((ratio.p < 0.05) == (not ratio.low <= 1 <= ratio.high) for ratio in found), "p and interval agree")
        if noise == "normal":
            slower = [stats.unpaired_ratio(base[:, k], 0.9 * other[:, k]) for k in range(n_tries // 3)]
            checks.near(np.median([ratio.value for ratio in slower]), 0.9, 0.003, "a session that is slower by a tenth")
            checks.that(np.mean([stats.outcome(ratio) == "slower" for ratio in slower]) > 0.95, "it is found")
    base = np.array([1.0, 2, 4])
    ratio = stats.unpaired_ratio(base, 8 * base)  # t = ln 8 / (ln 2 sqrt(2 / 3)) with four degrees of freedom
    t = 3 / math.sqrt(2 / 3)
    checks.near(ratio.value, 8, 1e-12, "ratio of medians")
    checks.near(ratio.p, float(stats.t_two_sided(t, 4)), 1e-12, "Welch's p")
    half = 2.77645 * math.log(2) * math.sqrt(2 / 3)
    checks.near(math.log(ratio.high / 8), half, 1e-4, "Welch's interval")
    # Equal spread in both, so four degrees of freedom, which rounding may leave a little below 4.
    for factor in np.exp(np.linspace(1.5, 3.5, 41)):
        ratio, t = stats.unpaired_ratio(base, factor * base), math.log(factor) / (math.log(2) * math.sqrt(2 / 3))
        checks.near(ratio.p, 1 - t / math.sqrt(4 + t * t) * (1 + 2 / (4 + t * t)), 1e-9, f"Welch's p at t = {t:.3f}")
    # Of SciPy: stats.ttest_ind(equal_var=False) of the logarithms, 6.9987 degrees of freedom.
    ratio = stats.unpaired_ratio([1, 1.1, 1.25, 0.97, 1.02], [1.3, 1.31, 1.45, 1.2])
    checks.near(ratio.p, 0.009777156705325304, 1e-11, "Welch's p of unequal sessions")
    checks.near(math.log(ratio.low), 0.06878414555165782, 1e-9, "its interval, low")
    checks.near(math.log(ratio.high), 0.35123525152983437, 1e-9, "its interval, high")
    checks.that(math.isnan(stats.unpaired_ratio(base, base[:2]).p) and stats.unpaired_ratio(base, base[:2]).n == 2, "two runs")
    checks.that(stats.outcome(stats.unpaired_ratio([1, 1, 1], [2, 2, 2])) == "faster", "without noise")
    checks.that(math.isnan(stats.unpaired_ratio([], [2]).value), "no run")


def test_median(checks):
    n_tries = 400
    for n, freedom in itertools.product((3, 5, 7, 10), (3, 1000)):  # heavy tails, normal
        rng = np.random.default_rng(n)
        found = [stats.median_interval(np.exp(0.05 * rng.standard_t(freedom, n))) for _ in range(n_tries)]
        covered = np.mean([interval.low <= 1 <= interval.high for interval in found])
        checks.that(covered >= 1 - above(0.05, n_tries), f"interval of the median of {n} covers it in {covered:.3f}")
        checks.that(all(i.low <= i.value <= i.high and i.n == n for i in found), f"median of {n} outside of its interval")
    checks.that(stats.median_interval([3, 1, 2, 5, 4, math.nan]).value == np.exp(np.log(3)), "the median")
    again = [stats.median_interval(range(1, 20), seed=5) for _ in range(2)]
    checks.that(again[0] == again[1], "one seed, one interval")
    checks.that(math.isnan(stats.median_interval([1, 2]).low) and math.isnan(stats.median_interval([]).value), "of two or none")
    narrow, wide = (stats.median_interval(range(1, 20), confidence) for confidence in (0.8, 0.99))
    checks.that(wide.low < narrow.low and wide.high > narrow.high, "more confidence, wider")


# --- many points ------------------------------------------------------------------------------------------------------


def test_groups(checks):
    rng, n_tries = np.random.default_rng(0), 600
    split = sum(len(stats.groups(np.exp(run_machine(rng, "normal", n, 1)[:, :, 0]))) > 1
                for n in (3, 5, 10) for _ in range(n_tries // 3))
    checks.that(split / n_tries <= above(0.05, n_tries), f"equal points in groups: {split} of {n_tries}")
    speeds = np.exp(0.002 * rng.normal(size=(10, 6)) + np.log([1, 1.1, 1.1, 1, 1.3, 1.1]))
    speeds *= np.exp(0.3 * rng.normal(size=(10, 1)))
    speeds = np.insert(speeds, 2, np.nan, axis=1)
    ranking = stats.groups(speeds)
    checks.that([sorted(group) for group in ranking] == [[5], [1, 3, 6], [0, 4]], f"ranking {ranking}")
    checks.that(stats.groups(speeds[:2]) == [], "of two rounds there is no ranking")
    speeds[2:, 5] = np.nan
    checks.that([sorted(group) for group in stats.groups(speeds)] == [[1, 3, 6], [0, 4]], "a point of two rounds is ranked")
    checks.that(stats.groups(np.full((3, 2), np.nan)) == [] and stats.groups(np.ones((3, 1))) == [[0]], "no point, one point")


def apart(rng, n_rounds, log_speeds, noise):
    """Speeds [n_rounds, 1 + n_points] of a base and of points of which each half ran in one half of the rounds, on other machines."""
    n = len(log_speeds)
    logs = np.concatenate([[0], log_speeds]) + noise * rng.normal(size=(n_rounds, 1 + n)) + rng.normal(size=(n_rounds, 1))
    logs[:n_rounds // 2, 1 + n // 2:] = np.nan
    logs[n_rounds // 2:, 1:1 + n // 2] = np.nan
    return np.exp(logs)


def test_groups_apart(checks):
    """Points that have no round in common are ranked by their ratios to the base, and without one not at all."""
    rng, n_tries = np.random.default_rng(0), 600
    for n_rounds in (6, 10, 20):
        split = sum(len(stats.groups(apart(rng, n_rounds, np.zeros(4), 0.01), base=0)) > 1 for _ in range(n_tries // 3))
        checks.that(split / (n_tries // 3) <= above(0.05, n_tries // 3), f"equals in {n_rounds} rounds: {split} of {n_tries // 3}")
    speeds = apart(rng, 12, np.log([0.1, 2, 2, 0.5]), 0.002)
    ranking = [sorted(group) for group in stats.groups(speeds, base=0)]
    checks.that(ranking == [[2, 3], [0], [4], [1]], f"a point ten times slower: ranking {ranking}")
    checks.that(stats.groups(speeds) == [], "a ranking of points that were never compared")
    checks.that(stats.groups(speeds[4:], base=0) == [[3], [0], [4]], "what is left of one half are two rounds")
    speeds[:5, 0] = np.nan
    checks.that(stats.groups(speeds, base=0) == [], "a ranking though the base ran beside one half once")


def test_warm_up(checks):
    rng, n_tries = np.random.default_rng(0), 500
    for n, n_points in itertools.product((3, 5, 10, 20), (1, 8)):
        def noise(rng=rng, n=n, n_points=n_points):
            return 0.01 * rng.normal(size=(n, n_points)) + 0.01 * rng.normal(size=(n, 1)) + np.log(np.arange(1, n_points + 1))
        false = sum(stats.warm_up(np.exp(noise())) > 0 for _ in range(n_tries))
        checks.that(false / n_tries <= above(stats.WARM_UP_LEVEL, n_tries), f"{n} rounds of {n_points}: {false} times")
    steady = 0.002 * rng.normal(size=(12, 8))
    for shape, expected in (([0.2], 1), ([0.2, 0.1, 0.05], 3), ([-0.1, -0.1], 2), ([0.2] * 6, 6), ([0.2] * 9, 0),
                            ([0, 0, 0.2], 0)):
        shift = np.zeros((12, 1))
        shift[:len(shape), 0] = shape
        found = stats.warm_up(np.exp(steady + shift))
        checks.that(found == expected, f"a warm-up of {shape}: {found} dropped")
    rest = [-0.01, 0, 0.01]  # a new value is off by up to t * 0.01 * sqrt(1 + 1/3) in 99 % of cases; t of two degrees: 9.925
    edge = 9.925 * 0.01 * math.sqrt(4 / 3)
    for share, expected in ((0.99, 0), (1.01, 1)):
        found = stats.warm_up(np.exp(np.array([[share * edge, 0, 0, *rest]]).T))
        checks.that(found == expected, f"a first round at {share} of what chance does: {found} dropped")
    one_run = steady.copy()
    one_run[0, 3] += math.log(10)
    checks.that(stats.warm_up(np.exp(one_run)) == 0, "one disturbed run is no warm-up")
    steady[11, :] = np.nan
    checks.that(stats.warm_up(np.exp(steady)) == 0, "a round that did not run")


def full(levels):
    points = list(itertools.product(*levels.values()))
    return points, {key: [point[k] for point in points] for k, key in enumerate(levels)}


def simulate(rng, points, speed, n_rounds, noise=0.005):
    logs = np.array([speed(*point) for point in points])
    return logs + noise * rng.normal(size=(n_rounds, len(points))) + 0.1 * rng.normal(size=(n_rounds, 1))


def test_effects(checks):
    rng = np.random.default_rng(0)
    points, levels = full({"a": "xy", "b": "xy", "c": "uvw"})

    def speed(a, b, c):
        return 0.1 * (a == "y") - 0.05 * (c == "v") + 0.04 * (a == "y") * (c == "w")

    expected = {("a", "y"): 0.1 + 0.04 / 3, ("b", "y"): 0, ("c", "v"): -0.05, ("c", "w"): 0.02, ("a", "b", "y", "y"): 0,
                ("a", "c", "y", "v"): 0, ("a", "c", "y", "w"): 0.04, ("b", "c", "y", "v"): 0, ("b", "c", "y", "w"): 0}
    found = stats.effects(simulate(rng, points, speed, 8), levels)
    checks.that([(*e.factors, *e.levels) for e in found] == list(expected), f"effects {[(e.factors, e.levels) for e in found]}")
    for e in found:
        true = expected[(*e.factors, *e.levels)]
        checks.near(math.log(e.value), true, 0.012, f"effect of {e.factors} at {e.levels}")
        wanted = "not distinguishable" if true == 0 else "faster" if true > 0 else "slower"
        checks.that(stats.outcome(e) == wanted, f"effect of {e.factors} at {e.levels}: {stats.outcome(e)}, p {e.p}")
        checks.that(not e.aliases and e.n == 8 and e.low < e.value < e.high, f"effect {e}")
    turned = stats.effects(simulate(rng, points, speed, 8), levels, base={"a": "y", "c": "w"})
    turned = {tuple(e.factors + e.levels): e for e in turned}
    checks.near(math.log(turned["a", "x"].value), -0.1 - 0.04 / 3, 0.012, "effect against another base")
    checks.near(math.log(turned["c", "u"].value), -0.02, 0.012, "effect against another base")
    covered = false = 0
    for _ in range(200):
        found = stats.effects(simulate(rng, points, speed, 5), levels)
        covered += sum(e.low <= math.exp(expected[(*e.factors, *e.levels)]) <= e.high for e in found)
        false += any(stats.outcome(e) != "not distinguishable" for e in found if expected[(*e.factors, *e.levels)] == 0)
    covered /= 200 * len(expected)
    checks.that(covered > 1 - above(0.05, 200), f"intervals of effects cover in {covered:.3f}")
    checks.that(false / 200 <= above(0.05, 200), f"{false} of 200 studies have a false effect")


def test_aliases(checks):
    rng = np.random.default_rng(0)
    points = [(a, b, c, a * b * c) for a, b, c in itertools.product((-1, 1), repeat=3)]
    levels = {key: [point[k] for point in points] for k, key in enumerate("abcd")}
    found = stats.effects(simulate(rng, points, lambda a, b, c, d: 0.05 * (a > 0) + 0.02 * a * b, 6), levels)
    seen = {"".join(e.factors): ["".join(alias) for alias in e.aliases] for e in found}
    checks.that(seen == {"a": [], "b": [], "c": [], "d": [], "ab": ["cd"], "ac": ["bd"], "ad": ["bc"]}, f"half of 2^4: {seen}")
    checks.near(math.log(found[4].value), 0.08, 0.02, "its interaction")
    points = [(a, b, a * b) for a, b in itertools.product((-1, 1), repeat=2)]
    levels = {key: [point[k] for point in points] for k, key in enumerate("abc")}
    found = stats.effects(simulate(rng, points, lambda a, b, c: 0.05 * a, 4), levels)
    seen = {"".join(e.factors): ["".join(alias) for alias in e.aliases] for e in found}
    checks.that(seen == {"a": ["bc"], "b": ["ac"], "c": ["ab"]}, f"half of 2^3: {seen}")
    # A combination that is refused: the interaction has no value, and is named where it may be part of another.
    points, levels = full({"a": "xy", "b": "xyz", "c": "xy"})
    logs = simulate(rng, points, lambda a, b, c: 0.05 * (a == "y"), 6)
    logs[:, [k for k, point in enumerate(points) if point[:2] == ("y", "z")]] = np.nan
    found = stats.effects(logs, levels)
    seen = {"".join(e.factors): e.aliases for e in found}
    checks.that(seen == {"a": [["a", "b"]], "b": [["a", "b"]], "c": [], "ac": [], "bc": []}, f"a design with a hole: {seen}")
    checks.near(math.log(found[0].value), 0.05, 0.012, "effect in a design with a hole")
    logs[5, 0] = np.nan  # a run that is missing: least squares of that round without it
    checks.that([e.n for e in stats.effects(logs, levels)] == [6] * len(found), "a missing run costs the round")
    points, levels = full({"a": "xy", "b": "xy"})
    logs = simulate(rng, points, lambda a, b: 0, 6)
    logs[2, 3] = np.nan
    checks.that([e.n for e in stats.effects(logs, levels)] == [5] * 3, "a round that determines no effect counts for none")
    checks.that(stats.effects(logs[:2], levels)[0].n == 2 and math.isnan(stats.effects(logs[:2], levels)[0].p), "two rounds")
    checks.that(stats.effects(logs[:, :1], {"a": ["x"]}) == [], "one point has no effects")


def test_speed(checks):
    rng, began = np.random.default_rng(0), time.thread_time()  # threads of a BLAS wait busily
    speeds = np.exp(0.01 * rng.normal(size=(10, 50)))
    stats.groups(speeds)
    for k in range(50):
        stats.median_interval(speeds[:, k])
        stats.paired_ratio(speeds[:, 0], speeds[:, k])
    stats.warm_up(1 / speeds)
    points, levels = full({"a": range(5), "b": range(5), "c": range(2)})
    stats.effects(np.log(speeds), levels)
    checks.that(time.thread_time() - began < 4, f"50 points in 10 rounds: {time.thread_time() - began:.2f} s of one core")


def main():
    checks = Checks()
    for test in (test_equal, test_two_states, test_power, test_disturbed, test_ratio, test_unpaired, test_median, test_groups,
                 test_groups_apart, test_warm_up, test_effects, test_aliases, test_speed):
        before, began = checks.n_failed, time.monotonic()
        test(checks)
        came_out = "passed" if checks.n_failed == before else "FAILED"
        print(f"{test.__name__}: {came_out}, {time.monotonic() - began:.1f} s", flush=True)
    checks.finish()


main()
