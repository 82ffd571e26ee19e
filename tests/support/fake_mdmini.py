"""A program that answers as mdmini does, but takes no time and measures what it is told to: studies of it have tables that can be
compared exactly. What it makes of a run follows from its settings, and from its number among the runs of the same settings
that stand in $FAKE_RUNS (times $FAKE_N plus $FAKE_K, for shards).

$FAKE_AUTO (key=value): there b.k, which is auto, becomes list, else brick. $FAKE_LACKS: a switch that the backend has not.
$FAKE_RANKS: the processes that a launcher has made of it, for which it is faster; of three it refuses to run. $FAKE_LONELY: of these
none knows of the others. $FAKE_UNUSED: a switch that serves nothing in these runs.
$FAKE_KILL_AT: when so many runs are kept (-1: while still being tried) it kills its parent, once; with $FAKE_ENDS it ends itself
instead, by that signal; with $FAKE_LINGERS it goes on for so many seconds without it.
"""
import os
import sys
import time
import zlib

CHOICES = {"a.x": ["slow", "fast"], "a.y": ["1", "2", "3"], "a.z": ["off", "on"], "a.w": ["off", "on"],
           "b.k": ["list", "brick", "auto"],
           "neighbor.rebuild": ["every", "device-check"]}
DEFAULTS = {"system.cells": "10", "system.start": "fcc", "run.steps": "1000", "run.precision": "mixed", "neighbor.every": "20",
            "a.x": "fast", "a.y": "2", "a.z": "on", "a.w": "on", "b.k": "auto", "neighbor.rebuild": "every", "output.thermo_every": "100",
            "output.name": "fake", "output.progress": "auto", "report.verify": "on", "restart.every": "auto"}
EFFICIENCY = {1: 1.0, 2: 0.9, 4: 0.75, 8: 0.5}  # of so many processes
FACTORS = {"a.x=slow": 2.0, "a.y=1": 1.3, "a.y=3": 1.0, "a.z=off": 1.1, "a.w=off": 0.9}


