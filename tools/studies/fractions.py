"""Two-level fractional factorial designs.

The first m factors run through all their 2^m combinations; each other one follows the product of some of them (its
generator). The products that stand still, the defining words, say what cannot be told apart: two effects whose product is
such a word are aliases. Resolution is the length of the shortest word: IV means that no main effect is an alias of another or of
a pairwise interaction. Box, Hunter and Hunter, Statistics for Experimenters, 2nd ed. (2005), chapter 6. With generators of
odd length every word is even, so that up to 2^(m-1) factors have resolution IV; among designs the one with the longest
shortest word is taken, then that with the fewest of these (minimum aberration), as far as trying all is cheap."""
from itertools import combinations, islice, product

from .definition import StudyError

TRIED = 20000  # sets of generators, at most


def words_of(generators, m):
    """{word: sign}: every product that is constant. A word is a set of factors in bits."""
    basic = []
    for j, generator in enumerate(generators):
        # The base, every factor at its lower level, is in the fraction: that gives each generator its sign.
        basic.append((generator | 1 << (m + j), 1 if bin(generator).count("1") % 2 else -1))
    found = {}
    for picks in product((0, 1), repeat=len(basic)):
        word, sign = 0, 1
        for pick, (one, one_sign) in zip(picks, basic):
            if pick:
                word, sign = word ^ one, sign * one_sign
        if word:
            found[word] = sign
    return found


def length(word):
    return bin(word).count("1")


def badness(generators, m):
    """Of two designs the one for which this is less is better: short words, and many of them, are bad."""
    lengths = [length(word) for word in words_of(generators, m)]
    return [lengths.count(n) for n in range(1, m + len(generators) + 1)]


def generators(n_factors, m):
    """The columns of the factors beyond the first m."""
    n_more = n_factors - m
    columns = sorted((c for c in range(1, 1 << m) if length(c) >= 2), key=lambda c: (length(c) % 2 == 0, -length(c), c))
    if n_more > len(columns):
        raise StudyError([f"runs: {1 << m} runs cannot hold {n_factors} factors; {1 << least(n_factors)} would do"])
    if n_more > 6:  # the number of words doubles with each: odd columns are good enough, and resolution IV where there is one
        return tuple(columns[:n_more])
    odd_first = islice(combinations(columns, n_more), TRIED)
    return min(odd_first, key=lambda chosen: badness(chosen, m))


def least(n_factors):
    """log2 of the runs that resolution IV takes."""
    m = 2
    while n_factors > (1 << (m - 1)) and n_factors > m:
        m += 1
    return m


def effect_name(word, keys):
    return "*".join(key for k, key in enumerate(keys) if word >> k & 1)


def aliases(words, keys):
    """Groups of main effects and pairwise interactions that cannot be told apart; a minus where the sign is the other."""
    n = len(keys)
    effects = [1 << k for k in range(n)] + [1 << i | 1 << j for i, j in combinations(range(n), 2)]
    groups, seen = [], set()
    for effect in effects:
        if effect in seen:
            continue
        same = [(other, words[effect ^ other]) for other in effects if effect ^ other in words]
        seen.update(other for other, _ in same)
        if same:
            groups.append([effect_name(effect, keys), *(("-" if sign < 0 else "") + effect_name(other, keys)
                                                        for other, sign in same)])
    return groups


def fraction(factors, base, runs=0):
    """([settings of each run], groups of aliases). factors: {key: two levels}; base: {key: level}, one of the runs; runs: how
    many, a power of two; 0: as few as resolution IV takes. StudyError where the runs are too few."""
    keys, m = list(factors), least(len(factors))
    if runs:
        m = min(runs.bit_length() - 1, len(keys))
        if runs != 1 << (runs.bit_length() - 1):
            raise StudyError([f"runs: read {runs}; allowed: a power of two"])
    chosen = generators(len(keys), m)
    found = []
    for levels in product((-1, 1), repeat=m):
        signs = list(levels)
        for generator in chosen:
            sign = 1 if length(generator) % 2 else -1
            for k in range(m):
                sign *= levels[k] if generator >> k & 1 else 1
            signs.append(sign)
        found.append({key: base[key] if sign < 0 else next(level for level in factors[key] if level != base[key])
                      for key, sign in zip(keys, signs)})
    return found, aliases(words_of(chosen, m), keys)
