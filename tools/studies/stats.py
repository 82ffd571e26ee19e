"""Statistics of timings that were repeated in rounds: intervals, paired ratios, verdicts, warm-up, effects, ranking.

A round runs every point once, in an order drawn anew: a randomised complete block. What a machine does to a whole round
(clocks, temperature, other users) cancels between two points of it, and since chance decided which of them ran first, the
difference of their logarithms is as likely d as -d where they are equally fast (R. A. Fisher, The Design of Experiments,
1935), however noise depends on time. All that is said of two points rests on these differences, one a round.

Their centre is judged by Student's t. Where each is symmetric about nothing, with variances as different as they like (Gaussian
scale mixtures: normal noise, heavy tails, outliers), its two-sided 5 % is kept from two rounds on (N. K. Bakirov and
G. J. Szekely, J. Math. Sci. 139, 6497, 2006). The tests of ranks and signs need no such shape, but six rounds before their
smallest p is below 5 %, and many more where many points are compared: they could not tell a factor of two in five rounds.
From 8 rounds on a sixth of the differences is trimmed at each end (J. W. Tukey and D. H. McLaughlin, Sankhya A 25, 331, 1963),
so that a round that was disturbed does not hide a difference. Their n - 2g - 1 degrees of freedom tell equal means apart up to
a tenth too often; n - 3g - 1 do not. Fewer than three rounds: too few.

tests/run/test_stats.py holds these claims against synthetic machines: normal, log-normal, heavy-tailed and late noise, outliers of
10x, drift, rounds that differ, noise with a memory. What is not kept: where each run is in one of two sharp states by the toss of a
coin, as with a clock that jumps, equal points are told apart in up to 7 % (30 rounds); and then p values far below 5 % are not to
be trusted of three or four rounds. Five rounds find large differences, ten find 2 % at a noise of 1 % in 19 cases of 20.

Arrays are by round, nan where a run is missing. Logarithms are natural.
"""
import math
from functools import lru_cache
from itertools import combinations
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

MIN_ROUNDS = 3        # of fewer, nothing is said
TRIM_FROM, TRIM = 8, 6      # from so many rounds on, one of so many is trimmed at each end
BOOTSTRAP_FROM = 6    # the median of fewer lies outside of all values more often than in 5 % of cases: 2^(1-n)
N_RESAMPLES = 2000
MAX_TERMS = 10000     # of a continued fraction: the square root of the degrees of freedom is about what it takes
WARM_UP_LEVEL = 0.01  # a warm-up is seen where there is none


class Interval(NamedTuple):
    """A value and its interval (nan: too few values); n: values that it rests on."""
    value: float
    low: float
    high: float
    n: int


class Ratio(NamedTuple):
    """A ratio, its interval, the rounds it rests on, and how likely so much or more is between equals (nan: too few rounds)."""
    value: float
    low: float
    high: float
    n: int
    p: float


class Effect(NamedTuple):
    """Of one factor: speed at levels[0] over that at its base level. Of two: the factor by which speed at both levels differs
    from the product of what each does alone. p is adjusted for all effects of the study; low and high are those of this one alone.
    aliases: lists of factors whose effect the points cannot tell from this one, or from a part of it; this one is taken to be the
    cause. nan: too few rounds."""
    factors: list
    levels: list
    value: float
    low: float
    high: float
    n: int
    p: float
    aliases: list


# --- Student's t ------------------------------------------------------------------------------------------------------


def incomplete_beta(a, b, x):
    """I_x(a, b), the regularised incomplete beta function, for arrays 0 <= x <= 1 and a, b > 0: the continued fraction of Abramowitz
    and Stegun, 26.5.8, by Lentz's method (W. J. Lentz, Applied Optics 15, 668, 1976). It converges fast below the middle of the
    distribution; above it I_x(a, b) = 1 - I_(1-x)(b, a)."""
    a, b, x = (np.array(part) for part in np.broadcast_arrays(np.asarray(a, dtype=float), b, x))
    above = x > (a + 1) / (a + b + 2)
    a[above], b[above], x[above] = b[above], a[above], 1 - x[above]
    logarithm = np.vectorize(lambda a, b: math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b), otypes=[float])(a, b)
    with np.errstate(divide="ignore"):
        factor = np.exp(logarithm + a * np.log(x) + b * np.log1p(-x)) / a
    tiny = 1e-300  # in place of a denominator of 0
    c, d = np.ones_like(x), 1 - (a + b) * x / (a + 1)
    d = 1 / np.where(d == 0, tiny, d)
    fraction = d.copy()
    for m in range(1, MAX_TERMS):
        for term in (m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                     -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))):
            c, d = 1 + term / c, 1 + term * d
            c, d = np.where(c == 0, tiny, c), 1 / np.where(d == 0, tiny, d)
            fraction *= c * d
        if not np.any(np.abs(c * d - 1) > 1e-15):  # of nan nothing converges
            break
    return np.where(above, 1 - factor * fraction, factor * fraction)


