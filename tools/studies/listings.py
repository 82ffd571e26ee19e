"""The program, asked: its options, its variants, and what it makes of decks and overrides. Nothing here knows a switch by
name; what is legal, the program says."""
import hashlib
import json
import os
import re
import shlex
import subprocess
from collections import namedtuple
from pathlib import Path

from runs import messages

from .definition import RANKS, n_ranks

EFFECTIVE = re.compile(r"(?:# )?(\w+) += (.*?) +# ")
HEAD = re.compile(r"# backend +(\w+),.*?# system +(\d+) atoms? in (\d) dimensions", re.DOTALL)
NO_GPU = re.compile(r"# backend .*: no GPU to check it with\n# +\((.*)\)")

KERNEL_FILES = (".cu", ".cuh", ".h", ".inc")

Checked = namedtuple("Checked", "backend n_atoms dimension settings errors")  # errors: a list of messages, [] if it can run


class NotMdmini(Exception):
    """The program that was named does not answer as mdmini does."""


class Program:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        self.launcher = None  # what starts several processes, with {ranks} for their number
        self.may_lack_gpu = False  # a point that asks for a GPU where there is none passes the check, as far as that goes
        self.version = self.ask("--version").splitlines()
        if not self.version or not self.version[0].startswith("mdmini "):
            raise NotMdmini(f"{path} does not answer as mdmini does")
        self.options = {f"{row['section']}.{row['key']}": row for row in json.loads(self.ask("--list-options=json"))}
        tables = json.loads(self.ask("--list-variants=json"))["backends"]
        self.lacks = {table["name"]: set(table["lacks"]) for table in tables}
        self.rows = {table["name"]: {(row["switch"], row["value"]): row for row in table["variants"] if row["switch"]}
                     for table in tables}
        self.switches = {(row["stage"], row["switch"].split(".")[1]): row["switch"]
                         for rows in self.rows.values() for row in rows.values()}

    def ask(self, *words):
        try:
            done = subprocess.run([self.path, *words], capture_output=True, text=True, errors="replace", timeout=120)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout

    def command(self, words):
        """The program with these words; parallel.ranks=N among them, which it does not know, is the launcher's."""
        own = [word for word in words if not word.startswith(f"{RANKS}=")]
        n = n_ranks(dict(word.split("=", 1) for word in words if word not in own))
        launcher = [word.replace("{ranks}", str(n)) for word in shlex.split(self.launcher)] if n > 1 else []
        return [*launcher, self.path, *own]

    def identity(self):
        """What makes two programs the same one: version, commit, backends, and the bytes of what runs, for two builds may say the
        same of themselves."""
        return [self.version[0], *(line for line in self.version if line.startswith("backends:")),
                f"executable: SHA-256 {hashlib.sha256(Path(self.path).read_bytes()).hexdigest()}", f"kernels: {own_kernels()}"]

    def check(self, words):
        """mdmini --check of files and overrides: Checked."""
        done = subprocess.run(self.command(["--check", *words]), capture_output=True, text=True, errors="replace")
        errors = messages(done.stderr)
        found = HEAD.search(done.stdout)
        if done.returncode or not found:
            return Checked(None, 0, 0, {}, errors or [f"mdmini --check: exit code {done.returncode}"])
        lack = NO_GPU.search(done.stdout)
        if lack and not self.may_lack_gpu:
            return Checked(None, 0, 0, {}, [lack[1]])
        return Checked(found[1], int(found[2]), int(found[3]), effective(done.stdout), [])

    def ran(self, report, asked=None):
        """{switch: value} that had an effect in a run, as the report says. asked: {key: value} of keys that no stage shows, as the
        deck has them."""
        known = {row["option"]: row["value"] for row in report.get("choices", [])}  # what an auto became
        known.update(facts(report))
        found = {key: plain(known.get(key, value)) for key, value in (asked or {}).items()}
        found["run.precision"] = report["precision"]
        for stage in report["stages"]:
            for word in stage["ran"].split():
                key, value = word.split("=")
                found[self.switches[stage["stage"], key]] = value
        of_ranks = [] if report.get("ranks") else [key for key in found if key.startswith("parallel.")]
        for key in (*report.get("unused_switches", []), *self.lacks[report["backend"]], *of_ranks):
            found.pop(key, None)
        return found

    def is_deterministic(self, report):
        """Whether every variant that ran gives the same bits each time, as the listing says: yes, no, or if another switch
        stands at a value."""
        ran, rows = self.ran(report), self.rows[report["backend"]]
        words = [rows[item]["deterministic"] for item in ran.items() if item in rows]
        return all(word == "yes" or "=" in word and ran.get(word.split("=")[0]) in word.split("=")[1].split("|")
                   for word in words)


def facts(report):
    """{key: value} of keys that no stage shows, as a run had them."""
    at, ranks = report.get("provenance") or {}, report.get("ranks") or {}
    found = {"run.backend": report["backend"], "run.threads": (at.get("cpu") or {}).get("threads"),
             "run.device": (at.get("gpu") or {}).get("number"), "parallel.grid": " ".join(map(str, ranks.get("grid", [])))}
    return {key: value for key, value in found.items() if value not in (None, "")}


def plain(value):
    """A number as one writes it, so that 0.30 is 0.3; other words as they are."""
    try:
        return f"{float(value):g}"
    except ValueError:
        return value


def own_kernels():
    """Of the kernels that are read from $MDMINI_KERNELS in place of the program's own: a hash of all source files there, with
    their names."""
    folder = os.environ.get("MDMINI_KERNELS")
    if not folder:
        return "those of the program"
    digest = hashlib.sha256()
    for path in sorted(path for path in Path(folder).rglob("*") if path.suffix in KERNEL_FILES and path.is_file()):
        digest.update(f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return f"of MDMINI_KERNELS, SHA-256 {digest.hexdigest()}"


def effective(text):
    """{section.key: value} of an effective deck; what is not used in this run has the value that it would have."""
    section, found = "", {}
    for line in text.splitlines():
        matched = EFFECTIVE.match(line)
        if line.startswith("["):
            section = line.strip("[]")
        elif matched and section:
            found[f"{section}.{matched[1]}"] = matched[2].strip('"')
    return found
