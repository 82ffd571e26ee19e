#!/usr/bin/env python3
"""What kernels do on one GPU, by the hardware's own counters (Nsight Compute, ncu): of rows of inputs/bench/rows.csv, of any
deck, or of the microbenchmarks of mdmini --ceilings.

--rows: each system is melted as run/bench.sh does it; then --steps steps of its rule run under ncu. --deck: --steps steps of a run
of these files and overrides, from its start, with its set-up. Both run kernel by kernel, without graphs, and with
MDMINI_CALL_STEPS: a kernel of many steps otherwise makes only as many as fit some tenths of a second, here one. --ceilings: each
row of the groups in a run of its own. The table has the median over the launches of each kernel:

    us        time of a launch, while the profiler has the GPU to itself; of k_step_resident and k_step_queue: of a step
    regs      registers a thread
    warps     warps on a multiprocessor, in per cent of the most
    issue     cycles in which a scheduler issues, in per cent
    instr/a   instructions of warps times 32, an atom, or an element of a microbenchmark; instr/e: an entry of the atom's row,
              padding left out
    lanes     threads that take part in an instruction, of 32
    branch    branches at which the threads of a warp do not part, in per cent (branch efficiency); -: there is none
    sect/LD   sectors of 32 bytes that a load of global memory asks for, a warp: 4 for 4 bytes a lane side by side, 32 for scattered
    wave/LDS  passes of a load of shared memory: 4 for 16 bytes a lane, where no banks conflict
    DRAM/a    bytes an atom to and from device memory; L2/a: those that the L2 cache serves
    waits     the three largest reasons why a warp waits, in warps waiting per instruction issued

The record keeps all metrics. Exit code 1: a row could not be profiled.
"""
import csv
import json
import os
import shlex
import shutil
import statistics
import subprocess
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
    "uniform_branches": "smsp__sass_average_branch_targets_threads_uniform.pct",
    "sectors_per_load": "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
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
# Not those that bring atoms to the GPU and back when a run begins and ends: they have thousands of launches.
KERNELS = "^k_([^g]|gr|gather_(forces|ids|images|joined|places|positions|velocities))"
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
            "branch": of_kernel["uniform_branches"] or None, "sect/LD": of_kernel["sectors_per_load"],
            "wave/LDS": over(of_kernel["shared_wavefronts"], of_kernel["shared_loads"]),
            "DRAM/a": over(of_kernel["dram_bytes"], n_atoms * steps), "L2/a": over(of_kernel["l2_bytes"], n_atoms * steps),
            "waits": ", ".join(f"{reason} {value:.2f}" for value, reason in waits if value > 0)}


FORMS = {"us": "8.2f", "regs": "4.0f", "warps": "5.1f", "issue": "5.1f", "instr/a": "7.0f", "instr/e": "7.1f", "lanes": "5.1f",
         "branch": "6.1f", "sect/LD": "7.1f", "wave/LDS": "8.2f", "DRAM/a": "7.1f", "L2/a": "7.1f"}


def table(row_name, kernels, report):
    """By time, the longest first."""
    shown = {name: figures(name, of_kernel, report) for name, of_kernel in kernels.items()}
    what = (f"{report['n_atoms']} atoms, {report['neighbors_per_atom'] or 0:.1f} entries a row" if report["stages"]
            else f"{report['n_atoms'] or 'no'} elements")
    lines = [f"{row_name}: {what}",
             f"{'kernel':<24} {'runs':>4} " + " ".join(f"{key:>{int(form.split('.')[0])}}" for key, form in FORMS.items())
             + "  waits"]
    for name in sorted(shown, key=lambda name: -(shown[name]["us"] or 0) * kernels[name]["launches"]):
        cells = [format(shown[name][key], form) if shown[name][key] is not None else f"{'-':>{int(form.split('.')[0])}}"
                 for key, form in FORMS.items()]
        lines.append(f"{name:<24} {kernels[name]['launches']:4d} {' '.join(cells)}  {shown[name]['waits']}")
    return lines


def profile(words, n_steps, a):
    """(medians of its kernels, report) of a run under the profiler."""
    with tempfile.NamedTemporaryFile("r", suffix=".csv") as log:
        command = [a.ncu, "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "--kernel-name",
                   f"regex:{KERNELS}", "--metrics", ",".join(METRICS.values()), "--log-file", log.name, a.mdmini, *words,
                   "output.name=step", *a.words.split()]
        report = Run(command, n_steps, a.limit).report()
        return medians(read_launches(log.read().splitlines())), report


def profile_row(row, a):
    """Of a row of the benchmark."""
    n_steps = row.melt.make(a)["n_steps"] + a.steps
    words = [word for word in row.words if not word.startswith("run.steps=")]
    return profile([*words, f"run.steps={n_steps}", "report.verify=off", "launch.graph=off", "restart.file=step.restart"],
                   n_steps, a)


def profile_deck(a):
    """Of a deck: what its words say goes before what stands here."""
    words = [os.path.abspath(word) if os.path.exists(word) else word for word in shlex.split(a.deck)]
    given = {word.split("=")[0] for word in words if "=" in word}
    own = {"run.backend": a.backend, "run.steps": a.steps, "report.verify": "off", "launch.graph": "off"}
    if "launch.persistent" in given:
        del own["launch.graph"]  # it may have no effect there
    return profile(words + [f"{key}={value}" for key, value in own.items() if key not in given], a.steps, a)


