"""Every command of inputs/COURSE.md works: groups of --ceilings with --quick, decks and studies with --check. It needs a GPU, or the
emulated one: MDMINI_TEST_BACKENDS=cuda."""
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import program
from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])


def commands():
    """The words of each command that is a line of its own."""
    text = (SOURCE / "inputs/COURSE.md").read_text(encoding="utf-8").replace("\\\n", " ")
    return [shlex.split(line, comments=True) for line in re.findall(r"^ {4,}((?:mdmini|tools/study\.py) .*)$", text, re.M)]


def run(words, folder):
    """(exit code, output) of a command, made short."""
    words = [str(SOURCE / word) if word.startswith(("inputs/", "run/")) else word for word in words]
    if words[0] == "tools/study.py":
        done = subprocess.run([sys.executable, "-B", SOURCE / words[0], *words[1:], "--check", "--program", program.program()],
                              cwd=folder, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr
    short = ["--quick", "run.backend=cuda", "output.existing=overwrite"] if "--ceilings" in words else []
    if not words[1].startswith("-"):
        short = ["run.backend=cuda", "--check"]
    done = program.run(*words[1:], *short, folder=folder)
    return done.code, done.stdout + done.stderr


def test_commands(checks, folder):
    found = commands()
    checks.that(len(found) > 20, f"{len(found)} commands")
    for words in found:
        code, output = run(words, folder)
        checks.that(code == 0 and "refused: " not in output, f"{shlex.join(words)}: exit code {code}: {output[-500:]}")


def test_wrong(checks, folder):
    for words in (["mdmini", "--ceilings", "bank"], ["mdmini", "inputs/melt.txt", "launch.registers=32"],
                  ["tools/study.py", "inputs/melt.txt", "--vary", "memory.load=ldg,lgd"]):
        checks.that(run(words, folder)[0] != 0, f"{words} was taken")


def main():
    checks = Checks()
    if "cuda" not in os.environ.get("MDMINI_TEST_BACKENDS", "cpu"):
        print("skipped: the commands of the course are for a GPU (MDMINI_TEST_BACKENDS=cuda)")
        sys.exit(program.SKIPPED)
    checks.run(test_commands, test_wrong)
    checks.finish()


main()
