"""The batch scripts of run/slurm in a real Slurm of one node: what a job leaves is what a plain run leaves, whatever has
happened to the job on its way.

MDMINI_TEST_TIME_LIMITS=1: waits for real time limits as well, which takes some minutes more; others as in support/cluster.py."""
import json
import os
import re
import shlex
import shutil
import signal
import subprocess

import h5py

import cluster as slurm
import program
from cluster import SCRIPTS
from resuming import deck, same_end, wait_for

FAST = SCRIPTS.parents[1] / "inputs/presets/fast.txt"  # with switches that only a GPU has
OUTPUT = {"frames_every": 200, "thermo_every": 200, "velocities_every": 400, "images_every": 200}


def long_run(folder, seconds):
    """Words of a run that takes about so long on this machine, so that it is met on its way."""
    words = (deck(folder, "long", system={"cells": 8}, run={"steps": 1000, "threads": 1}, output=OUTPUT, restart={"every": 400}),
             "run.backend=cpu", "potential.shift=none")
    tried = program.run(*words, "restart.every=0", "output.name=tried", folder=folder, name="tried")
    return (*words, f"run.steps={400 * max(20, round(seconds * tried.json()['steps_per_second'] / 400))}")


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
            "cpu": cluster.submit("--exclusive", "--cpus-per-task=3", SCRIPTS / "cpu.sbatch", words[0], FAST, *words[1:],
                                  "run.threads=auto", folder=folder),
            "refused": cluster.submit(SCRIPTS / "gpu.sbatch", "nothing.txt", folder=folder),
            "decided": cluster.submit(SCRIPTS / "gpu.sbatch", deck(folder, "decided", run={"steps": 1, "backend": "cpu"}), folder=folder)}
    ends = {name: cluster.wait_state(job, "COMPLETED", "FAILED") for name, job in jobs.items()}
    for name in ("gpu", "cpu"):
        job, run = jobs[name], f"mdmini-{jobs[name]}"
        said = (folder / f"{run}.out").read_text()
        if not checks.that(ends[name]["JobState"] == "COMPLETED" and "verdict: PASSED" in said, f"{name}: {ends[name]}\n{said}"):
            continue
        report = same_as_plain(checks, folder, run, words, "small.restart", name)
        checks.that(report["provenance"]["SLURM_JOB_ID"] == job, f"{name}: {report['provenance']}")
        if name == "cpu":
            checks.that(report["provenance"]["machine_details"].startswith("8 threads"), f"all of the node: {report['provenance']}")
    checks.that("gpu:1" in ends["gpu"].get("TresPerNode", "") and ends["gpu"]["TimeLimit"] == "01:00:00",
                f"what gpu.sbatch asks for: {ends['gpu']}")
    said = (folder / f"mdmini-{jobs['decided']}.out").read_text()
    on_gpu = ends["decided"]["ExitCode"] == "2:0" and "cuda" in said if ends["decided"]["JobState"] == "FAILED" else "backend   cuda" in said
    checks.that(on_gpu, f"a deck that wants the processor, on a job for a GPU: {ends['decided']['ExitCode']}\n{said[:2000]}")
    said = (folder / f"mdmini-{jobs['refused']}.out").read_text()  # of a program without a toolkit the backend comes first
    checks.that(ends["refused"]["ExitCode"] == "2:0" and ("nothing.txt" in said or "has no backend cuda" in said),
                f"a deck that is not there: {ends['refused']}\n{said[:2000]}")


def ended(folder, cluster, job, name=None):
    """(exit code, what was printed) of a job that ends by itself."""
    end = cluster.wait_state(job, "COMPLETED", "FAILED")
    return end["ExitCode"], (folder / f"{name or 'mdmini-' + job}.out").read_text()


def script_folder(folder, name, site):
    """A copy of the scripts with this line in site.sh."""
    copy = folder / name / "run/slurm"
    shutil.copytree(SCRIPTS, copy)
    (copy / "site.sh").write_text(site + "\n")
    return copy


