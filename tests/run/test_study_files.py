"""Every study that the project ships is one that the program takes: its keys, levels and systems are legal, and each point passes
--check here, or is refused because this backend has no such thing. Each says in a comment what it is to show."""
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import program
import ranks
from studies.definition import DESIGNS, StudyError, read_study
from studies.designs import design
from studies.listings import Program

SOURCE = Path(os.environ["MDMINI_SOURCE"]) if "MDMINI_SOURCE" in os.environ else None
# Of a combination that the program refuses it says why; these are the reasons that there may be.
REASONS = ("backend has no such switch", "backend does not have", "has no effect: it needs ", " needs ", "fewer atoms",
           *(f"parallel.transport={word}: " for word in ("cuda-aware", "nccl", "direct")))


def check_names(checks, known):
    """A list of keys has that of studies as well, and no other list."""
    for key, levels, expected in (("parallel.rank", ["1", "2"], "allowed: ranks (of a study), grid"),
                                  ("parallel.overlap", ["on", "maybe"], "allowed: off, on")):
        study = read_study(SOURCE / "run/studies/strong.ini")
        study.factors = {key: levels}
        try:
            told = f"{len(design(known, study))} systems"
        except StudyError as error:
            told = str(error)
        checks.that(expected in told, f"{key}: {told}")


def main():
    if not SOURCE:
        print("skipped: MDMINI_SOURCE is not set")
        return sys.exit(program.SKIPPED)
    checks = program.Checks()
    known, designs, n_points, refused = Program(program.program()), set(), 0, []
    os.environ.update(ranks.ENVIRONMENT)
    check_names(checks, known)
    no_mpirun = ranks.why_not()
    if no_mpirun:
        print(f"studies of several processes: skipped: {no_mpirun}")
    files = sorted((SOURCE / "run/studies").glob("*.ini"))
    for file in files:
        study = read_study(file)
        lines = file.read_text().splitlines()
        checks.that(lines[0].startswith("# ") and any(f"run/studies/{file.name}" in line for line in lines if line[0] == "#"),
                    f"{file.name}: no comment that says what it is to show, and how to run it")
        checks.that(study.repeats >= 3, f"{file.name}: {study.repeats} rounds say nothing")
        designs.add(study.design)
        known.launcher = study.launcher
        if no_mpirun and study.has_several_ranks():
            continue
        try:
            points = [point for system in design(known, study) for point in system.points]
        except StudyError as error:  # of a base that is about a GPU, where there is none
            about_gpu = "the cpu backend does not have it" in str(error) and "took the cpu backend" in str(error)
            checks.that(about_gpu, f"{file.name}: {error}")
            continue
        n_points += len(points)
        checks.that(not points[0].reason, f"{file.name}: its base is refused: {points[0].reason}")
        with ThreadPoolExecutor(2) as pool:
            errors = list(pool.map(lambda point: [point.reason] if point.reason else known.check(point.command()).errors, points))
        for point, messages in zip(points, errors):
            if messages:
                refused.append(point)
                checks.that(any(reason in messages[0] for reason in REASONS), f"{file.name}: {point.id}: {messages}")
            else:
                checks.n_checks += 1
    checks.that(len(files) >= 9 and designs == set(DESIGNS), f"{len(files)} studies of designs {designs}")
    print(f"{len(files)} studies, {n_points} points, {len(refused)} are refused here")
    checks.finish()


if __name__ == "__main__":
    main()