def t_two_sided(t, freedom):
    """P(|T| >= |t|) for arrays t and degrees of freedom, whole or not (M. Abramowitz and I. Stegun, 26.7.1)."""
    freedom = np.asarray(freedom, dtype=float)
    return incomplete_beta(freedom / 2, 0.5, 1 / (1 + np.asarray(t, dtype=float) ** 2 / freedom))


@lru_cache(maxsize=1000)
def t_quantile(freedom, level):
    """The t that |T| reaches with probability level, by Newton's method from that of a normal distribution, which is smaller: as
    the density falls, each step ends below it."""
    density = 2 * math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi * freedom)  # of |T| at 0
    t, step = NormalDist().inv_cdf(1 - level / 2), 1.0
    while step > 1e-12 * t:
        step = (float(t_two_sided(t, freedom)) - level) / (density * (1 + t * t / freedom) ** (-(freedom + 1) / 2))
        t += step
    return t


# --- the centre of differences ----------------------------------------------------------------------------------------


class Centres(NamedTuple):
    """Arrays [m]: median, interval, count and p (of 0) of m series of differences."""
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    p: np.ndarray


def trimmed_mean(values):
    """values [n, m], sorted along the first axis: trimmed means [m], their standard errors [m], degrees of freedom."""
    n = len(values)
    g = n // TRIM if n >= TRIM_FROM else 0
    h = n - 2 * g
    # Variance of a trimmed mean: that of the values with the trimmed ones moved to the last that is left.
    winsorised = np.std(np.clip(values, values[g], values[n - g - 1]), axis=0, ddof=1)
    return np.mean(values[g:n - g], axis=0), winsorised * math.sqrt((n - 1) / (h * (h - 1))), int(n - 3 * g - 1)


def centres(differences, confidence):
    """differences [n_rounds, m]: the median of each column, with interval and p of its trimmed mean (see above). Where trimming
    moves the interval past the median, it is widened to hold it."""
    d = np.sort(differences, axis=0)  # nan comes last
    count = np.sum(np.isfinite(d), axis=0)
    m = d.shape[1]
    value, low, high, p = (np.full(m, np.nan) for _ in range(4))
    for n in np.unique(count[count > 0]):
        mine = np.flatnonzero(count == n)
        part = d[:n, mine]
        value[mine] = np.median(part, axis=0)
        if n < MIN_ROUNDS:
            continue
        mean, error, freedom = trimmed_mean(part)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(mean == 0, 0, mean / error)  # without any scatter whatever is not 0 differs from it
        p[mine] = t_two_sided(t, freedom)
        half = t_quantile(freedom, 1 - confidence) * error
        low[mine] = np.minimum(mean - half, value[mine])
        high[mine] = np.maximum(mean + half, value[mine])
    return Centres(value, low, high, count, p)


def logarithms(values):
    values = np.asarray(values, dtype=float)
    if np.any(values <= 0) or np.any(np.isinf(values)):
        raise ValueError("times and speeds are finite and above 0, or nan where they are missing")
    return np.log(values)


# --- intervals, ratios, verdicts --------------------------------------------------------------------------------------


def median(values):
    """The median of speeds or times: of an even number the geometric mean of the two in the middle, so that ratios of medians and
    medians of times are those that all tests here are about. nan of none."""
    logs = logarithms(values)
    return float(np.exp(np.median(logs[np.isfinite(logs)]))) if np.any(np.isfinite(logs)) else math.nan