def test_program_checked(checks, folder, cluster):
    """What is wrong with the program is said before srun, and no folder is left."""
    words = (deck(folder, "small", run={"steps": 10}, restart={"every": 0}),)
    broken, other, cpu_only = (folder / name for name in ("broken", "other", "cpu-only"))
    broken.write_text("#!/bin/sh\necho 'error while loading shared libraries: libhdf5.so' >&2; exit 127\n")
    other.write_text("#!/bin/sh\necho LAMMPS\n")
    cpu_only.write_text("#!/bin/sh\necho 'mdmini 0.2.0'; echo 'backends:  cpu (OpenMP)'\n")
    for path in (broken, other, cpu_only):
        path.chmod(0o755)
    for script, path, said in (("gpu", folder / "nix", "no such program on"), ("cpu", broken, "does not start on"), ("chain", other, "does not answer as"),
                               ("gpu", cpu_only, "has no backend cuda"), ("chain", broken, "libhdf5.so")):
        scripts = script_folder(folder, f"{script}-{path.name}", f"export MDMINI={path}")
        more = ("--gres=none",) if script == "chain" else ()
        job = cluster.submit(*more, scripts / f"{script}.sbatch", *words, folder=folder)
        name = f"mdmini-chain-{job}" if script == "chain" else f"mdmini-{job}"
        code, text = ended(folder, cluster, job, name)
        checks.that(code == "2:0" and said in text and not (folder / name).exists(), f"{script} {path.name}: {code} {text}")
    scripts = script_folder(folder, "nothing", f"cd {folder}; unset MDMINI; PATH=/usr/bin:/bin")
    code, text = ended(folder, cluster, cluster.submit("--gres=none", scripts / "cpu.sbatch", *words, folder=folder))
    checks.that(code == "2:0" and "no program on" in text and "export MDMINI=" in text, f"no program at all: {code} {text}")
    # Built beside the scripts, or installed with them.
    for where in ("build/mdmini", "../bin/mdmini"):
        scripts = script_folder(folder, f"there-{where[:2]}", "unset MDMINI; PATH=/usr/bin:/bin")
        top = scripts.parents[1]
        if where.startswith(".."):
            (top.parent / "share").mkdir(exist_ok=True)
            shutil.move(str(top), str(top.parent / "share/mdmini"))
            scripts, place = top.parent / "share/mdmini/run/slurm", top.parent / "bin/mdmini"
        else:
            place = top / where
        place.parent.mkdir(exist_ok=True)
        place.symlink_to(program.program())
        code, text = ended(folder, cluster, cluster.submit(scripts / "cpu.sbatch", *words, folder=folder))
        checks.that(code == "0:0" and "verdict: PASSED" in text, f"{where} is not found: {code} {text}")
    alone = folder / "alone"
    alone.mkdir()
    shutil.copy(SCRIPTS / "cpu.sbatch", alone)
    code, text = ended(folder, cluster, cluster.submit(alone / "cpu.sbatch", *words, folder=folder))
    checks.that(code == "2:0" and "job.sh is missing" in text, f"a script alone: {code} {text}")


def foreign(folder, run, cluster, job):
    """A folder of this name that another job has left, one of the same number in a cluster of the same name; its content."""
    (folder / run).mkdir()
    content = {".job": f"mdmini-test {job} 2020-01-01T00:00:00\n", "run.restart": "of another run\n", "small.json": "{}\n"}
    for file, text in content.items():
        (folder / run / file).write_text(text)
    return content


def check_foreign(checks, folder, run, content, what):
    left = {path.name: path.read_text() for path in (folder / run).iterdir()}
    checks.that(left == content, f"{what}: the folder of another job has now {left}")


