"""What a run says of machine, conditions, energy and deck (run/REPORT.md): every fact, or why it is missing.

On the emulated GPU NVML is played by tests/support/nvml_stand_in.c, in the folders that NVML_STAND_IN names (now, old); the
files of /sys by a folder of this test."""
import json
import os
import re
import subprocess
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import h5py
import program
from program import Checks

PAGE = Path(os.environ["MDMINI_SOURCE"], "run", "REPORT.md")
MASK = (1 << 64) - 1
PRIMES = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)


def xxh64(data):
    """XXH64 with seed 0, from its specification."""
    p1, p2, p3, p4, p5 = PRIMES

    def rotate(x, n):
        return (x << n | x >> (64 - n)) & MASK

    def mix(lane, word):
        return rotate((lane + word * p2) & MASK, 31) * p1 & MASK

    lanes, at = [(p1 + p2) & MASK, p2, 0, -p1 & MASK], 0
    while len(data) - at >= 32:
        for k in range(4):
            lanes[k] = mix(lanes[k], int.from_bytes(data[at + 8 * k:at + 8 * k + 8], "little"))
        at += 32
    value = p5
    if len(data) >= 32:
        value = sum(rotate(lane, n) for lane, n in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            value = ((value ^ mix(0, lane)) * p1 + p4) & MASK
    value = (value + len(data)) & MASK
    while len(data) - at >= 8:
        value = (rotate(value ^ mix(0, int.from_bytes(data[at:at + 8], "little")), 27) * p1 + p4) & MASK
        at += 8
    if len(data) - at >= 4:
        value = (rotate(value ^ int.from_bytes(data[at:at + 4], "little") * p1 & MASK, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        value = rotate(value ^ byte * p5 & MASK, 11) * p1 & MASK
    value = (value ^ value >> 33) * p2 & MASK
    value = (value ^ value >> 29) * p3 & MASK
    return f"{value ^ value >> 32:016x}"


@contextmanager
def environment(**variables):
    """With these variables set, or without those that are None."""
    before = {name: os.environ.get(name) for name in variables}

    def put(values):
        for name, value in values.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = str(value)

    put(variables)
    try:
        yield
    finally:
        put(before)


def small_deck(folder, **run):
    return program.write_deck(folder, "small", system={"cells": 4, "density": 0.8442},
                              run={"steps": 200, "backend": "cpu", **run},
                              output={"existing": "overwrite", "frames_every": 100}).name


def nulls(value, path=""):
    """Paths of all that is null."""
    if value is None:
        return {path}
    if isinstance(value, dict):
        return set().union(*(nulls(inner, f"{path}.{key}" if path else key) for key, inner in value.items() if key != "missing"),
                           set())
    return set()


def keys(value):
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys(inner) for inner in value.values()), set())


def check_missing(checks, report, what):
    """Of what is null the reason is told, and of nothing else."""
    page = PAGE.read_text()
    for part in ("provenance", "conditions", "energy"):
        facts = report[part]
        missing, unknown = facts["missing"], nulls(facts) - {"kernels_folder"}
        checks.that(set(missing) == unknown, f"{what}: {part}: null without a reason, or the other way: {set(missing) ^ unknown}")
        checks.that(all(len(why) > 8 for why in missing.values()), f"{what}: {part}: reasons {set(missing.values())}")
        told = {key for key in keys({k: v for k, v in facts.items() if k != "missing"}) - {"missing"} if f"`{key}`" not in page}
        checks.that(not told, f"{what}: {PAGE.name} does not explain {sorted(told)}")
    joules = report["energy"]["joules_per_atom_step"]
    checks.that(report["joules_per_atom_step"] == joules, f"{what}: two figures of the energy: {joules}")


def run(checks, folder, *words, what, code=0):
    done = program.run(small_deck(folder), *words, folder=folder)
    if not checks.that(done.code == code, f"{what}: exit code {done.code}: {done.last_lines()}"):
        return None, done
    report = done.json()
    check_missing(checks, report, what)
    return report, done


# --- the processors ------------------------------------------------------------------------------------------------------

class Machine:
    """A folder in place of /sys: one processor package that takes WATTS, and clocks."""
    WATTS = 50

    def __init__(self, folder):
        self.zone = Path(folder, "class", "powercap", "intel-rapl:0")
        self.zone.mkdir(parents=True)
        (self.zone / "name").write_text("package-0\n")
        (self.zone / "max_energy_range_uj").write_text("262143328850\n")
        self.start, self.stopped = time.monotonic(), threading.Event()
        self.tick()
        for cpu in os.sched_getaffinity(0):
            clocks = Path(folder, "devices", "system", "cpu", f"cpu{cpu}", "cpufreq")
            clocks.mkdir(parents=True)
            (clocks / "scaling_governor").write_text("performance\n")
            (clocks / "scaling_cur_freq").write_text("3400000\n")

    def tick(self):
        """The counter; it begins anew half a second from the start."""
        joules = (262143.328850 - 0.5 * self.WATTS + self.WATTS * (time.monotonic() - self.start)) % 262143.328850
        new = self.zone / "new"
        new.write_text(f"{1e6 * joules:.0f}\n")
        new.rename(self.zone / "energy_uj")

    def work(self):
        while not self.stopped.wait(0.01):
            self.tick()

    def __enter__(self):
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


def test_processors(checks, folder):
    sys_folder = Path(folder, "sys")
    sys_folder.mkdir()
    with environment(MDMINI_SYS=sys_folder):
        report, done = run(checks, folder, what="nothing in /sys")
    energy, provenance = report["energy"], report["provenance"]
    checks.that("there is no /sys/class/powercap" in energy["missing"]["joules"] and "RAPL" in energy["method"], f"{energy}")
    checks.that("energy    not known: there is no" in done.stdout, "the log does not say that there is no energy")
    checks.that("cpufreq" in provenance["missing"]["cpu.governor"] and "GPU" in provenance["missing"]["gpu"], "no reasons")
    checks.that(provenance["cpu"]["sys_is_real"] is False and provenance["cpu"]["threads"] >= 1, f"{provenance['cpu']}")
    machine = Machine(sys_folder)
    with environment(MDMINI_SYS=sys_folder), machine:
        report, done = run(checks, folder, "system.cells=10", "run.steps=1500", "report.sample_seconds=0.05", what="fake /sys")
    energy, conditions = report["energy"], report["conditions"]
    checks.that(report["provenance"]["cpu"]["governor"] == "performance", "governor")
    for state in ("before", "after"):
        checks.that(conditions[state]["cpu_mhz"] == 3400 and conditions[state]["load_1min"] >= 0, f"{conditions[state]}")
    during = conditions["during"]
    checks.that(during["cpu_mhz"] == {"min": 3400, "median": 3400, "max": 3400} and during["samples"] > 2, f"{during}")
    checks.that(0 < conditions["open_seconds"] < 1 and 0 < conditions["outside_seconds"] < 1, f"outside the loop: {conditions}")
    checks.that(0 < during["cost_seconds"] < 0.5 * report["loop_seconds"], f"samples cost {during['cost_seconds']} s")
    # The counter of the test is a hundredth of a second late at each end, more on a busy machine.
    seconds = energy["seconds"]
    checks.that(0 <= seconds - report["loop_seconds"] < 0.1, f"energy of {seconds} s, loop of {report['loop_seconds']} s")
    checks.near(energy["joules"], machine.WATTS * seconds, machine.WATTS * 0.2, "joules over a counter that begins anew")
    checks.near(energy["mean_watts"] * seconds, energy["joules"], 1e-9 * energy["joules"], "mean power")
    n_atom_steps = report["n_atoms"] * report["n_steps"]
    checks.near(energy["joules_per_atom_step"] * n_atom_steps, energy["joules"], 1e-9 * energy["joules"], "per atom-step")
    checks.that(f"energy    {energy['joules']:.4g} J, {energy['joules_per_atom_step']:.3g} J per atom-step" in done.stdout, "log")


def test_samples(checks, folder):
    report, _ = run(checks, folder, "report.sample_seconds=0", what="no samples")
    during = report["conditions"]["during"]
    checks.that(during["samples"] == 0 and during["first_after_seconds"] is None, f"{during}")
    checks.that("sample_seconds" in report["conditions"]["missing"]["during.cpu_mhz"], "no reason for no samples")
    checks.that(report["conditions"]["before"]["load_1min"] is not None, "no state before the loop")
    report, _ = run(checks, folder, "run.steps=0", what="no steps")
    checks.that(report["joules_per_atom_step"] is None, "energy of no step")
    done = program.run(small_deck(folder), "report.sample_seconds=-1", folder=folder)
    checks.that(done.code == 2 and "report.sample_seconds" in done.stderr, f"-1 seconds: {done.code}, {done.stderr}")


def test_bound(checks, folder):
    """Threads that OpenMP binds are as many, and may use as many processors, as those that it leaves free."""
    free, _ = run(checks, folder, what="free threads")
    with environment(OMP_PROC_BIND="true"):
        bound, _ = run(checks, folder, what="bound threads")
    for key in ("threads", "processors_allowed"):
        there, here = free["provenance"]["cpu"][key], bound["provenance"]["cpu"][key]
        checks.that(there == here >= 1, f"{key}: {there}, and {here} where they are bound")


# --- the run ------------------------------------------------------------------------------------------------------------

JOB = ("SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_RESTART_COUNT", "PBS_JOBID", "PBS_ARRAY_INDEX",
       "LSB_JOBID", "LSB_JOBINDEX")


def test_job(checks, folder):
    with environment(**dict.fromkeys(JOB), HOME="/home/somebody", USER="somebody", LOGNAME="somebody"):
        report, done = run(checks, folder, what="no job")
        checks.that("batch_job" in report["provenance"] and "somebody" not in done.path("json").read_text(), "a name of a user")
    with environment(**{name: str(k) for k, name in enumerate(JOB)}):
        report, _ = run(checks, folder, what="job")
        checks.that(all(report["provenance"][name] == str(k) for k, name in enumerate(JOB)), "variables of the job")
        checks.that("batch_job" not in report["provenance"], "a job that is missing all the same")


def hashes(checks, folder, *words):
    report, _ = run(checks, folder, "run.steps=5", *words, what=f"hash with {words}")
    return report, report["provenance"]["deck_hash"]


def test_hash(checks, folder):
    report, base = hashes(checks, folder)
    options = report["options"]
    lines = "".join(f"{key} = {options[key]['value']}\n" for key in base["physics_keys"])
    checks.that(base["physics"] == xxh64(lines.encode()), f"physics: {base['physics']}, not {xxh64(lines.encode())}")
    lines = "".join(f"{key} = {options[key]['value']}\n" for key in options if key not in base["all_without"])
    checks.that(base["all"] == xxh64(lines.encode()), f"all: {base['all']}, not {xxh64(lines.encode())}")
    Path(folder, "other").mkdir()
    for words, same_physics, same_all in [((), True, True), (("system.seed=2",), False, False), (("run.threads=1",), True, False),
                                          (("output.directory=other",), True, True), (("output.thermo_every=7",), True, False)]:
        name = next((word.split("=")[1] for word in words if "directory" in word), ".")
        done = program.run(small_deck(folder), "run.steps=5", *words, folder=folder)
        now = json.loads(Path(folder, name, "small.json").read_text())["provenance"]["deck_hash"]
        checks.that(done.code == 0 and (now["physics"] == base["physics"]) == same_physics, f"{words}: hash of the physics")
        checks.that((now["all"] == base["all"]) == same_all, f"{words}: hash of all")
    # A file stands for what is in it.
    text = "\n".join(f"{1.2 * (k % 6)} {1.2 * (k // 6)}" for k in range(36)) + "\n"
    found = []
    for path, content in (("a.xy", text), ("other/b.xy", text), ("c.xy", text.replace("1.2", "1.25"))):
        Path(folder, path).write_text(content)
        done = program.run(path, "run.steps=5", "run.backend=cpu", "output.name=t", "output.existing=overwrite", folder=folder)
        report = json.loads(Path(folder, "t.json").read_text())
        found.append(report["provenance"]["deck_hash"]["physics"])
    value = {key: report["options"][key]["value"] for key in report["provenance"]["deck_hash"]["physics_keys"]}
    value["system.file"] = xxh64(content.encode())
    lines = "".join(f"{key} = {word}\n" for key, word in value.items())
    checks.that(found[0] == found[1] != found[2] == xxh64(lines.encode()), f"files: {found}")


def test_restart(checks, folder):
    """Each process of a run is in the trajectory; the report is of the last."""
    run(checks, folder, "restart.every=100", what="first process")
    done = program.run("--restart", "small.restart", "run.steps=300", folder=folder, name="small")
    checks.that(done.code == 0, f"resumed: exit code {done.code}: {done.last_lines()}")
    check_missing(checks, done.json(), "resumed")
    with done.h5() as file:
        processes = [json.loads(file[f"/parameters/mdmini/process_{k}"][()]) for k in range(2)]
    steps = [(process["from_step"], process["to_step"]) for process in processes]
    checks.that(steps == [(0, 200), (200, 300)], f"processes of {steps}")
    checks.that("restart.every=100" in processes[0]["provenance"]["command"], f"{processes[0]['provenance']['command']}")
    report = done.json()
    for part in ("provenance", "conditions", "energy", "loop_seconds"):
        checks.that(processes[1][part] == report[part], f"{part}: file and report differ")


def test_page(checks, folder):
    """The page has every key of a report, and no key that no report has."""
    page = PAGE.read_text()
    table = page.partition("its keys\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| `")]
    told = [key for row in rows for key in re.findall(r"`(\w+)`", row[0])]
    checks.that(len(told) == len(set(told)) > 30, f"{PAGE.name}: told twice, or hardly any: {told}")
    reports = []
    for what, words, code in (("whole", ["report.counters=on", "restart.every=100"], 0),
                              ("stopped", ["output.name=stopped", "run.steps=1e9", "output.frames_every=1e6", "run.walltime=0.5"], 75),
                              ("resumed", ["--restart", "small.restart", "run.steps=300"], 0),
                              ("relaxed", ["output.name=relaxed", "run.minimize=fire", "analysis.pressure=tensor", "analysis.msd_every=10", "analysis.msd_lags=3", "analysis.vacf_every=10", "analysis.rdf_every=10"], 0),
                              ("blown up", ["output.name=blown", "run.timestep=0.5", "output.frames_every=1"], 3)):
        deck = [] if what == "resumed" else [small_deck(folder)]
        name = next((word[len("output.name="):] for word in words if word.startswith("output.name=")), "small")
        done = program.run(*deck, *words, folder=folder, name=name)
        if checks.that(done.code == code, f"{what}: exit code {done.code}: {done.last_lines()}"):
            reports.append(done.json())
    present = set().union(*reports)
    checks.that(present == set(told), f"{PAGE.name}: not in it {sorted(present - set(told))}, in no report "
                                      f"{sorted(set(told) - present)}")
    cells = {key: " | ".join(row) for row in rows for key in re.findall(r"`(\w+)`", row[0])}
    for report in reports:
        for key, value in report.items():
            parts = value if isinstance(value, list) else list(value.values()) if key == "options" else [value]
            inner = {name for part in parts if isinstance(part, dict) for name in part}
            lost = {name for name in inner if f"`{name}`" not in (table if key == "units" else cells.get(key, ""))}
            checks.that(key in ("energy", "conditions", "provenance") or not lost, f"{PAGE.name}, {key}: not told {sorted(lost)}")
    checks.that(reports[2]["thermo"]["step"][0] == 0 and reports[2]["n_steps"] == 300, "resumed: thermo is not of the whole run")


