"""The steps of ladder.py: what each sets, what must change along with it, how many time steps it is timed for, what it took."""
import statistics
from pathlib import Path

from decks import read_deck
from runs import NotRun

INPUTS = Path(__file__).resolve().parent.parent / "inputs"
INTERVAL = 20  # steps: whole intervals of the rebuild rule of melt.txt
SMALL_CELLS = 20  # of the small system: 32,000 atoms of an fcc crystal
SMALL_SECONDS, SMALL_STEPS = 0.1, 400  # that a second try there may take: far above what the first launches cost
FIRST_STEPS = {"cpu": 2}  # of the first try; of other backends an interval


def holds(term, settings):
    key, values = term.split("=")
    return settings.get(key, "auto") in (*values.split("|"), "auto")


def companions(program, settings, key, value):
    """What else must change for key = value to be legal: {key: value}. Either the value needs it, or a value that stands
    there needs what is left."""
    settings, changed = {**settings, key: value}, {}
    for _ in range(4):  # chains are short
        for other in [key, *changed, *settings]:  # what is settled already comes first, and stays
            row = program.rows.get((other, settings[other]))
            for term in (row["needs"].split() if row else []):
                if holds(term, settings):
                    continue
                needed, allowed = term.split("=")
                settled = {key, *changed}
                if needed not in settled:
                    changed[needed] = settings[needed] = allowed.split("|")[0]
                elif other not in settled:
                    legal = [word for word in program.options[other]["choices"] if (other, word) in program.rows and
                             all(holds(t, settings) for t in program.rows[other, word]["needs"].split())]
                    if legal:
                        changed[other] = settings[other] = legal[-1]
    return changed


def differences(ran, base, but):
    """In words: the switches that ran otherwise than in the base, but for those named."""
    changed = [f"{key}={value}" for key, value in ran.items() if base.get(key) != value and key not in but]
    gone = {}
    for key in base:
        if key not in ran and key not in but:
            section, name = key.split(".")
            gone.setdefault(section, []).append(name)
    without = [f"{section}.{'/'.join(names)}" for section, names in gone.items()]
    return " ".join(filter(None, ["with " + " ".join(changed) if changed else "",
                                  "without " + " ".join(without) if without else ""]))


