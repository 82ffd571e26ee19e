"""mdmini --ceilings --quick: every row of the table is measured, its result checked, and told; the page is the table;
kernels that are wrong fail and have no figure; what is left out is said, with the reason; bad input touches nothing.

MDMINI_TEST_BACKENDS chooses the backend (cpu), as for other tests."""
import json
import math
import os
from pathlib import Path

import program
from program import Checks

BACKEND = os.environ.get("MDMINI_TEST_BACKENDS", "cpu").split(",")[0]
SOURCE = Path(os.environ["MDMINI_SOURCE"])
ROOFS = ["memory_bandwidth", "l2_bandwidth", "shared_bandwidth", "peak_single", "peak_double"]
UNITS = ["GB/s", "GFLOP/s", "G/s", "us"]
# What may be left out with --quick: what a process alone, a driver, no GPU, or a small size does not allow.
OPTIONAL = {"cpu": [("peers", "")],
            "cuda": [("peers", ""), ("unified", ""), ("random", "device"), ("reduction", "cooperative groups"),
                     ("reduction", "several, CUB"), ("latency", "barrier of the grid"), ("matrix", "cuBLAS")]}
IS_EMULATED = BACKEND == "cuda" and "emulated GPU" in program.run("--device", folder=".").stdout
REGISTERS = os.environ["MDMINI_EMULATOR_REGISTERS"] = "32,k_grids_many=70"  # as nvcc has it, where no compiler counts them


def table(folder, backend=BACKEND):
    rows = json.loads(program.run("--list-ceilings=json", folder=folder).stdout)
    return [row for row in rows if row["backend"] == backend]


def names(rows):
    return [(row["group"], row["variant"]) for row in rows]


