"""The paths of reading in src/README.md: their files exist, their counts of lines are about right, and they are no longer than they
may be: 3,170 lines from the deck to the files, 900 in 5 files of the output. The source has a limit as well: who needs more lines
takes others out, or raises it with a reason. What --ceilings and --bench measure is counted by itself: each technique of a course is a short
kernel there, and nothing else depends on it."""
import os
import re
from pathlib import Path

from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
PATHS = {"A path of reading": (10, 30, 3210), "The path of the output": (4, 5, 900)}  # least and most files, most lines
KINDS = {".c", ".h", ".cu", ".cuh", ".inc", ".def"}
ELEMENTARY = "microbench"  # folder
# Of src/ without them, and of them. 2,910 of the lines are the cuda backend over several processes: domains, migration, halo exchange
# through the host, by NCCL and by stores to other GPUs; 280 are the verification by all of them, 330 the frames that all of them write.
# 210 are the table of columns and what reads it. 400 are the relaxation of a start (run.minimize),
# 600 the units of numbers that go in and out, 300 the pressure tensor, 1,190 samples while the run goes and what becomes of them,
# 920 histograms of pairs on both backends and g(r), 600 friction and noise on each atom in all kernels, 110 the Nose-Hoover chain.
# Of the elementary kernels 550 lines are what passes between processes.
MOST_LINES, MOST_ELEMENTARY = 53_440, 7_290


def rows(page, title):
    """(file, lines as the page says) of the section."""
    section = page.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]
    return [(name, int(lines)) for name, lines in re.findall(r"^\| `([^`]+)` \| (\d+) \|", section, re.M)]


def problems(path, source, most_lines):
    found, total = [], 0
    for name, said in path:
        if not (source / name).is_file():
            found.append(f"{name} is not there")
            continue
        lines = len((source / name).read_text(encoding="utf-8").splitlines())
        total += lines
        if abs(lines - said) > max(20, said // 5):
            found.append(f"{name} has {lines} lines, not {said}")
    if total > most_lines:
        found.append(f"{total} lines are more than {most_lines}")
    return found


def test_path(checks, _):
    page = (SOURCE / "src/README.md").read_text(encoding="utf-8")
    for title, (least, most, most_lines) in PATHS.items():
        path = rows(page, title)
        checks.that(least <= len(path) <= most, f"{title}: {len(path)} files")
        found = problems(path, SOURCE, most_lines)
        checks.that(not found, f"src/README.md: {title}: {found}")


def count_lines(folder):
    """(lines without the elementary kernels, theirs)."""
    lines = [0, 0]
    for file in folder.rglob("*"):
        if file.suffix in KINDS:
            is_elementary = ELEMENTARY in file.relative_to(folder).parts
            lines[is_elementary] += len(file.read_text(encoding="utf-8").splitlines())
    return tuple(lines)


def test_all(checks, folder):
    lines, elementary = count_lines(SOURCE / "src")
    checks.that(20_000 < lines <= MOST_LINES, f"src/ has {lines} lines, and MOST_LINES of this file allows {MOST_LINES}: raise it only for what is worth it")
    checks.that(2_000 < elementary <= MOST_ELEMENTARY,
                f"the elementary kernels have {elementary} lines, and MOST_ELEMENTARY of this file allows {MOST_ELEMENTARY}")
    (Path(folder) / "kernels").mkdir()
    (Path(folder) / "kernels/a.cu").write_text("\n" * 7)
    (Path(folder) / "b.h").write_text("\n" * 4)
    (Path(folder) / "README.md").write_text("\n" * 100)
    (Path(folder) / "microbench/kernels").mkdir(parents=True)
    (Path(folder) / "microbench/kernels/c.cu").write_text("\n" * 5)
    checks.that(count_lines(Path(folder)) == (11, 5), "lines of all kinds of source in all folders, and of nothing else")


def test_planted(checks, folder):
    """What is wrong is found."""
    folder = Path(folder)
    (folder / "long.c").write_text("\n" * 2000)
    for path, word in (([("none.c", 10)], "is not there"), ([("long.c", 1500)], "not 1500"),
                       ([("long.c", 2000), ("long.c", 2000)], "4000 lines are more")):
        found = problems(path, folder, 3000)
        checks.that(len(found) == 1 and word in found[0], f"{path}: {found}")


def main():
    checks = Checks()
    checks.run(test_path, test_all, test_planted)
    checks.finish()


main()
