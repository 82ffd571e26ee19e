#!/usr/bin/env python3
"""Compares switches of mdmini: runs points in random order, again and again, and says which is faster, by how much, and how sure.

    tools/study.py STUDY.ini                              a study file; run/studies/ has some
    tools/study.py inputs/melt.txt --words force.kernel=list --vary memory.layout=vec4,soa,aos --vary neighbor.list=full,half
    tools/study.py inputs/melt.txt --design ladder        from naive to fast, one change each
    tools/study.py inputs/melt.txt --design leave-one-out fast, and each of its switches put back alone
    tools/study.py --report FOLDER                        table, results and report anew from the runs that are there
    tools/study.py --merge FOLDER... --output FOLDER      shards that ran elsewhere, as one study

A study file:

    [study]
    decks   = inputs/melt.txt              ; layered from left to right
    base    = inputs/presets/fast.txt      ; layers of every point
    words   = system.cells=20              ; overrides of every run; run.steps=N fixes the steps
    design  = full                         ; one of those below
    repeats = 5                            ; rounds: each runs every point once, in an order drawn anew
    seconds = 1                            ; that a timed loop should take, without run.steps
    limit   = 60                           ; seconds that a loop may take at most
    [factors]
    neighbor.write    = atomic, nonatomic
    launch.block_size = 64, 128, 256

Factors of kind physics in mdmini --list-options (system.cells, ...) and decks (deck = a.txt, b.txt) make systems of their own;
points are compared within a system only. Files are looked for beside the study file, in the working directory, and at
the top of the source, the study file itself in these two. All keys are options here, too, and win over the file.

parallel.ranks = 1, 2, 4 is the number of processes: a point of several is started by `launcher` (mpirun -n {{ranks}}). Keys with &
between them vary together: parallel.ranks & system.cells = 1 & 20, 2 & 20 20 40. The table then has the efficiency of the processes,
of one system, or across systems that grow with them.

Designs:

{designs}

The folder of the study (--output, or NAME) keeps a line for each finished run, so the same command after a stop or a kill goes
on from there, and with more --repeats adds rounds to those that are there. From it come results.json, results.csv, report.md and pictures. Speeds are medians of rounds after the warm-up;
ratios are paired within rounds; p values are adjusted (Holm) within each system, for all ratios to the base, all effects, all pairs
of the ranking and all prices of determinism apart: systems beside each other are studies of their own. The first run of a
point is compared with the double-precision reference: a point that fails is listed as failed and ranked nowhere, and what the
program refuses is listed with its reason. Where `auto` took something else along with a switch, a row says with what, an effect is
marked as not of this switch alone, and a pair is none of those that the price of determinism is of: fix it in --words, as
force.kernel=list is above. A point that ran as another one did is without effect, and a factor of which all
levels are has no main effect. A * behind a speed: rebuilds came late (n_late_rebuilds), so the list has missed pairs.

--shard K/N makes a part of the runs, for a job array: whole rounds where there are N, else some of the points with the base.
All shards may share a folder; the last one to end, or --report, makes the table of them all. A run is that of a point in a round:
what is there is not made again, also with another N, and where two parts have made one, the first of them counts.

Runs write their files below $TMPDIR, and these are removed.

Exit codes: 0 all was run (of a shard: its part); 1 a run crashed, or nothing could be measured; 2 bad input; 3 a point failed its
verification; 75 time was up or a signal came: the same command again goes on; 141 what read its output has closed it. Points that
the program refuses change nothing, unless all are refused: 1 (2 where it refuses the decks as they are).
"""
import argparse
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

from interpreter import need, run

need(__name__, [], wished=["numpy"])  # without, runs are made and kept, and the table is left to another machine
need(__name__, [], wished=["numpy", "matplotlib"])

from studies import TOP  # noqa: E402  (it finds the modules of run/)
from scripts import Budget, Parser, shell_path  # noqa: E402
from studies.ceilings import read_ceilings  # noqa: E402
from studies.definition import DESIGNS, StudyError, read_study, shown  # noqa: E402
from studies.designs import design, is_physics, plain_switches  # noqa: E402
from studies.listings import NotMdmini, Program  # noqa: E402
from studies.records import FORMAT, Folder, check_folder, merge, outcome_text  # noqa: E402
from studies.report import read_peers, write  # noqa: E402
from studies.runner import Runner, order  # noqa: E402

KEYS = {"name": "of the study and its folder", "base": "files, layers of every point below its levels: 'FILE ...'",
        "words": "overrides of every run, over those of the file: 'section.key=value ...'", "design": ", ".join(DESIGNS),
        "repeats": "rounds (5)", "seconds": "that a timed loop should take (1)", "limit": "seconds that it may take at most (60)",
        "budget": "seconds after which no run begins", "seed": "of the order (1)", "confidence": "of intervals and verdicts (0.95)",
        "launcher": "of points of several processes (mpirun -n {ranks})",
        "runs": "of a fractional design: a power of two (as few as resolution IV takes)"}


