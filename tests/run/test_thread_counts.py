"""Numbers of threads that cannot be: refused with a reason before anything runs, by whatever name they come. MDMINI_TEST_BACKENDS
is not heeded: the reference has threads beside a GPU as well."""
import json
import os
import subprocess
from pathlib import Path

import program
import ranks
from program import Checks


def run(folder, *words, limit=None, **environment):
    command = [program.program(), *words]
    if limit:
        command = ["sh", "-c", f'ulimit -v {limit}; exec "$@"', "sh", *command]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}, timeout=300)


def test_counts(checks, folder):
    program.write_deck(folder, "small", system={"cells": 4, "density": 0.8}, run={"steps": 2},
                       output={"frames_every": 0, "existing": "overwrite"})
    for number in ("4097", "32768", "100000", "2147483647"):
        for words in (["small.txt"], ["--check", "small.txt"], ["--ceilings", "--quick"]):
            done = run(folder, *words, OMP_NUM_THREADS=number)
            checks.that(done.returncode == 2 and f"OMP_NUM_THREADS: {number} threads; at most 4096" in done.stderr,
                        f"{number} {words}: {done.returncode} {done.stderr[-300:]}")
    for number, threads in (("1", "1 thread,"), ("3", "3 threads,"), ("4,2", "4 threads,")):
        done = run(folder, "small.txt", "run.backend=cpu", OMP_NUM_THREADS=number)
        checks.that(done.returncode == 0 and threads in done.stdout, f"{number}: {done.returncode} {done.stdout[:200]} {done.stderr[-200:]}")
    for number in ("0", "-1", "abc", "4,x", "99999999999999999999"):  # OpenMP says so, and takes what the machine has
        done = run(folder, "small.txt", OMP_NUM_THREADS=number)
        checks.that(done.returncode == 0 and "OMP_NUM_THREADS" in done.stderr, f"{number}: {done.returncode} {done.stderr[-200:]}")
    done = run(folder, "small.txt", "run.backend=cpu", "run.threads=2", OMP_NUM_THREADS="100000")
    checks.that(done.returncode == 0, f"run.threads wins: {done.returncode} {done.stderr[-200:]}")
    done = run(folder, "small.txt", "run.backend=cpu", OMP_NUM_THREADS="8", OMP_THREAD_LIMIT="2")
    checks.that(done.returncode == 0 and "2 threads," in done.stdout, f"limit: {done.returncode} {done.stdout[:200]}")
    done = run(folder, "small.txt", "run.backend=cpu", "run.threads=8", OMP_THREAD_LIMIT="2")
    checks.that(done.returncode == 2 and "run.threads: 8, but OMP_THREAD_LIMIT allows 2" in done.stderr, f"limit: {done.returncode} {done.stderr}")


def test_bound(checks, folder):
    """A launcher that binds a process to a core takes its threads, and the log tells; not where the number is given, or places of OpenMP
    took them."""
    program.write_deck(folder, "small", system={"cells": 4, "density": 0.8}, run={"steps": 2}, output={"frames_every": 0, "existing": "overwrite"})
    allowed = os.sched_getaffinity(0)
    one = {min(allowed)}
    if len(allowed) < 2:
        print("test_bound: not run: there is one processor")
        return
    number = os.environ.pop("OMP_NUM_THREADS", None)
    told = "run.threads = 1: its launcher has bound the process to 1 of"
    launched = {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}
    for cpus, words, environment, is_told in ((one, [], launched, True), (one, [], {}, False), (one, ["run.threads=1"], launched, False),
                                              (allowed, [], {**launched, "OMP_PLACES": str(one)}, False)):
        os.sched_setaffinity(0, cpus)
        done = run(folder, "small.txt", "run.backend=cpu", *words, **environment)
        checks.that(done.returncode == 0 and "1 thread," in done.stdout and (told in done.stdout) == is_told,
                    f"bound, {words} {environment}: {done.returncode} {done.stdout[-1500:]} {done.stderr[-200:]}")
    os.sched_setaffinity(0, allowed)
    if number:
        os.environ["OMP_NUM_THREADS"] = number


