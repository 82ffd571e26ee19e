"""What src/base/json.c writes reads back in Python's json: the same numbers to the bit, the same text."""
import json
import os
import struct
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "sample.json")
    subprocess.run(["./test_json", path], check=True)
    text = open(path, "rb").read().decode("utf-8")  # must be valid UTF-8 as a whole


def refuse(word):
    raise ValueError(f"{word} is not JSON")


sample = json.loads(text, parse_constant=refuse)
assert list(sample) == ["numbers", "bytes", 'name "1"', "largest", "no", "nothing"], list(sample)
assert len(sample["numbers"]) == 2000
for hexadecimal, value in sample["numbers"]:
    assert isinstance(value, float), (hexadecimal, value)
    assert struct.pack("d", value) == struct.pack("d", float.fromhex(hexadecimal)), (hexadecimal, value)
for byte, value in enumerate(sample["bytes"], start=1):
    assert value == (chr(byte) if byte < 128 else "\ufffd") + "x", (byte, value)
assert sample['name "1"'] == "Größe\n"
assert sample["largest"] == 2**63 - 1 and sample["no"] is False and sample["nothing"] is None
print("2000 numbers, 255 bytes: the same in Python")
sys.exit(0)
