#!/usr/bin/env python3
"""What the kernels of a step do on one GPU, by the hardware's own counters (Nsight Compute, ncu): rows of inputs/bench/rows.csv.

Each system is melted as run/bench.sh does it; then --steps steps of its rule run under ncu, kernel by kernel without graphs. The
table has the median over the launches of each kernel:

    us        time of a launch, while the profiler has the GPU to itself; of k_step_resident and k_step_queue: of a step
    regs      registers a thread
    warps     warps on a multiprocessor, in per cent of the most
    issue     cycles in which a scheduler issues, in per cent
    instr/a   instructions of warps times 32, an atom; instr/e: an entry of its row, padding left out
    lanes     threads that take part in an instruction, of 32
    wave/LDS  passes of a load of shared memory: 4 for 16 bytes a lane, where no banks conflict
    DRAM/a    bytes an atom to and from device memory; L2/a: those that the L2 cache serves
    waits     the three largest reasons why a warp waits, in warps waiting per instruction issued

The record keeps all metrics. Exit code 1: a row could not be profiled.
"""
import csv
import json
import os
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

import bench
from bench_rows import DECKS, Melt, Row
from runs import NotRun, Run
from scripts import Budget, check_paths, portable, positive, save_json, whole, one_of, Parser

REASONS = ("barrier", "branch_resolving", "dispatch_stall", "drain", "lg_throttle", "long_scoreboard", "math_pipe_throttle",
           "membar", "mio_throttle", "no_instruction", "not_selected", "short_scoreboard", "sleeping", "wait")
