"""The program itself prints the option table: valid JSON with every field, and the page inputs/README.md."""
import json
import os
import re
import subprocess
import sys

PROGRAM, SOURCE = os.environ.get("MDMINI", ""), os.environ.get("MDMINI_SOURCE", "")

TYPES = ("int", "int or auto", "real", "real or auto", "time", "choice", "choices", "ints", "reals", "text", "path")


def check_foreign(rows):
    """What src/deck/foreign.c says is here is here, and no word of it is a name of the table, which would never reach it."""
    keys, n = {f"{row['section']}.{row['key']}": row for row in rows}, 0
    with open(os.path.join(SOURCE, "src/deck/foreign.c"), encoding="utf-8") as file:
        text = " ".join(file.read().split("table[] = {", 1)[1].split("};", 1)[0].split())
    for of, words, meant, lacks in re.findall(r'\{(NULL|"[^"]*"), "([^"]*)", (NULL|"[^"]*"), (NULL|"[^"]*")\},', text):
        n += 1
        of, meant = of.strip('"'), [] if meant == "NULL" else meant.strip('"').split(", ")
        assert bool(meant) == (lacks == "NULL"), words
        if of == "NULL":
            assert all(name.split()[0] in keys or name.startswith(("mdmini --", "mpirun -n ")) for name in meant), meant
            assert not set(words.split()) & set(keys), words
        elif of != "*":
            assert set(" ".join(meant).split()) <= set(keys[of]["choices"]) and not set(words.split()) & set(keys[of]["choices"]), (of, words, meant)
        assert words == words.lower() and not set("_-") & set(words), words
    assert n == text.count("{") > 50, (n, text.count("{"))


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
    check_foreign(rows)
    print(f"{len(rows)} options")
    page = subprocess.run([PROGRAM, "--list-options=markdown"], check=True, stdout=subprocess.PIPE).stdout
    with open(os.path.join(SOURCE, "inputs", "README.md"), "rb") as file:
        if file.read() != page:
            print("inputs/README.md differs; print it anew: mdmini --list-options=markdown > inputs/README.md")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
