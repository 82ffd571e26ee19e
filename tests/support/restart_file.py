"""Restart files, read and written on their own: the form of src/output/restart.h, with a checksum of this module's making."""
import struct

import numpy

MASK = 2**64 - 1
PRIME = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
HEAD, SECTION_HEAD = 32, 40
# What belongs to a process and not to the state: who wrote it, how long it took.
BOOKS = ("name", "deck", "switches", "origin", "sessions", "run", "end")


def rotate(x, bits):
    return (x << bits | x >> (64 - bits)) & MASK


def mix(lane, word):
    return rotate((lane + word * PRIME[1]) & MASK, 31) * PRIME[0] & MASK


def xxh64(data):
    n, at = len(data), 0
    h = PRIME[4]
    if n >= 32:
        lanes = [(PRIME[0] + PRIME[1]) & MASK, PRIME[1], 0, -PRIME[0] & MASK]
        for at in range(0, n - 31, 32):
            lanes = [mix(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
        at += 32
        h = sum(rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            h = ((h ^ mix(0, lane)) * PRIME[0] + PRIME[3]) & MASK
    h = (h + n) & MASK
    for at in range(at, n - 7, 8):
        h = (rotate(h ^ mix(0, struct.unpack_from("<Q", data, at)[0]), 27) * PRIME[0] + PRIME[3]) & MASK
    at = n - n % 8
    if n % 8 >= 4:
        h = (rotate(h ^ struct.unpack_from("<I", data, at)[0] * PRIME[0] & MASK, 23) * PRIME[1] + PRIME[2]) & MASK
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * PRIME[4] & MASK, 11) * PRIME[0] & MASK
    h = (h ^ h >> 33) * PRIME[1] & MASK
    h = (h ^ h >> 29) * PRIME[2] & MASK
    return h ^ h >> 32


def places(data):
    """Name, first byte and number of bytes of each section, in order."""
    at, found = HEAD, []
    while at < len(data):
        name = data[at:at + 24].rstrip(b"\0").decode()
        n_bytes, = struct.unpack_from("<Q", data, at + 24)
        found.append((name, at + SECTION_HEAD, n_bytes))
        at += SECTION_HEAD + n_bytes + -n_bytes % 8 + 8
    return found


def sections(path):
    data = path.read_bytes()
    assert data.startswith(b"mdmini restart\0"), path
    return {name: data[at:at + n] for name, at, n in places(data)}


def run_numbers(found):
    """Step, frames, frames of the XYZ file, rebuilds, late rebuilds; and the thermostat's heat."""
    return struct.unpack_from("<5q", found["run"]) + struct.unpack_from("<d", found["run"], 48)


def temperature(path):
    """Of the velocities of a three-dimensional system of masses 1."""
    found = sections(path)
    n = len(found["id"]) // 4
    velocity = numpy.frombuffer(found["velocity"], dtype=f"f{len(found['velocity']) // (3 * n)}").reshape(n, 3)
    velocity = velocity - velocity.mean(axis=0, dtype=float)
    return float((velocity**2).sum() / (3 * (n - 1)))


def difference(a, b):
    """The sections of the state in which two files differ."""
    a, b = sections(a), sections(b)
    names = [name for name in {**a, **b} if name not in BOOKS and a.get(name) != b.get(name)]
    if run_numbers(a) != run_numbers(b):
        names.append(f"run {run_numbers(a)} {run_numbers(b)}")
    return names


def compose(found, version=1):
    """The bytes of a file with these sections, whole and in good order."""
    head = b"mdmini restart\0\0" + struct.pack("<II", version, 0x01020304)
    data, sums = head + struct.pack("<Q", xxh64(head)), b""
    for name, content in found.items():
        head = name.encode().ljust(24, b"\0") + struct.pack("<Q", len(content))
        sums += struct.pack("<Q", xxh64(head))
        if name == "end":
            content = struct.pack("<Q", xxh64(sums))
        checksum = struct.pack("<Q", xxh64(content))
        data += head + sums[-8:] + content + bytes(-len(content) % 8) + checksum
        sums += checksum
    return data