def find_program(given):
    """The program: as given (also from the top of the source), $MDMINI, built beside these sources, installed with them, or on the PATH."""
    places = [given, TOP / given] if given else [os.environ.get("MDMINI"), TOP / "build-gpu/mdmini", TOP / "build/mdmini",
                                                       TOP.parents[1] / "bin/mdmini", shutil.which("mdmini")]
    for place in filter(None, places):
        if os.path.isfile(place) and os.access(place, os.X_OK):
            return Program(place)
    raise StudyError([f"{given}: no such program" if given else "no program, neither build-gpu/mdmini nor build/mdmini beside these sources nor on the PATH: build it, or say --program MDMINI"])


def launcher_of(study):
    """What starts points of several processes; None where there are none."""
    if not study.has_several_ranks():
        return None
    if not shutil.which(shlex.split(study.launcher)[0]):
        raise StudyError([f"launcher: {study.launcher}: no such program on the PATH"])
    return study.launcher


def read_arguments(words=None):
    text = __doc__.format(designs="\n".join(f"    {name:<14} {what}" for name, what in DESIGNS.items()))
    parser = Parser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="a study file (.ini), or decks")
    parser.add_argument("--vary", action="append", default=[], metavar="KEY=A,B", help="a factor and its levels; again for more")
    for key, what in KEYS.items():
        parser.add_argument(f"--{key}", metavar="X", help=what)
    parser.add_argument("--program", metavar="MDMINI", help="(build-gpu/mdmini or build/mdmini beside these sources, the one installed with them, or on the PATH)")
    parser.add_argument("--output", metavar="FOLDER", help="of the study (its name, in the working directory); names a study without one")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="only part K of N of the runs")
    parser.add_argument("--check", action="store_true", help="show the points, and what the program says of each; run nothing")
    parser.add_argument("--report", action="store_true", help="FILE is the folder of a study: table and report anew")
    parser.add_argument("--merge", action="store_true", help="FILEs are folders with shards: put together into --output")
    parser.add_argument("--no-report", action="store_true", help="results.json and results.csv only: no report.md, no pictures")
    parser.add_argument("--ceilings", metavar="FILE", help="of mdmini --ceilings: stages beside what this machine can do")
    parser.add_argument("--peers", metavar="FILE", help="CSV of other programs' speeds, such as run/results/peers.csv")
    return parser, parser.parse_args(words)


def shard_of(text):
    try:
        k, n = map(int, text.split("/"))
    except ValueError:
        k, n = 0, 0
    if not 1 <= k <= n:
        raise StudyError([f"--shard: read {text!r}; allowed: K/N with K from 1 to N"])
    return k, n


def defined(a):
    """The Study of the command line."""
    given = {key: getattr(a, key) for key in KEYS if getattr(a, key) is not None}
    folder = Path(a.output).resolve().name if a.output else ""
    ini = [file for file in a.files if file.endswith(".ini")]
    if not a.files:
        raise StudyError(["a study file or a deck is needed (--help tells more)"])
    if ini and len(a.files) > 1:
        raise StudyError([f"{ini[0]}: a study file names its decks; leave out {', '.join(f for f in a.files if f != ini[0])}"])
    if not ini:
        given["decks"] = " ".join(a.files)
    return read_study(ini[0] if ini else None, given, a.vary, folder)


def again(a):
    """The command that makes the whole study again, wherever this one is: without what is of this session or machine, and without
    the folder, which is where the record is. A record travels: files by their names from the top of the source, or alone."""
    words = [shown(file) if os.path.isabs(file) else file for file in a.files]
    for key in KEYS:
        if key != "budget" and getattr(a, key) is not None:
            words += [f"--{key}", getattr(a, key)]
    words += [word for text in a.vary for word in ("--vary", text)]
    if a.program:
        words += ["--program", shown(a.program)]
    return shlex.join(["tools/study.py", *(re.sub(r"(?<![^\s,=])/[^\s,]+", lambda path: shown(path[0]), word) for word in words)])


def record_of(a, program, study, systems):
    """study.json."""
    factors = [{"key": key, "kind": "physics" if is_physics(program, key) else program.options.get(key, {}).get("kind", "performance"),
                "levels": levels, "base": systems[0].points[0].settings.get(key, systems[0].standing(key))}
               for key, levels in study.resolved()["factors"].items()]
    return {"format": FORMAT, "definition": study.resolved(), "program": program.identity(),
            "command": again(a), "factors": factors,
            "systems": [system.record(system.points[0].id) for system in systems],
            "points": [point.record() for system in systems for point in system.points],
            "switches": sorted({*program.switches.values(), "run.precision", *plain_switches(program, systems)}),
            "order": {system.id: [[point.id for point in order(study.seed, system, system.points, n_round)]
                                  for n_round in range(study.repeats)] for system in systems}}


