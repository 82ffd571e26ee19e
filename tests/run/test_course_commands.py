"""Every command of inputs/COURSE.md works: groups of --ceilings with --quick, decks and studies with --check. Those for a GPU need one,
or the emulated one: MDMINI_TEST_BACKENDS=cuda; those for the processor run anywhere, and each chapter has one."""
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


def is_of_cpu(words):
    return "run.backend=cpu" in " ".join(words).split()


def run(words, folder):
    """(exit code, output) of a command, made short."""
    words = [str(SOURCE / word) if word.startswith(("inputs/", "run/")) else word for word in words]
    if words[0] == "tools/study.py":
        done = subprocess.run([sys.executable, "-B", SOURCE / words[0], *words[1:], "--check", "--program", program.program()],
                              cwd=folder, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr
    backend = [] if is_of_cpu(words) else ["run.backend=cuda"]
    short = ["--quick", *backend, "output.existing=overwrite"] if "--ceilings" in words else []
    if not words[1].startswith("-"):
        short = [*backend, "--check"]
    done = program.run(*words[1:], *short, folder=folder)
    return done.code, done.stdout + done.stderr


def test_cpu(checks, folder):
    text = (SOURCE / "inputs/COURSE.md").read_text(encoding="utf-8")
    for chapter in re.split(r"^## (?=\d)", text.split("\n## Answers\n")[0], flags=re.M)[1:]:
        checks.that(re.search(r"^    mdmini --ceilings .* run\.backend=cpu +# without a GPU$", chapter, re.M), f"no command for a processor: {chapter[:40]}")
    found = [words for words in commands() if is_of_cpu(words)]
    checks.that(len(found) >= 11, f"{len(found)} commands for a processor")
    for words in found:
        code, output = run(words, folder)
        checks.that(code == 0 and "refused: " not in output, f"{shlex.join(words)}: exit code {code}: {output[-500:]}")


def test_commands(checks, folder):
    found = [words for words in commands() if not is_of_cpu(words)]
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
    if "cuda" in os.environ.get("MDMINI_TEST_BACKENDS", "cpu"):
        checks.run(test_commands, test_wrong)
    else:
        checks.run(test_cpu)
    checks.finish()


main()