def test_cut_short(checks, folder):
    """A process that was killed while it began, in the file as it is: its text is there, and it is not counted."""
    run(checks, folder, "restart.every=100", what="first process")
    with h5py.File(Path(folder) / "small.h5", "r+") as file:
        file["/parameters/mdmini/process_1"] = "cut short"
    done = program.run("--restart", "small.restart", folder=folder, name="small")
    checks.that(done.code == 0, f"resumed: exit code {done.code}: {done.last_lines()}")
    with done.h5() as file:
        process = json.loads(file["/parameters/mdmini/process_1"][()])
    checks.that((process["from_step"], process["to_step"]) == (200, 200), f"{process}")


def test_killed(checks, folder):
    """A process that a fault ends tells all the same; one that is killed has its provenance in the file, and that it did not
    end its loop."""
    done = program.run(small_deck(folder), "run.timestep=0.5", "output.frames_every=1", folder=folder)
    checks.that(done.code == 3, f"exit code {done.code}")
    check_missing(checks, done.json(), "blown up")
    with done.h5() as file:
        process = json.loads(file["/parameters/mdmini/process_0"][()])
    checks.that(process["conditions"] == done.json()["conditions"], f"blown up: {process['conditions']}")
    child = subprocess.Popen([program.program(), small_deck(folder), "run.steps=1e7", "output.commit_frames=1"], cwd=folder,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in child.stdout:
        if line.split()[:1] == [b"1000"]:  # ten frames of a hundred steps are committed
            break
    child.kill()
    child.wait()
    recovered = program.run("--recover", "small.h5", folder=folder, name="small")
    with recovered.h5() as file:
        process = json.loads(file["/parameters/mdmini/process_0"][()])
    checks.that(process["provenance"]["program"] == "mdmini" and "did not end" in process["missing"]["conditions"], f"{process}")


def test_bench(checks, folder):
    done = program.run("--bench", "gather", small_deck(folder), "--melt", "0", folder=folder)
    checks.that(done.code == 0, f"bench: exit code {done.code}: {done.last_lines()}")
    report = json.loads(Path(folder, "small.bench.json").read_text())
    check_missing(checks, report, "bench")
    checks.that(report["conditions"]["during"]["samples"] >= 1, "a bench without samples")
    checks.that(report["energy"]["joules_per_atom_step"] is None, "a bench has no figure for an atom-step")


# --- the GPU --------------------------------------------------------------------------------------------------------------

def run_gpu(checks, folder, *words, what, script="", age="now"):
    with environment(NVML_SCRIPT=script, LD_LIBRARY_PATH=f"{os.environ['NVML_STAND_IN']}-{age}"):
        return run(checks, folder, "run.backend=cuda", "run.steps=60", "report.sample_seconds=0.05", *words, what=what)


def test_gpu(checks, folder):
    report, done = run_gpu(checks, folder, what="GPU", script="nvmlDeviceGetClockInfo.1=1980,1500;"
                           "nvmlDeviceGetCurrentClocksEventReasons=0,4,36;nvmlDeviceGetTotalEccErrors.corrected=2;"
                           "nvmlDeviceGetComputeRunningProcesses=own/1000,99/500")
    gpu = report["provenance"]["gpu"]
    expected = {"name": "emulated GPU", "uuid": "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0", "bus_id": "0000:00:00.0",
                "number": 0, "compute_capability": "9.0", "driver": "999.88.77", "nvml": "stand-in", "mig": False, "ecc": True,
                "persistence_mode": True, "power_limit_w": 700, "power_limit_default_w": 700, "sm_mhz_max": 1980,
                "memory_mhz_max": 2619, "nvml_name": "GPU of the stand-in"}
    checks.that({key: gpu[key] for key in expected} == expected, f"GPU: {gpu}")
    checks.that("NVRTC" in report["provenance"]["backend_libraries"], report["provenance"]["backend_libraries"])
    before, during, after = (report["conditions"][state] for state in ("before", "during", "after"))
    expected = {"sm_mhz": 1980, "memory_mhz": 2619, "temperature_c": 41, "power_w": 500, "throttle": [],
                "ecc_errors_corrected": 2, "ecc_errors_uncorrected": 0, "processes": 2, "processes_bytes": 1500,
                "other_processes": 1, "other_processes_bytes": 500}
    checks.that(before["gpu"] == expected, f"before: {before['gpu']}")
    held = ["power_cap", "thermal_software"]
    checks.that(after["gpu"]["sm_mhz"] == 1500 and after["gpu"]["throttle"] == held, f"after: {after['gpu']}")
    n = during["samples"]
    checks.that(n >= 2 and during["gpu"]["sm_mhz"] == {"min": 1500, "median": 1500, "max": 1500}, f"during: {during}")
    checks.near(during["gpu"]["throttle"]["power_cap"], 1, 0, "throttled samples")
    checks.near(during["gpu"]["throttle"]["thermal_software"], (n - 1) / n, 1e-9, "samples that were too hot")
    checks.that("warning: the GPU was throttled in 100 % of the samples (power_cap, thermal_software)" in done.stdout, "no warning")
    checks.that("clocks    SM 1500 MHz (1500 to 1500), memory 2619 MHz, 41 C, 500 W of 700 W" in done.stdout, "no clocks in the log")
    energy = report["energy"]
    if energy["seconds"] < 0.8:
        checks.that("too short" in energy["missing"]["joules"], f"{energy}")
    else:
        checks.near(energy["mean_watts"], 500, 25, "power")
        checks.that(energy["method"] == "energy counter (NVML)" and energy["of"] == "GPU", f"{energy}")


def test_gpu_missing(checks, folder):
    report, done = run_gpu(checks, folder, what="no NVML", age="none")
    checks.that("no NVML library" in report["conditions"]["missing"]["during.gpu"], f"{report['conditions']['missing']}")
    checks.that("no NVML library" in report["provenance"]["missing"]["gpu.driver"] and "not known" in done.stdout, "driver")
    report, done = run_gpu(checks, folder, what="refused", script="nvmlDeviceGetTotalEnergyConsumption=!4;"
                           "nvmlDeviceGetPowerUsage=!4;nvmlDeviceGetClockInfo.1=!3")
    checks.that("no permission" in report["energy"]["missing"]["joules"], f"{report['energy']}")
    checks.that("not supported" in report["conditions"]["missing"]["during.gpu.sm_mhz"], f"{report['conditions']['missing']}")
    checks.that(report["conditions"]["before"]["gpu"]["memory_mhz"] == 2619, "what is not refused")
    checks.that("throttled" not in done.stdout, "a warning without throttling")
    report, _ = run_gpu(checks, folder, what="old driver", age="old")
    checks.that(report["conditions"]["before"]["gpu"]["throttle"] == [] and "lacks" in
                report["conditions"]["missing"]["before.gpu.processes"], f"{report['conditions']['missing']}")
    report, _ = run_gpu(checks, folder, what="MIG", script="nvmlDeviceGetMigMode=1")
    checks.that("MIG" in report["energy"]["missing"]["joules"] and report["provenance"]["gpu"]["mig"], f"{report['energy']}")
    with environment(MDMINI_EMULATOR_DEVICES=2):
        report, _ = run_gpu(checks, folder, "run.device=1", what="second GPU")
    gpu = report["provenance"]["gpu"]
    checks.that(gpu["number"] == 1 and gpu["uuid"].startswith("GPU-01112131") and
                "knows no GPU" in report["provenance"]["missing"]["gpu.power_limit_w"], f"second GPU: {gpu}")


def test_gpu_hangs(checks, folder):
    """A driver that never answers again: the run ends as it would have, a few seconds later, and says what is missing."""
    for what, script in (("opening", "nvmlInit_v2=hang"), ("sampling", "nvmlDeviceGetTemperature.0=41,42,hang"),
                         ("after the loop", "nvmlDeviceGetTotalEnergyConsumption=1,2,3,hang")):
        start = time.monotonic()
        report, done = run_gpu(checks, folder, "restart.every=60", what=f"hang, {what}", script=script)
        seconds = time.monotonic() - start - report["loop_seconds"]
        checks.that(seconds < 120, f"hang, {what}: {seconds:.1f} s besides the loop")
        checks.that(report["verdict"] == "PASSED" and "did not answer" in report["energy"]["missing"]["joules"],
                    f"hang, {what}: {report['verdict']}, {report['energy']}")
        checks.that("did not answer" in json.dumps(report["conditions"]["missing"]), f"hang, {what}: {report['conditions']}")


def test_real_gpu(checks, folder):
    """Of a GPU that is none of this test's only that each fact is there or has its reason."""
    report, done = run(checks, folder, "run.backend=cuda", "run.steps=20000", what="GPU")
    checks.that(report["conditions"]["during"]["samples"] >= 1 or "during.gpu" in report["conditions"]["missing"], "samples")
    print("\n".join(line for line in done.stdout.splitlines() if line.startswith(("clocks", "energy"))))


def gpu_tests(wanted):
    """For the GPU that is here: the emulated one, another, or none."""
    with program.temporary_folder() as folder:
        done = program.run("--check", small_deck(folder), "run.backend=cuda", folder=folder)
    if "cuda" not in wanted or "can run here" not in done.stdout:
        print("no GPU: left out")
        return ()
    return (test_gpu, test_gpu_missing, test_gpu_hangs) if "emulated GPU" in done.stdout else (test_real_gpu,)


def main():
    checks = Checks()
    wanted = os.environ.get("MDMINI_TEST_BACKENDS", "cpu,cuda").split(",")
    cpu_tests = (test_processors, test_samples, test_bound, test_job, test_hash, test_restart, test_page, test_cut_short,
                 test_killed, test_bench)
    for test in (*(cpu_tests if "cpu" in wanted else ()), *gpu_tests(wanted)):
        with program.temporary_folder() as folder:
            before, start = checks.n_failed, time.monotonic()
            test(checks, folder)
            print(f"{test.__name__}: {'passed' if checks.n_failed == before else 'FAILED'} ({time.monotonic() - start:.1f} s)",
                  flush=True)
    checks.finish()


main()
