"""tools/study.py on a program that takes no time: the table of a study does not depend on where it was killed or ended, nor on the
shards that made it, nor on the rounds that were added to it."""
import csv
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import program
from bench_study import N_RUNS, SOURCE, Bench, points_of
from compare import text
from studies.comparison import compare
from studies.report import STEP_COUNTS_NOTE
from studies.results import STEP_COUNTS, make_results
from studies.runner import host_mark


def test_killed(checks, bench):
    """Killed while being tried, before the first run, in the middle, at the last run, and in the middle of a line."""
    whole = bench.table("whole")
    for k, (at, cut) in enumerate(((-1, 0), (2, 0), (9, 700), (N_RUNS - 1, 3))):
        output = f"killed-{k}"
        marker = bench.folder / f"marker-{k}"
        done = bench.run(output, KILL_AT=at, KILL_MARKER=marker)
        checks.that(done.returncode == -signal.SIGKILL and marker.exists(), f"{at}: exit code {done.returncode}")
        runs = bench.folder / output / "runs.jsonl"
        if cut:
            runs.write_bytes(runs.read_bytes()[:-cut])
        done = bench.run(output)
        checks.that(done.returncode == 0 and bench.table(output) == whole, f"killed at {at}, cut {cut}: another table\n"
                    f"{done.stdout[-300:]}{done.stderr}")
        checks.that(len(bench.lines(output)) == N_RUNS, f"killed at {at}: {len(bench.lines(output))} lines")
    done = bench.run("killed-0")
    checks.that(done.returncode == 0 and len(bench.lines("killed-0")) == N_RUNS and bench.table("killed-0") == whole,
                "once more changes something")


def test_orphan(checks, bench):
    """A run that outlives its study keeps the next one out: it would be timed beside it."""
    marker = bench.folder / "orphaned"
    bench.run("orphan", KILL_AT=2, KILL_MARKER=marker, LINGERS=100)
    done = bench.run("orphan")
    checks.that(done.returncode == 2 and "another process makes these runs" in done.stderr, f"beside an orphan: {done.returncode}: {done.stderr}")
    os.kill(int(marker.read_text()), signal.SIGKILL)
    done = bench.run("orphan")
    checks.that(done.returncode == 0 and bench.table("orphan") == bench.table("whole"), f"after the orphan: {done.stderr}")


def test_killed_anywhere(checks, bench):
    """At random moments, again and again until it is done: after some more lines, and a while."""
    chance, n_kills, runs = random.Random(1), 0, bench.folder / "anywhere/runs.jsonl"

    def n_lines():
        return runs.read_bytes().count(b"\n") if runs.exists() else 0

    tries = 0
    while n_kills < 20 and tries < 1000:
        tries += 1
        due = n_lines() + chance.randint(0, 6)
        child = subprocess.Popen(bench.command("anywhere"), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                 env=bench.environment("anywhere"))
        while child.poll() is None and n_lines() < due:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.06))
        if child.poll() is not None:
            if child.returncode == 2 and "another process" in child.stderr.read():  # what the last one had started is still there
                time.sleep(0.02)
                continue
            break
        child.kill()
        child.wait()
        n_kills += 1
    done = bench.run("anywhere")
    while done.returncode == 2 and "another process" in done.stderr:  # until what it had started ends
        time.sleep(0.1)
        done = bench.run("anywhere")
    checks.that(done.returncode == 0 and bench.table("anywhere") == bench.table("whole"), f"after {n_kills} kills: {done.stderr}")
    checks.that(n_kills > 2, f"{n_kills} kills")