def median_interval(values, confidence=0.95, seed=0):
    """Interval of the median of values [n_rounds] (times or speeds, above 0).

    The percentiles of medians of values drawn with replacement, but those which Student's t would take: as they are, they cover
    the median of ten values in 93 % of cases (T. C. Hesterberg, The American Statistician 69, 371, 2015: expanded percentile
    interval). No choice of percentiles helps below six values, for all lie on one side of the median too often: there,
    Student's interval of the mean of the logarithms, widened to hold the median if it must. It takes values for independent: of
    two speeds with their intervals, paired_ratio tells whether they differ."""
    logs = logarithms(values)
    logs = logs[np.isfinite(logs)]
    n = len(logs)
    if n < BOOTSTRAP_FROM:
        found = centres(logs[:, None], confidence)
        return Interval(*(float(np.exp(x[0])) for x in found[:3]), n)
    z = t_quantile(n - 1, 1 - confidence) * math.sqrt(n / (n - 1))
    tail = NormalDist().cdf(-z)
    draws = np.random.default_rng(seed).integers(0, n, (N_RESAMPLES, n))
    low, high = np.quantile(np.median(logs[draws], axis=1), [tail, 1 - tail])
    return Interval(median(values), float(np.exp(low)), float(np.exp(high)), n)


def paired_ratio(base, other, confidence=0.95):
    """other over base, arrays [n_rounds] of times or speeds: the median of the ratios within rounds; interval and p by the
    differences of logarithms in the rounds that have both."""
    found = centres((logarithms(other) - logarithms(base))[:, None], confidence)
    return Ratio(*(float(np.exp(x[0])) for x in found[:3]), int(found.n[0]), float(found.p[0]))


def difference(first, second):
    """(shift, its standard error, degrees of freedom) of second less first, each (mean, standard error, degrees of freedom): B. L. Welch's
    approximation (Biometrika 34, 28, 1947), whose degrees of freedom are no whole number."""
    (mean_0, error_0, freedom_0), (mean_1, error_1, freedom_1) = first, second
    error = math.hypot(error_0, error_1)
    share = (error_0 / error) ** 2 if error else 0.0  # of the variance
    return mean_1 - mean_0, error, 1 / (share ** 2 / freedom_0 + (1 - share) ** 2 / freedom_1)


def welch(base, other):
    """The difference of two series of logarithms without nan, by their trimmed means (K. K. Yuen, Biometrika 61, 165, 1974)."""
    return difference(*(trimmed_mean(np.sort(x)) for x in (base, other)))


def welch_p(shift, error, freedom):
    if error == 0:
        return 1.0 if shift == 0 else 0.0
    return float(t_two_sided(shift / error, freedom))


def unpaired_ratio(base, other, confidence=0.95):
    """The same for arrays [n_base], [n_other] that have no rounds in common, as of two machines or two versions: the ratio of the
    medians; interval and p by welch. What differs between the two sessions besides is taken for a difference: nothing else
    can be done with one session each. n: values of the smaller."""
    logs = [values[np.isfinite(values)] for values in map(logarithms, (base, other))]
    n = min(map(len, logs))
    value = float(np.median(logs[1]) - np.median(logs[0])) if n else math.nan
    if n < MIN_ROUNDS:
        return Ratio(math.exp(value), math.nan, math.nan, n, math.nan)
    shift, error, freedom = welch(*logs)
    half = t_quantile(freedom, 1 - confidence) * error
    low, high = min(shift - half, value), max(shift + half, value)
    return Ratio(math.exp(value), math.exp(low), math.exp(high), n, welch_p(shift, error, freedom))


def outcome(ratio, confidence=0.95):
    """What a ratio of speeds (Ratio, or Effect) says. For many of one study replace p by what adjust makes of them."""
    if math.isnan(ratio.p):
        return "too few runs"
    if ratio.p >= 1 - confidence:
        return "not distinguishable"
    return "faster" if ratio.value > 1 else "slower"


def adjust(p_values):
    """p values of m comparisons, so that the chance of a single false find among all stays what it is for one (S. Holm,
    Scand. J. Statist. 6, 65, 1979): the smallest times m, the next times m - 1, ..., never below the one before. nan are left
    out."""
    p = np.asarray(p_values, dtype=float)
    adjusted = np.full(p.shape, np.nan)
    there = np.flatnonzero(np.isfinite(p))
    order = there[np.argsort(p[there], kind="stable")]
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return adjusted