def tell_points(program, systems):
    """--check: each point, and what the program says of it."""
    n_refused = 0
    for system in systems:
        print(f"\n{system.id}: {system.backend}, {system.label}, {len(system.points)} points")
        for point in system.points:
            errors = [point.reason] if point.reason else program.check(point.command()).errors
            n_refused += bool(errors)
            print(f"  {point.name:<44} {outcome_text('refused', errors[0]) if errors else point.change or 'ok'}")
        for group in system.aliases:
            print("  cannot be told apart: " + " = ".join(group))
    print(f"\n{n_refused} points are refused; nothing was run")


def report(folder, a, ceilings, peers):
    """Everything that is derived from the runs; the results. None where the statistics cannot be made here."""
    try:
        from studies.results import table_text, write_results
    except ImportError as missing:
        if a.report or a.merge:
            raise StudyError([f"{missing}; on Debian: apt-get install python3-numpy"]) from missing
        print(f"\nno table: {missing}. The runs are kept; where it is there: tools/study.py --report {shell_path(folder)}")
        return None
    with Folder(folder).alone():  # parts of a job array may end at the same time
        results = write_results(folder)
        # The last part, or --report, makes the pages.
        if not a.no_report and (a.shard == "1/1" or results["finished"]):
            write(folder, results, ceilings, peers)
    print(table_text(results))
    return results


def exit_code(statuses, n_left, n_left_out, how, has_work=True):
    """statuses: {point: status}; n_left: runs that the command should have made and has not; n_left_out: what other shards
    have to make, too; how: what came between, and what goes on; has_work: whether there was anything for the part to make."""
    if n_left:
        print(f"UNFINISHED: {n_left} runs are left; {how}")
        return 75
    if not has_work:
        print("there was nothing left for this part to make")
    elif n_left_out:
        print(f"this part is done; {n_left_out} runs of other parts are left")
    bad = [id for id, status in statuses.items() if status in ("failed", "crashed")]
    if bad:
        print(f"FAILED: {', '.join(bad)}")
    if "crashed" in statuses.values():
        return 1
    return 3 if "failed" in statuses.values() else 0 if "measured" in statuses.values() or not has_work else 1


def run_study(a, budget):
    study, shard = defined(a), shard_of(a.shard)
    program = find_program(a.program)
    program.may_lack_gpu, program.launcher = a.check, launcher_of(study)
    systems = design(program, study)
    print(f"{program.version[0]}: {program.path}", flush=True)
    if a.check:
        return tell_points(program, systems)
    budget.seconds = study.budget
    folder = Folder(a.output or study.name, shard)
    rounds = folder.claim(record_of(a, program, study, systems))
    n_points = sum(len(system.points) for system in systems)
    print(f"{folder.path}: {', '.join(system.label for system in systems)}; {n_points} points, {study.repeats} rounds" +
          (f" in place of {rounds}" if rounds and rounds < study.repeats else "") +
          (f", shard {a.shard}" if shard[1] > 1 else ""), flush=True)
    budget.end_at_signals()
    runner = Runner(program, study, systems, folder, budget)
    runner.run()
    folder.leave()
    return runner


def main(words=None):
    parser, a = read_arguments(words)
    budget = Budget(None)
    try:
        # Before hours of runs, not after them.
        ceilings, peers = a.ceilings and read_ceilings(a.ceilings), read_peers(a.peers) if a.peers else []
        runner = None
        if a.report or a.merge:
            if not a.files or a.merge and not a.output or a.report and len(a.files) > 1:
                parser.error("--report takes the folder of a study, --merge folders and --output")
            folder = a.output if a.merge else a.files[0]
            if a.merge:
                merge(a.files, folder)
            check_folder(folder)
        else:
            runner = run_study(a, budget)
            if runner is None:
                return 0
            folder = runner.folder.path
        results = report(folder, a, ceilings, peers)
    except (StudyError, NotMdmini) as error:
        for message in getattr(error, "messages", [str(error)]):
            print(f"study.py: {message}", file=sys.stderr)
        return 2
    if runner:
        print(f"\n{budget.spent():.0f} s in all")
    statuses = {point["id"]: point["status"] for point in results["points"]} if results else runner.statuses()
    n_left_out = results["n_left_out"] if results else 0
    if runner:
        return exit_code(statuses, len(runner.left()), n_left_out, f"{budget.why_over()}; the same command goes on",
                         has_work=a.shard == "1/1" or runner.n_total > 0)
    how = f"to make them here: {results['command']} --output {shell_path(folder)}"
    return exit_code(statuses, n_left_out, n_left_out, how)


if __name__ == "__main__":
    sys.exit(run(main))