def test_signal(checks, bench):
    """A signal keeps what there is and makes the table of it; the exit code says that something is left."""
    child = subprocess.Popen(bench.command("signal"), stdout=subprocess.PIPE, text=True, env=bench.environment("signal"))
    for line in child.stdout:
        if line.split("/")[0].strip() == "9":
            child.send_signal(signal.SIGSTOP)  # or it might be done before it is told to end
            for shard in ("1/1", "1/2"):  # the second has runs in common with it
                code, said = bench.judge(bench.study, "--program", bench.mdmini, "--output", bench.folder / "signal", "--shard", shard)
                checks.that(code == 2 and "runs.jsonl: another process" in said, f"{shard} at a time: exit code {code}: {said}")
            child.send_signal(signal.SIGTERM)
            child.send_signal(signal.SIGCONT)
            break
    text = child.communicate()[0]
    results = bench.results("signal")
    checks.that(child.returncode == 75 and "runs are left; stopped by SIGTERM; the same command goes on" in text and not results["finished"], f"{child.returncode}: {text[-200:]}")
    checks.that(results["n_left_out"] == 18 - (len(bench.lines("signal")) - 2), f"{results['n_left_out']} left out")
    done = bench.run("signal", "--budget", "1e-6")
    checks.that(done.returncode == 75 and bench.results("signal")["n_left_out"] == results["n_left_out"] and
                "runs are left; time was up; the same command goes on" in done.stdout, f"beyond the budget: {done.stdout[-200:]}")
    done = bench.run("signal")
    checks.that(done.returncode == 0 and bench.table("signal") == bench.table("whole"), "resumed after a signal: another table")


def test_runs_ended(checks, bench):
    """A batch system's signal that a run has met, and the tool has not yet, says nothing of the point: the run is left to be made."""
    for at in (-1, 9):
        output = f"ended-{at}"
        done = bench.run(output, KILL_AT=at, KILL_MARKER=bench.folder / f"{output}.marker", ENDS=int(signal.SIGTERM))
        checks.that(done.returncode == 75 and "UNFINISHED" in done.stdout and "CRASHED" not in done.stdout,
                    f"a run ended at {at}: exit code {done.returncode}: {done.stdout[-500:]}")
        done = bench.run(output)
        checks.that(done.returncode == 0 and len(bench.lines(output)) == N_RUNS and bench.results(output)["finished"],
                    f"a run ended at {at}, resumed: exit code {done.returncode}, {len(bench.lines(output))} lines: {done.stdout[-300:]}")