def p_by_base(first, second):
    """p of two points that have too few rounds in common; first, second [n_rounds]: logarithms of their ratios to a third one that
    ran beside each of them. nan: one of them has too few. What a round that both have does to the third one is counted twice,
    so p is rather too large than too small."""
    there = [logs[np.isfinite(logs)] for logs in (first, second)]
    return welch_p(*welch(*there)) if min(map(len, there)) >= MIN_ROUNDS else math.nan


def groups(speeds, confidence=0.95, base=None):
    """Ranking: lists of columns of speeds [n_rounds, n_points], fastest first. Each list holds the fastest that is left and all
    that are not distinguishable from it. As the fastest is chosen by its speed, p is adjusted for all pairs of points, so that among
    equals there is more than one group no more often than 1 - confidence. Two points with too few rounds in common are compared
    by their ratios to the column base, and all points are ordered by these then. Points of fewer than MIN_ROUNDS rounds are in no
    list; []: of two others nothing can be said, so there is no ranking."""
    logs = logarithms(speeds)
    present = np.flatnonzero(np.sum(np.isfinite(logs), axis=0) >= MIN_ROUNDS)
    pairs = list(combinations(present, 2))
    if not pairs:
        return [[int(i)] for i in present]
    first, second = np.array(pairs).T
    p = centres(logs[:, first] - logs[:, second], confidence).p
    apart = np.flatnonzero(np.isnan(p))
    if len(apart) and base is None:
        return []
    if len(apart):
        logs = logs - logs[:, [base]]
        p[apart] = [p_by_base(logs[:, first[k]], logs[:, second[k]]) for k in apart]
        if np.any(np.isnan(p)) or np.any(np.all(np.isnan(logs[:, present]), axis=0)):
            return []
    differ = {pair for pair, value in zip(pairs, adjust(p)) if value < 1 - confidence}
    left, ranking = list(present[np.argsort(-np.nanmedian(logs[:, present], axis=0), kind="stable")]), []
    while left:
        ranking.append([int(i) for i in left if not {(left[0], i), (i, left[0])} & differ])
        left = [i for i in left if {(left[0], i), (i, left[0])} & differ]
    return ranking


# --- warm-up ----------------------------------------------------------------------------------------------------------


def warm_up(times):
    """How many leading rounds of times [n_rounds, n_points] to drop: at most half of them.

    Times become logarithms, less the mean of their point; a round is the median of its points, so that one disturbed run is no
    warm-up. The second half of the rounds is the yardstick: the first round is dropped if it is off its mean by more than a
    new round would be in 1 % of cases (Student's t), then the next, until one is not. The best known rule, to cut where the
    mean of the rest has the least standard error (MSER: K. P. White, Simulation 69, 323, 1997), was not taken: from rounds that
    differ by chance alone it mostly drops some. A disturbed round further on, or a slow drift, is left to the pairing."""
    logs = logarithms(times)
    logs = logs[:, np.any(np.isfinite(logs), axis=0)]
    n = len(logs)
    most = n // 2
    if n < MIN_ROUNDS or logs.shape[1] == 0 or np.any(np.all(np.isnan(logs), axis=1)):
        return 0
    rounds = np.nanmedian(logs - np.nanmean(logs, axis=0), axis=1)
    rest = rounds[most:]
    scatter = np.std(rest, ddof=1) * math.sqrt(1 + 1 / len(rest))
    far = np.abs(rounds[:most] - np.mean(rest)) > t_quantile(len(rest) - 1, WARM_UP_LEVEL) * scatter
    return int(np.argmin(np.append(far, False)))


# --- effects ----------------------------------------------------------------------------------------------------------


class Term:
    """A main effect or an interaction: its columns [n_points, ...] of the model, each summing to zero over its levels."""

    def __init__(self, factors, coded, base):
        self.factors, self.coded, self.base, self.aliases = factors, coded, base, []
        self.columns = self.at([coded[key][1] for key in factors])

    def at(self, rows):
        """Columns of the interaction from rows [..., n_levels - 1] of each of its factors."""
        columns = rows[0]
        for row in rows[1:]:
            columns = np.einsum("...a,...b->...ab", columns, row).reshape(*columns.shape[:-1], -1)
        return columns

    def contrasts(self):
        """(levels, coefficients): of each combination of levels but the base, the difference that its effect is."""
        def differences(key):
            names, _, code = self.coded[key]
            at = names.index(self.base[key])
            return [(name, code[k] - code[at]) for k, name in enumerate(names) if k != at]

        chosen = [((name,), (row,)) for name, row in differences(self.factors[0])]
        for key in self.factors[1:]:
            chosen = [(names + (name,), rows + (row,)) for names, rows in chosen for name, row in differences(key)]
        return [(list(names), self.at(rows)) for names, rows in chosen]