class Step:
    def __init__(self, name, change, given=(), layers=(), words=(), reason=None):
        self.name, self.change, self.given = name, change, set(given)  # in words; the switches that it sets
        self.others = ""  # what ran otherwise besides, in words
        self.layers, self.words = list(layers), list(words)
        self.reason, self.kind = reason, "refused" if reason else None  # why it does not run
        self.n_steps, self.per_step, self.ratio, self.runs = 0, None, None, []
        self.small = self.ran = None  # report of the small system; what ran in the one that is asked for
        self.predicted, self.correction, self.has_all_pairs = None, 1, False  # seconds of a step; measured over predicted

    def give_up(self, kind, reason):
        self.kind, self.reason = kind, reason

    def try_small(self, program, a, budget):
        """A report of a small system. Start-up costs are in a first try: one that would be too slow gets a longer one."""
        cells, n_steps = min(program.cells, SMALL_CELLS), FIRST_STEPS.get(program.backend, INTERVAL)
        try:
            while not self.reason and not self.out_of_time(budget):
                self.small = program.start(self, n_steps, False, cells).report()
                per_step, n_before = self.small["loop_seconds"] / n_steps, n_steps
                n_steps = min(SMALL_STEPS, int(SMALL_SECONDS / per_step))
                if n_steps <= 2 * n_before or INTERVAL * self.predict(program) <= a.limit:
                    break
        except NotRun as why:
            self.give_up(why.kind, str(why) + (f" (in a system of cells={cells})" if cells < program.cells else ""))

    def out_of_time(self, budget):
        """Whether no run may begin any more; a step that has none says so."""
        if budget.is_over() and not self.runs and not self.reason:
            self.give_up("time", "time was up")
        return budget.is_over()

    def predict(self, program):
        """Seconds of a step, from the small system: stages that test all pairs grow with the square of the atoms."""
        ran, loop = program.ran(self.small), self.small["loop_seconds"]
        growth = (program.cells / min(program.cells, SMALL_CELLS)) ** 3
        squared = {stage for stage, key, word in (("force", "force.kernel", "pairs"), ("neighbor", "neighbor.search", "brute"))
                   if ran.get(key, "").startswith(word)}
        self.has_all_pairs = bool(squared)
        all_pairs = min(loop, sum(row["seconds"] or 0 for row in self.small["stages"] if row["stage"] in squared))
        return growth * (loop - all_pairs + growth * all_pairs) / self.small["n_steps"]

    def plan(self, program, a, before):
        """The number of steps, from the small system and from the ratio between both sizes in the step before."""
        if self.reason:
            return
        self.predicted = self.predict(program)
        # What is much slower than the step before has less of the start-up costs in its try.
        fits = before and before.has_all_pairs == self.has_all_pairs and self.predicted < 3 * before.predicted
        self.per_step = self.predicted * (before.correction if fits else 1)
        if INTERVAL * self.per_step > a.limit:
            self.give_up("too slow", f"{INTERVAL} steps would take about {INTERVAL * self.per_step:.2g} s, as "
                                     f"{self.small['n_atoms']} atoms say; the limit is {a.limit:g} s")
        else:
            self.set_steps(a.steps or a.seconds / self.per_step, a.limit)

    def set_steps(self, wanted, limit):
        """Whole intervals, about as many as wanted, within the limit."""
        n = min(wanted, limit / self.per_step, 100000)
        self.n_steps = max(1, round(n / INTERVAL)) * INTERVAL

    def observe(self, run):
        """What the loop took, before there is a report."""
        seconds = run.loop_seconds()
        if seconds:
            measured = seconds / self.n_steps
            self.correction, self.per_step = measured / self.predicted, measured

    def collect(self, program, run):
        try:
            report = run.report()
        except NotRun as why:
            if why.kind != "time" or not self.runs:
                self.give_up(why.kind, str(why))
            return
        self.runs.append(report)
        self.ran = program.ran(report)

    def compare(self, base):
        """What ran otherwise than in the base belongs to the change; where nothing did, there is no change to time."""
        if self.reason or not base:
            return
        self.others = differences(self.ran, base.ran, self.given)
        if not self.others and self.ran == base.ran:
            self.give_up("without effect", f"without effect here: it runs as {base.name}")
        elif self.speed() is not None:
            self.ratio = self.speed() / base.speed()

    def verdict(self):
        if not self.runs:
            return None
        later = {run["verdict"] for run in self.runs[1:]}
        return "FAILED" if "FAILED" in later else self.runs[0]["verdict"]

    def speed(self):
        return statistics.median(run["atom_steps_per_second"] for run in self.runs) if self.verdict() == "PASSED" else None

    def n_late_rebuilds(self):
        return max((run["n_late_rebuilds"] for run in self.runs), default=None)

    def spread(self):
        speeds = [run["atom_steps_per_second"] for run in self.runs]
        return (max(speeds) - min(speeds)) / statistics.median(speeds)


def ladder_steps(program):
    presets = INPUTS / "presets"
    layers = [presets / "naive.txt"]
    steps = [Step("naive", "every switch at its naive value", layers=layers)]
    for rung in sorted(presets.glob("ladder-*.txt")):
        layers = [*layers, rung]
        given = read_deck(rung)
        missing = [f"{key}={value}" for key, value in given.items()
                   if key not in program.lacks and value != "auto" and (key, value) not in program.rows
                   and not key.startswith("run.")]
        reason = None
        if set(given) <= program.lacks:
            reason = f"the {program.backend} backend has no such stage"
        elif missing:
            reason = f"the {program.backend} backend does not have {', '.join(missing)}"
        change = " ".join(f"{key}={value}" for key, value in given.items())
        steps.append(Step(rung.stem, change if len(given) == 1 else rung.read_text().splitlines()[0][2:], given, layers,
                          reason=reason))
    return steps


def without_steps(program):
    fast = INPUTS / "presets" / "fast.txt"
    standing = read_deck(fast)
    steps = [Step("fast", "the defaults, written out", layers=[fast])]
    for key, value in standing.items():
        naive = program.options[key]["choices"][0]
        if naive == value:
            continue
        reason = f"the {program.backend} backend has no such stage" if key in program.lacks else None
        along = companions(program, standing, key, naive)
        words = [f"{k}={v}" for k, v in {key: naive, **along}.items()]
        steps.append(Step(f"{key}={naive}", "", [key], [fast], words, reason))
    return steps
