"""mpirun mdmini --ceilings peers: every row of the group is measured and its result checked, by two ranks and by three;
a row is FAILED where what came is wrong, and no other; what cannot run is left out, with the reason. There are one log,
one report and one exit code; a rank that ends or is silent ends the others. On emulated GPUs; on real ones without what
only the emulation can be told."""
import json
import os
import signal
from pathlib import Path

import program
import ranks

os.environ.pop("MDMINI_SHARED_GPU", None)  # figures of a shared GPU say nothing
SOURCE = Path(os.environ.get("MDMINI_SOURCE", Path(__file__).parents[2]))
PEERS = ["--ceilings", "peers", "--quick", "output.existing=overwrite"]
BESIDE = ("MPI, ", "all-reduce", "staged, ")  # rows that need no GPU that another can access
IS_EMULATED = "emulated GPU" in program.run("--device", folder=".").stdout
SHIM = program.layer("CORRUPTING_MPI_LIBRARY")
# Faults of kernels, a copy that does not come (bytes) and messages that are wrong (bytes), several at once: in each
# turn these rows must fail, and no other; so each fails by its own fault. With --quick each size of a copy has a number
# of elements of its own.
SENT = "payload(round, i, rank), tag", "payload(round, i, rank) + (n == {0} || n == {1}), tag"
STORED = "to[i] = w.a[i];", "to[i] = w.a[i] + (n == {0});"
TURNS = (
    ([(SENT[0], SENT[1].format(32, 10000)), (STORED[0], STORED[1].format(4099)),
      ("ptx_st_relaxed_sys(to, sent)", "ptx_st_relaxed_sys(to, sent + 1)")], 4 * 4099, 32000,
     ["tagged words, 32", "tagged words, 10000", "stores, 1 MB", "flag, relaxed", "copy engine, 1 MB",
      "staged, 32 KB"]),
    ([(SENT[0], SENT[1].format(1000, 135200)), (STORED[0], STORED[1].format(4103)),
      ("= payload(round, 1, rank);", "= payload(round, 2, rank);")], 4 * 4103, 256000,
     ["tagged words, 1000", "tagged words, 135200", "stores, 10 MB", "flag, release and acquire", "copy engine, 10 MB",
      "staged, 256 KB"]),
    ([(SENT[0], SENT[1].format(33800, 33800)), (STORED[0], STORED[1].format(4111)),
      ("*next = epoch;", "*next = epoch - 1;")], 4 * 4111, 2000000,
     ["tagged words, 33800", "stores, 100 MB", "barrier of all GPUs", "copy engine, 100 MB", "staged, 2 MB"]),
)
STAGED = {"staged, 32 KB", "staged, 256 KB", "staged, 2 MB"}
# Of the cpu: bytes of messages, -1: what all gather.
OF_CPU = {8: "MPI, 8 bytes", 32000: "MPI, 32 KB", 256000: "MPI, 256 KB", 2000000: "MPI, 2 MB",
          -1: "all-reduce, 8 bytes"}


def rows_of(folder):
    rows = json.loads(program.run("--list-ceilings=json", folder=folder).stdout)
    return {(row["backend"], row["variant"]) for row in rows if row["group"] == "peers"}


def measure(folder, n, *words, **environment):
    """(the result, its rows {(backend, variant): row of the report})"""
    path = Path(folder) / "ceilings.json"
    path.unlink(missing_ok=True)
    done = ranks.run(n, *PEERS, *words, folder=folder, name="ceilings",
                     OMPI_MCA_odls_base_sigkill_timeout="0", **environment)
    results = done.json()["results"] if path.exists() else []
    return done, {(row["backend"], row["variant"]): row for row in results}


def state_of(rows, state):
    return {variant for (_, variant), row in rows.items() if row["check"] == state}


def errors_of(done):
    return [line for line in done.stderr.splitlines() if line.startswith("mdmini:")]


def test_all(checks, folder):
    """Where there are GPUs enough; of three ranks the third takes part in what is of all."""
    for n in (2, 3):
        has_direct = "direct" in ranks.transports(n)
        done, rows = measure(folder, n, **ranks.GPUS)
        known, report = rows_of(folder), done.json()
        checks.that(done.code == 0 and not errors_of(done) and report["verdict"] == "PASSED" and report["ranks"] == n,
                    f"{n} ranks: {done.code}, {done.last_lines()}")
        checks.that(set(rows) == known and len(known) > 20, f"{n} ranks: rows {set(rows) ^ known}")
        checks.that(done.stdout.count("\nverdict: ") == 1 and f"\nranks     {n}, " in done.stdout, "one log")
        for (backend, variant), row in rows.items():
            can_run = backend == "cpu" or has_direct or bool(ranks.transports(n)) and variant.startswith(BESIDE)
            told = f"{n} ranks, {backend}, {variant}: {row['check']}, {row['reason']}"
            checks.that(row["check"] == ("passed" if can_run else "left out") and bool(row["reason"]) != can_run, told)
            has_figure = row["median"] is not None and 0 < row["low"] <= row["median"] <= row["high"]
            checks.that(has_figure == can_run, f"{told}, {row}")
        checks.that([path.name for path in Path(folder).iterdir()] == ["ceilings.json"], "other files are left")
        print(f"{n} ranks: {len(state_of(rows, 'passed'))} rows passed")


