"""tools/timeline.py: what it computes of a trace, its pictures for being there with what they have to show, its errors."""
import importlib.util
import json
import os
import subprocess
import sys
import tempfile

import distribution

distribution.need("matplotlib")

TOOL = os.path.join(os.environ["MDMINI_SOURCE"], "tools", "timeline.py")
spec = importlib.util.spec_from_file_location("timeline", TOOL)
timeline = importlib.util.module_from_spec(spec)
spec.loader.exec_module(timeline)

n_failed = 0


def check(holds, what):
    global n_failed
    if not holds:
        n_failed += 1
        print("FAILED:", what)


def span(tid, name, kind, begin_ms, end_ms, pid=1):
    """Times from the beginning of a loop that begins 5 ms after the run."""
    return {"ph": "X", "pid": pid, "tid": tid, "name": name, "cat": kind, "ts": 5e3 + 1e3 * begin_ms,
            "dur": 1e3 * (end_ms - begin_ms)}


def example():
    names = [(1, 1, "steps"), (1, 2, "phases"), (2, 3, "compute stream"), (1, 4, "writer")]
    events = [{"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}} for pid, tid, name in names]
    events += [{"ph": "M", "pid": pid, "tid": 1, "name": "process_name", "args": {"name": name}}
               for pid, name in ((1, "host"), (2, "a GPU"))]
    events += [span(2, "loop", "phase", 0, 10), span(2, "set-up", "phase", -5, 0)]
    events += [span(3, "force", "steps", 1, 4, 2), span(3, "force", "steps", 4, 6, 2), span(3, "sort", "list", 6, 7, 2)]
    events += [span(1, "wait: slot", "wait", 2, 8), span(4, "append", "write", 8, 9.5)]
    events += [{"ph": "C", "pid": 1, "tid": 1, "name": "slots in use", "ts": 5e3 + 1e3 * t, "args": {"value": v}}
               for t, v in ((2, 1), (3, 2), (9, 0))]
    return {"otherData": {"dropped": 0}, "traceEvents": events}


def save(data, name):
    with open(name, "w", encoding="utf-8") as file:
        file.write(data if isinstance(data, str) else json.dumps(data))
    return name


def test_numbers():
    trace = timeline.Trace(save(example(), "a.json"))
    check(abs(trace.length - 10) < 1e-9, f"the loop takes {trace.length} ms")
    check([row.name for row in trace.rows] == ["compute stream", "steps", "writer"], "order of the rows")
    compute, steps, writer = trace.rows
    check(compute.spans[0][:2] == (1.0, 4.0), f"the first force is at {compute.spans[0]}")
    for row, share in ((compute, 0.6), (steps, 0.0), (writer, 0.15)):
        check(abs(timeline.busy(row.spans, 0, 10) - share) < 1e-9, f"{row.name} is busy {timeline.busy(row.spans, 0, 10)}")
    check(abs(timeline.busy(compute.spans, 3, 5) - 1) < 1e-9, "a window within the forces is full")
    check(abs(timeline.busy(compute.spans, 0, 2) - 0.5) < 1e-9, "a window that begins before them is half full")
    joined = timeline.join(compute.spans, 0.01)
    check([s[:3] for s in joined] == [(1.0, 6.0, "steps"), (6.0, 7.0, "list")], f"joined: {joined}")
    apart = timeline.join([(0, 1, "steps", "a"), (1.5, 2, "steps", "b")], 0.01)
    check(len(apart) == 2, "what is apart was joined")
    # Three quarters steps and one quarter rebuilds, finer than a point and not: what is drawn has these areas.
    for length in (0.3, 1.0, 70.0):
        starts = [length * k for k in range(int(1600 / length))]
        spans = sorted([(a, a + 0.75 * length, "steps", "") for a in starts] + [(a + 0.75 * length, a + length, "list", "") for a in starts])
        whole, shared = timeline.split(spans, 0, 1600)
        area = {kind: sum(b - a for a, b, k, _ in whole if k == kind) + sum(h for _, k, _, h in timeline.stack(shared) if k == kind)
                for kind in ("steps", "list")}
        check(abs(area["list"] / sum(area.values()) - 0.25) < 0.01, f"steps of {length}: areas {area}")
        check(all(abs(round(a) - a) < 1e-6 for a, *_ in whole), f"steps of {length}: bars begin within a point")
    check([value for _, value in trace.values] == [1, 2, 0], f"values {trace.values}")
    check(timeline.window([trace], None, None) == (0, 10), "the window is the loop")
    check([timeline.percent(share) for share in (0, 1e-5, 0.004, 0.05, 0.5, 1)] == ["0", "< 0.1", "0.4", "5", "50", "100"], "percent")


def run(*words):
    done = subprocess.run([sys.executable, "-B", TOOL, *words], capture_output=True, text=True)
    return done.returncode, done.stderr


def test_pictures():
    save(example(), "a.json")
    quiet = example()
    quiet["traceEvents"] = [e for e in quiet["traceEvents"] if e["ph"] != "C" and e.get("cat") != "write"]
    save(quiet, "b.json")
    code, text = run("a.json", "b.json", "-o", "two.svg", "--titles", "pipeline off", "pipeline on")
    check(code == 0, f"two traces: {text}")
    svg = open("two.svg", encoding="utf-8").read().lower() if code == 0 else ""
    for kind in ("steps", "list", "write", "wait"):
        check(timeline.KINDS[kind][0].lower() in svg, f"the colour of {kind} is not in the picture")
    check(timeline.KINDS["copy"][0].lower() not in svg, "the legend has a kind that is not there")
    for text in ("pipeline off", "pipeline on", "compute stream", "thread: writer", "slots in use", "60 %", "idle"):
        check(f">{text}" in svg, f"'{text}' is not in the picture")
    code, text = run("a.json", "-o", "one.png", "--from", "2", "--to", "5")
    check(code == 0 and open("one.png", "rb").read(8) == b"\x89PNG\r\n\x1a\n", f"a window: {text}")
    if code == 0:
        image = timeline.plt.imread("one.png")
        blue = abs(image[..., :3] - [0, 0x72 / 255, 0xB2 / 255]).max(axis=2) < 0.02
        orange = abs(image[..., :3] - [0xE6 / 255, 0x9F / 255, 0]).max(axis=2) < 0.02
        check(not orange.any(), "what is outside of the window is drawn")
        low = image[int(image.shape[0] * 0.8):, :, :3]  # the legend
        check((abs(low - [0, 0x72 / 255, 0xB2 / 255]).max(axis=2) < 0.02).any(), "one panel has no legend")
        widest = blue.mean(axis=1).max()  # names and percentages take their part of the width
        check(widest > 0.7, f"forces fill the window of the compute stream, but their bar takes {widest:.2f} of the width")


def test_errors():
    def without(name):
        data = example()
        data["traceEvents"] = [e for e in data["traceEvents"] if e["name"] != name and e.get("args", {}).get("name") != name]
        return data

    lacking = example()
    del lacking["traceEvents"][-4]["dur"]
    strange = example()
    strange["traceEvents"][-4]["cat"] = "sleep"
    good = save(example(), "good.json")
    cases = [(["none.json"], "none.json: no such file"), ([save("{", "half.json")], "half.json: no JSON"),
             ([save("[1]", "list.json")], "no list of traceEvents"), ([save({"a": 1}, "other.json")], "no list of traceEvents"),
             ([save(without("compute stream"), "unnamed.json")], "on a track without a name"),
             ([save(without("loop"), "noloop.json")], "no time loop"), ([save(lacking, "lacking.json")], "'dur'"),
             ([save(strange, "strange.json")], "unknown kind 'sleep'"), ([good, "--from", "50"], "nothing"),
             ([good, "--from", "5", "--to", "5"], "nothing is between"), ([good, "--from", "50", "--to", "60"], "takes 10 ms"),
             ([good, "--titles", "a", "b"], "2 for 1")]
    for words, expected in cases:
        code, text = run(*words, "-o", "x.png")
        check(code == 2 and expected in text and text.startswith("timeline.py: ") and "Traceback" not in text,
              f"{words}: {code}, {text!r}, expected {expected!r}")
        check(not os.path.exists("x.png"), f"{words} left a picture")
    for output, expected in (("x.txt", ".png"), ("none/x.png", "No such file")):
        code, text = run(good, "-o", output)
        check(code == 2 and expected in text and "Traceback" not in text, f"{output}: {code}, {text!r}")


with tempfile.TemporaryDirectory(prefix="mdmini-test-") as folder:
    os.chdir(folder)
    test_numbers()
    test_pictures()
    test_errors()
    os.chdir("/")
print("timeline:", "failed" if n_failed else "all held")
sys.exit(1 if n_failed else 0)
