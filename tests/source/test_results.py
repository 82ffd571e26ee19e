"""Kept results: no more than a reader opens, and whatever names a file of theirs names one that is there."""
import csv
import os
import re
import subprocess
from pathlib import Path

from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
RESULTS = "run/results"
MOST_BYTES = 4_000_000
NAMED = re.compile(r"(?:\b([0-9a-f]{7,40}):)?" + RESULTS + r"((?:/[\w.+-]+)*)")  # with a commit: a file of the history
LINK = re.compile(r"\]\(([^()\s]+)\)")


def list_files(source):
    """Paths of the source: those that git tracks, or, without git, all that no build made."""
    listed = subprocess.run(["git", "-C", source, "ls-files", "-z"], capture_output=True, text=True)
    if (source / ".git").exists() and listed.returncode == 0:
        return [path for path in listed.stdout.split("\0") if path and (source / path).is_file()]
    folders = [folder for folder in source.iterdir() if folder.is_dir() and not folder.name.startswith("build")]
    files = [path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts]
    return [str(path.relative_to(source)) for path in [*source.iterdir(), *files] if path.is_file()]


def kept_bytes(source, files):
    return sum((source / path).stat().st_size for path in files if path.startswith(RESULTS + "/"))


def git_has(source, name):
    return subprocess.run(["git", "-C", source, "cat-file", "-e", name], capture_output=True).returncode == 0


def heading_names(text):
    """What a link's part behind # may be, as GitHub makes it of headings."""
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dangling_names(source, files):
    """`file: name` for each path under run/results that a text names and that is not there, and for each link of its pages."""
    missing = []
    for path in files:
        content = (source / path).read_bytes()
        if b"\0" in content[:8000]:
            continue
        text = content.decode(errors="replace")
        for commit, below in NAMED.findall(text):
            name = RESULTS + below.rstrip(".")
            if not commit:
                exists = (source / name).exists()
            else:
                exists = not git_has(source, commit + "^{commit}") or git_has(source, f"{commit}:{name}")  # a shallow clone has no history
            if not exists:
                missing.append(f"{path}: {commit + ':' if commit else ''}{name}")
        if not (path.startswith(RESULTS + "/") and path.endswith(".md")):
            continue
        for link in LINK.findall(text):
            file, _, heading = link.partition("#")
            to = (source / path).parent / file if file else source / path
            if ":" not in link and (not to.exists() or heading and heading not in heading_names(to.read_text())):
                missing.append(f"{path}: {link}")
    return missing


def is_small(checks, folder):
    files = list_files(SOURCE)
    n_bytes = kept_bytes(SOURCE, files)
    checks.that(0 < n_bytes <= MOST_BYTES, f"{RESULTS} holds {n_bytes} bytes; at most {MOST_BYTES} are to be kept")


def names_what_is_there(checks, folder):
    files = list_files(SOURCE)
    checks.that(len(files) > 100 and f"{RESULTS}/README.md" in files, f"{len(files)} files of the source")
    for name in dangling_names(SOURCE, files):
        checks.that(False, f"{name} does not exist")


def planted_are_found(checks, folder):
    source = Path(folder)
    (source / RESULTS / "gpu").mkdir(parents=True)
    (source / RESULTS / "README.md").write_text("# The page\n[a](gpu/a.txt) [b](gpu/b.txt) [c](#the-page) [d](#no-page) [e](https://e.org)\n")
    (source / RESULTS / "gpu/a.txt").write_text(60 * "x")
    (source / "x.c").write_text(f"/* {RESULTS}/gpu/a.txt, {RESULTS}/gpu. {RESULTS}/, {RESULTS}/gpu/c.txt. */\n")
    files = list_files(source)
    checks.that(kept_bytes(source, files) == 60 + (source / RESULTS / "README.md").stat().st_size, f"{kept_bytes(source, files)} bytes kept")
    found = sorted(dangling_names(source, files))
    checks.that(found == [f"{RESULTS}/README.md: #no-page", f"{RESULTS}/README.md: gpu/b.txt", f"x.c: {RESULTS}/gpu/c.txt"], f"found: {found}")


def speeds_are_those_of_the_record(checks, folder):
    """The table of README.md beside other programs, and the ratios that run/results/README.md gives."""
    lines = [line for line in (SOURCE / RESULTS / "h200/peers.csv").read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    settings = (("mdmini", "mixed", "every 20 steps"), ("mdmini", "mixed", "safe"), ("gamdpy", "single", "its own"),
                ("OpenMM", "mixed", "its own"), ("LAMMPS KOKKOS", "double", "every 20 steps"))
    speeds = {(int(row["atoms"]), row["program"], row["precision"], row["rule"]): int(row["value"]) for row in rows}
    sizes = sorted({atoms for atoms, *_ in speeds})
    page = (SOURCE / "README.md").read_text()
    for atoms in sizes:
        line = "| " + " | ".join(f"{value:,}" for value in (atoms, *(speeds[(atoms, *setting)] for setting in settings))) + " |"
        checks.that(line in page, f"README.md has no line {line}")
    times = [max(value for key, value in speeds.items() if key[:2] == (atoms, "mdmini")) /
             max(value for key, value in speeds.items() if key[0] == atoms and key[1] != "mdmini") for atoms in sizes]
    text = " ".join((SOURCE / RESULTS / "README.md").read_text().split())
    sentence = "{:.0f} times the speed of the best other program at 4,000 atoms, {:.0f} at 32,000, {:.0f} at 256,000 and {:.0f} at a million"
    checks.that(sentence.format(*times) in text, f"{RESULTS}/README.md does not say {sentence.format(*times)}")


checks = Checks()
checks.run(speeds_are_those_of_the_record, is_small, names_what_is_there, planted_are_found)
checks.finish()
