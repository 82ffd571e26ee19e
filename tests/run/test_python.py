"""The tools and tests run with a Python as old as 3.9, which Debian 11 has: nothing newer is in their text. Where a python3.9 is
found, it compiles them as well."""
import ast
import glob
import os
import shutil
import subprocess
from pathlib import Path

from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
OLDEST = (3, 9)
# What 3.10 and later have brought, of what such programs use; `pip install vermin; vermin -t=3.9- tools run tests` knows all.
NEW_MODULES = {"tomllib"}
NEW_NAMES = {"pairwise", "batched", "bit_count", "StrEnum", "hardlink_to", "aclosing", "anext", "aiter", "file_digest", "UTC", "TaskGroup",
             "supxlabel", "supylabel", "subfigures", "subplot_mosaic",  # of matplotlib: Debian 11 has 3.3
             "ExceptionGroup", "add_note", "correlation", "linear_regression", "walk_up", "is_junction"}
NEW_WORDS = {("subplots", "layout"), ("figure", "layout"), ("set_xticks", "rotation"),
             ("zip", "strict"), ("dataclass", "slots"), ("dataclass", "kw_only"), ("bisect", "key"), ("bisect_left", "key"),
             ("bisect_right", "key"), ("insort", "key"), ("mkdtemp", "delete"), ("TemporaryDirectory", "ignore_cleanup_errors"),
             ("TemporaryDirectory", "delete"), ("NamedTemporaryFile", "delete_on_close"), ("rmtree", "onexc"), ("glob", "root_dir"),
             ("fmean", "weights"), ("write_text", "newline"), ("Popen", "process_group"), ("run", "process_group")}


def name_of(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def is_type(node):
    """Whether it can only be meant as a type: X | None."""
    return isinstance(node, ast.Constant) and node.value is None


def too_new(text, path="text"):
    """What a Python of the oldest version does not have."""
    try:
        tree = ast.parse(text, path, feature_version=OLDEST)
    except SyntaxError as error:
        return [f"{path}:{error.lineno}: {error.msg}"]
    found = []
    for node in ast.walk(tree):
        what = None
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = [alias.name for alias in node.names] + [getattr(node, "module", None)]
            what = next((name for name in names if name in NEW_MODULES | NEW_NAMES), None)
        elif isinstance(node, ast.Call):
            what = next((f"{name_of(node.func)}({word.arg}=)" for word in node.keywords
                         if (name_of(node.func), word.arg) in NEW_WORDS), None)
        elif isinstance(node, ast.Attribute) and node.attr in NEW_NAMES:
            what = node.attr
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr) and (is_type(node.left) or is_type(node.right)):
            what = "X | None"
        if what:
            found.append(f"{path}:{node.lineno}: {what}")
    return found


def sources():
    return [path for folder in ("tools", "run", "tests") for path in sorted((SOURCE / folder).rglob("*.py"))]


def oldest_python():
    """A python3.9 that starts."""
    places = [shutil.which("python3.9"), *glob.glob(os.path.expanduser("~/.pyenv/versions/3.9.*/bin/python3.9"))]
    return next((place for place in places if place and subprocess.run([place, "-V"], capture_output=True).returncode == 0), None)


def test_text(checks, _):
    for text in ("zip(a, b, strict=True)", "match x:\n    case 1:\n        pass\n", "def f(x: int | None): pass", "import tomllib",
                 "from itertools import pairwise", "(3).bit_count()", "@dataclass(slots=True)\nclass A: pass"):
        checks.that(bool(too_new(text)), f"this test does not see what is new in {text!r}")
    checks.that(not too_new("a = b | c\nzip(a, b)\nx = 'y'.removeprefix('z')\nmatch = 1"), "this test sees what is not there")
    for path in sources():
        found = too_new(path.read_text(encoding="utf-8"), str(path.relative_to(SOURCE)))
        checks.that(not found, f"newer than Python {'.'.join(map(str, OLDEST))}: {'; '.join(found)}")


def test_compiles(checks, folder):
    python = oldest_python()
    if not python:
        print("test_compiles: left out, as there is no python3.9")
        return
    done = subprocess.run([python, "-m", "py_compile", *map(str, sources())], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPYCACHEPREFIX": str(folder)})
    checks.that(done.returncode == 0, f"{python}: {done.stderr}")


def main():
    checks = Checks()
    checks.run(test_text, test_compiles)
    checks.finish()


main()
