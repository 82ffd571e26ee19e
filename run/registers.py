#!/usr/bin/env python3
"""What NVRTC makes of the kernels of rows of inputs/bench/rows.csv, on an imaginary H200 (tests/emulator/idle.c), whose `auto`
takes what a real one takes. A kernel that spills, or needs more registers, is slower before anybody has timed it.

    regs     registers a thread
    spilled  bytes of local memory a thread: what did not fit into registers, and arrays that an index reads
    local    instructions that read or write it
    instr    instructions
    shared   bytes of shared memory a block, by what is known when it is compiled

Exit code 1: a row could not be compiled.
"""
import os
import struct
import sys
import tempfile
from pathlib import Path

import bench
from bench_rows import DECKS
from runs import NotRun, Run
from scripts import TOP, Budget, Parser, check_paths

UNITS = ("force", "step", "neighbor", "list")  # files (neighbor of bricks: list) whose kernels a step spends its time in
COLUMNS = ("regs", "spilled", "local", "instr", "shared")
REGISTERS, FRAME = 0x2f, 0x11  # attributes of .nv.info: EIATTR_REGCOUNT, EIATTR_FRAME_SIZE
LOCAL = (0x983, 0x387)  # LDL and STL, from compute capability 7.0 on, where an instruction has 16 bytes


def read_sections(image):
    """[(name, offset, size, link)] of an ELF file of 64 bits."""
    if image[:4] != b"\x7fELF":
        raise ValueError("is no code for a GPU, but text for a later compiler")
    begin, = struct.unpack_from("<Q", image, 0x28)
    size, count, names = struct.unpack_from("<HHH", image, 0x3a)
    heads = [struct.unpack_from("<IIQQQQI", image, begin + k * size) for k in range(count)]
    text = heads[names][4]
    return [(image[text + head[0]:image.index(b"\0", text + head[0])].decode(), head[4], head[5], head[6]) for head in heads]


