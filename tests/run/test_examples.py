"""The examples of tools/study.py and run/slurm/study.sh in the pages and in the head of study.sh are commands that work: each one is
read by tools/study.py --check, and those of the processor are run with small systems: their lists are rebuilt in time."""
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import program
from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
PAGES = ("README.md", "run/README.md", "run/slurm/README.md", "run/studies/README.md", "run/slurm/study.sh", "tools/README.md")
NO_STUDY = {"--help", "--report", "--merge", "--check"}


def commands():
    """{(page, the words of tools/study.py)} of all examples that are a line of their own."""
    found = set()
    for page in PAGES:
        if not (SOURCE / page).exists():
            continue
        text = (SOURCE / page).read_text(encoding="utf-8").replace("\\\n#", "\\\n").replace("\\\n", " ")
        for line in re.findall(r"^(?:    |#   )((?:tools/study\.py|run/slurm/study\.sh) .*)$", text, re.M):
            words = shlex.split(line, comments=True)
            if words[0] == "run/slurm/study.sh":
                if "[OPTION" in words:
                    continue
                while words[1].startswith("-"):
                    del words[1]
                words = ["", *words[3:]]  # less PARTS and FOLDER
            if not NO_STUDY & set(words) and "STUDY.ini" not in words:
                found.add((page, tuple(words[1:])))
    return sorted(found)


def study(words, folder):
    return subprocess.run([sys.executable, "-B", SOURCE / "tools/study.py", *words, "--program", program.program()], cwd=folder,
                          capture_output=True, text=True, env={**os.environ, "PATH": f"{folder}/launchers:{os.environ['PATH']}"})


def make_launchers(folder):
    """Launchers of the examples, which not every machine has: they start one process, which can be checked."""
    (Path(folder) / "launchers").mkdir()
    for name in ("mpirun", "srun"):
        path = Path(folder) / "launchers" / name
        path.write_text("#!/bin/sh\nwhile [ \"$(basename \"$1\")\" != mdmini ]; do shift; done\nexec \"$@\"\n")
        path.chmod(0o755)


def on_processor(words):
    """The words of a small study on the processor, of one round."""
    words = list(words)
    if "--words" in words:
        at = words.index("--words") + 1
        words[at] += " run.backend=cpu system.cells=5 run.steps=100"
        words[at] = " ".join({word.split("=")[0]: word for word in words[at].split()}.values())
    else:
        words += ["--words", "run.backend=cpu system.cells=5 run.steps=100"]
    return [*words, "--repeats", "1", "--no-report"]


def test_examples(checks, folder):
    found = commands()
    checks.that(len(found) >= 5, f"examples: {found}")
    make_launchers(folder)
    for page, words in found:
        done = study([*words, "--check"], folder)
        checks.that(done.returncode == 0 and " points" in done.stdout, f"{page}: {shlex.join(words)}: {done.stderr}")


def test_lists_in_time(checks, folder):
    """No deck example compares lists that miss pairs."""
    for k, (page, words) in enumerate(found for found in commands() if "--vary" in found[1] and not found[1][0].endswith(".ini")):
        if "run.precision=mixed,double" in words:
            continue  # the record of a CI, by the benchmark's own rule; the skin is the same in both
        done = study([*on_processor(words), "--output", f"study{k}"], folder)
        checks.that(done.returncode == 0, f"{page}: {shlex.join(words)}: {done.returncode} {done.stdout[-300:]}{done.stderr}")
        points = json.loads((Path(folder) / f"study{k}/results.json").read_text())["points"]
        late = [point["label"] for point in points if point["n_late_rebuilds"]]
        checks.that(not late, f"{page}: {shlex.join(words)}: lists that are too late: {late}")


def main():
    checks = Checks()
    checks.run(test_examples, test_lists_in_time)
    checks.finish()


main()
