"""The rows of inputs/bench/rows.csv: how each is melted, run and judged."""
import csv
import json
import math
import statistics
from pathlib import Path

from runs import NotRun, Run, why_no_speed

TOP = Path(__file__).resolve().parents[1]
DECKS, PEERS = TOP / "inputs/bench", TOP / "run/results/peers.csv"
MEMORY_TARGET = 400  # bytes of the GPU an atom

# What the conserved energy may change by, epsilon per atom: a drift per step by precision and rule, as src/report/tolerance.h
# has it, and the error of the time step. In equilibrium the energy of velocity Verlet differs from the conserved one by
# dt^2 <F^2> / 24m: 6.4e-4 in this melt (<F^2>/m is its temperature of 0.7 times its curvature of 870), which moves as
# the temperature does, at most like its square. This is for millions of atoms: what few atoms do by chance is not in it.
DRIFT = {"single": 4e-7, "mixed": 5e-8, "double": 5e-8}
DRIFT_EVERY = 1e-6
TIME_STEP_ENERGY = 6.4e-4
ROUNDOFF = {"single": 2.0 ** -24, "mixed": 2.0 ** -24, "double": 2.0 ** -53}


def read_table(path):
    with open(path, encoding="utf-8") as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


class Melt:
    """A system in one precision, melted once; a folder may have it from before."""

    def __init__(self, row, a, folder):
        cells = row["cells"].replace(" ", "x")
        self.n_steps = a.melt
        self.restart = Path(folder) / f"{row['system']}-{cells}-{row['precision']}-{a.backend}-{a.melt}.restart"
        self.known = self.restart.with_suffix(".json")
        self.decks = a.decks
        self.words = [str(a.decks / f"{row['system']}.txt"), f"system.cells={row['cells']}", f"run.precision={row['precision']}"]
        self.own_words = [f"run.steps={a.melt}", f"restart.every={a.melt}", f"run.backend={a.backend}",
                          f"restart.file={self.restart}", "output.name=step"]
        self.report = None

    def make(self, a):
        """The report of the run that melted it. NotRun where that failed, and again for whoever asks later."""
        if self.report is None and self.restart.exists() and self.known.exists():
            self.report = json.loads(self.known.read_text())
        if self.report is None:
            try:
                self.report = Run([a.mdmini, *self.words, *self.own_words], self.n_steps, a.limit).report()
                if why_no_speed(self.report):
                    raise NotRun("failed", f"failed while it was melted: {why_no_speed(self.report)}")
                self.known.write_text(json.dumps(self.report))
            except NotRun as why:
                self.report = why
        if isinstance(self.report, NotRun):
            raise self.report
        return self.report


def energy_check(report, melted, row):
    """How much the conserved energy has changed while it was timed, and may have; per atom."""
    n_steps = report["n_steps"] - melted["n_steps"]
    ended = report["conserved_energy_per_atom"]
    moved = abs(ended - melted["conserved_energy_per_atom"]) if ended is not None else math.inf
    drift = DRIFT[row["precision"]] + (DRIFT_EVERY if row["rule"] == "every" else 0)
    warmed = abs((report["temperature"] or 0) / melted["temperature"] - 1)
    return {"moved": moved, "limit": n_steps * drift + 2 * TIME_STEP_ENERGY * warmed +
            ROUNDOFF[row["precision"]] * abs(melted["conserved_energy_per_atom"])}


def drifts_as_double(mixed, double):
    """Whether the conserved energy drifts at most twice as fast as in double precision, by the figures of both rows; by less than
    two standard errors more or less they do not tell."""
    excess = abs(mixed["drift"]) - 2 * abs(double["drift"])
    error = (mixed["drift_error"] ** 2 + 4 * double["drift_error"] ** 2) ** 0.5
    return "within errors" if abs(excess) < 2 * error else "met" if excess <= 0 else "MISSED"


