#!/usr/bin/env bash
# Guess: an empty asm volatile("" : "+f"(x)) between a product and the following sum prevents the CUDA compiler from fusing
# the two, as it does for GCC and Clang: after it, the compiler knows nothing about x.
# Found: the front end keeps them apart and writes mul.f32 and add.f32, but ptxas, which does not see the asm, fuses these.
# __fmul_rn, written as mul.rn.f32, is not fused, and nothing is with -fmad=false. Two kernels that must give the same bits,
# and contain the same expression next to others, may therefore be fused differently. NVRTC 12.9 for compute capability 9.0;
# no GPU is needed. The operations are counted in the compiled code: the lowest nine bits of an instruction are 0x23 for
# FFMA, 0x20 for FMUL, 0x21 for FADD.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile nvidia-cuda-nvrtc-cu12==12.9.86
"$folder/venv/bin/python" - <<'PYTHON'
import ctypes, pathlib, struct, nvidia.cuda_nvrtc

folder = pathlib.Path(list(nvidia.cuda_nvrtc.__path__)[0])
nvrtc = ctypes.CDLL(str(next((folder / "lib").glob("libnvrtc.so*"))))
major, minor = ctypes.c_int(), ctypes.c_int()
nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
print(f"NVRTC {major.value}.{minor.value}")
TEXT = """extern "C" __global__ void k(float *out, const float *a) {
    float x = %s;
    %s
    out[0] = a[2] + x;
}"""
BARRIER = 'asm volatile("" : "+f"(x));'


def get(program, what):
    size = ctypes.c_size_t()
    assert getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size)) == 0
    content = ctypes.create_string_buffer(size.value)
    assert getattr(nvrtc, f"nvrtcGet{what}")(program, content) == 0
    return content.raw


def operations(product, between, *options):
    """Names of the operations in the text for ptxas, and in what it makes of it."""
    program, given = ctypes.c_void_p(), [b"-arch=sm_90", *options]
    text = (TEXT % (product, between)).encode()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"k.cu", 0, None, None) == 0
    assert nvrtc.nvrtcCompileProgram(program, len(given), (ctypes.c_char_p * len(given))(*given)) == 0
    ptx = [word for line in get(program, "PTX").decode().splitlines() for word in line.split()[:1] if word.split(".")[0] in ("mul", "add", "fma") and "f32" in word]
    image = get(program, "CUBIN")
    table, size, count, names = struct.unpack_from("<Q", image, 40)[0], *struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQ", image, table + k * size) for k in range(count)]
    texts = [h for h in headers if image[headers[names][4] + h[0]:].startswith(b".text.k\0")]
    words = [struct.unpack_from("<Q", image, texts[0][4] + at)[0] & 0x1ff for at in range(0, texts[0][5], 16)]
    return ptx, [{0x23: "FFMA", 0x20: "FMUL", 0x21: "FADD"}[word] for word in words if word in (0x23, 0x20, 0x21)]


seen = {}
for name, arguments in {"plain": ("a[0] * a[1]", ""), "asm": ("a[0] * a[1]", BARRIER), "__fmul_rn": ("__fmul_rn(a[0], a[1])", ""),
                        "-fmad=false": ("a[0] * a[1]", "", b"-fmad=false")}.items():
    ptx, seen[name] = operations(*arguments)
    print(f"{name}: {' '.join(ptx)} -> {' '.join(seen[name])}")
assert seen == {"plain": ["FFMA"], "asm": ["FFMA"], "__fmul_rn": ["FMUL", "FADD"], "-fmad=false": ["FMUL", "FADD"]}, "this has changed"
PYTHON