def listing(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def check_sum(checks, what, told):
    """Of n positive numbers in single precision: off by n - 1 roundings at most (Higham 2002, section 4.2), in any order."""
    exact = told["numbers"] * told["number"]
    error = abs(told["result"] / exact - 1)
    checks.near(told["number"], 1.23, 1e-7, f"{what}: number")
    checks.that(error <= (told["numbers"] - 1) * 2**-24 < 1e-2, f"{what}: {told}")
    checks.near(told["relative_error"], error, 1e-12, f"{what}: error")


def check_measured(checks, row, result):
    what = f"{row['group']}, {row['variant']}"
    if result["check"] == "left out":
        checks.that(bool(result["reason"]) and result["median"] is None, f"{what}: left out without a reason")
        optional = any(row["group"] == group and row["variant"].startswith(variant) for group, variant in OPTIONAL[BACKEND])
        checks.that(optional, f"{what}: left out: {result['reason']}")
        return
    checks.that(result["check"] == "passed", f"{what}: {result['check']}: {result['reason']}")
    checks.that(all(math.isfinite(result[key] or math.nan) for key in ("low", "median", "high")), f"{what}: {result}")
    checks.that(0 < result["low"] <= result["median"] <= result["high"], f"{what}: order of the figures: {result}")
    checks.that(result["unit"] == row["unit"] and result["size"] == row["quick_size"], f"{what}: unit or size: {result}")
    checks.that(result["rounds"] == 3 and result["seconds_per_call"] > 0, f"{what}: rounds: {result}")
    checks.near(result["confidence"], 0.75, 0, f"{what}: that the median lies between the extremes of three")
    if row["group"] == "reduction" and (BACKEND == "cuda" or row["variant"].startswith("single")):
        check_sum(checks, what, result["sum"])
    else:
        checks.that(result["sum"] is None, f"{what}: {result['sum']}")
    work = {"GB/s": result["bytes_per_call"], "GFLOP/s": result["operations_per_call"]}.get(row["unit"])
    if work is not None:  # the figure is the work over the time, both as told
        checks.near(result["median"] * result["seconds_per_call"] * 1e9, work, 1e-9 * work, f"{what}: figure")


def check_roofs(checks, report, wanted):
    checks.that(list(report["ceilings"]) == ROOFS, f"ceilings: {list(report['ceilings'])}")
    for roof, entry in report["ceilings"].items():
        best = [r["median"] for r, row in wanted if row["roofline"] == roof and r["median"] is not None]
        checks.that(entry[BACKEND] == (max(best) if best else None), f"{roof}: {entry}, rows {best}")
        checks.that(entry["unit"] == ("GFLOP/s" if roof.startswith("peak") else "GB/s"), f"{roof}: {entry}")


def test_registers(checks, folder):
    """A row about registers is left out where the compiler gives its threads more or fewer."""
    if not IS_EMULATED:
        return
    for few, many, left_out in ((54, 70, []), (64, 65, []), (65, 64, ["up to 64", "more than 64"]), (32, 32, ["more than 64"])):
        os.environ["MDMINI_EMULATOR_REGISTERS"] = f"32,k_grids_few={few},k_grids_many={many}"
        done = program.run("--ceilings", "occupancy", "--quick", "run.backend=cuda", "output.existing=overwrite", folder=folder)
        results = json.loads((Path(folder) / "ceilings.json").read_text())["results"]
        found = {result["variant"]: result["reason"] for result in results if result["check"] == "left out"}
        expected = {f"{name} registers": f"the compiler gives its threads {many if name.startswith('more') else few} registers"
                    for name in left_out}
        checks.that(done.code == 0 and found == expected, f"{few} and {many} registers: {found}")
    os.environ["MDMINI_EMULATOR_REGISTERS"] = REGISTERS


def test_all(checks, folder):
    """Every row, once, or once for each number of threads; the table on the screen has them, too."""
    done = program.run("--ceilings", "--quick", f"run.backend={BACKEND}", folder=folder)
    checks.that(done.code == 0, f"exit code {done.code}: {done.last_lines()}")
    checks.that(listing(folder) == ["ceilings.json"], f"left {listing(folder)}")
    report = json.loads((Path(folder) / "ceilings.json").read_text())
    checks.that(report["format"] == "mdmini-ceilings 1" and report["quick"] and report["verdict"] == "PASSED", "head")
    checks.that("median of up to 9 rounds; spread" in done.stdout, "head of the text")
    load = report["conditions"]["before"]["load_1min"]
    checks.that(("the machine was busy before" in done.stdout) == ((load or 0) > os.cpu_count()), f"load {load}: {done.last_lines()}")
    for key in ("commit", "command", "machine", "started"):
        checks.that(bool(report["provenance"][key]), f"provenance: {key}")
    rows = table(folder)
    results = [result for result in report["results"] if result["backend"] == BACKEND]
    checks.that(list(dict.fromkeys(names(results))) == names(rows), "rows measured are not those of the table")
    by_name = {(row["group"], row["variant"]): row for row in rows}
    wanted = [(result, by_name[result["group"], result["variant"]]) for result in results]
    for result, row in wanted:
        check_measured(checks, row, result)
        checks.that(row["variant"] in " ".join(done.stdout.split()), f"{row['variant']} is not in the text")
        checks.that(row["unit"] in UNITS and row["shows"] and row["check"], f"{row}")
    others = [result for result in report["results"] if result["backend"] != BACKEND]
    checks.that(all(r["check"] == "left out" and f"run.backend = {BACKEND}" in r["reason"] for r in others), "others")
    check_roofs(checks, report, wanted)
    print(f"{len(rows)} rows, {sum(result['check'] == 'left out' for result in results)} left out")


def test_page(checks, folder):
    page = program.run("--list-ceilings=markdown", folder=folder).stdout
    checks.that((SOURCE / "inputs" / "CEILINGS.md").read_text() == page,
                "inputs/CEILINGS.md differs; print it anew: mdmini --list-ceilings=markdown > inputs/CEILINGS.md")
    for backend in ("cpu", "cuda"):
        rows = table(folder, backend)
        checks.that(len(set(names(rows))) == len(rows) > 0, f"{backend}: rows that bear one name")


def test_choice(checks, folder):
    """Groups, options, files that exist."""
    done = program.run("--ceilings", "reduction", "--quick", "transpose", f"run.backend={BACKEND}", "output.name=mine",
                       folder=folder)
    report = json.loads((Path(folder) / "mine.json").read_text())
    groups = {result["group"] for result in report["results"]}
    rows = table(folder)
    one, group = rows[0], [row for row in rows if row["group"] == "transpose"]
    for name, wanted in [(f"{one['group']}:{one['variant']}", [one]), (f"{one['group']}:  {one['variant']}", [one]),
                         ("transpose: *", group), ("transpose:*", group)]:
        program.run("--ceilings", name, "--quick", f"run.backend={BACKEND}", "output.name=one", "output.existing=overwrite",
                    folder=folder)
        results = json.loads((Path(folder) / "one.json").read_text())["results"]
        found = set(names([result for result in results if result["backend"] == BACKEND]))
        checks.that(found == set(names(wanted)), f"{name}: {found}")
    checks.that(done.code == 0 and groups == {"reduction", "transpose"}, f"groups {groups}")
    refused = program.run("--ceilings", "reduction", "--quick", f"run.backend={BACKEND}", "output.name=mine",
                          "output.existing=refuse", folder=folder)
    checks.that(refused.code == 2 and "mine.json" in refused.stderr, f"refuse: {refused.stderr}")
    old = (Path(folder) / "mine.json").read_bytes()
    program.run("--ceilings", "reduction", "--quick", f"run.backend={BACKEND}", "output.name=mine", folder=folder)
    checks.that((Path(folder) / "mine.1.json").read_bytes() == old, "no backup of the older result")


def test_left_out(checks, folder):
    """Names of which the other backend alone has rows are left out beside others, and the verdict says how many rows are."""
    other, only = ("cuda", "banks") if BACKEND == "cpu" else ("cpu", "branch: sorted")
    done = program.run("--ceilings", only, "transpose", "--quick", f"run.backend={BACKEND}", folder=folder)
    report = json.loads((Path(folder) / "ceilings.json").read_text())
    left_out = [row for row in report["results"] if row["check"] == "left out"]
    checks.that(done.code == 0 and report["left_out"] == len(left_out) > 0 and {row["backend"] for row in left_out} == {other}, f"{left_out}")
    checks.that(f"\nverdict: PASSED, without the {len(left_out)} rows left out\n" in done.stdout, done.last_lines())
    if BACKEND == "cpu":
        done = program.run("--ceilings", "transpose: copy", "bandwidth: stride 8", "--quick", "run.backend=cpu", folder=folder)
        left_out = json.loads((Path(folder) / "ceilings.json").read_text())["left_out"]
        checks.that(left_out == 2 and "without the 2 rows left out" in done.stdout, f"of the other backend: {done.last_lines()}")


def test_threads(checks, folder):
    """Rows that sweep the threads do so up to the number given."""
    if BACKEND != "cpu":
        return
    program.run("--ceilings", "bandwidth", "--quick", "run.backend=cpu", "run.threads=3", folder=folder)
    results = json.loads((Path(folder) / "ceilings.json").read_text())["results"]
    triad = [result["threads"] for result in results if result["backend"] == "cpu" and result["variant"] == "triad"]
    checks.that(triad == [1, 2, 3], f"threads of triad: {triad}")


def test_caches(checks, folder):
    """Arrays and chains of main memory grow with the caches; where memory does not suffice there is no figure, nor a roof."""
    if BACKEND != "cpu":
        return
    cache = Path(folder) / "sys" / "devices" / "system" / "cpu" / "cpu0" / "cache" / "index0"
    cache.mkdir(parents=True)
    for name, text in (("level", "3"), ("size", "4194304M"), ("shared_cpu_list", "0-1")):
        (cache / name).write_text(text + "\n")
    os.environ["MDMINI_SYS"] = str(Path(folder) / "sys")
    grown = {("bandwidth", variant) for variant in ("read", "write", "copy", "scale", "triad")} | {("latency", "memory")}
    done = program.run("--ceilings", "bandwidth: stride 16", *(": ".join(name) for name in sorted(grown)), "run.backend=cpu", folder=folder)
    del os.environ["MDMINI_SYS"]
    report = json.loads((Path(folder) / "ceilings.json").read_text())
    left_out = {(r["group"], r["variant"]) for r in report["results"] if "four times the caches" in (r["reason"] or "")}
    checks.that(done.code == 0 and left_out == grown, f"left out: {left_out}")
    checks.that(report["ceilings"]["memory_bandwidth"]["cpu"] is None, "a roof that is that of a cache")
    measured = [r for r in report["results"] if r["check"] == "passed"]
    checks.that(len(measured) == 1 and all(r["rounds"] >= 6 and r["confidence"] >= 0.95 for r in measured), f"{measured}")


def test_broken(checks, folder):
    """A wrong kernel is FAILED and has no figure, in the table and in the JSON; one that does not compile ends it."""
    if BACKEND != "cuda":
        return
    kernels = Path(folder) / "src" / "microbench" / "kernels"
    kernels.mkdir(parents=True)
    source = SOURCE / "src" / "microbench" / "kernels"
    for file, group, good, bad in [
            ("transpose.cu", "transpose", "SWIZZLED ? k ^ lane : k", "SWIZZLED ? lane : k"),
            ("reduction.cu", "reduction", "if (t < half) s[t] += s[t + half];\n    }\n}",
             "if (t < half - 1) s[t] += s[t + half];\n    }\n}"),
            ("reduction.cu", "reduction", "i += grid_size()) x += a.a[i];", "i += grid_size()) x += 2 * a.a[i];"),
            ("reduction.cu", "reduction", "warp_sum(t < n_warps ? s[t]", "warp_sum(t < n_warps - 1 ? s[t]"),
            ("reduction.cu", "reduction", "i = (int)threadIdx.x; i < (int)gridDim.x; i += block",
             "i = (int)threadIdx.x + 1; i < (int)gridDim.x; i += block"),
            ("reduction.cu", "reduction", "if (thread_index() < a.n) atomicAdd(a.sum", "if (thread_index() % 32) atomicAdd(a.sum"),
            ("reduction_groups.cu", "reduction", "t < block / 32 ? s[t]", "t < block / 32 - 1 ? s[t]"),
            ("reduction_cub.cu", "reduction", "Reduction(s).Sum(x)", "x"),
            ("arithmetic.cu", "arithmetic", "run_chains<double, 8, true>", "run_chains<float, 7, true>"),
            ("atomics.cu", "atomics", "if (i < a.n) atomicAdd(s", "if (i + 1 < a.n) atomicAdd(s"),
            ("latency.cu", "latency", "if (thread_index() == 0)", "if (thread_index() < 2)"),
            ("transfer.cu", "transfer", "if (i >= a.n) return;", "if (i + 1 >= a.n) return;")]:
        text = (source / file).read_text()
        checks.that(good in text, f"{file}: nothing to break")
        (kernels / file).write_text(text.replace(good, bad))
        os.environ["MDMINI_KERNELS"] = str(Path(folder) / "src")
        done = program.run("--ceilings", group, "--quick", "run.backend=cuda", "output.existing=overwrite", folder=folder)
        results = json.loads((Path(folder) / "ceilings.json").read_text())
        failed = [result for result in results["results"] if result["check"] == "FAILED"]
        checks.that(done.code == 3 and results["verdict"] == "FAILED" and failed, f"{file}, broken: exit code {done.code}")
        if group == "latency":  # waits that are over before the kernels are must not pass unseen
            broken = {result["variant"] for result in failed}
            checks.that({"event", "idle stream"} <= broken, f"{file}, broken: {broken}")
        for result in failed:
            checks.that(result["median"] is None and result["reason"] and f"FAILED: {result['reason']}" in done.stdout,
                        f"{file}, broken: {result}")
        (kernels / file).unlink()
        del os.environ["MDMINI_KERNELS"]
    (kernels / "banks.cu").write_text("not CUDA\n")
    os.environ["MDMINI_KERNELS"] = str(Path(folder) / "src")
    done = program.run("--ceilings", "banks", "--quick", "run.backend=cuda", folder=folder)
    checks.that(done.code == 2 and "compile" in done.stderr and "verdict" not in done.stdout,
                f"not CUDA: {done.code}, {done.stderr[:200]!r}")
    del os.environ["MDMINI_KERNELS"]


# Faults of kernels, several of a file at once, each with the rows that must notice it (by the start of their names).
FAULTS = [
    ("bandwidth.cu", "bandwidth", [
        ("threadIdx.x * 5 % 32", "threadIdx.x * 4 % 32", ["permuted"]),
        ("a.a[i & ~31LL]", "a.a[i & ~15LL]", ["broadcast"]),
        ("a.a[a.n - 1 - i]", "a.a[a.n - i]", ["reversed"]),
        ("s[last - (int)threadIdx.x]", "s[threadIdx.x]", ["reversed, static", "reversed, dynamic"])]),
    ("banks.cu", "banks", [
        (" ^ a.shift;", ";", ["permuted"]),
        ("<long long, 512>", "<long long, 128>", ["8 bytes, stride 1", "8 bytes, stride 2"])]),
    ("transpose.cu", "transpose", [
        ("= s_tile[k * tile + lane]", "= s_tile[lane * tile + k]", ["copy through"]),
        ("copy_tile<double>", "copy_tile<float>", ["copy, double"]),
        ("write_strided<double>", "write_strided<float>", ["writes strided, double"]),
        ("<double, tile, false>", "<float, tile, false>", ["shared, double"]),
        ("<double, tile + 1, false>", "<float, tile + 1, false>", ["padded, double"])]),
    ("atomics.cu", "atomics", [
        ("atomicAdd(counter, (float)x)", "atomicAdd(counter, 1.0f)", ["float, one address", "float, spread"]),
        ("atomicAdd(counter, (double)x)", "atomicAdd(counter, 1.0)", ["double, one address", "double, spread"]),
        ("atomicAdd(counter, (Wide)x)", "atomicAdd((unsigned *)counter + 1, x)", ["64 bits, one address", "64 bits, spread"]),
        ("atomicMax(counter, x)", "atomicMin(counter, x)", ["max"]),
        ("atomicAdd_block(counter, x)", "atomicAdd_block(counter, 1u)", ["block scope"]),
        ("atomicAdd_system(counter, x)", "atomicAdd_system(counter + 1, x)", ["system scope"]),
        ("while (seen != expected)", "while (false)", ["double by CAS, one address"])]),
    ("paths.cu", "paths", [
        ("j += 1 + a.mask", "j += 2 + a.mask", ["local"]),
        ("sum += own[j];", "sum += own[0];", ["registers"])]),
    ("chase.cu", "latency", [
        ("__ldg(entry)", "__ldg((const Entry *)__ldg(entry))", ["load, L1", "load, memory"]),
        ("__ldcg(entry)", "__ldcg((const Entry *)__ldcg(entry))", ["load, L2"]),
        ("(const char *)s + at", "(const char *)s + (at & ~4)", ["load, shared"]),
        ("fmaf(x, a.one, a.one)", "fmaf(x, a.one, 2 * a.one)", ["multiply-add"])]),
    ("transfer.cu", "transfer", [("a.a[i] + a.c[i]", "a.a[i] - a.c[i]", ["add with"])]),
    ("transfer.cu", "streams", [("a.b[i] = 3 *", "a.b[i] = 2 *", ["in, kernel, out", "kernels, ", "host after", "host beside"])]),
    ("branch.cu", "branch", [
        ("x < 54", "x < 53", ["by lane, short", "by warp, short"]),
        ("(int)threadIdx.y & (a.parameter - 1)", "1 - (int)threadIdx.y", ["no lane idle", "half a warp idle"])]),
    ("grids.cu", "occupancy", [
        ("x >= CUDA_CEILING_PICTURE_X", "x + 1 >= CUDA_CEILING_PICTURE_X", ["picture"]),
        ("a.one, CUDA_CEILING_WAVE_STEPS", "a.one, CUDA_CEILING_WAVE_STEPS - 1", ["one wave"]),
        ("#pragma unroll 1\n    for (long long i = thread_index(); i < a.n;",
         "#pragma unroll 1\n    for (long long i = thread_index(); i < a.n - 1;",
         ["up to 64", "more than 64"]),
        ("CEILING(grids_copy) {\n    for (long long i = thread_index(); i < a.n;",
         "CEILING(grids_copy) {\n    for (long long i = thread_index(); i < a.n - 1;",
         ["block ", "1 block", "2 blocks", "4 b", "8 b", "16 blocks an"])]),
    ("grids.cu", "occupancy", [  # the block that is left over
        ("CEILING(grids_wave) { a.b", "CEILING(grids_wave) { if (blockIdx.x != N_SMS) a.b", ["one wave and"])]),
    ("ceiling.cuh", "intensity", [("k >= 10; k -= 10", "k >= 20; k -= 20", ["20 ", "50 "])]),
    ("matrix.cu", "matrix", [("multiply_tiled<16, 1>(a)", "multiply_plain(a, threadIdx.x, threadIdx.y)", ["tiled, 16, not"])]),
    ("operations.cu", "operations", [
        ("REAL(divide, 3 * a.one / x)", "REAL(divide, (3 * a.one + 1e-6f) / x)", ["divide"]),
        ("__fdividef(3 * a.one, x)", "__fdividef(3 * a.one, x) * 1.000002f", ["divide, fast"]),
        ("REAL(sqrt, sqrtf(x))", "REAL(sqrt, sqrtf(x + 5e-7f))", ["square root"]),
        ("__fdividef(1, rsqrtf(x))", "__fdividef(1, rsqrtf(x)) * 1.000002f", ["square root, by"]),
        ("REAL(rsqrt, rsqrtf(x))", "REAL(rsqrt, rsqrtf(x) * 1.000002f)", ["rsqrtf"]),
        ("__sinf(x)", "__sinf(x) * 1.000002f", ["sine, fast"]),
        ("sinf(opaque(c.x))", "sinf(opaque(c.x)) * 1.000002f", ["sine"]),
        ("sinf(opaque(c.at))", "sinf(opaque(c.at)) * 1.000002f", ["sine, slow"]),
        ("(float)((int)x + 1)", "x + 1", ["float to int"]),
        ("x * 1.0001)", "x * 1.0001f)", ["constant in double"]),
        ("12345 + x", "12344 + x", ["integer multiply"]),
        ("(unsigned)a.parameter / x", "(unsigned)a.parameter / x + (x == 7)", ["integer divide"]),
        ("(x + 700) % (", "(x + 701) % (", ["integer modulo"]),
        ("(x + 700) % 1024", "(x + 700) % 1023", ["integer modulo, 1024"]),
        ("__popc(x))", "__popc(x >> 1))", ["popcount"]),
        ("(int)threadIdx.x + 1", "(int)threadIdx.x + 2", ["shuffle"]),
        ("(int)(x & 1)", "(int)(x & 2)", ["ballot"]),
        ("c.bits, ones, ones", "c.bits, 0x3c003c00u, 0x3c004000u", ["half2"]),
        ("1 + (sum + 1) % 3)", "1 + sum % 3)", ["tensor"])])]


def test_faults(checks, folder):
    """Each fault is seen by the rows of that kernel, and by no other."""
    if BACKEND != "cuda":
        return
    kernels = Path(folder) / "src" / "microbench" / "kernels"
    kernels.mkdir(parents=True)
    os.environ["MDMINI_KERNELS"] = str(Path(folder) / "src")
    told = json.loads(program.run("--device=json", folder=folder).stdout)["devices"]
    n_sms = next(device["multiprocessors"] for device in told if device["backend"] == "cuda")
    os.environ["MDMINI_EMULATOR_PREEMPT"] = "2"  # an exchange that comes too late is seen where others come between
    for file, group, faults in FAULTS:
        text = (SOURCE / "src" / "microbench" / "kernels" / file).read_text()
        for good, bad, _ in faults:
            checks.that(text.count(good) == 1, f"{file}: {good!r} stands there {text.count(good)} times")
            text = text.replace(good, bad.replace("N_SMS", str(n_sms)))
        (kernels / file).write_text(text)
        done = program.run("--ceilings", group, "--quick", "run.backend=cuda", "output.existing=overwrite", folder=folder)
        (kernels / file).unlink()
        results = json.loads((Path(folder) / "ceilings.json").read_text())["results"]
        failed = {result["variant"] for result in results if result["check"] == "FAILED"}
        wanted = {result["variant"] for result in results for fault in faults for start in fault[2]
                  if result["backend"] == "cuda" and result["variant"].startswith(start)}
        checks.that(done.code == 3 and failed == wanted, f"{file}, faults: {failed ^ wanted} of {wanted}")
    del os.environ["MDMINI_KERNELS"], os.environ["MDMINI_EMULATOR_PREEMPT"]


def test_refusals(checks, folder):
    for words, says in [(["--ceilings", "nothing"], "no such group; allowed: bandwidth, transpose, reduction,"),
                        (["--ceilings", "bandwith"], 'did you mean "bandwidth"?'),
                        (["--ceilings", "bandwith:triad"], 'no such group; did you mean "bandwidth"?'),
                        (["--ceilings", "transpose:nothing"], 'no such row of this group; allowed: "copy", '),
                        (["--ceilings", "branch: one weg"], 'did you mean "one way"?'),
                        (["--ceilings", "branch:"], "no such row of this group"),
                        (["--ceilings", "system.cells=4"], "no use for it"),
                        (["--ceilings", "run.threads=0"], "run.threads"), (["--quick", "x.txt"], "--ceilings"),
                        (["--ceilings", "occupancy", "--quick", "run.backend=cpu"], "occupancy: this is of the cuda backend"),
                        (["--ceilings", "branch:one way", "run.backend=cpu"], "branch:one way: this is of the cuda backend"),
                        (["--ceilings", "banks", "occupancy", "run.backend=cpu"], "occupancy: this is of the cuda backend"),
                        (["--ceilings", "--check"], "excludes"), (["--ceilings", "--bench", "force"], "excludes"),
                        (["--ceilings", "output.directory=nowhere"], "nowhere"),
                        (["--ceilings", "run.backend=cuda", "run.device=999"], "error: command line: run."),
                        (["--ceilings", "run.backend=cpu", "reduction=1"], "no section")]:
        done = program.run(*words, folder=folder)
        checks.that(done.code == 2 and says in done.stderr, f"{words}: exit code {done.code}, {done.stderr!r}")
        checks.that(listing(folder) == [], f"{words} left {listing(folder)}")
    both = program.run("--ceilings", "transpose:nothing", folder=folder).stderr  # rows of both backends stand there once
    checks.that(both.count('"copy"') == 1 and both.count('"writes strided"') == 1, f"{both}")


def main():
    checks = Checks()
    checks.run(test_registers, test_all, test_page, test_choice, test_left_out, test_threads, test_caches, test_broken, test_faults, test_refusals)
    checks.finish()


main()
