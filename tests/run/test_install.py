"""What `cmake --install` leaves: a program and tools that work without the source."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from program import SKIPPED, Checks

checks = Checks()
build = Path(os.environ["MDMINI"]).parent
if not (build / "cmake_install.cmake").exists():
    print(f"skipped: {build} is no build folder")
    sys.exit(SKIPPED)


def run(*command, folder):
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MDMINI", "MDMINI_SOURCE")}
    environment["LD_LIBRARY_PATH"] = f"{build}/tests/emulator:{os.environ.get('LD_LIBRARY_PATH', '')}"  # an emulated GPU is not installed
    done = subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, text=True, env=environment)
    checks.that(done.returncode == 0, f"{' '.join(map(str, command))}: {done.returncode} {done.stdout[-500:]}{done.stderr[-500:]}")
    return done


def check_pages(share):
    """The licence and the pages are there, and what a page links to is there as well."""
    for name in ("LICENSE", "README.md", "inputs/README.md", "run/REPORT.md", "run/slurm/README.md"):
        checks.that((share / name).is_file(), f"{name} is not installed")
    top = Path(os.environ["MDMINI_SOURCE"])
    for page in share.rglob("*.md"):
        # What it names of the source alone lies where its note says; a page without the note names no such file.
        text, name = page.read_text(), page.relative_to(share)
        has_note = text.splitlines()[2].startswith("*This copy was installed. ")
        for word in re.findall(r"(?<![\w/.-])((?:inputs|tools|run|src|tests)/[\w./-]*[\w/])", text):
            is_told = has_note and re.match(r"src/|tests/|run/(?!slurm/|studies/)", word)
            checks.that(is_told or (share / word).exists() or not (top / word).exists(), f"{name} names {word}, which is not installed")
        checks.that(text.replace("\n\n" + "\n".join(text.splitlines()[2:4]), "", 1) == (top / name).read_text() if has_note else
                    text == (top / name).read_text(), f"{name} is not the page of the source")
        for link in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
            checks.that("://" in link or (page.parent / link).exists(), f"{page.relative_to(share)} links to {link}, which is not installed")


with tempfile.TemporaryDirectory() as name:
    place = Path(name) / "place"
    run("cmake", "--install", build, "--prefix", place, folder=name)
    mdmini, share = place / "bin/mdmini", place / "share/mdmini"
    check_pages(share)
    run("bash", share / "run/slurm/study.sh", "--help", folder=name)
    small = ["system.cells=4", "run.steps=20", "run.threads=1", "run.backend=cpu"]
    run(mdmini, share / "inputs/melt.txt", *small, "output.frames_every=10", "report.trace=trace.json", folder=name)
    for tool, words in (("h5check.py", ["melt.h5"]), ("compare.py", ["melt.json", "melt.json"]), ("plot.py", ["--help"]),
                        ("timeline.py", ["--help"])):
        run(sys.executable, "-B", share / "tools" / tool, *words, folder=name)
    run(sys.executable, "-B", share / "tools/study.py", share / "inputs/melt.txt", "--words", " ".join(small),
        "--vary", "memory.layout=vec4,soa", "--repeats", "1", "--no-report", "--program", mdmini, "--output", "study", folder=name)
    run(sys.executable, "-B", share / "tools/study.py", share / "run/studies/ladder-32k.ini", "--check", "--program", mdmini, folder=name)
    # Another folder than the top of a source: the study file is found, and so are site.sh and job.sh.
    run(sys.executable, "-B", share / "tools/study.py", "run/studies/ladder-32k.ini", "--check", "--program", mdmini, folder=name)
    run(share / "run/slurm/study.sh", "--help", folder=name)
    checks.that(all((share / "run/slurm" / file).exists() for file in ("site.sh", "job.sh", "array.sbatch", "mdmini.def")), "run/slurm")
checks.finish()
