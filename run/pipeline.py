#!/usr/bin/env python3
"""What output costs, and what the pipeline hides of it.

The melt (a million atoms by default) without frames, and with a frame every so many steps, in line with the steps
(output.pipeline = off) and overlapped (on), to each place in turn; beside it, what the place itself takes: a file of the
same size, written in pieces of a frame, and the same until it is on the medium (fdatasync). Every case runs several
times, the cases in turn, and the fastest loop of each counts: what disturbs a shared machine only adds time. The first run
of a case verifies itself; a case that does not pass has no figures.

  overhead   loop with frames over loop without, less one
  hidden     share of what frames cost in line that the pipeline takes off the loop: 1 - (on - none) / (off - none);
             not given where frames in line cost less than 2 per cent: the difference of two noises
  MB/s       bytes of frames over the seconds of the loop

With --traces FOLDER two short runs record their timelines there, off.json and on.json, and tools/timeline.py draws them.

The melt runs on a GPU; without one take --backend cpu --cells 20 --steps 200.

usage: run/pipeline.sh MDMINI [--backend cuda|cpu] [--cells 63] [--steps 1000] [--every 100,10] [--repeats 2]
                       [--places tmpfs=/dev/shm,disk=.] [--traces FOLDER] [--words "section.key=value ..."]
                       [--output FILE.json]
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

from scripts import Parser, check_paths, save_json, shell_path

HERE = os.path.dirname(os.path.abspath(__file__))
INPUTS = os.path.abspath(os.path.join(HERE, "..", "inputs"))
DECKS = [os.path.join(INPUTS, "melt.txt"), os.path.join(INPUTS, "presets", "every.txt")]
TIMELINE = os.path.join(HERE, "..", "tools", "timeline.py")
LEAST = 0.02  # share of the loop that frames in line must cost before one can say what is hidden of it


def run(mdmini, folder, words):
    """The report of a run that leaves its files in a new folder below this one, and nothing afterwards."""
    with tempfile.TemporaryDirectory(dir=folder, prefix="mdmini-pipeline-") as place:
        done = subprocess.run([mdmini, *DECKS, f"output.directory={place}", "output.progress=off", *words],
                              capture_output=True, text=True)
        path = os.path.join(place, "melt.json")
        if done.returncode not in (0, 3) or not os.path.exists(path):
            sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        with open(path, encoding="utf-8") as stream:
            report = json.load(stream)
        h5 = os.path.join(place, "melt.h5")
        report["h5_bytes"] = os.path.getsize(h5) if os.path.exists(h5) else 0
        for key in ("thermo", "effective_deck"):
            report.pop(key, None)
        report["provenance"]["host"] = None  # the record may be published
        return report


def why_no_gpu(mdmini):
    """What the program says where it has no GPU; None where it has one."""
    done = subprocess.run([mdmini, "--device=json"], capture_output=True, text=True)
    return json.loads(done.stdout)["missing"].get("cuda") if done.returncode == 0 else done.stderr.strip()


def measure_place(folder, n_pieces, piece_bytes):
    """Bytes per second that the place takes, and until all is on the medium."""
    piece = os.urandom(min(piece_bytes, 1 << 24)) * (piece_bytes // (1 << 24) + 1)
    view = memoryview(piece)[:piece_bytes]
    with tempfile.NamedTemporaryFile(dir=folder, prefix="mdmini-pipeline-", buffering=0) as file:
        start = time.monotonic()
        for _ in range(n_pieces):
            written = 0
            while written < piece_bytes:
                written += os.write(file.fileno(), view[written:])
        taken = time.monotonic()
        os.fdatasync(file.fileno())
        synced = time.monotonic()
    return n_pieces * piece_bytes / (taken - start), n_pieces * piece_bytes / (synced - start)


def words_of(a, every, pipeline, steps):
    return [f"system.cells={a.cells}", f"run.steps={steps}", f"run.backend={a.backend}", f"output.thermo_every={steps}",
            f"output.frames_every={every}", "restart.every=0",
            *([f"output.pipeline={pipeline}"] if every else []), *a.words.split()]


def collect(a, places):
    """Reports by case: (place, every, pipeline); without frames place and pipeline are empty."""
    first = next(iter(places.values()))
    cases = {("", 0, ""): first}
    cases.update({(name, every, pipeline): folder for name, folder in places.items() for every in a.every
                  for pipeline in ("off", "on")})
    reports = {case: [] for case in cases}
    for repeat in range(a.repeats):
        for (name, every, pipeline), folder in cases.items():
            verify = [] if repeat == 0 else ["report.verify=off"]
            report = run(a.mdmini, folder, words_of(a, every, pipeline, a.steps) + verify)
            reports[name, every, pipeline].append(report)
            what = f"to {name}, every {every}, pipeline {pipeline}" if every else "no frames"
            print(f"{what}: {report['loop_seconds']:.3f} s, {report['verdict']}", file=sys.stderr, flush=True)
    return reports


def figures(a, reports, places):
    """One row a case; the numbers of a case that failed its verification are None."""
    def loop(case):
        verdicts = [report["verdict"] for report in reports[case]]
        passed = verdicts[0] == "PASSED" and "FAILED" not in verdicts
        return min(report["loop_seconds"] for report in reports[case]) if passed else None

    none = loop(("", 0, ""))
    n_atoms = reports["", 0, ""][0]["n_atoms"]
    rows, limits = [], {}
    for (name, every, pipeline), runs in reports.items():
        seconds = loop((name, every, pipeline))
        row = {"place": name, "every": every, "pipeline": pipeline, "verdict": runs[0]["verdict"], "loop_seconds": seconds,
               "atom_steps_per_second": seconds and n_atoms * a.steps / seconds, "overhead": None, "hidden": None,
               "bytes_per_second": None, "place_bytes_per_second": None, "place_synced_bytes_per_second": None}
        rows.append(row)
        if not every:
            continue
        frame_bytes, n_frames = 12 * n_atoms, a.steps // every
        if (name, every) not in limits:
            limits[name, every] = measure_place(places[name], n_frames, frame_bytes)
        row["place_bytes_per_second"], row["place_synced_bytes_per_second"] = limits[name, every]
        if not seconds or not none:
            continue
        row["overhead"] = seconds / none - 1
        row["bytes_per_second"] = n_frames * frame_bytes / seconds
        in_line = loop((name, every, "off"))
        if pipeline == "on" and in_line and in_line - none > LEAST * none:
            row["hidden"] = 1 - (seconds - none) / (in_line - none)
    return rows


def show(rows, n_atoms, steps):
    def text(value, form, scale=1.0):
        return "-" if value is None else format(value * scale, form)

    print(f"{n_atoms} atoms, {steps} steps\n")
    print(f"{'to':<8} {'every':>5} {'pipeline':>8} {'atom-steps/s':>13} {'overhead':>9} {'hidden':>7} {'MB/s':>8} "
          f"{'place MB/s':>10} {'synced':>8}  verdict")
    for r in rows:
        print(f"{r['place'] or '-':<8} {r['every'] or '-':>5} {r['pipeline'] or '-':>8} "
              f"{text(r['atom_steps_per_second'], '.4g'):>13} {text(r['overhead'], '.1%'):>9} {text(r['hidden'], '.0%'):>7} "
              f"{text(r['bytes_per_second'], '.0f', 1e-6):>8} {text(r['place_bytes_per_second'], '.0f', 1e-6):>10} "
              f"{text(r['place_synced_bytes_per_second'], '.0f', 1e-6):>8}  {r['verdict']}")


TRACED = 40


def trace(a, folder):
    """TRACED frames at the shortest interval, so many that the first ones, which are slower, do not set the pace; the picture shows
    some two and a half of them, from the middle."""
    every = min(a.every)
    os.makedirs(a.traces, exist_ok=True)
    names, loops = [], []
    for pipeline in ("off", "on"):
        names.append(os.path.join(a.traces, f"{pipeline}.json"))
        report = run(a.mdmini, folder, words_of(a, every, pipeline, TRACED * every) +
                     [f"report.trace={names[-1]}", "report.verify=off", "output.existing=overwrite"])
        loops.append(1e3 * report["loop_seconds"])
    begin, length = 0.4 * min(loops), 2.5 / TRACED * max(loops)
    picture = os.path.join(a.traces, "pipeline.png")
    done = subprocess.run([sys.executable, TIMELINE, *names, "-o", picture, "--from", f"{begin:.6g}", "--to",
                           f"{begin + length:.6g}", "--titles", "output.pipeline = off", "output.pipeline = on"])
    print(f"\ntimelines: {', '.join(names)}" + (f", picture: {picture}" if done.returncode == 0 else "; no picture"))


def read_places(text):
    places = dict(part.split("=", 1) for part in text.split(","))
    for name, folder in places.items():
        if not os.access(folder, os.W_OK):
            sys.exit(f"--places: {name}: {folder} is no folder that can be written to")
    return places


def main():
    parser = Parser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mdmini", type=os.path.abspath)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--cells", type=int, default=63)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--every", type=lambda text: [int(word) for word in text.split(",")], default=[100, 10])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--places", default="tmpfs=/dev/shm,disk=.")
    parser.add_argument("--traces")
    parser.add_argument("--words", default="")
    parser.add_argument("--output")
    a = parser.parse_args()
    check_paths(parser, a)
    places = read_places(a.places)
    reason = why_no_gpu(a.mdmini) if a.backend == "cuda" else None
    if reason:
        parser.error(f"needs a GPU: {reason}. Without one: run/pipeline.sh {shell_path(os.path.relpath(a.mdmini))} --backend cpu "
                     "--cells 20 --steps 200")
    reports = collect(a, places)
    rows = figures(a, reports, places)
    show(rows, reports["", 0, ""][0]["n_atoms"], a.steps)
    if a.traces:
        trace(a, next(iter(places.values())))
    if a.output:
        runs = [{"case": list(case), "reports": cases} for case, cases in reports.items()]
        save_json(a.output, {"command": sys.argv, "rows": rows, "runs": runs})
    return 1 if any(row["verdict"] != "PASSED" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
