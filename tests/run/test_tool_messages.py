"""What the tools say of files that are not theirs, of files that are not there, of words that are spelled wrong, and of modules that
are not installed: a sentence with the way out, no traceback."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import program
from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
TOOLS = SOURCE / "tools"
READS = {"plot.py": "a trajectory (NAME.h5)", "h5check.py": "a trajectory (NAME.h5)", "timeline.py": "a trace (report.trace)",
         "compare.py": "a record of run/bench.sh"}
PICTURES = ("plot.py", "timeline.py")


def run(*words, folder, **environment):
    done = subprocess.run([sys.executable, "-B", *map(str, words)], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout + done.stderr


def words_of(tool, path):
    return {"compare.py": [path, path], "timeline.py": [path, "-o", "picture.png"]}.get(tool, [path])


def has_matplotlib():
    return run("-c", "import matplotlib", folder="/")[0] == 0


def check(checks, code, said, expected, what, codes=(2,)):
    checks.that(code in codes and "Traceback" not in said, f"{what}: exit code {code}: {said}")
    for text in expected:
        checks.that(text in said, f"{what}: {text!r} is not in {said!r}")


def files(folder):
    """{name: (what it is, which tool takes it, the tools that take it)} of what mdmini and the tools write."""
    program.run(SOURCE / "inputs/melt.txt", "run.backend=cpu", "run.threads=1", "system.cells=4", "run.steps=20", "output.name=a",
                "output.frames_every=10", "report.trace=trace.json", "restart.every=10", folder=folder)
    (folder / "beside").mkdir()
    (folder / "other.txt").write_text("a line\n")
    for name, data in (("ceilings.json", {"ceilings": {"memory_bandwidth": {"cpu": 1}}}), ("study.json", {"definition": {}, "order": {}}),
                       ("list.json", [1])):
        (folder / name).write_text(json.dumps(data))
    return {"a.h5": ("this is a trajectory (NAME.h5)", "tools/plot.py", ("plot.py", "h5check.py")),
            "a.json": ("this is the report of a run (NAME.json)", "tools/compare.py", ("compare.py", "plot.py")),
            "trace.json": ("this is a trace", "tools/timeline.py", ("timeline.py",)),
            "a.restart": ("this is a restart file", "mdmini --restart", ()), "a.log": ("this is the log of a run", "no tool", ()),
            "ceilings.json": ("this is ceilings", "tools/study.py --ceilings", ()),
            "study.json": ("this is the definition of a study", "tools/study.py --report", ()), "other.txt": ("other.txt: ", "needed here: ", ()),
            "list.json": ("list.json: ", "", ()), "beside": ("beside: ", "", ())}


def test_wrong_files(checks, folder):
    folder = Path(folder)
    given = files(folder)
    tools = [tool for tool in READS if tool not in PICTURES or has_matplotlib()]
    for tool in tools:
        for name, (what, who, takers) in given.items():
            if tool in takers:
                continue
            code, said = run(TOOLS / tool, *words_of(tool, name), folder=folder)
            expected = [what, who] + ([READS[tool]] if what.startswith("this") else [])
            check(checks, code, said, expected, f"{tool} {name}", (1,) if tool == "h5check.py" else (2,))
        code, said = run(TOOLS / tool, *words_of(tool, "a.jsn"), folder=folder)
        check(checks, code, said, ['a.jsn: ', 'no such file; did you mean "a.json"?'], f"{tool} a.jsn", (1, 2))
    study = [TOOLS / "study.py", "--report"]
    for words, expected in (((*study, "a.json"), "this is the report of a run"), ((*study, "nix"), "nix: no such file"),
                            ((*study, "beside"), "it has no study.json"),
                            (([TOOLS / "study.py", "--merge", "nix", "--output", "x"]), "nix: no such file"),
                            ((*study, "beside", "--ceilings", "a.json"), "needed here: ceilings"),
                            ((*study, "beside", "--peers", "a.h5"), "needed here: speeds of other programs"),
                            ([TOOLS / "study.py", "othr.txt", "--vary", "a.b=1,2"], 'othr.txt: no such file; did you mean "other.txt"?')):
        check(checks, *run(*words, folder=folder), [expected], f"{words}")


MARKED = """import os, sys, h5py
file = h5py.File(sys.argv[1], "w", libver="latest")
file["x"] = 1
file.swmr_mode = True
file.flush()
os._exit(0)"""


def test_pasted(checks, folder):
    """A command in a message is one of a shell, whatever the file is called."""
    for name in ("""a "b's $HOME; *""", "plain", "-x"):
        (Path(folder) / name).mkdir()
        (Path(folder) / name / "study.json").write_text(json.dumps({"definition": {}, "order": {}}))
        run("-c", MARKED, f"./{name}.h5", folder=folder)  # as one that is being written, or whose writer was killed
        for path, what in ((name, "--report FOLDER makes"), (f"{name}.h5", "mdmini --recover FILE$")):
            said = run(TOOLS / "h5check.py", "--", path, folder=folder)[1].strip()
            found = re.search(re.sub("FILE|FOLDER", "(.*)", what), said)
            if checks.that(found, f"{path}: {said}"):
                told = subprocess.run(["sh", "-c", f"printf '<%s>' {found[1]}"], cwd=folder, capture_output=True, text=True).stdout
                checks.that(told == f"<{'./' if path[0] == '-' else ''}{path}>", f"{path}: {said!r} names {told}")


