"""mdmini --device: the processor and the GPUs, as text and as JSON; what is said where there is none; no other words beside it."""
import json
import os
import subprocess

import program

KEYS = {"compute_capability", "multiprocessors", "clock_mhz", "memory_bytes", "memory_clock_mhz", "memory_bus_bits", "l2_bytes",
        "constant_bytes", "shared_bytes_per_block", "shared_bytes_per_block_opt_in", "shared_bytes_per_multiprocessor",
        "registers_per_block", "registers_per_multiprocessor", "warp_size", "threads_per_block", "threads_per_multiprocessor",
        "blocks_per_multiprocessor", "block_limits", "grid_limits", "copy_engines", "concurrent_kernels", "unified_addressing",
        "managed_memory", "cooperative_launch", "pci_address", "driver_cuda", "runtime_cuda"}
VERSION = subprocess.run([program.program(), "--version"], capture_output=True, text=True).stdout
HAS_CUDA = "cuda (" in VERSION
IS_EMULATED = HAS_CUDA and "emulated GPU" in subprocess.run([program.program(), "--device"], capture_output=True, text=True).stdout


def ask(folder, *words, **environment):
    done = subprocess.run([program.program(), *words], capture_output=True, text=True, cwd=folder, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def devices(folder, **environment):
    code, told, errors = ask(folder, "--device=json", **environment)
    return json.loads(told) if code == 0 and not errors else {"devices": [], "missing": {}, "said": errors}


def test_processor(checks, folder):
    told = devices(folder)
    cpus = [device for device in told["devices"] if device["backend"] == "cpu"]
    if not checks.that(len(cpus) == 1, f"processors: {told}"):
        return
    cpu = cpus[0]
    checks.that(cpu["number"] == 0 and cpu["name"] and cpu["instruction_set"], f"the processor: {cpu}")
    checks.that(cpu["threads"] == len(os.sched_getaffinity(0)) and cpu["logical_processors"] == os.cpu_count(), f"its threads: {cpu}")
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = 1024 * int(file.readline().split()[1])
    checks.that(cpu["memory_bytes"] == memory, f"main memory {cpu['memory_bytes']}, of {memory}")
    code, text, _ = ask(folder, "--device")
    checks.that(code == 0 and f"cpu 0: {cpu['name']}\n" in text and f" {memory} bytes (" in text, f"as text: {text}")
    checks.that(not os.listdir(folder), f"it leaves {os.listdir(folder)}")


def test_no_gpu(checks, folder):
    hidden = {"CUDA_VISIBLE_DEVICES": "", "MDMINI_EMULATOR_DEVICES": "0"}
    told = devices(folder, **hidden)
    checks.that([device["backend"] for device in told["devices"]] == ["cpu"], f"without a GPU: {told}")
    why = told["missing"].get("cuda", "")
    checks.that(("no " in why) if HAS_CUDA else "built without" in why, f"why there is none: {told}")
    code, text, errors = ask(folder, "--device", **hidden)
    checks.that(code == 0 and f"cuda: none: {why}\n" in text and not errors and "cpu 0: " in text, f"as text: {code} {text} {errors}")


def test_gpus(checks, folder):
    """On the emulated GPU, whose facts are known; on a GPU, facts that hold for all."""
    told = devices(folder, **({"MDMINI_EMULATOR_GPU": "8.6,28", "MDMINI_EMULATOR_DEVICES": "2"} if IS_EMULATED else {}))
    gpus = [device for device in told["devices"] if device["backend"] == "cuda"]
    checks.that(bool(gpus) != ("cuda" in told["missing"]), f"neither GPUs nor a reason: {told}")
    for number, gpu in enumerate(gpus):
        checks.that(set(gpu) == KEYS | {"backend", "number", "name"} and gpu["number"] == number, f"facts: {sorted(set(gpu) ^ KEYS)}")
        checks.that(gpu["warp_size"] == 32 and gpu["threads_per_multiprocessor"] % 32 == 0 and gpu["constant_bytes"] == 65536, f"{gpu}")
        checks.that(gpu["block_limits"][2] == 64 and gpu["grid_limits"] == [2147483647, 65535, 65535], f"limits: {gpu}")
        checks.that(gpu["shared_bytes_per_block"] <= gpu["shared_bytes_per_block_opt_in"] <= gpu["shared_bytes_per_multiprocessor"],
                    f"shared memory: {gpu}")
        checks.that(gpu["concurrent_kernels"] is True and gpu["cooperative_launch"] is True, f"abilities: {gpu}")
    if IS_EMULATED:
        checks.that(len(gpus) == 2, f"{len(gpus)} of 2 GPUs")
        for gpu in gpus:
            known = {"compute_capability": "8.6", "multiprocessors": 28, "threads_per_multiprocessor": 1536, "clock_mhz": 1000,
                     "blocks_per_multiprocessor": 16, "shared_bytes_per_block": 49152, "shared_bytes_per_block_opt_in": 99 << 10,
                     "block_limits": [1024, 1024, 64], "pci_address": f"0000:00:{gpu['number']:02x}.0", "memory_bus_bits": 64}
            checks.that(all(gpu[key] == value for key, value in known.items()), f"the emulated GPU: {gpu}")


def test_refused(checks, folder):
    for words, expected in ((["--device", "x.txt"], "--device must be the only argument, without x.txt"), (["x.txt", "--device"], "must be the only argument, without x.txt"),
                            (["--devise"], 'did you mean "--device"?'),
                            (["--device=xml"], "allowed are --device, --device=text, --device=json\n"),
                            (["--device=markdown"], "allowed are --device, --device=text, --device=json\n")):
        code, told, errors = ask(folder, *words)
        checks.that(code == 2 and expected in errors and not told, f"{words}: {code} {told} {errors}")


checks = program.Checks()
checks.run(test_processor, test_no_gpu, test_gpus, test_refused)
checks.finish()
