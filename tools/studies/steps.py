"""How many time steps a point is timed for.

Each point is tried for a few steps first, in a system of the same physics that is small (which compiles its kernels, too):
what is refused or dies shows here, and the try says what a step will take in the system that is asked for. Stages that test
all pairs grow with the square of the atoms, the rest with the atoms; and what has been timed already says by how much such
predictions are off. Points of one system are timed for the same number of steps, which the base makes --seconds of, so that
their motion is the same; the rungs of a ladder, which differ by a factor of thousands, for about --seconds each. Where the
limit leaves no room for that there are fewer steps, and below one interval of the rebuild rule the point is too slow."""
import math

from runs import NotRun, why_no_speed

SMALL_ATOMS = 32000
SMALL_SECONDS, SMALL_STEPS = 0.1, 400  # that a second try there may take: far above what the first launches cost
FIRST_STEPS = {"cpu": 2}  # of the first try; of other backends an interval
MOST_STEPS = 100000
ALL_PAIRS = (("force", "force.kernel", "pairs"), ("neighbor", "neighbor.search", "brute"))


def small_cells(point):
    """The overrides that make a lattice of about SMALL_ATOMS a process of its system, {} where it is small, or no lattice."""
    system = point.system
    cells = system.settings.get("system.cells", "").split()
    factor = (system.n_atoms / (SMALL_ATOMS * point.n_ranks())) ** (1 / system.dimension)
    if factor <= 1 or not cells or system.settings.get("system.start") in ("file", "random"):
        return {}
    return {"system.cells": " ".join(str(max(1, round(int(n) / factor))) for n in cells)}


def with_speed(report):
    """The report of a run that made its steps. NotRun where it did not."""
    why = why_no_speed(report)
    if why:
        raise NotRun("failed", why)
    return report


def predict(report, ran, n_atoms):
    """(seconds of a step in a system of n_atoms, whether it has stages that test all pairs), from a report of a smaller one."""
    loop, growth = report["loop_seconds"], n_atoms / report["n_atoms"]
    squared = {stage for stage, key, word in ALL_PAIRS if ran.get(key, "").startswith(word)}
    all_pairs = min(loop, sum(row["seconds"] or 0 for row in report["stages"] if row["stage"] in squared))
    return growth * (loop - all_pairs + growth * all_pairs) / report["n_steps"], bool(squared)


class Timing:
    """What is known of the time that a step of a point takes."""

    def __init__(self, interval, fixed=None):
        self.interval, self.fixed = interval, fixed  # fixed: run.steps as the study says it
        self.predicted = self.per_step = None        # seconds of a step
        self.has_all_pairs, self.correction = False, None  # measured over predicted, once it is timed
        self.n_steps, self.n_small, self.is_settled = 0, None, False

    def plan(self, wanted_seconds, limit, timed, n_steps=None):
        """The number of steps: n_steps if given (those of the base), else what takes wanted_seconds. timed: Timings of what
        has been measured. NotRun where the limit has no room for an interval."""
        if self.is_settled:
            return
        alike = [other for other in timed if other.has_all_pairs == self.has_all_pairs and
                 self.predicted < 3 * other.predicted]  # what is much slower has less of the start-up costs in its try
        nearest = min(alike, key=lambda other: abs(math.log(other.predicted / self.predicted)), default=None)
        self.per_step = self.predicted * (nearest.correction if nearest else 1)
        least = min(self.interval, self.fixed or self.interval)
        if least * self.per_step > limit:
            raise NotRun("too slow", f"{least} steps would take about {least * self.per_step:.2g} s, as {self.n_small} atoms "
                                     f"say; the limit is {limit:g} s")
        self.set_steps(n_steps or wanted_seconds / self.per_step, limit)

    def set_steps(self, wanted, limit):
        """Whole intervals, about as many as wanted, within the limit."""
        if self.fixed:
            self.n_steps = self.fixed
            return
        n = min(wanted, limit / self.per_step, MOST_STEPS)
        self.n_steps = max(1, round(n / self.interval)) * self.interval

    def observe(self, seconds, n_steps):
        """What a loop took."""
        if seconds:
            self.per_step = seconds / n_steps
            self.correction = self.per_step / self.predicted if self.predicted else 1


def try_small(point, start, timing, limit, program, is_over):
    """Fills the timing's prediction. start(point, n_steps, verify, words): a Run. Start-up costs are in a first try: one
    that would be too slow gets a longer one. NotRun where it cannot run; nothing is filled when time is up."""
    system, cells = point.system, small_cells(point)
    n_steps = min(FIRST_STEPS.get(system.backend, timing.interval), timing.fixed or timing.interval)
    try:
        while not is_over():
            report = with_speed(start(point, n_steps, False, cells).report())
            timing.predicted, timing.has_all_pairs = predict(report, program.ran(report), system.n_atoms)
            timing.n_small = report["n_atoms"]
            n_before, n_steps = n_steps, min(SMALL_STEPS, int(SMALL_SECONDS * n_steps / report["loop_seconds"]))
            if n_steps <= 2 * n_before or timing.interval * timing.predicted <= limit:
                break
    except NotRun as why:
        where = f" (in a system of {'x'.join(cells.values())} cells)" if cells else ""
        raise NotRun(why.kind, f"{why}{where}") from why