def test_killed_early(checks, folder, cluster):
    """Killed before its folder had its name, a job takes that name at its next start, and leaves nothing else. Without Slurm."""
    own_folder = re.search(r"^own_folder\(\) \{.*?^\}", (SCRIPTS / "job.sh").read_text(), re.M | re.S)[0]
    for n_starts, mv in enumerate(("mv() { kill -9 $$; }", "")):
        said = subprocess.run(["bash", "-c", f"{own_folder}\n{mv}\nscontrol() {{ echo SubmitTime=2020; }}\nown_folder run-7; echo to $folder"], cwd=folder,
                              capture_output=True, text=True, env={**os.environ, "SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": str(n_starts)}).stdout
        found = [path.name for path in folder.iterdir()]
        checks.that((said, found == ["run-7"]) == (("to run-7\n", True) if n_starts else ("", False)), f"start {n_starts}: {said}, {found}")


def test_folder_exists(checks, folder, cluster):
    """Numbers of jobs begin anew on another cluster: a folder of that name is left alone, and what stands in the output, too."""
    words = (deck(folder, "small", run={"steps": 40}, restart={"every": 0}), "run.backend=cpu", "run.threads=1")
    for script, options, name in (("cpu", (), "mdmini"), ("gpu", (), "mdmini"), ("multi-gpu", ("--ntasks-per-node=1", "--gpus-per-node=1"), "mdmini"),
                                  ("multi-node", ("--nodes=1", "--ntasks-per-node=1"), "mdmini")):
        job = cluster.submit("--hold", *options, "--mem=2G", SCRIPTS / f"{script}.sbatch", *words, folder=folder)
        run, second = f"{name}-{job}", script == "gpu"
        content = foreign(folder, run, cluster, job)
        if second:
            (folder / f"{run}.1").write_text("a file\n")
        (folder / f"{run}.out").write_text("of another job\n")
        cluster.command("scontrol", "release", job)
        code, said = ended(folder, cluster, job)
        own = f"{run}.{1 + second}"
        checks.that(code == "0:0" and said.startswith("of another job\n") and f"{run} is there already" in said and f"go to {own}\n" in said,
                    f"{script}: {code}\n{said}")
        checks.that((folder / own / "small.json").exists(), f"{script}: no report in {own}")
        check_foreign(checks, folder, run, content, script)
    job = cluster.submit("--hold", "--array=1-4", "--gres=none", "--cpus-per-task=1", SCRIPTS / "array.sbatch", "system.seed=1,2,3,4", "--", *words, folder=folder)
    run = f"mdmini-array-{job}"
    content = foreign(folder, run, cluster, job)
    cluster.command("scontrol", "release", job)
    cluster.wait(lambda: not cluster.command("squeue", "-h"), 600, "the array does not end")
    found = sorted(str(path.relative_to(folder)) for path in folder.glob("mdmini-array-*/*/small.json"))
    checks.that(found == [f"{run}.1/seed={k}/small.json" for k in (1, 2, 3, 4)], f"runs of the array: {found}")
    check_foreign(checks, folder, run, content, "array")
    left = [path.name for path in folder.glob("mdmini*") if path.is_dir() and not re.fullmatch(r"mdmini-(array-)?\d+(\.\d+)?", path.name)]
    checks.that(not left, f"left behind: {left}")
    locked = folder / "locked"
    locked.mkdir()
    job = cluster.submit("--hold", f"--output={folder}/locked.out", SCRIPTS / "cpu.sbatch", "../small.txt", folder=locked)
    locked.chmod(0o555)
    cluster.command("scontrol", "release", job)
    end = cluster.wait_state(job, "FAILED", "COMPLETED")["ExitCode"]
    locked.chmod(0o755)
    if os.getuid() != 0:
        said = (folder / "locked.out").read_text()
        checks.that(end == "4:0" and "no such folder can be made on" in said, f"a folder without permission: {end}\n{said}")


