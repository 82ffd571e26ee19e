"""The paths of reading in src/README.md: their files exist, their counts of lines are about right, and they are no longer than they
may be: 3,000 lines from the deck to the files, 900 in 5 files of the output."""
import os
import re
from pathlib import Path

from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
PATHS = {"A path of reading": (10, 30, 3000), "The path of the output": (4, 5, 900)}  # least and most files, most lines


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
    checks.run(test_path, test_planted)
    checks.finish()


main()