def test_reasons(checks, folder):
    """What cannot run is left out, and the rest is measured."""
    done, rows = measure(folder, 2, **ranks.NO_GPU)
    of_cuda = {row["reason"] for (backend, _), row in rows.items() if backend == "cuda"}
    checks.that(done.code == 0 and state_of(rows, "passed") == set(OF_CPU.values()), f"no GPU: {done.last_lines()}")
    checks.that(len(of_cuda) == 1 and "run.backend" in min(of_cuda), f"no GPU: {of_cuda}")
    done, rows = measure(folder, 2, "run.backend=cuda", **ranks.NO_GPU)
    checks.that(done.code == 2 and not rows and len(errors_of(done)) == 1, f"cuda: {done.code}, {done.last_lines()}")
    if not ranks.runs_on_gpu():
        return
    cases = [(ranks.ONE_GPU, "ranks 0 and 1 share a GPU")]
    if IS_EMULATED:
        cases += [({**ranks.GPUS, "MDMINI_EMULATOR_REACH": "0"}, "cannot reach the memory of GPU"),
                  ({**ranks.GPUS, "MDMINI_EMULATOR_IPC": "0"}, "CUDA IPC")]
    for environment, reason in cases:
        done, rows = measure(folder, 2, "run.backend=cuda", **environment)
        told = {row["reason"] for (backend, _), row in rows.items() if backend == "cuda" and row["check"] == "left out"}
        is_told = len(told) == 1 and reason in min(told) and reason in " ".join(done.stdout.split())
        checks.that(done.code == 0 and is_told, f"{reason}: {done.code}, {told}, {done.last_lines()}")
        checks.that(state_of(rows, "passed") == STAGED, f"{reason}: {state_of(rows, 'passed')}")


def test_one_without(checks, folder):
    """A GPU that one rank alone lacks is no GPU for all: said once, by that rank."""
    if not IS_EMULATED:
        return
    mdmini, script = os.environ["MDMINI"], Path(folder) / "rank.sh"
    script.write_text(f'#!/bin/sh\n[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 1 ] && export MDMINI_EMULATOR_DEVICES=0\n'
                      f'exec "{mdmini}" "$@"\n')
    script.chmod(0o755)
    os.environ["MDMINI"] = str(script)
    for words, code in (([], 0), (["run.backend=cuda"], 2)):
        done, _ = measure(folder, 2, *words, **ranks.GPUS)
        told = done.stdout if code == 0 else " ".join(errors_of(done))
        checks.that(done.code == code and told.count("no GPU is visible") == 1 and "rank 1" in told,
                    f"{words}: {done.code}, {done.last_lines()}")
    os.environ["MDMINI"] = mdmini


def test_alone(checks, folder):
    """One process: nothing to measure, or, with other groups, left out."""
    done = program.run(*PEERS, folder=folder)
    is_told = "left out  needs two processes: mpirun -n 2 mdmini --ceilings peers" in done.stdout
    checks.that(done.code == 2 and is_told and not list(Path(folder).iterdir()), f"{done.code}, {done.last_lines()}")
    done = program.run(*PEERS, "branch", "run.backend=cpu", folder=folder, name="ceilings")
    left_out = [row for row in done.json()["results"] if row["check"] == "left out" and row["backend"] == "cpu"]
    checks.that(done.code == 0 and {row["group"] for row in left_out} == {"peers"}, f"{done.code}, {left_out}")


def only_failed(checks, done, rows, wanted, what):
    failed = state_of(rows, "FAILED")
    checks.that(done.code == 3 and failed == set(wanted) and len(errors_of(done)) == 1,
                f"{what}: {done.code}, {failed ^ set(wanted)}")
    checks.that(all(row["median"] is None and row["reason"] for row in rows.values() if row["check"] == "FAILED"), what)


def test_faults(checks, folder):
    if not IS_EMULATED:
        return
    kernels = Path(folder) / "src/microbench/kernels"
    kernels.mkdir(parents=True)
    wrong = {"LD_PRELOAD": SHIM} if SHIM else {}
    for faults, lost, of_message, wanted in TURNS:
        text = (SOURCE / "src/microbench/kernels/peers.cu").read_text()
        for good, bad in faults:
            checks.that(text.count(good) == 1, f"{good!r} stands there {text.count(good)} times")
            text = text.replace(good, bad)
        (kernels / "peers.cu").write_text(text)
        done, rows = measure(folder, 2, "run.backend=cuda", MDMINI_KERNELS=str(Path(folder) / "src"),
                             MDMINI_EMULATOR_LOSES=str(lost), CORRUPTING_MPI=str(of_message), **wrong, **ranks.GPUS)
        only_failed(checks, done, rows, [row for row in wanted if SHIM or row not in STAGED], f"{wanted}")


def test_wrong_messages(checks, folder):
    for size, variant in OF_CPU.items() if SHIM else ():
        done, rows = measure(folder, 2, "run.backend=cpu", LD_PRELOAD=SHIM, CORRUPTING_MPI=str(size))
        only_failed(checks, done, rows, [variant], f"{size}: {variant}")


def test_ends(checks, folder):
    """A rank is killed, or stands still: all end. Elsewhere than on the emulated GPU all may have ended before."""
    for kind, told in ((signal.SIGKILL, ""), (signal.SIGSTOP, ") of 2 did not answer for 1 s")) * IS_EMULATED:
        started = ranks.start(2, "--ceilings", "peers", "run.backend=cuda", "parallel.timeout=1", folder=folder,
                              **ranks.GPUS)
        program.wait_until(lambda: b"joined by" in os.pread(started.stdout.fileno(), 4096, 0), "the ranks are joined")
        os.kill(started.processes()[1], kind)
        done = started.wait(folder, "ceilings", 300)
        checks.that(done.code not in (0, None) and told in done.stderr, f"{kind}: {done.code}, {done.last_lines()}")


if __name__ == "__main__":
    ranks.require()
    all_checks = program.Checks()
    all_checks.run(test_all, test_reasons, test_one_without, test_alone, test_faults, test_wrong_messages, test_ends)
    all_checks.finish()
