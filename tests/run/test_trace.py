"""report.trace: what a run records of itself, against the file's own rules, against the report and against a run that
records nothing; and tools/timeline.py, which draws it."""
import json
import os
import time
from pathlib import Path

import program
from program import Checks

SMALL = {
    "system": {"start": "fcc", "cells": 5, "density": 0.8442, "temperature": 1.44},
    "run": {"steps": 60},
    "output": {"frames_every": 20, "thermo_every": 20, "precision": "double", "velocities_every": 20,
               "existing": "overwrite"},
}
KINDS = {"phase", "steps", "list", "gather", "copy", "wait", "write"}
UNWATCHED = ["neighbor.rebuild=every", "neighbor.every=5"]
SHORT_LIVED = ["neighbor.rebuild=device-check", "neighbor.skin=0.05"]  # hardly a list that lasts for a batch of steps
EVENTS = 1 << 18  # room of a track: MD_TRACE_EVENTS
# Times are printed in thousandths of a microsecond: begin and length are off by half of that each.
PRINTED_US = 0.001
# A distance between two events is a float of up to a second: its last bit is 0.06 microseconds; begin and end have one each.
DEVICE_US = 0.2


def small_deck(folder, **more):
    sections = {section: dict(keys) for section, keys in SMALL.items()}
    for section, keys in more.items():
        sections.setdefault(section, {}).update(keys)
    return program.write_deck(folder, "small", **sections).name


def backends(folder):
    """Those asked for, or those that can run here: the cpu, and the emulated GPU where that is built in."""
    if "MDMINI_TEST_BACKENDS" in os.environ:
        return os.environ["MDMINI_TEST_BACKENDS"].split(",")
    deck = small_deck(folder)
    found = [name for name in ("cpu", "cuda")
             if "can run here" in program.run("--check", deck, f"run.backend={name}", folder=folder).stdout]
    print("backends:", *found)
    return found


class Trace:
    """Spans by track, sorted by time: (begin, end) in microseconds, name, kind, step, number of steps."""

    def __init__(self, path):
        data = json.loads(Path(path).read_text())
        self.other, self.events = data["otherData"], data["traceEvents"]
        self.process, self.thread = {}, {}
        for event in self.events:
            if event["ph"] == "M" and event["name"] == "process_name":
                self.process[event["pid"]] = event["args"]["name"]
            if event["ph"] == "M" and event["name"] == "thread_name":
                self.thread[event["pid"], event["tid"]] = event["args"]["name"]
        self.tracks = {name: [] for name in self.thread.values()}
        self.unnamed = 0
        for event in self.events:
            if event["ph"] != "X":
                continue
            track = self.thread.get((event["pid"], event["tid"]))
            if track is None or event["pid"] not in self.process:
                self.unnamed += 1
                continue
            extra = event.get("args", {})
            self.tracks[track].append((event["ts"], event["ts"] + event["dur"], event["name"], event["cat"],
                                       extra.get("step"), extra.get("n_steps", 1)))
        for spans in self.tracks.values():
            spans.sort()

    def phase(self, name):
        return next((begin, end) for begin, end, span, *_ in self.tracks["phases"] if span == name)

    def named(self, track, name):
        return [span for span in self.tracks.get(track, []) if span[2] == name]


