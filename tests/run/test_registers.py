"""run/registers.py with a stand-in for the program: it leaves images of which all is known, and runs the program that is there."""
import os
import struct
import subprocess
import sys
from pathlib import Path

import program
from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
sys.path.insert(0, str(SOURCE / "run"))
import registers

ROWS = """row,system,cells,atoms,precision,rule,steps,target,unit,asked
a,lj,5,500,mixed,every,40,1,steps/s,
b,lj,5,500,mixed,safe,40,1,steps/s,
d,lj,5,500,double,every,40,1,steps/s,
"""

STAND_IN = '''#!/usr/bin/env python3
import os, sys
sys.path[:0] = {path!r}
from test_registers import image
kernels = os.environ.get("MDMINI_KERNELS")
if "run.precision=double" in sys.argv:
    print("mdmini: error: kernels do not compile:\\nline 3: no such thing", file=sys.stderr)
    sys.exit(2)
safe = any(word.endswith("safe.txt") for word in sys.argv)
with open(os.environ["MDMINI_KERNEL_CACHE"] + "/step-13.0-0.image", "wb") as out:
    out.write(b"//\\n.version 9.0" if safe else image({{"k_step_a": (40, 24 if kernels else 0, 5, 2, 64), "k_step_b": (32, 0, 3, 0, 0)}}))
with open(os.environ["MDMINI_KERNEL_CACHE"] + "/gather-13.0-0.image", "wb") as out:
    out.write(image({{"k_gather": (16, 0, 1, 0, 0)}}))
words = [word.replace("run.backend=cuda", "run.backend=cpu") for word in sys.argv[1:]]
os.execv({program!r}, [{program!r}, *words])
'''


def image(kernels):
    """An ELF file of 64 bits: kernels {name: (registers, bytes spilled, instructions, those of local memory, bytes shared)}."""
    names, strings, symbols, info, sections = b"\0", b"\0", b"\0" * 24, b"", []
    for name, (regs, spilled, count, local, shared) in kernels.items():
        number = len(symbols) // 24
        symbols += struct.pack("<IBBHQQ", len(strings), 0, 0, 0, 0, 0)
        strings += name.encode() + b"\0"
        info += struct.pack("<BBH", 3, 0x1b, 255)  # one whose value is in it
        for attribute, value in ((0x2f, regs), (0x11, spilled), (0x12, 7)):  # the last one is of no interest
            info += struct.pack("<BBHII", 4, attribute, 8, number, value)
        words = [0x983 if k % 2 else 0x387 for k in range(local)] + [0x223] * (count - local)
        sections.append((f".text.{name}", b"".join(struct.pack("<HHIQ", word | 0x7000, 0, 0, 0) for word in words), 0))
        if shared:
            sections.append((f".nv.shared.{name}", shared, 0))
    sections += [(".nv.info", info, 0), (".symtab", symbols, 0), (".strtab", strings, 0), (".shstrtab", b"", 0)]
    numbers = {name: k for k, (name, _, _) in enumerate(sections)}
    starts = []
    for name, _, _ in sections:
        starts.append(len(names))
        names += name.encode() + b"\0"
    body, heads = b"", b""
    for k, (name, content, _) in enumerate(sections):
        content = names if name == ".shstrtab" else content
        size = content if isinstance(content, int) else len(content)
        heads += struct.pack("<IIQQQQIIQQ", starts[k], 0, 0, 0, 64 + len(body), size, numbers[".strtab"], 0, 0, 0)
        body += b"" if isinstance(content, int) else content
    head = b"\x7fELF" + b"\0" * 36 + struct.pack("<Q", 64 + len(body)) + b"\0" * 10 + struct.pack("<HHH", 64, len(sections), numbers[".shstrtab"])
    return head + body + heads


def run(folder, *words):
    (Path(folder) / "rows.csv").write_text(ROWS)
    stand_in = Path(folder) / "mdmini"
    stand_in.write_text(STAND_IN.format(path=[str(SOURCE / "tests/run"), *sys.path], program=str(program.program())))
    stand_in.chmod(0o755)
    return subprocess.run([sys.executable, "-B", SOURCE / "run/registers.py", "--program", str(stand_in), "--table", "rows.csv", *words],
                          cwd=folder, capture_output=True, text=True)


def test_image(checks, _):
    kernels = {"k_one": (255, 16, 9, 4, 1024), "k_two": (1, 0, 1, 0, 0), "other": (3, 0, 1, 0, 0)}
    found = registers.read_image(image(kernels))
    checks.that(found == {"k_one": {"regs": 255, "spilled": 16, "local": 4, "instr": 9, "shared": 1024},
                          "k_two": {"regs": 1, "spilled": 0, "local": 0, "instr": 1, "shared": 0}}, f"read {found}")


def test_table(checks, folder):
    done = run(folder, "--rows", "a")
    checks.that(done.returncode == 0, f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    shown = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if line.startswith("k_")}
    checks.that(shown == {"k_step_a": ["40", "0", "2", "5", "64"], "k_step_b": ["32", "0", "0", "3", "0"]}, f"table: {done.stdout}")
    done = run(folder, "--rows", "a", "--all")
    checks.that("k_gather" in done.stdout, f"kernels of all units: {done.stdout}")


def test_against(checks, folder):
    """Of two versions what differs."""
    done = run(folder, "--rows", "a", "--against", str(SOURCE / "src"))
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("k_")]
    checks.that(done.returncode == 0 and lines == [["k_step_a", "40", "24", "->", "0", "2", "5", "64"]], f"table: {done.stdout}{done.stderr}")


def test_faults(checks, folder):
    done = run(folder, "--rows", "b,a")
    checks.that(done.returncode == 1 and "FAILED: b" in done.stdout and "k_step_a" in done.stdout, f"text for a later compiler: {done.stdout}")
    done = run(folder, "--rows", "a", "--against", folder)
    checks.that(done.returncode == 2 and "no kernels there" in done.stderr, f"no kernels: {done.stderr}")
    done = run(folder, "--rows", "")
    checks.that(done.returncode == 2 and "none is named" in done.stderr, f"no row: {done.stderr}")
    done = run(folder, "--rows", "d,a")
    checks.that(done.returncode == 1 and "refused" in done.stdout and "line 3: no such thing" in done.stdout and "k_step_a" in done.stdout,
                f"kernels that do not compile: {done.stdout}{done.stderr}")
    done = run(folder, "--rows", "c")
    checks.that(done.returncode == 2, f"no such row: {done.stderr}")


if __name__ == "__main__":  # the stand-in imports this, too
    checks = Checks()
    checks.run(test_image, test_table, test_against, test_faults)
    checks.finish()
