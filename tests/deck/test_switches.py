"""The contract page inputs/SWITCHES.md against what the program says of itself: keys, values, defaults, what the cpu
backend has, that the cuda table is complete, which switches lose their effect; and inputs/VARIANTS.md, which is printed by
the program."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

PROGRAM, SOURCE = os.environ.get("MDMINI", ""), os.environ.get("MDMINI_SOURCE", "")
SECTIONS = ("Where it runs", "Data and memory", "Neighbour list", "Forces", "Reductions", "Launch")
failures = []


def check(holds, text):
    if not holds:
        failures.append(text)
        print("FAILED:", text)


def listing(what):
    return json.loads(subprocess.run([PROGRAM, f"--list-{what}=json"], check=True, stdout=subprocess.PIPE).stdout)


def tables(page):
    """{section: [cells of a row]} of all tables."""
    section, found = "", {}
    for line in page.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        elif line.startswith("| ") and not line.startswith(("| key ", "| switch ")):
            found.setdefault(section, []).append([cell.strip() for cell in line.strip().strip("|").split("|")])
    return found


def parse_values(cell):
    """The words of a value cell, and the default that it marks: `number (0.3*), auto` has the words number and auto, and
    the default 0.3."""
    words, default = [], None
    for word in cell.split(", "):
        number = re.fullmatch(r"(.*) \((.*)\*\)", word)
        if number:
            word, default = number.groups()
        elif word.endswith("*"):
            word = default = word[:-1]
        words.append(word)
    return words, default


def check_row(cells, option, rows):
    """One row of the page against the option of the table and the rows of both variants tables."""
    key, values, _, cpu = cells
    words, default = parse_values(values)
    check(option["kind"] == "performance", f"{key}: is of kind {option['kind']}")
    check(default == option["default"], f"{key}: the page marks {default} as default, the table has {option['default']}")
    if "choices" not in option:
        takes_auto = "auto" in option["type"] or option["default"] == "auto"  # a list takes it if it is the default
        check(("auto" in words) == takes_auto, f"{key}: auto on the page and type {option['type']}")
        return
    check(words == option["choices"], f"{key}: the page has {words}, the table {option['choices']}")
    if key.startswith(("run.", "system.")):
        return  # no stage of a backend: there are no variants of it
    has = {name: [row["value"] for row in variants if row["switch"] == key] for name, variants in rows.items()}
    concrete = [word for word in words if word != "auto"]
    some = re.fullmatch(r"yes \((.*)\)", cpu)
    expected = {"": [], "yes": concrete}.get(cpu, some and some[1].split(", "))
    check(expected is not None, f"{key}: cannot read the cpu column: {cpu}")
    check(sorted(has["cpu"]) == sorted(expected or []), f"{key}: on cpu the page has {expected}, the variants table {has['cpu']}")
    if key == "parallel.overlap":
        check(not has["cuda"], f"{key}: the page says that the cuda backend has no such switch, and its table has {has['cuda']}")
        return
    check(sorted(has["cuda"]) == sorted(concrete), f"{key}: the page has {concrete}, the cuda variants table {has['cuda']}")


def check_effects(rows, options):
    """The section "Without effect", by asking the program: a switch beside a value that takes its ground is refused."""
    deck = "[system]\nstart = fcc\ncells = 5\ndensity = 0.8442\n[{}]\n{} = {}\n[{}]\n{} = {}\n"
    for keys, condition in rows:
        other, good = condition.split(" = ")
        for key in keys.split(", "):
            option = options[key]
            value = next((word for word in option.get("choices", ["16" if key == "output.slots" else "30"]) if word not in (option["default"], "off")))
            for word in options[other]["choices"]:
                text = deck.format(*key.split("."), value, *other.split("."), word)
                done = subprocess.run([PROGRAM, "--check", "/dev/stdin"], input=text, text=True, capture_output=True)
                # Not what auto has become: that is by the machine's GPU.
                refused = f"{key}: has no effect: it needs {other} = " in done.stderr and "auto chose" not in done.stderr
                check(refused == (word not in good.split(", ")),
                      f"{key} with {other} = {word}: {'refused' if refused else 'accepted'}, unlike on the page")


def check_needed(lines, options):
    """The section "Several GPUs" against the table `needed` of the source, in its order."""
    with open(os.path.join(SOURCE, "src/cuda/plan/resolve_ranks.c"), encoding="utf-8") as file:
        needed = re.findall(r"^    \{MD_OPTION_(\w+), MD_(\w+),", file.read(), re.M)
    keys = {f"{row['section']}_{row['key']}": key for key, row in options.items()}
    expected = [(keys[key], value.rsplit("_", 1)[1].lower()) for key, value in needed]
    check([tuple(cells[:2]) for cells in lines] == expected, f"several GPUs need {expected}, and the page has {lines}")


def main():
    if not PROGRAM or not SOURCE:
        print("skipped: MDMINI or MDMINI_SOURCE is not set")
        return 77
    options = {f"{row['section']}.{row['key']}": row for row in listing("options")}
    rows = {backend["name"]: backend["variants"] for backend in listing("variants")["backends"]}
    with open(os.path.join(SOURCE, "inputs", "SWITCHES.md"), encoding="utf-8") as file:
        page = tables(file.read())
    on_page, later = set(), []
    for section, lines in page.items():
        if section in ("Without effect", "Several GPUs"):
            continue
        built = section.startswith(SECTIONS)
        for cells in lines:
            key = cells[0]
            if key in options and options[key]["kind"] == "performance":
                on_page.add(key)
                check_row(cells, options[key], rows)
            elif built:
                check(False, f"{key}: is on the page and no switch of the option table")
            elif key not in options:
                later.append(key)
    check(sum(section.startswith(SECTIONS) for section in page) == len(SECTIONS), f"sections of the page: {list(page)}")
    missing = {key for key, row in options.items() if row["kind"] == "performance"} - on_page
    check(not missing, f"not on the page: {sorted(missing)}")
    check_effects(page["Without effect"], options)
    check_needed(page["Several GPUs"], options)
    print(f"{len(on_page)} switches; not in the option table yet: {', '.join(later)}")

    printed = subprocess.run([PROGRAM, "--list-variants=markdown"], check=True, stdout=subprocess.PIPE).stdout
    n_printed = sum(line.startswith(b"| ") for line in printed.splitlines()) - printed.count(b"\n### ")  # less the heads
    n_rows = sum(len(variants) for variants in rows.values())
    check(n_printed == n_rows, f"{n_printed} rows on the page of variants, {n_rows} in the tables")
    with open(os.path.join(SOURCE, "inputs", "VARIANTS.md"), "rb") as file:
        check(file.read() == printed, "inputs/VARIANTS.md differs; print it anew: "
                                      "mdmini --list-variants=markdown > inputs/VARIANTS.md")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