def test_built_anew(checks, bench):
    """The program is replaced while a study runs: no run of the other one is kept, and with the first one back it goes on."""
    child = subprocess.Popen(bench.command("anew"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env=bench.environment("anew"))
    original = bench.mdmini.read_text()
    for line in child.stdout:
        if line.split("/")[0].strip() == "9":
            child.send_signal(signal.SIGSTOP)
            os.waitpid(child.pid, os.WUNTRACED)
            n_before = len(bench.lines("anew"))
            bench.mdmini.write_text(original + "# built once more\n")
            child.send_signal(signal.SIGCONT)
            break
    said = child.communicate()[0]
    # One run may have been looked at before, and be written afterwards.
    checks.that(child.returncode == 2 and "changed while the study ran" in said and "Traceback" not in said and
                len(bench.lines("anew")) <= n_before + 1, f"built anew: exit code {child.returncode}: {said[-300:]}")
    bench.mdmini.write_text(original)
    done = bench.run("anew")
    checks.that(done.returncode == 0 and bench.table("anew") == bench.table("whole"), f"the first program again: {done.stderr}")


def test_shards(checks, bench):
    """Whole rounds: in one folder, and in several that are merged; points and base, where there are fewer rounds than shards."""
    whole = bench.table("whole")
    for k in (1, 2, 3):
        done = bench.run("together", shard=(k, 3), HOST="node17")
        checks.that(done.returncode == 0, f"part {k}, which is done: exit code {done.returncode}")
    checks.that(not (bench.folder / "together/lock").exists(), "the file lock stays behind")
    shutil.copytree(bench.folder / "together", bench.folder / "kept")
    for path in (bench.folder / "kept").glob("runs*.jsonl"):
        (path.parent / (path.name + ".gz")).write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    done = bench.run("", "--report", str(bench.folder / "kept"))
    checks.that(done.returncode == 0 and bench.table("kept") == bench.table("together"), f"gzipped: {done.stdout[-300:]}{done.stderr}")
    done = bench.run("kept")
    checks.that(done.returncode == 0 and not bench.lines("kept"), f"gzipped runs are made again: {done.stdout[-300:]}{done.stderr}")
    done = bench.run("kept-merged", "--merge", str(bench.folder / "kept"))
    checks.that(done.returncode == 0 and bench.table("kept-merged") == bench.table("together"), f"gzipped and merged: {done.stderr}")
    (bench.folder / "kept/runs-1-of-3.jsonl.gz").write_bytes(b"no gzip")
    code, said = bench.judge("--report", bench.folder / "kept")
    checks.that(code == 2 and "runs-1-of-3.jsonl.gz: not a gzipped file" in said, f"a broken file: {code}: {said}")
    for k in (1, 2, 3):
        (bench.folder / f"apart-{k}").mkdir()
        for name in ("study.json", "plan.json", f"runs-{k}-of-3.jsonl"):
            shutil.copy(bench.folder / "together" / name, bench.folder / f"apart-{k}")
    done = bench.run("", "--report", str(bench.folder / "together"))
    checks.that(done.returncode == 0 and {**bench.table("together"), "provenance": whole["provenance"]} == whole, f"three shards in a folder: {done.stderr}")
    done = bench.run("apart", "--merge", *(str(bench.folder / f"apart-{k}") for k in (3, 1, 2)))
    checks.that(done.returncode == 0 and bench.table("apart") == bench.table("together"), f"three shards merged: {done.stderr}")
    hosts = {line["report"]["provenance"]["host"] for line in bench.lines("apart") if line["report"]}
    checks.that(len(hosts) == 1 and "#" in str(hosts) and hosts != {host_mark({"host": "node18"})}, f"machines are not told apart: {hosts}")
    same_name = [host_mark({"host": "vm", "cpu": {"model": model}}) for model in ("one", "another")]
    checks.that(same_name[0] != same_name[1] and host_mark({}) is None, f"machines of the same name are not told apart: {same_name}")
    named = [path.name for path in (bench.folder / "apart").iterdir() if b"node17" in path.read_bytes()]
    checks.that(not named, f"the name of the host stands in {named}")
    done = bench.run("twice", "--merge", str(bench.folder / "apart-1"), str(bench.folder / "apart-1"))
    checks.that(done.returncode == 2 and "twice" in done.stderr, f"the same shard twice: {done.stderr}")
    done = bench.run("half", "--merge", str(bench.folder / "apart-1"), str(bench.folder / "apart-2"))
    expected = f"to make them here: tools/study.py {bench.study.name} --program {bench.mdmini.name} --output {bench.folder / 'half'}"
    checks.that(done.returncode == 75 and done.stdout.splitlines()[-1].endswith(expected), f"two of three shards: {done.stdout[-300:]}")
    done = bench.run("half")
    checks.that(done.returncode == 0 and bench.results("half")["finished"] and len(bench.lines("half")) == N_RUNS, f"what was missing is made in the merged study: {done.stdout[-300:]}")
    record = bench.folder / "apart-3/study.json"
    record.write_text(record.read_text().replace("executable: SHA-256 ", "executable: SHA-256 0"))
    code, said = bench.judge("--merge", bench.folder / "apart-1", bench.folder / "apart-3", "--output", bench.folder / "mixed")
    checks.that(code == 2 and "apart-3 is not of the study and the program of" in said and "executable: " in said and
                not (bench.folder / "mixed").exists(), f"shards of two programs: exit code {code}: {said}")
    for k in (1, 2, 3):
        bench.run("points", "--repeats", "2", shard=(k, 3), N=1, K=0)
    bench.run("two", "--repeats", "2")
    results = bench.results("points")
    checks.that(results["ranking"] == {"s0": []} and len(results["not_ranked"]["s0"]["points"]) == 6 and
                results["not_ranked"]["s0"]["reason"] == "fewer than 3 runs that count", f"two rounds: {results['not_ranked']}")
    checks.that(results["parts"] == 3 and bench.results("together")["parts"] == 1, f"{results['parts']} parts")
    done = bench.run("many", "--repeats", "2", shard=(1, 11))  # of eight points
    checks.that(done.returncode == 0 and "nothing left for this part" in done.stdout, f"part 1 of 11: exit code {done.returncode}: {done.stdout[-200:]}")
    split, one = points_of(results), points_of(bench.results("two"))
    base = bench.results("two")["points"][0]["label"]
    n_base = sum(line["point"].endswith(base) for line in bench.lines("points"))
    checks.that(bench.results("points")["finished"] and split[base]["n_runs"] == 2 and n_base == 6, f"base {n_base} times")
    checks.that(all(split[label]["speed"] == point["speed"] and split[label]["status"] == point["status"]
                    for label, point in one.items() if label != base), "points in shards: other speeds")


def test_lengths(checks, bench):
    """Parts of folders of their own have each their number of steps: wherever steps are told, there are both, and only runs of one
    number are said to end with the same bits. Between the parts, and in a study of one number, nothing of the kind is said."""
    for k in (1, 2):
        done = bench.run(f"own-{k}", "--seconds", "2", "--repeats", "4", shard=(k, 2))
        checks.that(done.returncode == 0, f"part {k}: exit code {done.returncode}: {done.stdout[-300:]}{done.stderr}")
    done = bench.run("joined", "--merge", str(bench.folder / "own-1"), str(bench.folder / "own-2"))
    n_steps = sorted({line["report"]["n_steps"] for line in bench.lines("joined") if line["report"]})
    both = ", ".join(map(str, n_steps))
    checks.that(done.returncode == 0 and len(n_steps) == 2, f"steps of the parts: {n_steps}: {done.stdout[-300:]}{done.stderr}")
    rows = [line for line in done.stdout.splitlines() if line.startswith("a.x=")]
    checks.that(done.stdout.count(STEP_COUNTS) == 1 and all((f" {both} " in line) == ("has no effect" not in line) for line in rows) and len(rows) == 8,
                f"the table: {done.stdout}")
    subprocess.run([sys.executable, "-B", SOURCE / "tools/study.py", "--report", bench.folder / "joined"], capture_output=True)
    page = (bench.folder / "joined/report.md").read_text()
    checks.that(page.count(f"| {both} |") == 6 and page.count(STEP_COUNTS_NOTE) == 1 and page.count("yes, of one number of steps |") == 3 and
                "| yes |" not in page, f"the report: {page}")
    with open(bench.folder / "joined/results.csv", newline="", encoding="utf-8") as stream:
        told = [row["n_steps"] for row in csv.DictReader(stream)]
    checks.that(sorted(told) == [""] * 2 + [both] * 6, f"results.csv: {told}")
    subprocess.run([sys.executable, "-B", SOURCE / "tools/study.py", "--report", bench.folder / "own-1"], capture_output=True)
    page = (bench.folder / "own-1/report.md").read_text()
    checks.that(STEP_COUNTS_NOTE not in page and "of one number" not in page and "n_steps_of_runs" not in str(bench.results("own-1")),
                f"of one number of steps: {page}")
    own = [str(bench.results(f"own-{k}")["points"][0]["n_steps"]) for k in (1, 2)]
    for one, other, expected in (("own-1", "own-2", own), ("own-2", "joined", [own[1], both])):
        found = compare([bench.folder / one], [bench.folder / other])
        told = [[row["a"], row["b"]] for row in found["settings"] if row["what"] == "s0: steps of the base"]
        checks.that(told == [expected] and f"steps {' '.join(expected)}" in " ".join(text(found).split()), f"compared: {told}, expected {expected}")


def test_merge_refused(checks, bench):
    """Why two folders are not merged: other studies, or other programs."""
    bench.run("other-study", "--seconds", "0.02", "--budget", "1e-6")
    code, said = bench.judge("--merge", bench.folder / "whole", bench.folder / "other-study", "--output", bench.folder / "no")
    checks.that(code == 2 and "seconds: 0.01 there, 0.02 now" in said and "they are different studies" in said and "two programs" not in said,
                f"two studies: exit code {code}: {said}")
    record = bench.folder / "other-study/study.json"
    record.write_text((bench.folder / "whole/study.json").read_text().replace("executable: SHA-256 ", "executable: SHA-256 0"))
    code, said = bench.judge("--merge", bench.folder / "whole", bench.folder / "other-study", "--output", bench.folder / "no")
    checks.that(code == 2 and "studies of two programs are not merged, but compared" in said and "different studies" not in said,
                f"two programs: exit code {code}: {said}")


def test_other_shards(checks, bench):
    """Parts of other numbers in one folder: what is there is not made again, and no run of a round counts twice; the speeds of a part
    are compared with its own runs of the base, and where it has none with that of the round."""
    runs = [line for line in bench.lines("whole") if line["status"] == "ok"]
    for name, repeats, *shards in (("mixed", 4, (1, 2), (2, 2), (1, 3), (1, 1), (5, 9)), ("late", 4, (1, 3), (1, 2), (1, 1)),
                                   ("few", 2, (2, 3), (1, 1), (1, 5)), ("stretch", 2, (1, 1), (1, 3), (2, 4))):
        for shard in shards:
            done = bench.run(name, "--repeats", str(repeats), shard=shard)
            checks.that(done.returncode == 0, f"{name} {shard}: exit code {done.returncode}: {done.stdout[-300:]}{done.stderr}")
        made = [(line["point"], line["round"]) for line in bench.lines(name) if line["status"] == "ok"]
        points = points_of(bench.results(name)).values()
        checks.that(all(path.stat().st_size for path in (bench.folder / name).iterdir()), f"{name}: empty files")
        checks.that(len(made) == len(set(made)) == 6 * repeats, f"{name}: {len(made)} runs, {6 * repeats} were asked for")
        checks.that(bench.results(name)["finished"] and {p["n_runs"] for p in points if p["status"] == "measured"} == {repeats} and
                    all(point["ratio"]["n"] == repeats for point in points if point["ratio"]), f"{name}: {[p['n_runs'] for p in points]}")
    study_json = json.loads((bench.folder / "whole/study.json").read_text())
    base, point = study_json["points"][0]["id"], next(line["point"] for line in runs if "slow" in line["point"])
    # Part 2 has run on a machine of half the speed, and the first part twice.
    again = [{**line, "shard": "2/2", "report": {**line["report"], "atom_steps_per_second": line["report"]["atom_steps_per_second"] / 2}}
             for line in runs if line["point"] in (base, point)]
    kept = [line for line in runs if line["point"] != point]
    doubled = make_results(study_json, kept + kept + again)
    expected = make_results(study_json, runs)
    for one, two in zip(expected["points"], doubled["points"]):
        checks.that(one["n_runs"] == two["n_runs"] and (one["ratio"] or {}).get("n") == (two["ratio"] or {}).get("n") and
                    abs((one["ratio"] or {"value": 1})["value"] - (two["ratio"] or {"value": 1})["value"]) < 1e-12,
                    f"{one['label']}: {one['n_runs']}, {one['ratio']}; {two['n_runs']}, {two['ratio']}")
    split = [{**line, "shard": "2/4" if line["point"] == point else "1/4"} for line in runs]
    apart = make_results(study_json, split)
    alone = next(p for p in apart["points"] if p["id"] == point)
    checks.that(alone["speed"] and not alone["ratio"], f"compared with the base of another part: {alone['ratio']}")
    checks.that(apart["not_ranked"]["s0"]["points"] == [point] and "3 rounds in common" in apart["not_ranked"]["s0"]["reason"] and
                len(sum(apart["ranking"]["s0"], [])) == 5, f"a point of another part: {apart['ranking']}, {apart['not_ranked']}")
    checks.that(doubled["ranking"] == expected["ranking"], f"ranking {doubled['ranking']}, expected {expected['ranking']}")


def test_again(checks, bench):
    """The command of the record, in a shell, makes the whole study: from a part of it, with a time that was up, in another folder. A
    study without a name has that of its folder."""
    words = ["deck.txt", "--words", "system.cells=8 run.steps=40", "--vary", "a.x=slow, fast", "--repeats", "3"]
    for k in (1, 2):
        done = bench.run(f"part-{k}", "--budget", "1e3", "--base", bench.folder / "deck.txt", shard=(k, 2), given=words)
        checks.that(done.returncode == 0, f"part {k}: {done.stdout[-300:]}{done.stderr}")
    bench.run("both", "--merge", str(bench.folder / "part-2"), str(bench.folder / "part-1"))
    names, results = [bench.results(name)["name"] for name in ("part-1", "part-2", "both")], bench.results("both")
    checks.that(names == ["part-1", "part-2", "both"], f"names {names}")
    said = results["command"]
    checks.that(said == "tools/study.py deck.txt --base deck.txt --words 'system.cells=8 run.steps=40' --repeats 3 --vary 'a.x=slow, fast' "
                "--program mdmini", said)
    subprocess.run([sys.executable, "-B", SOURCE / "tools/study.py", "--report", bench.folder / "both"], capture_output=True)
    page = (bench.folder / "both/report.md").read_text().splitlines()
    checks.that(page[-2] == f"{said} --output both", f"the command of the report: {page[-2]}")
    done = subprocess.run(f"{SOURCE / said} --output once-more --no-report", shell=True, capture_output=True, text=True, cwd=bench.folder,
                          env=bench.environment("once-more"))
    checks.that(done.returncode == 0 and bench.results("once-more")["finished"] and
                bench.results("once-more")["definition"] == {**results["definition"], "name": "once-more"}, f"again: {done.stdout[-300:]}{done.stderr}")


def test_more_rounds(checks, bench):
    """More rounds are added to those that are there, and the table is that of a study that had them from the start."""
    done = bench.run("at-once", "--repeats", "5")
    checks.that(done.returncode == 0, f"five rounds: exit code {done.returncode}: {done.stdout[-500:]}{done.stderr}")
    bench.run("grown", "--repeats", "2")
    before = bench.lines("grown")
    for repeats in (3, 5):
        done = bench.run("grown", "--repeats", str(repeats))
        checks.that(done.returncode == 0 and f"{repeats} rounds in place of {2 if repeats == 3 else 3}" in done.stdout,
                    f"{repeats} rounds: exit code {done.returncode}: {done.stdout[-500:]}{done.stderr}")
    lines = bench.lines("grown")
    checks.that(lines[:len(before)] == before and len(lines) == len(bench.lines("at-once")),
                f"{len(before)} lines, then {len(lines)}, at once {len(bench.lines('at-once'))}")
    checks.that(bench.table("grown") == bench.table("at-once"), "the table is another one than of five rounds at once")
    records = [json.loads((bench.folder / name / "study.json").read_text()) for name in ("grown", "at-once")]
    checks.that(records[0]["order"] == records[1]["order"] and records[0]["definition"] == records[1]["definition"],
                "study.json is not that of five rounds")
    done = bench.run("grown", "--repeats", "5")
    checks.that("in place of" not in done.stdout and len(bench.lines("grown")) == len(lines), f"nothing to add: {done.stdout[-300:]}")
    for k in (1, 2):  # parts of a job array, in one folder
        bench.run("shared", "--repeats", "2", shard=(k, 2))
    for k in (1, 2):
        done = bench.run("shared", "--repeats", "5", shard=(k, 2))
        checks.that(done.returncode == 0, f"part {k}: exit code {done.returncode}: {done.stdout[-300:]}{done.stderr}")
    checks.that(bench.results("shared")["finished"] and len({(line["point"], line["round"]) for line in bench.lines("shared")}) ==
                len(bench.lines("shared")), "parts with more rounds: unfinished, or made twice")


def main():
    if not SOURCE:
        print("skipped: MDMINI_SOURCE is not set")
        return sys.exit(program.SKIPPED)
    checks = program.Checks()
    with program.temporary_folder() as folder:
        bench = Bench(folder)
        bench.run("whole")
        for test in (test_killed, test_orphan, test_killed_anywhere, test_signal, test_runs_ended, test_built_anew,
                     test_shards, test_lengths, test_merge_refused, test_other_shards, test_again, test_more_rounds):
            start = time.monotonic()
            test(checks, bench)
            print(f"{test.__name__}: {time.monotonic() - start:.1f} s", flush=True)
    checks.finish()


if __name__ == "__main__":
    main()
