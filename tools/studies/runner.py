"""Makes the runs of a study: round after round, each point once in an order drawn from the seed, every finished run kept at
once. What has been made is not made again, so a study that was stopped anywhere goes on from there."""
import hashlib
import os
import random
from concurrent.futures import ThreadPoolExecutor

from runs import NotRun, Run, shown, utc_now, why_no_speed

from .definition import StudyError
from .designs import plain_switches
from .records import outcome_text
from .steps import Timing, try_small, with_speed

OVERLAP_ATOMS = 5000000  # beyond it two of them might not find room on a GPU at the same time
ENERGIES = ("potential_energy_per_atom", "kinetic_energy_per_atom")


def order(seed, system, points, n_round):
    """The points of a system in the order of a round."""
    shuffled = list(points)
    random.Random(f"{seed} {system.id} {n_round}").shuffle(shuffled)
    return shuffled


def order_of_systems(seed, systems, n_round):
    """For what is compared across systems is to be as near in time as points of one."""
    shuffled = list(systems)
    random.Random(f"{seed} systems {n_round}").shuffle(shuffled)
    return shuffled


def host_mark(provenance):
    """What tells two machines apart in a record, which holds no names of hosts, as far as name, processor and memory do."""
    cpu = provenance.get("cpu") or {}
    known = [provenance.get("host"), cpu.get("model"), cpu.get("processors"), cpu.get("memory_bytes")]
    return known[0] and "#" + hashlib.sha256(" ".join(map(str, known)).encode()).hexdigest()[:8]