def test_array(checks, folder, cluster):
    """Temperatures by seeds: each combination once, in a folder of its own."""
    words = (deck(folder, "small", run={"steps": 40}, restart={"every": 0}, ensemble={"thermostat": "rescale"}), "run.backend=cpu", "run.threads=1")
    factors = ("ensemble.target=0.7,0.9", "system.seed=1,2,3")
    job = cluster.submit("--array=1-6", "--gres=none", "--cpus-per-task=1", SCRIPTS / "array.sbatch", *factors, "--", *words, folder=folder)
    cluster.wait(lambda: not cluster.command("squeue", "-h"), 600, "the array does not end")
    found = {}
    for path in (folder / f"mdmini-array-{job}").glob("*/small.json"):
        report = json.loads(path.read_text())
        found[path.parent.name] = report["options"]["ensemble.target"]["value"], report["options"]["system.seed"]["value"]
    expected = {f"target={t}_seed={s}" for t in ("0.7", "0.9") for s in (1, 2, 3)}
    checks.that(set(found) == expected and len(set(map(str, found.values()))) == 6, f"runs of the array: {found}")
    for options, given, said in ((("--array=1-7",), (*factors, "--", *words), "sbatch --array=1-6"),
                                 (("--array=1-1",), (*factors, *words), "allowed before --"), (("--array=1-1",), (*factors,), "needed: "),
                                 ((), (*factors, "--", *words), "sbatch --array=1-6")):
        job = cluster.submit(*options, "--gres=none", "--cpus-per-task=1", SCRIPTS / "array.sbatch", *given, folder=folder)
        cluster.wait(lambda: not cluster.command("squeue", "-h"), 600, "the array does not end")
        text = "".join(path.read_text() for path in folder.glob(f"mdmini-array-{job}_*.out"))
        checks.that(said in text and not (folder / f"mdmini-array-{job}").exists(), f"{options} {given}: {text}")


class Chain:
    """A job of chain.sbatch."""

    def __init__(self, checks, folder, cluster, *words, is_second=False):
        """is_second: there is such a folder of another job."""
        self.checks, self.folder, self.cluster, self.seen = checks, folder, cluster, 0
        self.job = cluster.submit("--hold", SCRIPTS / "chain.sbatch", *words, folder=folder)
        self.name = self.run = f"mdmini-chain-{self.job}"
        if is_second:
            self.content, self.run = foreign(folder, self.name, cluster, self.job), f"{self.name}.1"
        cluster.command("scontrol", "release", self.job)
        self.restart = folder / self.run / "run.restart"

    def halt_on_its_way(self, what):
        """After another restart file was written; it takes no more steps until Slurm wakes it, with its signal."""
        self.cluster.wait(lambda: self.restart.exists() and self.restart.stat().st_mtime_ns > self.seen, 600, f"{what}: no restart file")
        self.cluster.kill("mdmini", signal.SIGSTOP)
        state = self.cluster.job(self.job)["JobState"]
        self.checks.that(state == "RUNNING", f"it is {state} before it is {what}: make it longer")

    def wait_again(self, n_starts, **how):
        self.cluster.wait_requeued(self.job, n_starts, **how)
        self.seen = self.restart.stat().st_mtime_ns