METRICS = {
    "ns": "gpu__time_duration.sum",
    "registers": "launch__registers_per_thread",
    "block": "launch__block_size",
    "blocks": "launch__grid_size",
    "warps_active": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "issue_active": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "warp_instructions": "smsp__inst_executed.sum",
    "lanes": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "shared_loads": "smsp__inst_executed_op_shared_ld.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "bank_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "dram_bytes": "dram__bytes.sum",
    "l2_bytes": "lts__t_bytes.sum",
    "l1_hits": "l1tex__t_sector_hit_rate.pct",
    **{f"pipe_{pipe}": f"smsp__inst_executed_pipe_{pipe}.sum" for pipe in ("alu", "fma", "fp64", "lsu", "xu")},
    **{f"waits_{reason}": f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio" for reason in REASONS},
}
MANY_STEPS = ("k_step_resident", "k_step_queue")  # a launch
OF_ROWS = ("k_force", "k_step_pass", *MANY_STEPS, "k_neighbor")  # kernels that go through entries


def number(text):
    """None: a metric that this GPU or this ncu does not have."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def read_launches(lines):
    """[{kernel, metric: number}] from what ncu --csv --page raw writes: a head, a line of units, a line a launch."""
    lines = [line for line in lines if line.startswith('"')]
    launches = []
    for row in list(csv.DictReader(lines))[1:]:
        name = row["Kernel Name"].split("(")[0].strip()
        launches.append({"kernel": name, **{key: number(row.get(metric) or "") for key, metric in METRICS.items()}})
    return launches


def medians(launches):
    """{kernel: {metric: median}}, with how many launches there were."""
    found = {}
    for name in dict.fromkeys(launch["kernel"] for launch in launches):
        own = [launch for launch in launches if launch["kernel"] == name]
        found[name] = {"launches": len(own)}
        for key in METRICS:
            values = [launch[key] for launch in own if launch[key] is not None]
            found[name][key] = statistics.median(values) if values else None
    return found


def over(value, by):
    return None if value is None or not by else value / by


def figures(name, of_kernel, report):
    """What the table shows of a kernel. report: of the run that was profiled."""
    stages = {stage["stage"]: stage for stage in report["stages"]}
    steps = stages["step"]["calls"] / of_kernel["launches"] if name in MANY_STEPS else 1  # of one launch
    n_atoms, entries = report["n_atoms"], report["neighbors_per_atom"]
    instructions = over(of_kernel["warp_instructions"] and 32 * of_kernel["warp_instructions"], n_atoms * steps)
    has_entries = any(name.startswith(prefix) for prefix in OF_ROWS) and entries
    waits = sorted(((of_kernel[f"waits_{reason}"] or 0, reason) for reason in REASONS), reverse=True)[:3]
    return {"us": over(of_kernel["ns"], 1e3 * steps), "regs": of_kernel["registers"], "warps": of_kernel["warps_active"],
            "issue": of_kernel["issue_active"], "instr/a": instructions,
            "instr/e": over(instructions, entries) if has_entries else None, "lanes": of_kernel["lanes"],
            "wave/LDS": over(of_kernel["shared_wavefronts"], of_kernel["shared_loads"]),
            "DRAM/a": over(of_kernel["dram_bytes"], n_atoms * steps), "L2/a": over(of_kernel["l2_bytes"], n_atoms * steps),
            "waits": ", ".join(f"{reason} {value:.2f}" for value, reason in waits if value > 0)}


FORMS = {"us": "8.2f", "regs": "4.0f", "warps": "5.1f", "issue": "5.1f", "instr/a": "7.0f", "instr/e": "7.1f", "lanes": "5.1f",
         "wave/LDS": "8.2f", "DRAM/a": "7.1f", "L2/a": "7.1f"}


def table(row_name, kernels, report):
    """By time, the longest first."""
    shown = {name: figures(name, of_kernel, report) for name, of_kernel in kernels.items()}
    lines = [f"{row_name}: {report['n_atoms']} atoms, {report['neighbors_per_atom'] or 0:.1f} entries a row",
             f"{'kernel':<24} {'runs':>4} " + " ".join(f"{key:>{int(form.split('.')[0])}}" for key, form in FORMS.items()) + "  waits"]
    for name in sorted(shown, key=lambda name: -(shown[name]["us"] or 0) * kernels[name]["launches"]):
        cells = [format(shown[name][key], form) if shown[name][key] is not None else f"{'-':>{int(form.split('.')[0])}}"
                 for key, form in FORMS.items()]
        lines.append(f"{name:<24} {kernels[name]['launches']:4d} {' '.join(cells)}  {shown[name]['waits']}")
    return lines


def profile(row, a):
    """(medians of its kernels, report of the run)."""
    melted = row.melt.make(a)
    n_steps = melted["n_steps"] + a.steps
    with tempfile.NamedTemporaryFile("r", suffix=".csv") as log:
        words = [word for word in row.words if not word.startswith("run.steps=")]
        command = [a.ncu, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--kernel-name",
                   "regex:^k_", "--metrics", ",".join(METRICS.values()), "--log-file", log.name, a.mdmini, *words,
                   f"run.steps={n_steps}", "report.verify=off", "launch.graph=off", "output.name=step",
                   "restart.file=step.restart", *a.words.split()]
        report = Run(command, n_steps, a.limit).report()
        launches = read_launches(log.read().splitlines())
    if not launches:
        raise NotRun("crashed", "ncu has told nothing of any kernel")
    return medians(launches), report


def read_arguments(words=None):
    parser = Parser(description=__doc__, formatter_class=bench.argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mdmini", type=os.path.abspath, help="the program")
    parser.add_argument("--rows", metavar="NAME,...", default="1m,32k,4k", help="rows to profile, with * and ? (1m,32k,4k)")
    parser.add_argument("--steps", type=whole, default=22, help="under the profiler (22: with a rebuild)")
    parser.add_argument("--melt", type=whole, default=1000, metavar="STEPS", help="before that (1000)")
    parser.add_argument("--limit", type=positive, default=120, help="seconds that a run may take (120)")
    parser.add_argument("--words", default="", help='overrides of every run that is profiled: "section.key=value ..."')
    parser.add_argument("--backend", default="cuda", type=one_of("auto", "cuda"), metavar="{auto,cuda}", help="run.backend of the melting (cuda)")
    parser.add_argument("--table", default=str(DECKS / "rows.csv"), help="of the rows (inputs/bench/rows.csv)")
    parser.add_argument("--ncu", default="ncu", help="the profiler (ncu)")
    parser.add_argument("--output", default="ncu.json", metavar="FILE.json", help="the record (ncu.json)")
    a = parser.parse_args(words)
    check_paths(parser, a)
    if not shutil.which(a.ncu):
        parser.error(f"{a.ncu}: no such program: it comes with the CUDA toolkit, as Nsight Compute")
    bench.choose_rows(parser, a)
    return a


def main():
    a = read_arguments()
    Budget(None).end_at_signals()
    record, failed = {"command": sys.argv, "metrics": METRICS, "provenance": None, "rows": []}, []
    with tempfile.TemporaryDirectory(prefix="mdmini-ncu-") as place:
        for fields in a.chosen:
            row = Row(fields, Melt(fields, a, place), [])
            try:
                kernels, report = profile(row, a)
            except NotRun as why:
                print(f"{row.name}: {why}", flush=True)
                failed.append(row.name)
                continue
            record["provenance"] = record["provenance"] or json.loads(
                portable(json.dumps({**report["provenance"], "host": None}), place))
            record["rows"].append({"row": row.name, "n_atoms": report["n_atoms"],
                                   "neighbors_per_atom": report["neighbors_per_atom"], "kernels": kernels,
                                   "figures": {name: figures(name, of, report) for name, of in kernels.items()}})
            save_json(a.output, record)
            print("", *table(row.name, kernels, report), sep="\n", flush=True)
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
