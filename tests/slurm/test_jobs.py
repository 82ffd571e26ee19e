"""The batch scripts of run/slurm in a real Slurm of one node: what a job leaves is what a plain run leaves, whatever has
happened to the job on its way.

MDMINI_TEST_TIME_LIMITS=1: waits for real time limits as well, which takes two minutes more; others as in support/cluster.py."""
import json
import os
import shutil

import cluster as slurm
import program
from cluster import SCRIPTS
from resuming import deck, same_end, wait_for

OUTPUT = {"frames_every": 200, "thermo_every": 200, "velocities_every": 400, "images_every": 200}


def long_run(folder, seconds):
    """Words of a run that takes some seconds here, so that it is met on its way."""
    deck(folder, "long", system={"cells": 6}, run={"steps": 1000, "threads": 1}, output=OUTPUT, restart={"every": 0})
    words = ("long.txt", "run.backend=cpu", "potential.shift=none")
    speed = program.run(*words, folder=folder).json()["steps_per_second"]
    every = round(speed * seconds / 8000) * 200  # forty restart files
    return *words, f"run.steps={40 * every}", f"restart.every={every}"


def same_as_plain(checks, folder, run, words, restart, what):
    """The run of these words, made here without Slurm, has the same end; restart: the name of the job's restart file."""
    plain = program.run(*words, f"output.directory={run}", "output.name=plain", "restart.every=1000000000", folder=folder,
                        name="plain")
    checks.that(plain.code == 0, f"{what}: the plain run: {plain.last_lines()}")
    name = next(path.stem for path in (folder / run).glob("*.log") if path.stem != "plain")
    if restart != f"{name}.restart":
        shutil.copy(folder / run / restart, folder / run / f"{name}.restart")
    same_end(checks, folder / run, "plain", name, what)
    return json.loads((folder / run / f"{name}.json").read_text())


def test_one_run(checks, folder, cluster):
    """gpu.sbatch (told to take the processor, as the GPU is pretended) and cpu.sbatch."""
    words = (deck(folder, "small", run={"steps": 400}, output=OUTPUT, restart={"every": 200}), "potential.shift=none")
    jobs = {"gpu": cluster.submit(SCRIPTS / "gpu.sbatch", *words, "run.backend=cpu", folder=folder),
            "cpu": cluster.submit("--cpus-per-task=3", SCRIPTS / "cpu.sbatch", *words, "run.threads=auto", folder=folder),
            "refused": cluster.submit(SCRIPTS / "gpu.sbatch", "nothing.txt", folder=folder)}
    ends = {name: cluster.wait_state(job, "COMPLETED", "FAILED") for name, job in jobs.items()}
    for name in ("gpu", "cpu"):
        job, run = jobs[name], f"mdmini-{jobs[name]}"
        said = (folder / f"{run}.out").read_text()
        if not checks.that(ends[name]["JobState"] == "COMPLETED" and "verdict: PASSED" in said, f"{name}: {ends[name]}\n{said}"):
            continue
        report = same_as_plain(checks, folder, run, words, "small.restart", name)
        checks.that(report["provenance"]["SLURM_JOB_ID"] == job, f"{name}: {report['provenance']}")
        if name == "cpu":
            checks.that(report["provenance"]["machine_details"].startswith("3 threads"), f"{name}: {report['provenance']}")
    checks.that("gpu:1" in ends["gpu"].get("TresPerNode", "") and ends["gpu"]["TimeLimit"] == "01:00:00",
                f"what gpu.sbatch asks for: {ends['gpu']}")
    checks.that(ends["refused"]["ExitCode"] == "2:0" and "nothing.txt" in (folder / f"mdmini-{jobs['refused']}.out").read_text(),
                f"a deck that is not there: {ends['refused']}")


def start_chain(folder, cluster, script, *words):
    """(job, name of its folder, restart file)"""
    job = cluster.submit(script, *words, folder=folder)
    run = f"mdmini-chain-{job}"
    return job, run, folder / run / "run.restart"


