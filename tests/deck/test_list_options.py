"""The program itself prints the option table: valid JSON with every field, and the page inputs/README.md."""
import json
import os
import subprocess
import sys

PROGRAM, SOURCE = os.environ.get("MDMINI", ""), os.environ.get("MDMINI_SOURCE", "")

TYPES = ("int", "int or auto", "real", "real or auto", "time", "choice", "choices", "ints", "reals", "text", "path")


def main():
    if not PROGRAM or not SOURCE:
        print("skipped: MDMINI or MDMINI_SOURCE is not set")
        return 77
    rows = json.loads(subprocess.run([PROGRAM, "--list-options=json"], check=True, stdout=subprocess.PIPE).stdout)
    assert len({(row["section"], row["key"]) for row in rows}) == len(rows) > 0
    for row in rows:
        for field in ("section", "key", "type", "default", "unit", "kind", "help"):
            assert isinstance(row[field], str), (row, field)
        assert row["type"] in TYPES, row
        assert row["kind"] in ("physics", "performance", "output", "debug"), row
        if "choices" in row:
            assert row["default"] in row["choices"], row
        elif row["type"] not in ("text", "path"):
            assert ("low" in row) != ("above" in row), row
    print(f"{len(rows)} options")
    page = subprocess.run([PROGRAM, "--list-options=markdown"], check=True, stdout=subprocess.PIPE).stdout
    with open(os.path.join(SOURCE, "inputs", "README.md"), "rb") as file:
        if file.read() != page:
            print("inputs/README.md differs; print it anew: mdmini --list-options=markdown > inputs/README.md")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