def check_structure(checks, trace, wall_s, what):
    checks.that(trace.unnamed == 0, f"{what}: {trace.unnamed} spans are on a track without a name")
    checks.that({event["ph"] for event in trace.events} <= {"M", "X", "C"}, f"{what}: unknown kinds of events")
    counted = sum(event["ph"] in "XC" for event in trace.events)
    checks.that(trace.other["events"] == counted and trace.other["dropped"] == 0,
                f"{what}: {counted} events, the file says {trace.other}")
    for name, spans in trace.tracks.items():
        slack = DEVICE_US if "stream" in name else PRINTED_US
        checks.that({span[3] for span in spans} <= KINDS, f"{what}, {name}: kinds {({span[3] for span in spans})}")
        outside = [span for span in spans if not 0 <= span[0] <= span[1] <= 1e6 * wall_s]
        checks.that(not outside, f"{what}, {name}: outside the run of {wall_s:.3f} s: {outside[:3]}")
        overlaps = [(a, b) for a, b in zip(spans, spans[1:]) if b[0] < a[1] - slack]
        checks.that(not overlaps, f"{what}, {name}: {len(overlaps)} overlaps, the first {overlaps[:1]}")
    slots = [event["args"]["value"] for event in sorted(trace.events, key=lambda event: event.get("ts", 0))
             if event["ph"] == "C" and event["name"] == "frame buffers in use"]
    checks.that(slots and set(slots) <= {0, 1, 2, 3} and max(slots) > 0 and slots[-1] == 0, f"{what}: frame buffers in use {slots}")
    phases = [span[2] for span in trace.tracks["phases"]]
    checks.that(phases == ["set-up", "loop", "close", "check"], f"{what}: phases {phases}")


def check_cpu(checks, trace, report):
    """Every call of a stage is a span, and the sums are the report's: both are made of the same two readings."""
    begin, end = trace.phase("loop")
    checks.near((end - begin) * 1e-6, report["loop_seconds"], 1e-5, "length of the loop")
    for stage in report["stages"]:
        spans = [span for span in trace.named("steps", stage["stage"]) if begin <= span[0] < end]
        if not stage["calls"]:
            checks.that(not spans, f"{stage['stage']}: {len(spans)} spans without calls")
            continue
        checks.that(len(spans) == stage["calls"], f"{stage['stage']}: {len(spans)} spans, {stage['calls']} calls")
        total = sum(span[1] - span[0] for span in spans) * 1e-6
        checks.near(total, stage["seconds"], len(spans) * 1e-6 * PRINTED_US, f"seconds of {stage['stage']}")
    steps = [span[4] for span in trace.named("steps", "force") if begin <= span[0] < end]
    checks.that(steps == list(range(1, report["n_steps"] + 1)), f"steps of the forces: {steps[:5]} ...")