def code_levels(levels, used):
    """{key: (names, rows of the points, rows of the levels)} of the factors that have two levels or more among the points."""
    coded = {}
    for key, of_points in levels.items():
        mine = [of_points[i] for i in used]
        names = list(dict.fromkeys(mine))
        if len(names) > 1:
            code = np.vstack([np.eye(len(names) - 1), -np.ones(len(names) - 1)])
            coded[key] = names, code[[names.index(name) for name in mine]], code
    return coded


def choose_terms(terms, n_points):
    """(terms that the points can tell apart, their model [n_points, 1 + columns], the columns of each). Main effects come first, as
    they are thought more likely than interactions. A term that adds fewer columns than it has is left out, and becomes an alias of
    the terms it is mixed with: in a half fraction of one, in a full design that lacks a combination of those that meet there."""
    kept, model = [], np.ones((n_points, 1))
    for term in terms:
        wider = np.hstack([model, term.columns])
        _, values, directions = np.linalg.svd(wider)
        n_independent = int(np.sum(values > 1e-9 * values[0]))
        if n_independent == wider.shape[1]:
            kept.append((term, slice(model.shape[1], wider.shape[1])))
            model = wider
            continue
        mixed = directions[n_independent:]
        for other, columns in kept:
            if np.any(np.abs(mixed[:, columns]) > 1e-9):
                other.aliases.append(term.factors)
    return kept, model


def estimate(logs, model, contrasts):
    """Estimates [n_rounds, n_contrasts] by least squares in each round, from the points that ran in it; nan where these do not
    determine one."""
    found = np.full((len(logs), len(contrasts)), np.nan)
    there = np.isfinite(logs)
    for pattern in np.unique(there, axis=0):
        mine = np.flatnonzero(np.all(there == pattern, axis=1))
        rows = model[pattern]
        if not len(rows):
            continue
        weights = np.linalg.pinv(rows)
        determined = np.abs(contrasts @ weights @ rows - contrasts).max(axis=1) < 1e-9
        values = logs[np.ix_(mine, np.flatnonzero(pattern))] @ (contrasts @ weights).T
        found[mine] = np.where(determined, values, np.nan)
    return found


def effects(log_speed, levels, confidence=0.95, base=None):
    """Main effects and pairwise interactions: a list of Effect, main effects first.

    log_speed [n_rounds, n_points]; levels {key: [level of each point]}; base {key: level}, without: the first that occurs. In
    each round all effects are found by least squares, as sums to zero over the levels of a factor, so that a main effect is an
    average over the levels of the others; then each is a series of one value a round, judged as differences of two points are.
    So neither rounds that differ as a whole nor noise that differs between points harm. (G. E. P. Box, J. S. Hunter and
    W. G. Hunter, Statistics for Experimenters, chapters 5 and 6, for designs and aliases.) Interactions of three factors and
    more are taken for nothing. Points without a run may be in it, as nan."""
    logs = np.asarray(log_speed, dtype=float)
    used = np.flatnonzero(np.any(np.isfinite(logs), axis=0))
    coded = code_levels(levels, used)
    given = {key: (base or {}).get(key, coded[key][0][0]) for key in coded}
    given = {key: level if level in coded[key][0] else coded[key][0][0] for key, level in given.items()}
    terms = [Term([key], coded, given) for key in coded] + [Term(list(pair), coded, given) for pair in combinations(coded, 2)]
    chosen, model = choose_terms(terms, len(used))
    if not chosen:
        return []
    wanted, contrasts = [], []
    for term, columns in chosen:
        for names, part in term.contrasts():
            wanted.append((term, names))
            contrasts.append(np.zeros(model.shape[1]))
            contrasts[-1][columns] = part
    found = centres(estimate(logs[:, used], model, np.array(contrasts)), confidence)
    p, results = adjust(found.p), []
    for k, (term, names) in enumerate(wanted):
        value, low, high = (float(np.exp(x[k])) for x in found[:3])
        results.append(Effect(term.factors, names, value, low, high, int(found.n[k]), float(p[k]), term.aliases))
    return results