def test_chain(checks, folder, cluster):
    """Warned, preempted, its node lost: each time it goes on, and its end is that of a run that nothing has happened to."""
    words, seen = long_run(folder, 3), [0]
    job, run, restart = start_chain(folder, cluster, SCRIPTS / "chain.sbatch", *words)

    def meets_it_running(what):
        """After another restart file was written on the way."""
        cluster.wait(lambda: restart.exists() and restart.stat().st_mtime_ns > seen[0], 60, f"no restart file to be {what}")
        checks.that(cluster.job(job)["JobState"] == "RUNNING", f"it is over before it is {what}: make it longer")

    def goes_on(n_starts, **how):
        cluster.wait_requeued(job, n_starts, **how)
        seen[0] = restart.stat().st_mtime_ns

    meets_it_running("warned")
    cluster.command("scancel", "--signal=USR1", job)  # goes where --signal of the script sends it before the time limit
    goes_on(1)
    meets_it_running("preempted")
    urgent = cluster.submit("--partition=urgent", "--exclusive", "--wrap=true", folder=folder)
    cluster.wait_state(urgent, "COMPLETED")
    goes_on(2)
    meets_it_running("lost")
    node = cluster.job(job)["NodeList"]
    cluster.command("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
    cluster.wait_state(job, "PENDING")
    cluster.command("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)  # it may have come back by itself
    goes_on(3, hurry=False)  # what is left of the last start has to be gone, or Slurm finds the job twice on the node
    end, said = cluster.wait_state(job, "COMPLETED", "FAILED"), (folder / f"{run}.out").read_text()
    checks.that(end["JobState"] == "COMPLETED" and end["Restarts"] == "3", f"a chain ends as {end}\n{said}")
    checks.that(all(f"start {k} of job {job}" in said for k in range(4)), f"a chain tells of its starts: {said}")
    report = same_as_plain(checks, folder, run, words, restart.name, "a chain")
    steps = [session["from_step"] for session in report["sessions"]]
    checks.that(len(steps) == 4 and steps[0] == 0 and sorted(set(steps)) == steps, f"a chain has begun at steps {steps}")
    checks.that(report["provenance"]["SLURM_RESTART_COUNT"] == "3", f"a chain: {report['provenance']}")


def test_cancelled(checks, folder, cluster):
    """A chain that is cancelled does not come back by itself; it can be gone on with."""
    words = long_run(folder, 2)
    job, run, restart = start_chain(folder, cluster, SCRIPTS / "chain.sbatch", *words)
    wait_for(restart)
    cluster.command("scancel", job)
    cluster.wait_state(job, "CANCELLED")
    log = folder / run / "long.log"
    cluster.wait(lambda: "resume with: mdmini --restart" in log.read_text(), 20, "a cancelled run leaves no restart file")
    next_job = cluster.submit(SCRIPTS / "chain.sbatch", "--restart", restart.relative_to(folder), folder=folder)
    end = cluster.wait_state(next_job, "COMPLETED", "FAILED")
    checks.that(end["JobState"] == "COMPLETED", f"going on with it: {end}")
    checks.that(cluster.job(job)["JobState"] == "CANCELLED", f"a cancelled job has come back: {cluster.job(job)}")
    same_as_plain(checks, folder, run, words, restart.name, "a cancelled chain that was gone on with")


def test_stopped(checks, folder, cluster):
    """What is stopped outside of a chain, or of one that has had all its starts, says how to go on."""
    words = (deck(folder, "long", run={"steps": 1000000}, output=OUTPUT, restart={"every": 0}), "run.backend=cpu")
    short = folder / "short-chain.sbatch"
    short.write_text((SCRIPTS / "chain.sbatch").read_text().replace("most_starts=100", "most_starts=0"))
    jobs = [(cluster.submit(SCRIPTS / "gpu.sbatch", *words, folder=folder), "mdmini-"),
            (cluster.submit("--gres=none", short, *words, folder=folder), "mdmini-chain-")]
    for job, prefix in jobs:
        wait_for(folder / f"{prefix}{job}" / "long.h5")
        cluster.command("scancel", "--signal=USR1", job)
        end, said = cluster.wait_state(job, "FAILED", "COMPLETED"), (folder / f"{prefix}{job}.out").read_text()
        checks.that(end["ExitCode"] == "75:0" and end["Restarts"] == "0", f"{prefix}{job} ends as {end}")
        checks.that("To go on: sbatch run/slurm/chain.sbatch --restart" in said, f"{prefix}{job} does not say how to go on: {said}")


def test_time_limit(checks, folder, cluster):
    """The warning of a real time limit: a minute, of which the last forty seconds are for the end."""
    if not os.environ.get("MDMINI_TEST_TIME_LIMITS"):
        print("test_time_limit: left out, as it takes two minutes; MDMINI_TEST_TIME_LIMITS=1 runs it")
        return
    words = (*long_run(folder, 60), *(f"output.{key}=10000" for key in OUTPUT))
    job = cluster.submit("--time=1", "--signal=USR1@40", SCRIPTS / "chain.sbatch", *words, folder=folder)
    run = f"mdmini-chain-{job}"
    cluster.wait_requeued(job, 1, seconds=90)
    end = cluster.wait_state(job, "COMPLETED", seconds=300)
    checks.that(int(end["Restarts"]) > 0, f"a chain with a short limit ends as {end}")
    report = same_as_plain(checks, folder, run, words, "run.restart", "time limits")
    checks.that(len(report["sessions"]) == int(end["Restarts"]) + 1, f"sessions: {report['sessions']}")


slurm.run_tests(test_one_run, test_chain, test_cancelled, test_stopped, test_time_limit)
