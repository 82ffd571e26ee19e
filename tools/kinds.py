"""What the file is that a tool was given, and which tool reads it: for the message where it is the wrong one."""
import json
import os

from studies import TOP  # noqa: F401  (it finds the modules of run/)
from scripts import guess, shell_path

KINDS = {  # kind: (what it is, what reads it)
    "trajectory": ("a trajectory (NAME.h5)", "tools/plot.py draws it, tools/h5check.py checks it"),
    "report": ("the report of a run (NAME.json)", "tools/plot.py draws its thermo table, tools/compare.py compares it with another one"),
    "record": ("a record of run/bench.sh", "tools/compare.py compares it with another one"),
    "study": ("the results of a study (results.json, or its folder)", "tools/compare.py compares them with others, and "
              "tools/study.py --report FOLDER makes table and report anew"),
    "trace": ("a trace (report.trace)", "tools/timeline.py draws it"),
    "ceilings": ("ceilings (of mdmini --ceilings)", "tools/study.py --ceilings FILE takes them"),
    "stages": ("times of stages (of mdmini --bench)", "no tool takes them"),
    "comparison": ("a comparison (of tools/compare.py --json)", "no tool takes it"),
    "definition": ("the definition of a study (study.json)", "tools/study.py --report FOLDER takes the folder that it is in"),
    "restart": ("a restart file", "mdmini --restart FILE goes on with it"),
    "log": ("the log of a run", "no tool takes it"),
    "thermo": ("the thermo table of a run (NAME.csv)", "for spreadsheets; tools/plot.py draws the same numbers from NAME.json, beside NAME.h5"),
    "peers": ("speeds of other programs (CSV, such as run/results/peers.csv)", "tools/study.py --peers FILE takes them"),
    "folder": ("a folder", "what is needed is a file"),
}
BEGINNINGS = {b"\x89HDF\r\n\x1a\n": "trajectory", b"mdmini restart\0": "restart", b"mdmini ": "log", b"step,time (": "thermo"}
KEYS = {  # that only this kind has
    "record": ("rows", "gpu_states"), "report": ("atom_steps_per_second", "options"), "trace": ("traceEvents",), "ceilings": ("ceilings",),
    "stages": ("bench", "cases"), "definition": ("definition", "order"), "study": ("definition", "points", "effects")}
FORMATS = {"mdmini-comparison 1": "comparison"}


def kind_of(path):
    """Of KINDS; None: of no kind that is known here."""
    if os.path.isdir(path):
        return "study" if os.path.exists(os.path.join(path, "study.json")) else "folder"
    try:
        with open(path, "rb") as stream:
            begin = stream.read(16)
            found = next((kind for text, kind in BEGINNINGS.items() if begin.startswith(text)), None)
            data = json.loads(begin + stream.read()) if begin.lstrip()[:1] == b"{" else {}
    except (OSError, ValueError):
        return None
    known = (kind for kind, keys in KEYS.items() if all(key in data for key in keys))
    return found or FORMATS.get(data.get("format")) or next(known, None)


def no_file(path, places=(".",)):
    """The message where nothing is there; and what is there that has nearly this name. places: folders that a path may start from."""
    folder, name = os.path.split(path)
    names = []
    for place in places:
        try:
            names += os.listdir(os.path.join(place, folder))
        except OSError:
            pass
    return f"{path}: no such file{guess(name, names)}"


def wrong_file(path, *wanted, why="not a file of this kind"):
    """The message where the file is of none of the kinds that are wanted. why: what is wrong with one of which nothing better can be
    said."""
    if not os.path.exists(path):
        return no_file(path)
    kind, allowed = kind_of(path), ", or ".join(KINDS[name][0] for name in wanted)
    if kind == "folder" and "study" in wanted:
        kind = None
    if kind is None or kind in wanted:
        return f"{path}: {why}" + ("" if kind else f"; needed here: {allowed}")
    what, who = KINDS[kind]
    folder = path if os.path.isdir(path) else os.path.dirname(path) or "."
    who = who.replace("FILE", shell_path(path)).replace("FOLDER", shell_path(folder))
    return f"{path}: this is {what}; {who}; needed here: {allowed}"