def test_chain(checks, folder, cluster):
    """Warned, preempted, its node lost: each time it goes on, and its end is that of a run that nothing has happened to. Its folder
    is the second of the name, as another job has left one, and it finds it again at each start."""
    words = long_run(folder, 4)
    chain = Chain(checks, folder, cluster, *words, is_second=True)
    chain.halt_on_its_way("warned")
    cluster.command("scancel", "--signal=USR1", chain.job)  # goes where --signal of the script sends it before the time limit
    cluster.kill("mdmini", signal.SIGCONT)
    chain.wait_again(1)

    chain.halt_on_its_way("preempted")
    urgent = cluster.submit("--partition=urgent", "--exclusive", "--wrap=true", folder=folder)
    cluster.wait_state(urgent, "COMPLETED")
    chain.wait_again(2)

    chain.halt_on_its_way("lost")
    node = cluster.job(chain.job)["NodeList"]
    cluster.command("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=test")
    cluster.wait_state(chain.job, "PENDING")
    cluster.command("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)  # it may have come back by itself
    chain.wait_again(3, hurry=False)  # what is left of the last start has to be gone, or Slurm finds the job twice on the node

    end, said = cluster.wait_state(chain.job, "COMPLETED", "FAILED"), (folder / f"{chain.name}.out").read_text()
    checks.that(end["JobState"] == "COMPLETED" and end["Restarts"] == "3", f"a chain ends as {end}\n{said}")
    check_foreign(checks, folder, chain.name, chain.content, "a chain")
    folders = [path.name for path in folder.glob("mdmini-chain-*") if path.is_dir()]
    checks.that(sorted(folders) == [chain.name, chain.run], f"a chain has the folders {folders}")
    checks.that(all(f"start {k} of job {chain.job}" in said for k in range(4)), f"a chain tells of its starts: {said}")
    report = same_as_plain(checks, folder, chain.run, words, "run.restart", "a chain")
    steps = [session["from_step"] for session in report["sessions"]]
    checks.that(len(steps) == 4 and steps[0] == 0 and sorted(set(steps)) == steps, f"a chain has begun at steps {steps}")
    checks.that(report["provenance"]["SLURM_RESTART_COUNT"] == "3", f"a chain: {report['provenance']}")


def test_cancelled(checks, folder, cluster):
    """A chain that is cancelled does not come back by itself; another one goes on with it."""
    words = long_run(folder, 2)
    chain = Chain(checks, folder, cluster, *words)
    chain.halt_on_its_way("cancelled")
    cluster.command("scancel", chain.job)
    cluster.wait_state(chain.job, "CANCELLED")
    log = folder / chain.run / "long.log"
    cluster.wait(lambda: "resume with: mdmini --restart" in log.read_text(), 600, "a cancelled run leaves no restart file")
    other = Chain(checks, folder, cluster, "--restart", chain.restart.relative_to(folder))
    end = cluster.wait_state(other.job, "COMPLETED", "FAILED")
    checks.that(end["JobState"] == "COMPLETED", f"going on with it: {end}")
    checks.that(cluster.job(chain.job)["JobState"] == "CANCELLED", f"a cancelled job has come back: {cluster.job(chain.job)}")
    same_as_plain(checks, folder, chain.run, words, "run.restart", "a cancelled chain that was gone on with")


def stop(checks, folder, cluster, job, run):
    """Warned when it writes its trajectory, it ends with 75; the sbatch words by which it says that it goes on."""
    wait_for(folder / run / "long.h5")
    cluster.command("scancel", "--signal=USR1", job)
    end, said = cluster.wait_state(job, "FAILED", "COMPLETED"), (folder / f"{run}.out").read_text()
    checks.that(end["ExitCode"] == "75:0" and end["Restarts"] == "0", f"{run} ends as {end}")
    line = re.search("To go on: sbatch (.*)", said)
    checks.that(line, f"{run} does not say how to go on: {said}")
    return shlex.split(line[1].split(", ")[0]) if line else []  # behind a comma there is prose


def test_stopped(checks, folder, cluster):
    """What is stopped outside of a chain says how to go on, and by that the chain has the cores and the memory of the job, no GPU if
    that had none, and restart files on its way. A chain that has had all its starts says it, too."""
    words = (deck(folder, "long", run={"steps": 1000000, "threads": None}, output=OUTPUT), "run.backend=cpu", "restart.every=auto")
    chain, short = folder / "run/slurm/chain.sbatch", folder / "short-chain.sbatch"
    chain.parent.mkdir(parents=True)  # where the line looks for it
    for place in (chain.parent, folder):
        for name in ("job.sh", "site.sh"):
            shutil.copy(SCRIPTS / name, place)
    text = (SCRIPTS / "chain.sbatch").read_text()
    chain.write_text(text.replace("restart_every=100000", "restart_every=1000"))
    short.write_text(text.replace("most_starts=100", "most_starts=0"))

    job = cluster.submit("--gres=none", short, *words, folder=folder)
    line = stop(checks, folder, cluster, job, f"mdmini-chain-{job}")
    checks.that(line[:3] == ["run/slurm/chain.sbatch", "--restart", "RESTART_FILE"], f"a chain: {line}")
    for script, options, asked in (("gpu", ["--mem=3G"], ("gres:gpu:1", "2", "3G")),
                                   ("cpu", ["--mem=3G", "--cpus-per-task=3"], ("none", "3", "3G"))):
        job = cluster.submit(*options, f"--job-name=a {script}", SCRIPTS / f"{script}.sbatch", *words, folder=folder)
        run = f"a {script}-{job}"
        line, restart = stop(checks, folder, cluster, job, run), folder / run / "long.restart"
        if not checks.that(line[-3:] == ["run/slurm/chain.sbatch", "--restart", f"{run}/long.restart"], f"{script}: {line}"):
            continue
        stopped_at = restart.stat().st_mtime_ns
        other = cluster.submit(*line, folder=folder)
        cluster.wait(lambda: restart.stat().st_mtime_ns > stopped_at, 600, f"{script}: no restart file on the way of {' '.join(line)}")
        goes_on = cluster.job(other)
        told = goes_on.get("TresPerNode", "none"), goes_on["NumCPUs"], goes_on["MinMemoryNode"]
        checks.that(goes_on["JobState"] == "RUNNING" and told == asked, f"{script}: {goes_on['JobState']}, {told} instead of {asked}")
        cluster.command("scancel", other)
        cluster.wait(lambda: not cluster.command("squeue", "-h"), 600, f"{other} does not end")
        log = (folder / run / "long.log").read_text()
        checks.that(log.count(f"; {asked[1]} threads, ") == 2, f"{script}: its log does not tell twice of {asked[1]} threads: {log}")


def test_ranks(checks, folder, cluster):
    """multi-node.sbatch, on one node: its tasks are the ranks of one run. Warned, they leave one restart file, and by the line that
    the job prints a chain goes on with as many. Without what joins them there is no run."""
    said = subprocess.run([program.program(), "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    if "MPI:       none" in said:
        print("test_ranks: left out, as the program was built without MPI")
        return
    words = (deck(folder, "small", system={"cells": 8}, run={"steps": 400, "threads": None}, output=OUTPUT), "run.backend=cpu")
    options = ("--nodes=1", "--ntasks-per-node=2", "--cpus-per-task=1", "--mem=3G")
    job = cluster.submit(*options, SCRIPTS / "multi-node.sbatch", *words, folder=folder)
    code, said = ended(folder, cluster, job)
    if not checks.that(code == "0:0" and said.count("verdict: PASSED") == 1, f"two ranks: {code}\n{said}"):
        return
    report = json.loads((folder / f"mdmini-{job}/small.json").read_text())
    checks.that(report["ranks"] and report["ranks"]["n"] == 2 and report["ranks"]["hosts"] == 1, f"two ranks: {report['ranks']}")
    checks.that(report["provenance"]["cpu"]["threads"] == 4, f"half of the node for each: {report['provenance']['cpu']}")
    plain = program.run(*words, "output.name=plain", folder=folder, name="plain")
    checks.that(plain.code == 0, f"the plain run: {plain.last_lines()}")
    with h5py.File(folder / f"mdmini-{job}/small.h5") as ours, h5py.File(folder / "plain.h5") as theirs:
        for what in ("all/position", "all_velocity/velocity"):
            one, two = (h5[f"particles/{what}/value"][...] for h5 in (ours, theirs))
            checks.that(len(one) > 0 and one.tobytes() == two.tobytes(), f"two ranks: {what} is not that of one process")

    scripts = script_folder(folder, "other", "export MDMINI_SRUN_MPI=none")
    code, said = ended(folder, cluster, cluster.submit(*options, scripts / "multi-node.sbatch", *words, folder=folder))
    checks.that(code != "0:0" and "verdict" not in said, f"tasks that nothing joins: {code}\n{said}")
    without = folder / "without-mpi"
    without.write_text("#!/bin/sh\necho 'mdmini 0.2.0'; echo 'MPI:       none, so that'; echo 'backends:  cpu (OpenMP)'\n")
    without.chmod(0o755)
    scripts = script_folder(folder, "without", f"export MDMINI={without}")
    code, said = ended(folder, cluster, cluster.submit(*options, scripts / "multi-node.sbatch", *words, folder=folder))
    checks.that(code == "2:0" and "built without MPI" in said, f"a program without MPI: {code}\n{said}")

    scripts = script_folder(folder, "chain", "")
    chain, folder = scripts / "chain.sbatch", folder / "chain"  # where the line looks for it
    chain.write_text(chain.read_text().replace("restart_every=100000", "restart_every=1000"))
    words = (deck(folder, "long", system={"cells": 8}, run={"steps": 1000000, "threads": None}, output=OUTPUT), "run.backend=cpu",
             "restart.every=auto")
    job = cluster.submit(*options, scripts / "multi-node.sbatch", *words, folder=folder)
    line, restart = stop(checks, folder, cluster, job, f"mdmini-{job}"), folder / f"mdmini-{job}/long.restart"
    if not checks.that(restart.exists(), f"two ranks that were warned: {line}"):
        return
    stopped_at = restart.stat().st_mtime_ns
    other = cluster.submit(*line, folder=folder)
    cluster.wait(lambda: restart.stat().st_mtime_ns > stopped_at, 600, f"no restart file on the way of {' '.join(line)}")
    cluster.command("scancel", other)
    cluster.wait(lambda: not cluster.command("squeue", "-h"), 600, f"{other} does not end")
    log = (folder / f"mdmini-{job}/long.log").read_text()
    checks.that(log.count("ranks     2 processes on 1 host") == 2, f"a chain of two ranks: {log}")


def can_run_cuda(folder):
    """Whether the program has that backend, and a GPU or an emulated one."""
    done = program.run("--check", deck(folder, "probe", run={"steps": 1, "backend": "cuda", "threads": None}), folder=folder,
                       name="probe")
    return done.code == 0 and "can run here" in done.stdout


def test_gpus(checks, folder, cluster):
    """multi-gpu.sbatch: the words by which ranks are started, so that each sees the GPUs of the node; two ranks of one run; the line
    that a stopped one prints, by which a chain has its GPUs."""
    if "MPI:       none" in subprocess.run([program.program(), "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout:
        print("test_gpus: left out, as the program was built without MPI")
        return
    on_cuda = can_run_cuda(folder)
    if not on_cuda:
        print("test_gpus: on the processor, as the cuda backend cannot run here")
    tasks = ("--ntasks-per-node=2", "--cpus-per-task=1", "--mem=3G")
    options = (*tasks, "--gpus-per-node=1")
    with_cuda = folder / "with-cuda"
    with_cuda.write_text("#!/bin/sh\necho 'mdmini 0.2.0'; echo 'MPI:       some'; echo 'backends:  cpu (OpenMP), cuda'\n")
    with_cuda.chmod(0o755)
    told = script_folder(folder, "told", f'srun() {{ echo "srun $*"; }}; export MDMINI={with_cuda}')
    binding = "--mpi=pmix --cpu-bind=cores --kill-on-bad-exit=1"
    for script, more, words, expected in (
            ("multi-gpu", options, (), f"{binding} --gpu-bind=none {with_cuda} deck.txt run.backend=cuda "),
            ("multi-gpu", options, ("run.backend=cpu",), f"{binding} --gpu-bind=none {with_cuda} deck.txt run.backend=cpu "),
            ("multi-node", ("--nodes=1", *options), ("run.backend=cuda",),
             f"{binding} --gpu-bind=none {with_cuda} deck.txt run.backend=cuda "),
            ("multi-node", ("--nodes=1", *tasks), (),
             f"{binding} --gpu-bind=none {with_cuda} deck.txt run.backend=cpu "),  # exclusive: of all GPUs
            ("chain", ("--gres=gpu:1", "--ntasks=2", *tasks), (), f"{binding} --gpu-bind=none {with_cuda} restart.every="),
            ("chain", ("--gres=none", "--ntasks=2", *tasks), (), f"{binding} {with_cuda} restart.every="),
            ("gpu", ("--mem=3G",), (), f"--cpus-per-task=2 {with_cuda} deck.txt run.backend=cuda ")):
        job = cluster.submit(*more, told / f"{script}.sbatch", "deck.txt", *words, folder=folder)
        code, said = ended(folder, cluster, job, f"mdmini-chain-{job}" if script == "chain" else None)
        checks.that(code == "0:0" and f" {expected}" in said, f"{script} {more} {words}: {code}, not {expected}:\n{said}")

    words = (deck(folder, "small", system={"cells": 8}, run={"steps": 200, "threads": None}, output=OUTPUT),
             *(() if on_cuda else ("run.backend=cpu",)))
    job = cluster.submit(*options, SCRIPTS / "multi-gpu.sbatch", *words, folder=folder)
    code, said = ended(folder, cluster, job)
    if not checks.that(code == "0:0" and said.count("verdict: PASSED") == 1, f"two ranks: {code}\n{said}"):
        return
    report = json.loads((folder / f"mdmini-{job}/small.json").read_text())
    checks.that(report["ranks"]["n"] == 2 and report["backend"] == ("cuda" if on_cuda else "cpu"),
                f"two ranks: {report['ranks']}, {report['backend']}")

    chain = script_folder(folder, "chain", "") / "chain.sbatch"
    chain.write_text(chain.read_text().replace("restart_every=100000", "restart_every=1000"))
    words = (deck(folder / "chain", "long", system={"cells": 8}, run={"steps": 1000000, "threads": None}, output=OUTPUT),
             "run.backend=cpu", "restart.every=auto")
    job = cluster.submit(*options, SCRIPTS / "multi-gpu.sbatch", *words, folder=folder / "chain")
    line = stop(checks, folder / "chain", cluster, job, f"mdmini-{job}")
    other = cluster.submit(*line, folder=folder / "chain")
    cluster.wait_state(other, "RUNNING")
    goes_on = cluster.job(other)
    asked = goes_on.get("TresPerNode"), goes_on["NumTasks"], goes_on["NumCPUs"], goes_on["MinMemoryNode"]
    checks.that(asked == ("gres:gpu:1", "2", "2", "3G"), f"a chain of two ranks with a GPU asks for {asked}")
    cluster.command("scancel", other)
    cluster.wait(lambda: not cluster.command("squeue", "-h"), 600, f"{other} does not end")


def test_time_limit(checks, folder, cluster):
    """The warning of a real time limit: a minute, of which the last forty seconds are for the end."""
    if not os.environ.get("MDMINI_TEST_TIME_LIMITS"):
        print("test_time_limit: left out, as it takes some minutes; MDMINI_TEST_TIME_LIMITS=1 runs it")
        return
    words = (deck(folder, "long", system={"cells": 8}, run={"steps": 1000, "threads": 1}, restart={"every": 0},
                  output={key: 1000 for key in OUTPUT}), "run.backend=cpu")
    speed = program.run(*words, folder=folder).json()["steps_per_second"]
    words = (*words, f"run.steps={round(speed * 60 / 1000) * 1000}")
    job = cluster.submit("--time=1", "--signal=USR1@40", SCRIPTS / "chain.sbatch", *words, folder=folder)
    run = f"mdmini-chain-{job}"
    cluster.wait_requeued(job, 1, seconds=90)
    end = cluster.wait_state(job, "COMPLETED", seconds=300)
    checks.that(int(end["Restarts"]) > 0, f"a chain with a short limit ends as {end}")
    report = same_as_plain(checks, folder, run, words, "run.restart", "time limits")
    checks.that(len(report["sessions"]) == int(end["Restarts"]) + 1, f"sessions: {report['sessions']}")


slurm.run_tests(test_one_run, test_program_checked, test_killed_early, test_folder_exists, test_array, test_chain, test_cancelled, test_stopped, test_ranks, test_gpus, test_time_limit)
