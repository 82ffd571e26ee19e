#!/usr/bin/env bash
# Guess: curandSetGeneratorOffset(generator, k) skips the next k numbers of the sequence, for all generators of cuRAND.
# Pseudorandom generators refuse an odd count of normal numbers, as the manual says.
# Found: XORWOW and MRG32K3A skip k uniform numbers, but 2 k normal numbers. Philox skips k in both cases. Philox also makes
# an odd count of normal numbers, which the other two refuse with CURAND_STATUS_LENGTH_NOT_MULTIPLE (105). A program that
# divides one sequence of normal numbers among ranks by offsets is correct with Philox, but silently leaves out half of the
# numbers with XORWOW. These are host generators, so no GPU is needed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile nvidia-curand-cu12==10.3.10.19 numpy==2.2.6
"$folder/venv/bin/python" - <<'PYTHON'
import ctypes, pathlib, nvidia.curand
import numpy as np

folder = pathlib.Path(list(nvidia.curand.__path__)[0])
curand = ctypes.CDLL(str(next((folder / "lib").glob("libcurand.so*"))))
version = ctypes.c_int()
curand.curandGetVersion(ctypes.byref(version))
print("cuRAND", version.value)


def numbers(kind, n, offset, normal):
    """n numbers of a new host generator with this offset, or the status."""
    generator, values = ctypes.c_void_p(), np.zeros(n, np.float32)
    assert curand.curandCreateGeneratorHost(ctypes.byref(generator), kind) == 0
    assert curand.curandSetPseudoRandomGeneratorSeed(generator, ctypes.c_ulonglong(7)) == 0
    assert curand.curandSetGeneratorOffset(generator, ctypes.c_ulonglong(offset)) == 0
    pointer, count = values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(n)
    if normal:
        status = curand.curandGenerateNormal(generator, pointer, count, ctypes.c_float(0), ctypes.c_float(1))
    else:
        status = curand.curandGenerateUniform(generator, pointer, count)
    curand.curandDestroyGenerator(generator)
    return status or values


seen = {}
for name, kind in {"XORWOW": 101, "MRG32K3A": 121, "Philox": 161}.items():
    skipped = []
    for normal in (False, True):
        whole, later = numbers(kind, 32, 0, normal), numbers(kind, 4, 4, normal)
        skipped.append(next(i for i in range(28) if np.array_equal(whole[i:i + 4], later)))
    odd = numbers(kind, 3, 0, True)
    seen[name] = (*skipped, odd if isinstance(odd, int) else "made")
    print(f"{name}: offset 4 skips {skipped[0]} uniform numbers, {skipped[1]} normal ones; three normal numbers: {seen[name][2]}")
assert seen == {"XORWOW": (4, 8, 105), "MRG32K3A": (4, 8, 105), "Philox": (4, 4, "made")}, "this has changed"
PYTHON
