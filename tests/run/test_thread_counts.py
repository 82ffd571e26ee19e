"""Numbers of threads that cannot be: refused with a reason before anything runs, by whatever name they come. MDMINI_TEST_BACKENDS
is not heeded: the reference has threads beside a GPU as well."""
import os
import subprocess

import program
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
    """A launcher that binds a process to a core takes its threads, and the log tells; not where the number is given."""
    program.write_deck(folder, "small", system={"cells": 4, "density": 0.8}, run={"steps": 2}, output={"frames_every": 0, "existing": "overwrite"})
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        print("test_bound: not run: there is one processor")
        return
    number = os.environ.pop("OMP_NUM_THREADS", None)
    told = "run.threads = 1: its launcher has bound the process to 1 of"
    os.sched_setaffinity(0, {min(allowed)})
    launched = {"OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}
    for words, environment, is_told in ((["run.backend=cpu"], launched, True), (["run.backend=cpu"], {}, False),
                                        (["run.backend=cpu", "run.threads=1"], launched, False)):
        done = run(folder, "small.txt", *words, **environment)
        checks.that(done.returncode == 0 and "1 thread," in done.stdout and (told in done.stdout) == is_told,
                    f"bound, {words}: {done.returncode} {done.stdout[-1500:]} {done.stderr[-200:]}")
    os.sched_setaffinity(0, allowed)
    if number:
        os.environ["OMP_NUM_THREADS"] = number


def test_no_room(checks, folder):
    """As many as the option allows, where the system starts fewer: by a limit of memory, as by one of processes."""
    program.write_deck(folder, "small", system={"cells": 4, "density": 0.8}, output={"frames_every": 0})
    if os.environ.get("MDMINI_SANITIZE"):
        return  # whose memory no limit of addresses fits
    done = run(folder, "small.txt", "run.backend=cpu", "run.threads=4096", limit=4_000_000)
    checks.that(done.returncode == 2 and "4096 threads are asked for" in done.stderr and "can be started here" in done.stderr,
                f"{done.returncode} {done.stderr[-300:]}")
    checks.that(not os.path.exists(os.path.join(folder, "small.log")), "files were touched")


def main():
    checks = Checks()
    checks.run(test_counts, test_bound, test_no_room)
    checks.finish()


if __name__ == "__main__":
    main()