def test_words(checks, folder):
    cases = [("compare.py", ["a", "b", "--tolerence", "0.1"], 'did you mean "--tolerance"?'),
             ("study.py", ["--repaets", "3"], 'did you mean "--repeats"?'),
             ("study.py", [SOURCE / "inputs/melt.txt", "--vary", "a.b=1,2", "--design", "lader"], 'did you mean "ladder"?'),
             ("h5check.py", ["x.h5", "--jsn"], 'did you mean "--json"?')]
    if has_matplotlib():
        cases += [("plot.py", ["x.h5", "--color", "sped"], 'did you mean "speed"?'), ("plot.py", ["x.h5", "--format", "pmg"], 'did you mean "png"?'),
                  ("timeline.py", ["x.json", "-o", "x.png", "--form", "1"], 'did you mean "--from"?'),
                  ("../run/peers.py", ["x.csv"], "x.csv: no record of speeds")]
    for tool, words, expected in cases:
        check(checks, *run(TOOLS / tool, *words, folder=folder), [expected], f"{tool} {words}")
    for script in ("bench.py", "ncu.py"):
        check(checks, *run(SOURCE / "run" / script, "x", "--backend", "cud", folder=folder), ['did you mean "cuda"?'], script)
    for script in ("demo", "gpu-check", "platforms", "precompile", "test"):  # asked for help, it does nothing else
        done = subprocess.run(["bash", SOURCE / f"run/{script}.sh", "--help"], cwd=folder, capture_output=True, text=True)
        text = (SOURCE / f"run/{script}.sh").read_text().split("\n\n")[0]
        head = "\n".join(line.lstrip("#").strip() for line in text.splitlines()[1:] if line.startswith("#"))
        said = "\n".join(line.strip() for line in done.stdout.splitlines())
        checks.that(done.returncode == 0 and len(head) > 100 and said == head, f"{script}.sh --help: {done.returncode}, {done.stdout}{done.stderr}")
    for script in ("bench.py", "bench_cpu.py", "bench_ranks.py", "ncu.py", "pipeline.py"):
        check(checks, *run(SOURCE / "run" / script, "nix", folder=folder), ["nix: no such program"], script)


def test_modules(checks, folder):
    """A Python without the modules that a tool needs; and no other one, which the tool would take in its place."""
    python = Path(folder) / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", python], check=True)
    for tool, module in (("plot.py", "numpy"), ("h5check.py", "numpy"), ("compare.py", "numpy"), ("timeline.py", "matplotlib")):
        done = subprocess.run([python / "bin/python3", "-B", TOOLS / tool, "x"], capture_output=True, text=True,
                              env={**os.environ, "MDMINI_PYTHON_AGAIN": "1", "PYTHONPATH": ""})
        said = done.stdout + done.stderr
        check(checks, done.returncode, said, [f"no module {module}", f"apt-get install python3-{module}"], tool, (1, 2))


def main():
    checks = Checks()
    checks.run(test_wrong_files, test_pasted, test_words, test_modules)
    checks.finish()


main()