def check_cuda(checks, trace, report):
    """The report's seconds are recomputed from the spans. They differ by the rate of the clock, which is known to the
    error of two events that the host timed (trace.c) and must be within a ten thousandth, and by the last bit of each reading.
    Returns how many calls beside the first of each stage stand for themselves: those that have made graphs."""
    begin, end = trace.phase("loop")
    begin -= trace.other["device_error_us"]  # nothing was under way when the loop began
    n_stages = n_later = 0
    for stage in report["stages"]:
        spans = trace.named("compute stream", stage["stage"])
        if not stage["calls"] or not checks.that(stage["seconds"] is not None, f"{stage['stage']}: no call was timed"):
            continue
        n_stages += 1
        inside = [span for span in spans if begin <= span[0] < end]
        issued = sum(span[5] for span in inside)
        checks.that(issued == stage["calls"] + stage["calls_replayed"],
                    f"{stage['stage']}: {issued} calls on the stream, {stage['calls']} and {stage['calls_replayed']} replayed reported")
        seconds = sum(span[1] - span[0] for span in inside) * 1e-6
        bound = seconds * (1e-4 + 4e-6 * trace.other["device_error_us"] / report["loop_seconds"]) + len(inside) * 1e-6 * DEVICE_US
        checks.near(seconds, stage["seconds"], bound, f"seconds of {stage['stage']}")
        # The first call stands for itself (timing.c), and so do those that have made a graph.
        first = spans[0] if inside and spans[0] is inside[0] else None
        later = stage["calls_alone"] - (first[5] if first else 0)
        checks.that(later >= 0, f"{stage['stage']}: the first call does not stand for itself")
        if later == 0:
            alone_s = (first[1] - first[0]) * 1e-6 if first else 0
            checks.near(stage["seconds_alone"], alone_s, bound, f"seconds of the first call of {stage['stage']}")
        n_later += later
    checks.that(n_stages >= 4, f"{n_stages} stages on the compute stream")
    checks.that(trace.tracks["steps"] and {span[3] for span in trace.tracks["steps"]} <= {"wait", "write", "gather"},
                "the host's thread shows other things than its waits and writes")
    # Both clocks are one: what the host has waited for, the device had done by then.
    slack = 2 * trace.other["device_error_us"] + DEVICE_US
    waits, reduces = trace.named("steps", "wait: sums"), trace.named("compute stream", "reduce")
    checks.that(len(reduces) >= len(waits) > 0, f"{len(waits)} waits for {len(reduces)} sums")
    for wait in waits:
        last = [span for span in reduces if span[0] < wait[1]][-1:]
        checks.that(last and last[0][1] <= wait[1] + slack, f"{wait} has not waited for {last}")
    on = bool(trace.tracks.get("writer"))
    copies = sorted(span[1] for span in trace.named("copy stream" if on else "compute stream", "copy: frame"))
    appends = trace.named("writer" if on else "steps", "append")
    checks.that(len(copies) >= len(appends) == 1 + report["n_steps"] // 20, f"{len(copies)} copies, {len(appends)} frames")
    for k, append in enumerate(appends):
        checks.that(len(copies) > k and copies[k] <= append[0] + slack, f"{append} is written before it was copied: {copies}")
    return n_later


def check_unwatched(checks, trace, report):
    """Rebuilds by count need no word with the host: it waits for the device at the end of the loop, and twice at its begin, where
    calls grow until it is known how long a step takes (simulation.c)."""
    begin, end = trace.phase("loop")
    waits = [span for span in trace.named("steps", "wait: device") if begin <= span[0] < end]
    checks.that(report["n_rebuilds"] == 12 and len(waits) <= 3, f"{len(waits)} waits, {report['n_rebuilds']} rebuilds")


def check_replayed(checks, report, log):
    """Each step once among the calls, whatever was issued replayed; and the log tells how much was."""
    stages = {stage["stage"]: stage for stage in report["stages"]}
    calls, replayed = ({name: stages[name][key] for name in ("force", "step")} for key in ("calls", "calls_replayed"))
    checks.that(sum(calls.values()) == report["n_steps"], f"{calls} of {report['n_steps']} steps")
    checks.that(replayed["step"] > 10, f"hardly anything was replayed: {replayed}")
    checks.that(any(line.startswith("replayed ") and f"step {replayed['step']}" in line for line in log.splitlines()),
                f"the log does not tell what was replayed: {replayed}")


def check_same_bits(checks, folder, deck, words, traced):
    plain = program.run(deck, *words, folder=folder)
    checks.that(plain.code == 0, f"without a trace: {plain.last_lines()}")
    a, b = plain.json(), traced["report"]
    keys = [key for key in a if key.endswith("per_atom") or key in ("pressure", "temperature", "n_rebuilds", "thermo")]
    checks.that(len(keys) > 5, f"too little to compare: {keys}")
    for key in keys:
        checks.that(a[key] == b[key], f"{words}: {key} differs with a trace: {a[key]}, {b[key]}")
    with plain.h5() as file:
        for name in ("position", "velocity"):
            checks.that((file[f"particles/all/{name}/value"][:] == traced[name]).all(),
                        f"{words}: {name} differs with a trace")


def test_runs(checks, folder):
    deck = small_deck(folder)
    for backend in backends(folder):
        variants = [[], ["output.pipeline=off"]]
        if backend == "cuda":
            variants = [["launch.graph=off", "launch.persistent=off", "neighbor.rebuild=host-check"],
                        ["launch.graph=on", "launch.persistent=off", "neighbor.rebuild=device-check"], [],
                        ["output.pipeline=off"], UNWATCHED, SHORT_LIVED,
                        [*SHORT_LIVED, "launch.persistent=off", "launch.fuse=step"]]
        for extra in variants:
            words, what = [f"run.backend={backend}", *extra], f"{backend} {' '.join(extra)}"
            start = time.monotonic()
            done = program.run(deck, *words, "report.trace=t.json", folder=folder)
            wall_s = time.monotonic() - start
            if not checks.that(done.code == 0, f"{what}: {done.last_lines()}"):
                continue
            trace, report = Trace(Path(folder) / "t.json"), done.json()
            check_structure(checks, trace, wall_s, what)
            n_graphs = (check_cpu if backend == "cpu" else check_cuda)(checks, trace, report)
            if extra and "launch.graph" in extra[0]:
                checks.that((n_graphs > 0) == (extra[0] == "launch.graph=on"), f"{what}: {n_graphs} calls have made graphs")
            if extra is UNWATCHED:
                check_unwatched(checks, trace, report)
            if extra[:len(SHORT_LIVED)] == SHORT_LIVED:
                check_replayed(checks, report, done.path("log").read_text())
            with done.h5() as file:
                traced = {name: file[f"particles/all/{name}/value"][:] for name in ("position", "velocity")}
            check_same_bits(checks, folder, deck, words, {"report": report, **traced})


def test_bound(checks, folder):
    """More than there is room for: the file says how much is missing, and so does the log."""
    steps = EVENTS // 3 + 1000  # of at least three spans each: the half kicks, and the forces
    deck = program.write_deck(folder, "tiny", system={"start": "sc", "cells": 3, "density": 0.01, "temperature": 0.1},
                              run={"steps": steps, "backend": "cpu", "threads": 1},
                              potential={"cutoff": 2.5},
                              output={"frames_every": 0, "thermo_every": steps}, report={"verify": "off"})
    done = program.run(deck.name, "report.trace=t.json", folder=folder)
    if not checks.that(done.code == 0, done.last_lines()):
        return
    trace = Trace(Path(folder) / "t.json")
    checks.that(len(trace.tracks["steps"]) == EVENTS, f"{len(trace.tracks['steps'])} events are kept")
    calls = sum(stage["calls"] for stage in done.json()["stages"])
    checks.that(trace.other["dropped"] >= calls - EVENTS > 0, f"{calls} calls, {trace.other}")
    checks.that(f"{trace.other['dropped']} later ones found no room" in done.path("log").read_text(),
                "the log does not say that events are missing")


def test_refused(checks, folder):
    deck = small_deck(folder)
    before = sorted(os.listdir(folder))
    for path in ("none/t.json", "folder/", "small.log"):
        done = program.run(deck, f"report.trace={path}", "run.backend=cpu", folder=folder)
        checks.that(done.code == 2 and "report.trace" in done.stderr, f"{path}: {done.code}, {done.stderr}")
    done = program.run(deck, "report.trace=t.json", "report.neighbors=t.json", "run.backend=cpu", folder=folder)
    checks.that(done.code == 2 and "report.trace" in done.stderr, f"one file for two: {done.code}, {done.stderr}")
    checks.that(sorted(os.listdir(folder)) == before, f"files were touched: {sorted(os.listdir(folder))}")
    done = program.run(deck, "report.trace=t.json", "run.backend=cpu", "run.steps=1000", "output.frames_every=0",
                       folder=folder, file_size_limit=100_000)
    checks.that(done.code == 4 and "t.json" in done.stderr, f"a full disk: {done.code}, {done.stderr}")
    left = sorted(os.listdir(folder))
    checks.that(left == sorted(before + ["small.csv", "small.json", "small.log", "small.restart"]), f"after a full disk: {left}")


def main():
    checks = Checks()
    for test in (test_runs, test_bound, test_refused):
        with program.temporary_folder() as folder:
            test(checks, folder)
    checks.finish()


if __name__ == "__main__":
    main()
