"""Every mutant of tests/gpu/mutations fits the kernels as they are: its text stands once where it says."""
import os
import sys
from pathlib import Path

SOURCE = Path(os.environ["MDMINI_SOURCE"])
sys.path.insert(0, str(SOURCE / "tests/gpu"))
import mutants  # noqa: E402

n_failed = 0
for mutant in mutants.MUTANTS:
    text = (SOURCE / "src" / mutant.file).read_text()
    try:
        changed = mutants.change(text, mutant)
    except ValueError as error:
        print(f"FAILED: {mutant.name}: {error}")
        n_failed += 1
        continue
    if changed == text:
        print(f"FAILED: {mutant.name} changes nothing")
        n_failed += 1
names = [mutant.name for mutant in mutants.MUTANTS]
twice = sorted({name for name in names if names.count(name) > 1})
if twice:
    print(f"FAILED: two mutants have the same name: {twice}")
print(f"{len(names)} mutants, {n_failed} do not fit")
sys.exit(1 if n_failed or twice or not names else 0)