def read_symbols(image, sections):
    """The names of the symbols, by number."""
    for name, offset, size, link in sections:
        if name == ".symtab":
            text = sections[link][1]
            starts = [text + struct.unpack_from("<I", image, offset + 24 * k)[0] for k in range(size // 24)]
            return [image[start:image.index(b"\0", start)].decode() for start in starts]
    return []


def read_image(image):
    """{kernel: {column: number}}."""
    sections = read_sections(image)
    symbols, found = read_symbols(image, sections), {}
    for name, offset, size, _ in sections:
        if name.startswith(".text.k_"):
            words = [struct.unpack_from("<H", image, place)[0] & 0xfff for place in range(offset, offset + size, 16)]
            found[name[len(".text."):]] = {"regs": 0, "spilled": 0, "local": sum(word in LOCAL for word in words),
                                           "instr": len(words), "shared": 0}
    for name, offset, size, _ in sections:
        kernel = name[len(".nv.shared."):]
        if name.startswith(".nv.shared.") and kernel in found:
            found[kernel]["shared"] = size
        if name != ".nv.info":
            continue
        place = offset
        while place < offset + size:
            form, attribute, value = struct.unpack_from("<BBH", image, place)
            place += 4
            if form != 4:  # the value is all of it
                continue
            if attribute in (REGISTERS, FRAME):
                symbol, number = struct.unpack_from("<II", image, place)
                if symbols[symbol] in found:
                    found[symbols[symbol]]["regs" if attribute == REGISTERS else "spilled"] = number
            place += value
    return found


def compile_row(fields, a, kernels):
    """{kernel: {column: number}} of a row; kernels: a folder with their text, or None for those of the program."""
    with tempfile.TemporaryDirectory(prefix="mdmini-registers-") as folder:
        os.environ.update({"MDMINI_KERNEL_CACHE": folder, "MDMINI_EMULATOR_LEAKS": "0"})
        os.environ.pop("MDMINI_KERNELS", None)
        if kernels:
            os.environ["MDMINI_KERNELS"] = str(kernels)
        command = [a.mdmini, str(DECKS / f"{fields['system']}.txt"), *(str(DECKS / f"{layer}.txt") for layer in fields["rule"].split()),
                   f"system.cells={fields['cells']}", f"run.precision={fields['precision']}", "run.backend=cuda", "run.steps=40",
                   "restart.every=0", "output.name=step", "report.verify=off"]
        run = Run(command, 40, a.limit)
        try:
            run.report()
        except NotRun as why:  # what the compiler says stands below the first line
            version = f"the kernels of {kernels}: " if kernels else "these kernels: " if a.against else ""
            raise NotRun(why.kind, "\n".join([f"{version}{why}", *run.told.splitlines()[1:]])) from None
        found = {}
        for path in sorted(Path(folder).glob("*.image")):
            if a.all or path.name.split("-")[0] in UNITS:
                # A file compiled for several block sizes has each kernel several times: the largest counts, in any order.
                for name, numbers in read_image(path.read_bytes()).items():
                    found[name] = max(numbers, found.get(name, numbers), key=lambda one: sorted(one.items()))
    return found


def line(name, numbers, before):
    if before is None or before == numbers:
        return f"{name:<28}" + "".join(f"{numbers[column]:>16}" for column in COLUMNS)
    shown = (f"{before[column]} -> {numbers[column]}" if before[column] != numbers[column] else str(numbers[column])
             for column in COLUMNS)
    return f"{name:<28}" + "".join(f"{text:>16}" for text in shown)


def table(row, found, before):
    """before: None, or those of another version: then what differs."""
    names = sorted(found if before is None else {name for name in {*found, *before} if found.get(name) != before.get(name)})
    lines = [f"{row}:", f"{'kernel':<28}" + "".join(f"{column:>16}" for column in COLUMNS)]
    for name in names:
        if name not in found or (before is not None and name not in before):
            lines.append(f"{name:<28}{'only in ' + ('this' if name in found else 'the other') + ' version':>32}")
        else:
            lines.append(line(name, found[name], before and before[name]))
    return lines if names else [f"{row}: alike"]


def read_arguments(words=None):
    parser = Parser(description=__doc__, formatter_class=bench.argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", dest="mdmini", type=os.path.abspath, default=str(TOP / "build-idle/mdmini"),
                        help="built with -DMDMINI_CUDA=IDLE (build-idle/mdmini, which registers.sh builds)")
    parser.add_argument("--rows", metavar="NAME,...", default="1m,32k,4k", help="rows to compile, with * and ? (1m,32k,4k)")
    parser.add_argument("--against", type=os.path.abspath, metavar="FOLDER", help="the folder src of another version: shows what differs, that version -> this one")
    parser.add_argument("--all", action="store_true", help=f"kernels of all units, not of {', '.join(UNITS)} alone")
    parser.add_argument("--limit", type=float, default=300, help="seconds that a row may take (300)")
    parser.add_argument("--table", default=str(DECKS / "rows.csv"), help="of the rows (inputs/bench/rows.csv)")
    a = parser.parse_args(words)
    a.output = None
    check_paths(parser, a)
    if a.against and not os.path.isfile(os.path.join(a.against, "cuda/kernels/force.cu")):
        parser.error(f"{a.against}: no kernels there (cuda/kernels/force.cu)")
    if not a.rows:
        parser.error("--rows: none is named")
    bench.choose_rows(parser, a)
    return a


def main():
    a, failed = read_arguments(), []
    Budget(None).end_at_signals()
    for fields in a.chosen:
        try:
            before = compile_row(fields, a, a.against) if a.against else None
            print(*table(fields["row"], compile_row(fields, a, None), before), sep="\n", end="\n\n", flush=True)
        except (NotRun, ValueError) as why:
            print(f"{fields['row']}: {why}\n", flush=True)
            failed.append(fields["row"])
    if failed:
        print(f"FAILED: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
