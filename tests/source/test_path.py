"""The path of reading in src/README.md: its files exist, its counts of lines are about right, and it has at most 3,000 lines."""
import os
import re
from pathlib import Path

from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
MOST_LINES = 3000


def rows(page):
    """(file, lines as the page says) of the section."""
    section = page.split("\n## A path of reading\n", 1)[1].split("\n## ", 1)[0]
    return [(name, int(lines)) for name, lines in re.findall(r"^\| `([^`]+)` \| (\d+) \|", section, re.M)]


def problems(path, source):
    found, total = [], 0
    for name, said in path:
        if not (source / name).is_file():
            found.append(f"{name} is not there")
            continue
        lines = len((source / name).read_text(encoding="utf-8").splitlines())
        total += lines
        if abs(lines - said) > max(20, said // 5):
            found.append(f"{name} has {lines} lines, not {said}")
    if total > MOST_LINES:
        found.append(f"{total} lines are more than {MOST_LINES}")
    return found


def test_path(checks, _):
    path = rows((SOURCE / "src/README.md").read_text(encoding="utf-8"))
    checks.that(len(path) >= 10, f"files of the path: {path}")
    checks.that(not problems(path, SOURCE), f"src/README.md: {problems(path, SOURCE)}")


def test_planted(checks, folder):
    """What is wrong is found."""
    folder = Path(folder)
    (folder / "long.c").write_text("\n" * 2000)
    for path, word in (([("none.c", 10)], "is not there"), ([("long.c", 1500)], "not 1500"),
                       ([("long.c", 2000), ("long.c", 2000)], "4000 lines are more")):
        found = problems(path, folder)
        checks.that(len(found) == 1 and word in found[0], f"{path}: {found}")


def main():
    checks = Checks()
    checks.run(test_path, test_planted)
    checks.finish()


main()