def quota(folder, processors):
    """What stands for /sys where a control group has this quota."""
    (folder / "sys/self").mkdir(parents=True, exist_ok=True)
    (folder / "sys/fs/cgroup").mkdir(parents=True, exist_ok=True)
    (folder / "sys/self/cgroup").write_text("0::/\n")
    (folder / "sys/self/mountinfo").write_text("25 1 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
    (folder / "sys/fs/cgroup/cpu.max").write_text(f"{int(100000 * processors)} 100000\n")
    (folder / "sys/fs/cgroup/cpu.stat").write_text("nr_periods 7\nnr_throttled 3\nthrottled_usec 5\n")
    return {"MDMINI_SYS": str(folder / "sys")}


def test_quota(checks, folder):
    """run.threads = auto heeds the quota of a control group, and the log tells; so does the report. Where the number is given, it is
    warned of."""
    folder = Path(folder)
    program.write_deck(folder, "small", system={"cells": 8, "density": 0.8}, run={"steps": 2, "backend": "cpu"},
                       output={"frames_every": 0, "existing": "overwrite"})
    n = len(os.sched_getaffinity(0))
    for processors, expected in ((0.2, 1), (1, 1), (1.5, min(2, n)), (1000, n)):
        done = run(folder, "small.txt", **quota(folder, processors))
        is_told = f"the quota of its control group is the time of {processors:g} of {n} processors" in done.stdout
        checks.that(done.returncode == 0 and f" {expected} thread{'s' * (expected > 1)}," in done.stdout and is_told == (expected < n),
                    f"a quota of {processors}: {done.returncode} {done.stdout[-1500:]} {done.stderr[-200:]}")
        report = json.loads((folder / "small.json").read_text())
        checks.that(report["provenance"]["cpu"]["processors_quota"] == processors and report["conditions"]["during"]["cpu_quota"] ==
                    {"processors": processors, "periods": 0, "throttled_periods": 0, "throttled_seconds": 0},
                    f"a quota of {processors}: {report['provenance']['cpu']}, {report['conditions']['during']}")
    told = "2 threads (run.threads: command line), but the quota of the control group is the time of 0.5 processors"
    for words, processors, is_warned in ((["run.threads=2"], 0.5, True), (["run.threads=1"], 0.5, False), (["run.threads=2"], 1.5, False)):
        done = run(folder, "small.txt", *words, **quota(folder, processors))
        checks.that(done.returncode == 0 and (told in " ".join(done.stdout.split())) == is_warned, f"{words}, {processors}: {done.stdout}")
    if ranks.why_not():
        print(f"test_quota: not run over ranks: {ranks.why_not()}")
        return
    auto = run(folder, "--check", "small.txt", **quota(folder, 64)).stdout
    checks.that("control group" not in auto, f"more than enough: {auto}")
    del ranks.ENVIRONMENT["OMP_NUM_THREADS"]
    done = ranks.run(2, "small.txt", folder=folder, **quota(folder, 0.5))
    told = f"2 processes share {n} processor" if n < 4 else "the quota of the control group of 2 processes is the time of 0.5 processors"
    checks.that(done.code == 0 and f"run.threads = 1: {told}" in done.stdout, f"two ranks: {done.code} {done.stdout}")
    for processors, words, told in ((0.5, [], "2 processes of 1 thread, but the quota of the control group is the time of 0.5 processors: "
                                     "they are throttled, which is slow; 1 would be enough"),
                                    (3, ["run.threads=2"], "2 processes of 2 threads (run.threads: command line), but the quota of the "
                                     "control group is the time of 3 processors: they are throttled, which is slow; 2 would be enough"),
                                    (2, ["run.threads=1"], None)):
        done = ranks.run(2, "--check", "small.txt", *words, folder=folder, **quota(folder, processors))
        checks.that(done.code == 0 and told in done.stdout if told else "quota" not in done.stdout, f"two ranks, {processors}: {done.stdout}")
    ranks.ENVIRONMENT["OMP_NUM_THREADS"] = "1"


def test_places(checks, folder):
    """Threads that OpenMP puts on the same processors are told, with what has put them there, as those of taskset are."""
    folder, cpu = Path(folder), min(os.sched_getaffinity(0))
    program.write_deck(folder, "small", system={"cells": 8, "density": 0.8}, run={"steps": 2, "backend": "cpu"},
                       output={"frames_every": 0, "existing": "overwrite"})
    if len(os.sched_getaffinity(0)) < 2:
        print("test_places: not run: there is one processor")
        return
    for environment, words, n_threads in (
            ({"OMP_PROC_BIND": "true", "OMP_PLACES": f"{{{cpu}}}"}, ["run.threads=2"], 2), ({"GOMP_CPU_AFFINITY": str(cpu)}, ["run.threads=2"], 2),
            ({"OMP_PROC_BIND": "master", "OMP_PLACES": "threads"}, ["run.threads=2"], 2), ({"OMP_PROC_BIND": "close", "OMP_PLACES": "threads"}, ["run.threads=2"], 0),
            ({"OMP_PROC_BIND": "true", "OMP_PLACES": f"{{{cpu}}}"}, ["run.threads=auto"], 0), ({"OMP_PROC_BIND": "true"}, [], 0), ({}, ["run.threads=2"], 0)):
        done = run(folder, "small.txt", *words, **environment)
        said = " ".join(done.stdout.split())
        named = "Threads are placed by " + ", ".join(f"{name}={environment[name]}" for name in sorted(environment))
        is_warned = f"warning: {n_threads} threads (run.threads: command line) on the 1 processor that this process may use" in said and named in said
        checks.that(done.returncode == 0 and is_warned == (n_threads > 0) and ("take turns" in said) == is_warned, f"{environment} {words}: {said}")
    if ranks.why_not():
        print(f"test_places: not run over ranks: {ranks.why_not()}")
        return
    for places, n in (("cores", 2), ("cores", 1)):
        done = ranks.run(n, "small.txt", "run.threads=1", folder=folder, OMP_PROC_BIND="true", OMP_PLACES=places)
        said = " ".join(done.stdout.split())
        told = "2 processes of 1 thread on the 1 processor that they may use" in said and "OMP_PLACES=cores, OMP_PROC_BIND=true" in said
        checks.that(done.code == 0 and told == (n == 2), f"{n} ranks on {places}: {said}")


def test_no_room(checks, folder):
    """As many as the option allows, where the system starts fewer: by a limit of memory, as by one of processes."""
    program.write_deck(folder, "small", system={"cells": 4, "density": 0.8}, output={"frames_every": 0})
    if os.environ.get("MDMINI_SANITIZE"):
        return  # whose memory no limit of addresses fits
    done = run(folder, "small.txt", "run.backend=cpu", "run.threads=4096", limit=4_000_000)
    checks.that(done.returncode == 2 and "4096 threads are requested" in done.stderr and "can be started here" in done.stderr,
                f"{done.returncode} {done.stderr[-300:]}")
    checks.that(not os.path.exists(os.path.join(folder, "small.log")), "files were touched")


def main():
    checks = Checks()
    checks.run(test_counts, test_bound, test_quota, test_places, test_no_room)
    checks.finish()


if __name__ == "__main__":
    main()
