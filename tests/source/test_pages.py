"""The pages: README.md is short, no line of prose is wide, and what a page links to or names in backticks is there."""
import os
import re
from pathlib import Path

from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
MOST_LINES, MOST_COLUMNS = 180, 120
FOLDERS = ("inputs", "run", "src", "tests", "tools")
ENDINGS = (".c", ".cu", ".cuh", ".def", ".h", ".inc", ".ini", ".md", ".py", ".sbatch", ".sh")


def pages(source):
    """The pages of the tree, outside run/results."""
    found = [*source.glob("*.md"), *(page for folder in FOLDERS for page in (source / folder).rglob("*.md"))]
    return sorted(page for page in found if source / "run/results" not in page.parents)


def prose(text):
    """(number, line) outside tables, fences and indented code."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("|", "    ")):
            yield number, line


def outside_code(text):
    fenced = False
    for line in text.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield line


def is_there(name, page, source):
    """Relative to the top, to the page or to src/; a bare name may stand anywhere. * and [ch] are wildcards."""
    name = name.rstrip("/")
    if any(any(folder.glob(name)) for folder in (source, page.parent, source / "src")):
        return True
    return "/" not in name and any(any((source / folder).rglob(name)) for folder in FOLDERS)


def names_a_file(words, source):
    """Whether what stands in backticks looks like a file of the tree."""
    if not re.fullmatch(r"[A-Za-z0-9_.*\[\]/-]+", words) or words.startswith(("/", ".", "-")):
        return False
    if "/" in words:
        return words.split("/")[0] in FOLDERS
    return words.endswith(ENDINGS)


def problems(page, source):
    text, found = page.read_text(encoding="utf-8"), []
    found += [f"line {number} has {len(line)} columns" for number, line in prose(text) if len(line) > MOST_COLUMNS]
    for line in outside_code(text):
        for link in re.findall(r"\]\(([^)#\s]+)", line):
            if "://" not in link and not (page.parent / link).exists():
                found.append(f"links to {link}, which is not there")
        for words in re.findall(r"`([^`]+)`", line):
            if names_a_file(words, source) and not is_there(words, page, source):
                found.append(f"names {words}, which is not there")
    return found


def front_problems(text):
    lines = text.splitlines()
    found = [f"line {number} has {len(line)} columns" for number, line in enumerate(lines, 1) if len(line) > MOST_COLUMNS]
    return found + ([f"{len(lines)} lines"] if len(lines) > MOST_LINES else [])


def test_pages(checks, _):
    found = pages(SOURCE)
    checks.that(len(found) >= 10, f"pages: {found}")
    for page in found:
        wrong = problems(page, SOURCE)
        checks.that(not wrong, f"{page.relative_to(SOURCE)}: {'; '.join(wrong)}")


def test_front(checks, _):
    wrong = front_problems((SOURCE / "README.md").read_text(encoding="utf-8"))
    checks.that(not wrong, f"README.md: {'; '.join(wrong)}")


def test_planted(checks, folder):
    """What is wrong is found, and what is right is not."""
    top = Path(folder)
    (top / "src").mkdir()
    (top / "src/there.c").write_text("")
    page = top / "page.md"
    for text, n in (("word " * 30, 1), ("| " + "x" * 200, 0), ("    " + "x" * 200, 0), ("[a](none.md)", 1), ("[a](src/there.c)", 0),
                    ("`src/none.c`", 1), ("`src/there.c`, `there.c`, `src/*.c`, `src/`", 0), ("`none.py`", 1), ("`build/none`", 0)):
        page.write_text(text)
        checks.that(len(problems(page, top)) == n, f"{text[:40]}: {problems(page, top)}")
    for text, n in (("a\n" * 181, 1), ("a\n" * 180, 0), ("| " + "x" * 200, 1)):
        checks.that(len(front_problems(text)) == n, f"front page: {front_problems(text)}")


def main():
    checks = Checks()
    checks.run(test_pages, test_front, test_planted)
    checks.finish()


main()
