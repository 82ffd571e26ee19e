#!/usr/bin/env bash
# Guess: GPUs of compute capability 10.7 hold 2,048 threads, 32 blocks and 228 KiB of shared memory per multiprocessor, like
# those of 10.0 and 10.3; two blocks of 1,024 threads fit, and kernels tuned for 10.0 keep their occupancy.
# Found: half the threads, half the blocks, and 328 KiB of shared memory. ptxas ignores a .minnctapersm beyond them, with a
# warning, and the header cuda_occupancy.h counts with 16 blocks. A kernel that hides latency with 64 warps has 32 there, and
# each of these threads may use 64 of the 65,536 registers. CUDA 13.5, from PyPI; no GPU is needed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile nvidia-cuda-nvcc==13.5.37 nvidia-cuda-runtime==13.5.37
"$folder/venv/bin/python" - <<'PYTHON'
import os, pathlib, re, subprocess, sysconfig, tempfile

root = pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia"
ptxas = next(root.rglob("bin/ptxas"))
os.chmod(ptxas, 0o755)
print(re.search("V[0-9.]+", subprocess.run([ptxas, "--version"], capture_output=True, text=True).stdout)[0])
TEXT = """.version 9.5
.target sm_{cc}
.address_size 64
.visible .entry k()
.maxntid {threads},1,1
.minnctapersm {blocks}
{{ ret; }}
"""


def fits(cc, threads, blocks):
    """Whether so many blocks of so many threads can be on a multiprocessor."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "k.ptx"
        path.write_text(TEXT.format(cc=cc, threads=threads, blocks=blocks))
        done = subprocess.run([ptxas, f"-arch=sm_{cc}", path, "-o", os.devnull], capture_output=True, text=True, check=True)
        return "out of range" not in done.stdout + done.stderr


seen = {}
for cc in (100, 103, 107, 120):
    threads = max(n for n in range(512, 2049, 256) if fits(cc, n // 2, 2))
    seen[cc] = threads, max(n for n in range(8, 41, 8) if fits(cc, 32, n))
    print(f"compute capability {cc / 10}: {threads} threads, {seen[cc][1]} blocks a multiprocessor")
header = next(root.rglob("cuda_occupancy.h")).read_text()
case = header[header.index("case 7:\n            {"):]
seen["KiB"] = max(int(n) for n in re.findall(r"size <= (\d+) \* 1024", case[:case.index("default:")]))
print(f"compute capability 10.7: {seen['KiB']} KiB of shared memory a multiprocessor")
assert seen == {100: (2048, 32), 103: (2048, 32), 107: (1024, 16), 120: (1536, 24), "KiB": 328}, "this has changed"
PYTHON
