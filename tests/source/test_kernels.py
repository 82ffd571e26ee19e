"""Kernels compare a switch with the constants of its own set, never with a number: a name that does not exist is 0 for the preprocessor."""
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
    checks.run(test_comparisons, test_planted)
    checks.finish()


main()