class Row:
    """One line of the table and the runs that were made of it."""

    def __init__(self, fields, melt, peers):
        self.fields, self.melt = fields, melt
        self.name, self.unit = fields["row"], fields["unit"]
        self.n_atoms, self.n_steps = int(fields["atoms"]), int(fields["steps"])
        self.target = float(fields["target"]) if fields["target"] else None
        found = [peer for peer in peers if all(peer[key] == fields[key] for key in ("system", "atoms", "rule", "unit"))]
        self.peer = float(found[0]["value"]) if found else None
        self.runs, self.energy, self.not_run = [], None, None
        self.against = {}  # the same row of other programs, by their names
        self.launcher = fields.get("launcher", "").split()  # of several processes
        self.layers = [f"{layer}.txt" for layer in fields["rule"].split()]
        self.words = ["--restart", str(melt.restart), *(str(melt.decks / layer) for layer in self.layers),
                      f"run.steps={melt.n_steps + self.n_steps}"]

    def commands(self):
        """As one types them: what melts the system, and what is timed."""
        system = self.fields["system"]
        cells = f"'system.cells={self.fields['cells']}'" if " " in self.fields["cells"] else self.melt.words[1]
        return [f"mdmini inputs/bench/{system}.txt {cells} {self.melt.words[2]}",
                " ".join([*self.launcher, f"mdmini --restart {system}.restart", *(f"inputs/bench/{layer}" for layer in self.layers), self.words[-1]])]

    def time(self, a):
        """One more run: the first is verified, if the reference can do that in reasonable time."""
        small = self.n_atoms <= a.verify_atoms
        verified = small and not self.runs
        melted = self.melt.make(a)
        # A run that is resumed writes a restart file at its end: beside its other files, not in place of the melted system.
        command = [*self.launcher, a.mdmini, *self.words, f"report.verify={'on' if verified else 'off'}", "output.name=step",
                   "restart.file=step.restart", *a.words.split()]
        report = Run(command, melted["n_steps"] + self.n_steps, a.limit + (600 if verified else 0),
                     is_launched=bool(self.launcher)).report()
        if report["n_atoms"] != self.n_atoms:
            raise NotRun("crashed", f"has {report['n_atoms']} atoms, not {self.n_atoms}")
        if report["resumed"]["step"] != self.melt.n_steps:
            raise NotRun("crashed", f"{self.melt.restart} is of step {report['resumed']['step']}, not {self.melt.n_steps}")
        if why_no_speed(report):
            raise NotRun("failed", f"FAILED: {why_no_speed(report)}")
        check = energy_check(report, melted, self.fields)
        if not small and (self.energy is None or not check["moved"] <= self.energy["moved"]):
            self.energy = check  # that of the worst run
        self.runs.append(report)

    def verdict(self):
        """PASSED and FAILED are verdicts of the program; of the energies alone, others."""
        if not self.runs:
            return None
        if self.runs[0]["verdict"] == "FAILED" or any(run["verdict"] == "FAILED" for run in self.runs):
            return "FAILED"
        if self.energy and not self.energy["moved"] <= self.energy["limit"]:
            return "ENERGY LOST"
        return "PASSED" if self.runs[0]["verdict"] == "PASSED" else "energy kept"

    def has_failed(self):
        return self.verdict() in ("FAILED", "ENERGY LOST") or bool(self.not_run and self.not_run.kind != "time")

    def is_left_out(self, kind):
        """Whether its runs came to an end for a reason of this kind (runs.NotRun)."""
        return bool(self.not_run and self.not_run.kind == kind)

    def speeds(self):
        scale = self.n_atoms if self.unit == "steps/s" else 1
        return [run["atom_steps_per_second"] / scale for run in self.runs]

    def figures(self):
        """Medians of what was measured; a row that failed has no speed."""
        verdict = self.verdict()
        found = {"row": self.name, "system": self.fields["system"], "atoms": self.n_atoms, "precision": self.fields["precision"], "rule": self.fields["rule"],
                 "steps": self.n_steps, "repeats": len(self.runs), "unit": self.unit, "verdict": verdict,
                 "target": self.target, "peer": self.peer, "speed": None, "steps_per_second": None,
                 "atom_steps_per_second": None, "spread": None, "ratio": None, "reached": None, "device_bytes_per_atom": None,
                 "memory_reached": None, "drift": None, "drift_error": None, "not_run": str(self.not_run) if self.not_run else None}
        if not self.runs:
            return found
        if self.runs[0]["memory_device_bytes"]:
            found["device_bytes_per_atom"] = self.runs[0]["memory_device_bytes"] / self.n_atoms
            found["memory_reached"] = found["device_bytes_per_atom"] <= MEMORY_TARGET
        if verdict in ("PASSED", "energy kept"):
            if self.runs[0]["energy_drift_error_per_atom_step"] is not None:  # there were energies on the way
                found["drift"] = self.runs[0]["energy_drift_per_atom_step"]
                found["drift_error"] = self.runs[0]["energy_drift_error_per_atom_step"]
            speeds = self.speeds()
            found["speed"] = statistics.median(speeds)
            found["steps_per_second"] = found["speed"] / (1 if self.unit == "steps/s" else self.n_atoms)
            found["atom_steps_per_second"] = found["steps_per_second"] * self.n_atoms
            found["spread"] = (max(speeds) - min(speeds)) / found["speed"] if len(speeds) > 1 else None
            found["ratio"] = self.peer and found["speed"] / self.peer
            found["reached"] = self.target and found["speed"] >= self.target
        return found

    def ratios(self, name):
        """Its speed over that of another program, turn by turn; none where either has failed."""
        other = self.against[name]
        good = all(row.runs and not row.has_failed() for row in (self, other))
        return [mine / its for mine, its in zip(self.speeds(), other.speeds())] if good else []

    def record(self):
        against = {name: {"ratios": self.ratios(name), **other.record()} for name, other in self.against.items()}
        return {**self.figures(), "commands": self.commands(), "energy_check": self.energy, "runs": self.runs, "against": against}