def profile_ceiling(name, a):
    """Of a microbenchmark: atoms are its elements."""
    kernels, report = profile(["--ceilings", name, f"run.backend={a.backend}"], 0, a)
    known = {(row["backend"], row["group"], row["variant"]): row for row in a.ceiling_rows}
    report.update(n_atoms=None, neighbors_per_atom=None, stages=[])
    for result in report["results"]:
        row = known[result["backend"], result["group"], result["variant"]]
        for of_call, of_element in (("bytes_per_call", "bytes"), ("operations_per_call", "operations")):
            if result["check"] != "left out" and row[of_element] and report["n_atoms"] is None:
                report["n_atoms"] = round(result[of_call] / row[of_element])
    return kernels, report


def is_named(row, name):
    """As mdmini --ceilings takes names: GROUP, GROUP:* or GROUP:ROW, also with blanks behind the colon."""
    group, _, variant = (part.strip() for part in name.partition(":"))
    return row["group"] == group and (":" not in name or variant in ("*", row["variant"]))


def choose_ceilings(parser, a):
    """[GROUP:VARIANT] of what --ceilings names; a.ceiling_rows: all rows of the program."""
    a.ceiling_rows = json.loads(subprocess.run([a.mdmini, "--list-ceilings=json"], check=True, stdout=subprocess.PIPE).stdout)
    chosen = {}
    for name in a.ceilings:
        found = [f"{row['group']}:{row['variant']}" for row in a.ceiling_rows if a.backend in ("auto", row["backend"])
                 and is_named(row, name)]
        if not found:
            groups = sorted({row["group"] for row in a.ceiling_rows})
            parser.error(f"--ceilings: {name}: no such group or GROUP:ROW on this backend; groups: {', '.join(groups)}")
        chosen.update(dict.fromkeys(found))
    return list(chosen)


def choose_work(parser, a):
    """a.work: (name, function that profiles it) of all that is asked for."""
    if (a.rows is not None) + (a.deck is not None) + (a.ceilings is not None) > 1:
        parser.error("--rows, --deck and --ceilings exclude each other")
    if a.ceilings:
        a.work = [(name, lambda _, name=name: profile_ceiling(name, a)) for name in choose_ceilings(parser, a)]
    elif a.deck is not None:
        a.work = [(a.deck, lambda _: profile_deck(a))]
    else:
        a.rows = a.rows or "1m,32k,4k"
        bench.choose_rows(parser, a)
        a.work = [(fields["row"], lambda place, fields=fields: profile_row(Row(fields, Melt(fields, a, place), []), a))
                  for fields in a.chosen]


def read_arguments(words=None):
    parser = Parser(description=__doc__, formatter_class=bench.argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mdmini", type=os.path.abspath, help="the program")
    parser.add_argument("--rows", metavar="NAME,...", help="rows to profile, with * and ? (1m,32k,4k)")
    parser.add_argument("--deck", metavar='"FILE... section.key=value..."', help="files and overrides of a run, in place of rows")
    parser.add_argument("--ceilings", metavar="NAME", nargs="+",
                        help='groups of mdmini --ceilings, or rows of them ("bandwidth:stride 32"), in place of rows')
    parser.add_argument("--steps", type=whole, default=22, help="under the profiler, of rows and decks (22: with a rebuild)")
    parser.add_argument("--melt", type=whole, default=1000, metavar="STEPS", help="before that (1000)")
    parser.add_argument("--limit", type=positive, default=120, help="seconds that a run may take (120)")
    parser.add_argument("--words", default="", help='overrides of every run that is profiled: "section.key=value ..."')
    parser.add_argument("--backend", default="cuda", type=one_of("auto", "cuda"), metavar="{auto,cuda}", help="run.backend (cuda)")
    parser.add_argument("--table", default=str(DECKS / "rows.csv"), help="of the rows (inputs/bench/rows.csv)")
    parser.add_argument("--ncu", default="ncu", help="the profiler (ncu)")
    parser.add_argument("--output", default="ncu.json", metavar="FILE.json", help="the record (ncu.json)")
    a = parser.parse_args(words)
    a.decks = DECKS
    check_paths(parser, a)
    choose_work(parser, a)  # before ncu is looked for: a name that is wrong is told where there is none
    if not shutil.which(a.ncu):
        parser.error(f"{a.ncu}: no such program: it comes with the CUDA toolkit, as Nsight Compute")
    return a


def main():
    a = read_arguments()
    Budget(None).end_at_signals()
    os.environ["MDMINI_CALL_STEPS"] = str(a.steps)  # as in a long run: as many steps a launch as the program likes
    record, failed = {"command": sys.argv, "metrics": METRICS, "provenance": None, "rows": []}, []
    with tempfile.TemporaryDirectory(prefix="mdmini-ncu-") as place:
        for name, work in a.work:
            try:
                kernels, report = work(place)
                if not kernels and not a.ceilings:
                    raise NotRun("crashed", "ncu has told nothing of any kernel")
            except NotRun as why:
                print(f"{name}: {why}", flush=True)
                failed.append(name)
                continue
            if not kernels:  # a row of copies, or one that was left out
                print(f"{name}: no kernel", flush=True)
                continue
            record["provenance"] = record["provenance"] or json.loads(
                portable(json.dumps({**report["provenance"], "host": None}), place))
            record["rows"].append({"row": name, "n_atoms": report["n_atoms"],
                                   "neighbors_per_atom": report["neighbors_per_atom"], "kernels": kernels,
                                   "figures": {kernel: figures(kernel, of, report) for kernel, of in kernels.items()}})
            save_json(a.output, record)
            print("", *table(name, kernels, report), sep="\n", flush=True)
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