class Share:
    """Shard K of N of a system: whole rounds where there are enough, else some of the points in every round, and the base besides,
    with that each part has something to compare with; of a ladder a stretch, and the rung below."""

    def __init__(self, study, system, shard):
        (k, n), rounds, ids = shard, list(range(study.repeats)), [point.id for point in system.points]
        self.rounds, self.own, self.beside = rounds, ids, set()
        if study.repeats >= n:
            self.rounds = rounds[k - 1::n]
            return
        first, end = (len(ids) * part // n for part in (k - 1, k))
        self.own = ids[first:end]
        self.beside = {ids[0], *(ids[max(0, first - 1):first] if study.design == "ladder" else [])}

    def is_due(self, point, n_round, made, mine):
        """Whether this shard has to make the run. made, mine: {(point, round)} that are there, and those of this shard among them.
        What is there is not made again, whoever made it; but what is compared within this part has a run of the base here."""
        if point not in self.beside:
            return point in self.own and (point, n_round) not in made
        others = [(own, n_round) for own in self.own if own not in self.beside]
        return (point, n_round) not in mine and (point in self.own and (point, n_round) not in made or
                                                 any(other in mine or other not in made for other in others))


class Runner:
    def __init__(self, program, study, systems, folder, budget):
        self.program, self.study, self.systems, self.folder, self.budget = program, study, systems, folder, budget
        self.identity, self.plain = program.identity(), plain_switches(program, systems)
        self.shares = {system.id: Share(study, system, folder.shard) for system in systems}
        self.timings = {point.id: Timing(system.interval(), self.fixed_steps(system))
                        for system in systems for point in system.points}
        self.n_steps = {}    # of a system, as its base says
        self.made, self.mine = set(), set()    # (point, round) of all shards, and of this one
        self.given_up, self.first = {}, {}     # {point: status}; {point: line of its first run in this shard}
        self.pending = None  # the run whose loop is over and whose end is to be waited for
        runs = folder.all_runs()
        for line in sorted(runs, key=lambda line: line["shard"] == folder.shard_name()):  # its own steps win
            self.know(line)
        self.n_total = len(self.mine) + len(self.left())

    def fixed_steps(self, system):
        steps = system.words.get("run.steps")
        return int(float(steps)) if steps else None

    def know(self, line):
        """A run that is there: of this session, of an earlier one, or of another shard."""
        point, timing = line["point"], self.timings[line["point"]]
        is_mine = line["shard"] == self.folder.shard_name()
        self.made.add((point, line["round"]))
        if is_mine:
            self.mine.add((point, line["round"]))
        if line["status"] != "ok":
            self.given_up[point] = line["status"]
            return
        if is_mine:  # bits are compared within a shard only: another one may have run on another machine
            self.first.setdefault(point, line)
        timing.n_steps, timing.is_settled = line["report"]["n_steps"], True

    def left(self):
        """[(round, position, Point)] of this shard that are to be made, in order."""
        found = []
        for n_round in range(self.study.repeats):
            for system in order_of_systems(self.study.seed, self.systems, n_round):
                share = self.shares[system.id]
                skip = {point.id for point in system.points if point.reason or point.id in self.given_up}
                if n_round in share.rounds:
                    made = {*self.made, *((id, n_round) for id in skip)}
                    found += [(n_round, k, point) for k, point in enumerate(order(self.study.seed, system, system.points, n_round))
                              if point.id not in skip and share.is_due(point.id, n_round, made, self.mine)]
        return found

    def statuses(self):
        """{point: status} of those that this shard has run, or tried."""
        return {**{point: "measured" for point in self.first}, **self.given_up}

    def start(self, point, n_steps, verify, words=None):
        own = {"output.name": "step", "output.progress": "off", "run.steps": n_steps,
               "report.verify": "on" if verify else "off", "restart.every": 0, **(words or {})}
        if "output.thermo_every" not in {**point.system.words, **point.settings}:
            own["output.thermo_every"] = n_steps  # two rows: the loop is seen from outside
        # Start and comparison with the reference are outside the loop, and not what the limit is for.
        return Run(self.program.command(point.command(own)), n_steps, self.study.limit + (600 if verify else 30),
                   holds=[self.folder.stream.fileno()],  # a run that outlives a study that was killed keeps the next one out
                   is_launched=point.n_ranks() > 1)

    def keep(self, point, n_round, position, run=None, why=None):
        """A line for what came of a run, or for what can have none (why)."""
        line = {"point": point.id, "round": n_round, "position": position, "shard": self.folder.shard_name(),
                "started": run.started if run else utc_now(), "seconds": run.seconds() if run else 0, "status": "ok", "reason": "",
                "verified": False, "ranks": point.n_ranks(), "report": None}
        self.check_program()
        if why:
            line.update(status=why.kind, reason=str(why))
        else:
            report = run.report()
            self.check_launcher(point, report)
            report["provenance"]["host"] = host_mark(report["provenance"])
            line.update(verified=point.id not in self.first, ran=self.program.ran(report, point.asked(self.plain)),
                        deterministic=self.program.is_deterministic(report), report=report)
            wrong = self.what_failed(line)
            if wrong:
                line.update(status="failed", reason=wrong)
        self.folder.append(line)
        self.know(line)
        return line

    def check_program(self):
        """StudyError where it was built anew since the study began: whose run this was cannot be told."""
        try:
            is_same = self.program.identity() == self.identity
        except OSError:  # it is being written
            is_same = False
        if not is_same:
            raise StudyError([f"{self.program.path}: the program, or its kernels, changed while the study ran; the runs before are kept, "
                              "and only the program of before can go on with them"])

    def check_launcher(self, point, report):
        """StudyError where the processes did not find each other: as many runs of one process have been timed beside each other."""
        n = (report.get("ranks", {"n": point.n_ranks()}) or {"n": 1})["n"]
        if n != point.n_ranks():
            raise StudyError([f"launcher: {self.program.launcher} was to start {point.n_ranks()} processes of one run, and the run was of "
                              f"{n}: is it the launcher of the MPI that the program was built with?"])

    def what_failed(self, line):
        """The checks that cost nothing; the first run of a point is compared with the reference besides."""
        report, first = line["report"], self.first.get(line["point"])
        why = why_no_speed(report)
        if why:
            return why
        if report["verdict"] == "FAILED":
            return "; ".join(f"{check['name']}: {shown(check['value'])} of {shown(check['limit'])}"
                             for check in report["checks"] if not check["passed"]) or "its verification failed"
        if line["verified"] and report["verdict"] != "PASSED":
            return f"its verdict is {report['verdict']}"
        if first and line["deterministic"] and report["n_steps"] == first["report"]["n_steps"] and \
                any(report[key] != first["report"][key] for key in ENERGIES):
            return f"ended with another energy than in round {first['round'] + 1}, though every variant says deterministic"
        return ""

    # ---- before the first round

    def plan(self):
        """Tries each point that nothing is known of, and asks the bases how many steps the time is good for."""
        with self.folder.alone():
            plan = self.folder.read_plan()
            for key, known in plan["points"].items():
                if key in self.timings:
                    vars(self.timings[key]).update(known)
            self.know_corrections()
            untried = list({point.id: point for _, _, point in self.left()
                            if self.timings[point.id].predicted is None}.values())
            # Side by side most of a try's time, which is start and compilation, passes at once; on the cpu it is the loop.
            one_by_one = any(point.system.backend == "cpu" or point.n_ranks() > 1 for point in untried)
            with ThreadPoolExecutor(1 if one_by_one else min(8, os.cpu_count())) as pool:
                for point, why in zip(untried, pool.map(self.attempt, untried)):
                    if why:
                        self.tell(self.keep(point, 0, None, why=why))
                    elif self.timings[point.id].predicted is not None:
                        timing = self.timings[point.id]
                        plan["points"][point.id] = {"predicted": timing.predicted, "has_all_pairs": timing.has_all_pairs,
                                                    "n_small": timing.n_small}
            for system in self.systems:
                if system.id not in plan["systems"] and self.study.design != "ladder" and not self.fixed_steps(system):
                    n_steps = self.ask_base(system)
                    if n_steps:
                        plan["systems"][system.id] = {"n_steps": n_steps}
                        base = system.points[0].id
                        plan["points"][base]["correction"] = self.timings[base].correction
            self.n_steps = {key: row["n_steps"] for key, row in plan["systems"].items()}
            self.folder.save_plan(plan)

    def know_corrections(self):
        """What earlier sessions measured tells how good predictions are."""
        for key, line in self.first.items():
            self.timings[key].observe(line["report"]["loop_seconds"], line["report"]["n_steps"])

    def attempt(self, point):
        try:
            try_small(point, self.start, self.timings[point.id], self.study.limit, self.program, self.budget.is_over)
        except NotRun as why:
            return why if why.kind != "time" else None
        return None

    def ask_base(self, system):
        """The steps that the base makes in the time that is asked for; None where that cannot be told."""
        base = system.points[0]
        timing = self.timings[base.id]
        if timing.predicted is None or base.id in self.given_up:
            return None
        try:
            for _ in range(2):  # a loop that was much too short tells little but its start
                if self.budget.is_over():
                    return None
                timing.plan(self.study.seconds, self.study.limit, [timing] if timing.correction else [])
                report = with_speed(self.start(base, timing.n_steps, False).report())
                timing.observe(report["loop_seconds"], report["n_steps"])
                timing.set_steps(self.study.seconds / timing.per_step, self.study.limit)
                if report["loop_seconds"] > self.study.seconds / 3:
                    break
        except NotRun as why:
            if why.kind != "time":
                self.tell(self.keep(base, 0, None, why=why))
            return None
        return timing.n_steps

    # ---- the rounds

    def overlaps(self, system):
        """Whether the next run may be set up beside this one: on a cpu cores do the loop, too; and a batch system that has given all
        its cores to one launcher lets the next one wait."""
        backends = {system.backend, *self.study.factors.get("run.backend", [])}
        return all(point.n_ranks() == 1 for point in system.points) and not backends & {"cpu", "auto"} and system.n_atoms < OVERLAP_ATOMS

    def time(self, point, n_round, position):
        """Starts a run and stays until its loop is over; the run before is finished meanwhile. None: no run."""
        timing = self.timings[point.id]
        if self.pending and self.pending[0] is point:
            self.finish()  # its steps and its first run are known then
        if self.budget.is_over() or timing.predicted is None and not timing.is_settled:
            return None
        try:
            timing.plan(self.study.seconds, self.study.limit,
                        [self.timings[p.id] for p in point.system.points if self.timings[p.id].correction],
                        self.n_steps.get(point.system.id))
        except NotRun as why:
            self.finish()
            self.tell(self.keep(point, n_round, position, why=why))
            return None
        verify = point.id not in self.first
        run = self.start(point, timing.n_steps, verify)
        last_gone = self.finish()
        run.loop_is_over.wait()
        seconds, n_steps = run.loop_seconds(), timing.n_steps
        timing.observe(seconds, n_steps)
        if self.study.design == "ladder" and not timing.is_settled and 0 < (seconds or 0) < self.study.seconds / 3:
            timing.set_steps(self.study.seconds / timing.per_step, self.study.limit)
        disturbed = run.loop_began and last_gone and last_gone > run.loop_began
        is_over = self.budget.is_over()
        if disturbed or timing.n_steps > n_steps and not is_over:
            run.discard()
            if is_over:
                return None
            run = self.start(point, timing.n_steps, verify)
            run.loop_is_over.wait()
            timing.observe(run.loop_seconds(), timing.n_steps)
        return run

    def finish(self):
        """Takes what came of the run that was timed last, keeps and tells it. When it was gone."""
        if not self.pending:
            return None
        (point, n_round, position, run), self.pending = self.pending, None
        try:
            run.report()
        except NotRun as why:
            if why.kind != "time":
                self.tell(self.keep(point, n_round, position, run, why))
            return run.gone
        self.tell(self.keep(point, n_round, position, run))
        return run.gone

    def run(self):
        """All that is left and that time is enough for."""
        left = self.left()
        if not left:
            return
        print(f"{len(left)} runs to be made" + (", while time lasts" if self.budget.seconds is not None else ""), flush=True)
        self.plan()
        print(f"tried after {self.budget.spent():.0f} s", flush=True)
        for n_round, position, point in self.left():
            if not self.overlaps(point.system):
                self.finish()
            if point.id in self.given_up:
                continue  # since the list was made
            run = self.time(point, n_round, position)
            if run:
                self.pending = point, n_round, position, run
        self.finish()

    def tell(self, line):
        report = line["report"]
        what = outcome_text(line["status"], line["reason"])
        if line["status"] == "ok":
            late = "*" if report["n_late_rebuilds"] else " "
            verdict = report["verdict"] if line["verified"] else ""
            what = f"{report['n_steps']:6d} steps {report['atom_steps_per_second']:12.4g}{late} atom-steps/s  {verdict}".rstrip()
        print(f"{len(self.mine):4d}/{self.n_total}  round {line['round'] + 1}/{self.study.repeats}  {line['point']:<40}  {what}",
              flush=True)
