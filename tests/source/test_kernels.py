"""Kernels compare a switch with the constants of its own set, never with a number: a name that does not exist is 0 for the preprocessor.
Above each kernel a line says what it reads and writes."""
import os
import re
from pathlib import Path

from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
FOLDERS = ("src/cuda/kernels", "src/microbench/kernels")


def constants(source):
    """{switch as kernels see it: its constants}."""
    sets = {}
    for name, values in re.findall(r"^CHOICES\((\w+),(.*?)\)\n(?=\n*(?:CHOICES|\Z))", (source / "src/deck/choices.def").read_text(), re.M | re.S):
        sets[name] = {f"MD_{constant}" for constant in re.findall(r"X\((\w+),", values)}
    rows = re.findall(r"^OPTION\((\w+), (\w+), CHOICE,\s*\"[^\"]*\",\s*\w+,\s*\w+,\s*(\w+),", (source / "src/deck/options.def").read_text(), re.M)
    return {f"MD_SW_{section}_{key}": sets.get(name, set()) for section, key, name in rows}


def compared(text):
    """(switch, what it is compared with)."""
    return re.findall(r"\b(MD_SW_\w+) *(?:==|!=|<=?|>=?(?!>)) *([\w.-]+)", text)


def problems(text, known):
    found = [f"{switch} and {other}" for switch, other in compared(text) if other not in known.get(switch, ())]
    found += re.findall(r"^ *#(?:if|elif) (?:.*[(&|] *)?!?MD_SW_\w+ *(?:$|[&|)]|/\*)", text, re.M)  # by its number, too
    first = re.search(r"^#(?:if|elif) .*MD_SW_", text, re.M)
    if first and not re.search(r'^#include "(?:cuda/kernels|deck/choices)', text[:first.start()], re.M):
        if "#ifndef MD_CUDA_COMMON_CUH" not in text:
            found.append("is before any file that has the constants")
    return found


def test_comparisons(checks, _):
    known, n = constants(SOURCE), 0
    checks.that(len(known) > 40 and "MD_KERNEL_BRICK" in known["MD_SW_force_kernel"], f"{len(known)} switches")
    for path in sorted(file for folder in FOLDERS for file in (SOURCE / folder).rglob("*.cu*")):
        text = path.read_text(encoding="utf-8")
        n += len(compared(text))
        found = problems(text, known)
        checks.that(not found, f"{path.relative_to(SOURCE)}: {found}")
    checks.that(n > 80, f"{n} comparisons of switches in kernels")


def without_line(text):
    """The kernels without the line above them that says what they read and write, and how many there are."""
    lines, lacking, n = text.splitlines(), [], 0
    for before, line in zip(["", *lines], lines):
        if re.match(r"MD_KERNEL(_OF\(\w+\))? k_", line):
            n += 1
            if not re.fullmatch(r"/\* Reads .+; writes .+\. \*/", before):
                lacking.append(line)
    return lacking, n


def test_lines(checks, _):
    n_all = 0
    for path in sorted((SOURCE / "src/cuda/kernels").rglob("*.cu*")):
        lacking, n = without_line(path.read_text(encoding="utf-8"))
        n_all += n
        checks.that(not lacking, f"{path.name}: no line `Reads ...; writes ...` above {lacking}")
    checks.that(n_all > 50, f"{n_all} kernels")
    kernel = "MD_KERNEL k_one(MD_ARGUMENTS) {\n"
    checks.that(without_line("/* Reads force [n]; writes velocity [n]. */\n" + kernel) == ([], 1), "a line is there")
    for text in ("", "/* Reads force [n]. */\n", "/* Reads force [n]; writes velocity [n]. */\n\n"):
        checks.that(len(without_line(text + kernel)[0]) == 1, f"no line: {text!r}")


def test_planted(checks, _):
    """What is wrong is found."""
    known = constants(SOURCE)
    head = '#include "cuda/kernels/common.cuh"\n'
    for line in ("#if MD_SW_force_kernel == 6", "#if MD_SW_launch_fuse != MD_FUSE_STEPS", "#elif MD_SW_force_kernel == MD_LIST_HALF",
                 "constexpr bool is_half = MD_SW_neighbor_list < 1;", "#if MD_SW_launch_bounds", "#if MD_DOMAIN && MD_SW_launch_bounds"):
        checks.that(len(problems(head + line + "\n", known)) == 1, line)
    checks.that(len(problems("#if MD_SW_force_kernel == MD_KERNEL_BRICK\n", known)) == 1, "no constants")
    checks.that(not problems(head + "#if MD_SW_force_kernel == MD_KERNEL_BRICK && MD_DOMAIN\n", known), "as it should be")


def main():
    checks = Checks()
    checks.run(test_comparisons, test_planted, test_lines)
    checks.finish()


main()
