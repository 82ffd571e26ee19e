"""A study of a program that takes no time and measures the same each time (fake_mdmini.py), in a folder of its own."""
import contextlib
import io
import json
import os
import py_compile
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import interpreter
import study
import studies.results  # noqa: F401  (study.py imports it when it has runs)

SOURCE = Path(os.environ["MDMINI_SOURCE"]) if "MDMINI_SOURCE" in os.environ else None
STUDY_PY = SOURCE / "tools/study.py" if SOURCE else None
STUDY = """[study]
name    = abc
decks   = deck.txt
words   = system.cells=8   # 2,048 atoms
repeats = 3
seconds = 0.01
limit   = 5
seed    = 7
[factors]
a.x = slow, fast
a.y = 2, 3
a.z = off, on
"""
N_RUNS = 3 * 6 + 2  # of 8 points two are refused


class Bench:
    """A folder with the fake program, a deck and a study of it."""

    def __init__(self, folder, text=STUDY):
        self.folder = Path(folder)
        self.mdmini = self.folder / "mdmini"
        place = self.folder / "fake/fake_mdmini.pyc"  # it is started some hundred times: what it is made of is compiled once
        py_compile.compile(str(SOURCE / "tests/support/fake_mdmini.py"), str(place), doraise=True)
        self.mdmini.write_text(f"#!{sys.executable} -SE\nimport sys\nsys.path[:0] = [{str(place.parent)!r}]\n"
                               "import fake_mdmini\nfake_mdmini.main('mdmini fake (0)')\n")
        self.mdmini.chmod(0o755)
        (self.folder / "deck.txt").write_text("[system]\n")
        self.study = self.folder / "abc.ini"
        self.study.write_text(text)

    def command(self, output, *words, given=None):
        return [sys.executable, "-B", STUDY_PY, *(words if "--report" in words or "--merge" in words else
                                                                  [*(given or [self.study]), *words]),
                *(["--program", self.mdmini] if "--report" not in words and "--merge" not in words else []),
                *(["--output", self.folder / output] if "--report" not in words else []), "--no-report"]

    def environment(self, output, shard=(1, 1), **fake):
        k, n = shard
        name = "runs.jsonl" if n == 1 else f"runs-{k}-of-{n}.jsonl"
        # TMPDIR: what is killed leaves its folders
        return {**os.environ, "TMPDIR": str(self.folder), "FAKE_RUNS": str(self.folder / output / name), "FAKE_K": str(k - 1), "FAKE_N": str(n),
                **{f"FAKE_{key}": str(value) for key, value in fake.items()}}

    def run(self, output, *words, shard=(1, 1), given=None, **fake):
        """What came of the command, in a process of its own that need not import everything again."""
        words = [*words, "--shard", "{}/{}".format(*shard)] if shard[1] > 1 else words
        command = [str(word) for word in self.command(output, *words, given=given)]
        with open(self.folder / "said", "w+b") as said, open(self.folder / "complained", "w+b") as complained:
            sys.stdout.flush()
            child = os.fork()
            if not child:
                self.become(command, self.environment(output, shard, **fake), said, complained)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            said.seek(0)
            complained.seek(0)
            return subprocess.CompletedProcess(command, code, said.read().decode(), complained.read().decode())

    def become(self, command, environment, said, complained):
        """What the interpreter does of this command, here; it does not come back."""
        code = 1
        try:
            os.dup2(said.fileno(), 1)
            os.dup2(complained.fileno(), 2)
            os.chdir(self.folder)
            os.environ.clear()
            os.environ.update(environment)
            tempfile.tempdir = None  # of the environment that was
            words = command[command.index(str(STUDY_PY)) + 1:]
            code = interpreter.run(lambda: study.main(words))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code or 0)

    def judge(self, *words):
        """(exit code, what it says) of bad input, which is soon told."""
        said, here = io.StringIO(), os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
                code = study.main([str(word) for word in words])
        except SystemExit as end:
            code = end.code
        finally:
            os.chdir(here)
        return code, said.getvalue()

    def results(self, output):
        return json.loads((self.folder / output / "results.json").read_text())

    def table(self, output):
        """What must not depend on how a study came about."""
        found = self.results(output)
        return {key: value for key, value in found.items() if key != "command"}

    def lines(self, output):
        return [json.loads(line) for path in sorted((self.folder / output).glob("runs*.jsonl"))
                for line in path.read_text().splitlines()]


def points_of(results):
    return {point["label"]: point for point in results["points"]}