def to_json(value):
    """As module json: that one, and signal below, take longer to import than all else that is done here, some thousand times."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}": {to_json(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(to_json, value)) + "]"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f'"{value}"' if isinstance(value, str) else repr(value)


def option(key):
    section, name = key.split(".")
    kind = "physics" if section in ("system", "run") and key != "run.precision" else \
        "performance" if key in CHOICES or key == "run.precision" else "output"
    return {"section": section, "key": name, "kind": kind, "type": "choice" if key in CHOICES else "text",
            "default": DEFAULTS[key], **({"choices": CHOICES[key]} if key in CHOICES else {})}


def variants():
    rows = [{"backend": "cpu", "stage": key.split(".")[0], "switch": key, "value": value, "needs": "",
             "deterministic": "no" if (key, value) == ("a.x", "slow") else "yes"} for key in CHOICES for value in CHOICES[key]]
    rows.append({"backend": "cpu", "stage": "halo", "switch": "parallel.overlap", "value": "on", "needs": "", "deterministic": "yes"})
    lacks = [key for key in CHOICES if key == os.environ.get("FAKE_LACKS")]
    return {"backends": [{"name": "cpu", "built_in": True, "lacks": lacks, "variants": [row for row in rows if row["switch"] not in lacks]},
                         {"name": "cuda", "built_in": False, "lacks": [], "variants": [{**row, "backend": "cuda"} for row in rows]}]}


def fail(message):
    print(f"mdmini: error: command line: {message}", file=sys.stderr)
    sys.exit(2)


def n_ranks():
    return int(os.environ.get("FAKE_RANKS", 1))


def read(words):
    settings = dict(DEFAULTS)
    for word in words:
        if "=" not in word:
            continue
        key, value = word.split("=", 1)
        if "." not in key:
            fail(f"cannot read {key}")
        if key not in settings:
            fail(f"{key}: no such key")
        if key in CHOICES and value not in CHOICES[key]:
            fail(f"{key}: read \"{value}\"; allowed: {', '.join(CHOICES[key])}")
        settings[key] = value
    if settings["a.z"] == "off" and settings["a.y"] == "3":
        fail("a.z: has no effect with a.y = 3")
    if n_ranks() == 3:
        fail("parallel.grid: no grid of 3")
    if int(settings["system.cells"]) > 50:
        fail("the fake has room for fewer atoms")
    return settings


def check(settings):
    print(f"# backend   cpu, mixed precision: fake\n# system    {4 * int(settings['system.cells']) ** 3} atoms in 3 dimensions, "
          "box\n")
    section = ""
    for key in sorted(settings):
        if key.split(".")[0] != section:
            section = key.split(".")[0]
            print(f"\n[{section}]")
        print(f"{key.split('.')[1]:<18} = {settings[key]:<18} # default")


def n_kept(own):
    """(runs that are kept, those of the same point)."""
    path = os.environ.get("FAKE_RUNS", "")
    raw = open(path, "rb").read() if path and os.path.exists(path) else b""
    lines = raw[:raw.rfind(b"\n") + 1].splitlines()
    return len(lines), sum(f'"own": "{own}"'.encode() in line for line in lines)


def kill_parent(n):
    at, marker = os.environ.get("FAKE_KILL_AT"), os.environ.get("FAKE_KILL_MARKER", "")
    tried = not os.path.exists(os.path.join(os.path.dirname(os.environ.get("FAKE_RUNS", "")), "plan.json"))
    if at is not None and not os.path.exists(marker) and (tried if int(at) < 0 else int(at) == n and not tried):
        import signal
        with open(marker, "w", encoding="utf-8") as stream:
            stream.write(str(os.getpid()))
        if "FAKE_ENDS" in os.environ:
            os.kill(os.getpid(), int(os.environ["FAKE_ENDS"]))
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(float(os.environ.get("FAKE_LINGERS", 0)))
        sys.exit(0)


def run(settings):
    own = " ".join([f"{key}={settings[key]}" for key in [*CHOICES, "system.cells"]] + [f"ranks={n_ranks()}"] * (n_ranks() > 1))
    n_all, n_own = n_kept(own)
    kill_parent(n_all)
    n_round = int(os.environ.get("FAKE_K", 0)) + int(os.environ.get("FAKE_N", 1)) * n_own
    if os.environ.get("FAKE_DIES") and os.environ["FAKE_DIES"] in own:
        import signal
        os.kill(os.getpid(), signal.SIGSEGV)
    slowness = 1 / (n_ranks() * EFFICIENCY[n_ranks()])
    for word in own.split():
        slowness *= FACTORS.get(word, 1)
    noise = 1 + 0.01 * (zlib.crc32(f"{own} {n_round}".encode()) / 2 ** 32 - 0.5)
    n_atoms, n_steps = 4 * int(settings["system.cells"]) ** 3, int(settings["run.steps"])
    per_step = 1e-7 * n_atoms * slowness
    loop = per_step * n_steps * noise
    failed = bool(os.environ.get("FAKE_FAILS")) and os.environ["FAKE_FAILS"] in own
    wobbles = bool(os.environ.get("FAKE_WOBBLES")) and os.environ["FAKE_WOBBLES"] in own
    verify = settings["report.verify"] == "on"
    rows = {}
    ran = {**settings, "b.k": "list" if os.environ.get("FAKE_AUTO", "-") in own else "brick"} if settings["b.k"] == "auto" else settings
    for key in CHOICES:
        if key != os.environ.get("FAKE_LACKS"):
            rows.setdefault(key.split(".")[0], []).append(f"{key.split('.')[1]}={ran[key]}")
    if n_ranks() > 1:
        rows["halo"] = ["overlap=on"]
    report = {"own": own, "verdict": "FAILED" if failed else "PASSED" if verify else "NOT CHECKED", "n_atoms": n_atoms,
              "n_steps": n_steps, "backend": "cpu", "precision": settings["run.precision"], "loop_seconds": loop,
              "atom_steps_per_second": n_atoms * n_steps / loop, "n_late_rebuilds": 0, "unused_switches": [os.environ.get("FAKE_UNUSED")], "energy_drift_per_atom_step": 1e-9,
              "potential_energy_per_atom": -6.0 - (n_own if wobbles else 0) - n_steps * 1e-9, "kinetic_energy_per_atom": 1.0,
              "ranks": {"n": n_ranks(), "hosts": 1, "grid": [1, 1, n_ranks()], "halo_atoms": {"min": 1, "mean": 2, "max": 3}}
              if n_ranks() > 1 and "FAKE_LONELY" not in os.environ else None,
              "checks": [{"name": "forces", "value": 0.25, "limit": 1.0, "passed": not failed}],
              "stages": [{"stage": stage, "ran": " ".join(words), "calls": n_steps, "seconds": loop / 2, "share": 0.5,
                          "model_bytes": 1.0, "model_flops": 1.0, "gb_per_s": 1.0, "gflop_per_s": 1.0}
                         for stage, words in rows.items()],
              "provenance": {"version": "fake", "commit": "0", "machine": "fake", "host": os.environ.get("FAKE_HOST")}}
    if os.environ.get("FAKE_UNSTABLE", "-") in own:  # at once: no step, no speed, no number that is finite
        report.update(verdict="FAILED", n_steps=0, loop_seconds=1e-6, atom_steps_per_second=None, fault={"step": 1, "atom": 7, "displacement": None},
                      potential_energy_per_atom=None, checks=[{"name": "forces", "value": None, "limit": 1.0, "passed": False}])
        failed = True
    with open(settings["output.name"] + ".json", "w", encoding="utf-8") as stream:
        stream.write(to_json(report))
    sys.exit(3 if failed else 0)


def main(version):
    words = sys.argv[1:]
    if words == ["--version"]:
        print(f"{version}\nbackends:  cpu")
    elif words == ["--list-options=json"]:
        print(to_json([option(key) for key in DEFAULTS]))
    elif words == ["--list-variants=json"]:
        print(to_json(variants()))
    elif words[:1] == ["--check"]:
        check(read(words[1:]))
    else:
        run(read(words))
