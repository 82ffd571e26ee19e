"""What the pages for a course name is there: in inputs/COURSE-INDEX.md, item by item of the course texts, and in
inputs/COURSE.md. Code in backticks is a row of the elementary kernels (`group: row`, of a cpu `cpu group: row`; `group: *`
all rows, `group: start ...` those that begin so), an option (`section.key`, `section.key=value,value`), a path, or a command;
on COURSE-INDEX.md it is nothing else. That page also has each item once, in order, with a place or with a reason why it has
none, and counts them truly."""
import json
import os
import re
import shlex
from pathlib import Path

import program
from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
INDEX, COURSE = SOURCE / "inputs/COURSE-INDEX.md", SOURCE / "inputs/COURSE.md"
ITEMS = {"000": 24, "001": 24, "002": 52, "003": 44, "004": 116}
STATUSES = ("covered", "partly", "no")
FOLDERS = ("inputs", "run", "src", "tests", "tools")


class Known:
    """What the program tells of itself."""

    def __init__(self, folder):
        rows = json.loads(program.run("--list-ceilings=json", folder=folder).stdout)
        self.rows = {(row["backend"], row["group"], row["variant"]) for row in rows}
        self.groups = {row["group"] for row in rows}
        self.names = self.groups | {f"{row['group']}:{row['variant']}" for row in rows}  # as --ceilings takes them
        options = json.loads(program.run("--list-options=json", folder=folder).stdout)
        self.options = {f"{option['section']}.{option['key']}": option for option in options}
        self.sections = {option["section"] for option in options}
        self.switches = set(re.findall(r"--[a-z-]+", program.run("--help", folder=folder).stdout))

    def is_option(self, word):
        """Whether it is meant as one."""
        return "." in word and word.split(".")[0] in self.sections


def in_range(text, option):
    try:
        number = float(text)
    except ValueError:
        return False
    return option.get("low", number) <= number <= option.get("high", number) and number > option.get("above", number - 1)


def is_value(text, option):
    """Paths and texts may be any."""
    kind = option["type"]
    if "choices" in option:
        return text in option["choices"]
    if text == option["default"] or (text == "auto" and kind.endswith("or auto")):
        return True
    return kind.startswith(("path", "text", "time")) or all(in_range(word, option) for word in text.split())


def wrong_option(word, known, several=True):
    key, _, values = word.partition("=")
    if key not in known.options:
        return [f"no option {key}"]
    if "=" not in word:
        return []
    values = re.split(r"[,|]", values) if several else [values]
    return [f"{key} does not take {value}" for value in values if not is_value(value, known.options[key])]


def wrong_row(backend, group, variant, known):
    rows = [of_row for of_backend, of_group, of_row in known.rows if (of_backend, of_group) == (backend, group)]
    if variant == "*" or variant.endswith(" ..."):
        is_there = any(row.startswith(variant.rstrip("*.")) for row in rows)
    else:
        is_there = variant in rows
    return [] if is_there else [f"no row {backend} {group}: {variant}"]


def wrong_path(name):
    return [] if any(SOURCE.glob(name.rstrip("/"))) else [f"no file {name}"]


def wrong_command(code, known):
    """Options of mdmini and of studies, names of elementary kernels, files of the tree."""
    try:
        first, *words = shlex.split(code)
    except ValueError:
        return [f"no command: {code}"]
    is_mdmini, found, last = first.split("/")[-1] == "mdmini", [], ""
    if not is_mdmini:
        found += wrong_path(first)
    for word in words:
        if word.startswith("--"):
            last = word.split("=")[0]
            if is_mdmini and last not in known.switches:
                found.append(f"mdmini has no {last}")
        elif last == "--ceilings" and "=" not in word:
            found += [] if word.replace(": ", ":") in known.names else [f"nothing that --ceilings calls {word}"]
        else:
            for piece in word.split():
                if known.is_option(piece):
                    found += wrong_option(piece, known, several=not is_mdmini)
                elif "/" in piece and piece.split("/")[0] in FOLDERS:
                    found += wrong_path(piece)
    return found


def is_command(code):
    first = code.split()[0]
    return first.split("/")[-1] == "mdmini" or (" " in code and "/" in first and first.split("/")[0] in FOLDERS)


def wrong_code(code, known):
    """None: it is in no notation."""
    row = re.fullmatch(r"(cpu )?([a-z]+): (.+)", code)
    if row:
        return wrong_row("cpu" if row[1] else "cuda", row[2], row[3], known)
    if is_command(code):
        return wrong_command(code, known)
    if known.is_option(code):
        return wrong_option(code, known)
    if re.fullmatch(r"[\w.*\[\]-]*/[\w.*\[\]/-]*", code):
        return wrong_path(code)
    return None


def looks_named(code, known):
    """Code of no notation that could be taken for a row all the same."""
    return re.search(r"\w: ", code) or code.split(":")[0] in known.groups and ":" in code


def split_page(text):
    """(paragraphs and rows of tables, lines of code without what explains them)."""
    prose, lines, is_fenced = "", [], False
    for line in text.splitlines():
        if line.startswith("```"):
            is_fenced = not is_fenced
        elif not is_fenced and not line.startswith("    "):
            prose += f"\n{line}\n" if line.startswith("|") else f"{line}\n"
        elif lines and lines[-1].endswith("\\"):
            lines[-1] = lines[-1].rstrip("\\ ") + " " + line.strip()
        else:
            lines.append(line.strip())
    return re.split(r"\n\s*\n", prose), [re.split(r"\s{2,}|\s#", line)[0] for line in lines if line]


def problems(text, known, is_strict):
    """What code in backticks and commands by themselves name, and is not there."""
    found = []
    paragraphs, lines = split_page(text)
    for paragraph in paragraphs:
        if paragraph.count("`") % 2:
            found.append(f"a backtick by itself: {paragraph.strip()[:60]}")
        for code in re.findall(r"`([^`]+)`", paragraph):
            code = " ".join(code.replace("\\|", "|").split())
            wrong = wrong_code(code, known)
            if wrong is None:
                wrong = [f"neither row, option, path nor command: {code}"] if is_strict or looks_named(code, known) else []
            found += wrong
    for line in lines:
        found += wrong_command(line, known) if is_command(line) else []
    return found


def table_rows(text):
    """(number, where) of each item."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if re.match(r"\| \d{3}-", line)]
    return [(cells[0].strip(), cells[-1].strip() if len(cells) == 3 else "") for cells in rows]


def status_of(where):
    word = where.split(":")[0]
    return word if word in STATUSES[1:] else "covered"


def wrong_place(number, where):
    places = re.findall(r"`[^`]+`", where)
    reason = re.sub(r"`[^`]+`", "", where.partition(":")[2]).split()
    status = status_of(where)
    found = [f"{number}: no place"] if status != "no" and not places else []
    return found + ([f"{number}: no reason"] if status != "covered" and len(reason) < 3 else [])


def counts_of(rows):
    """{text, or all: (items, covered, partly, no)}."""
    counts = {}
    for text in [*ITEMS, "all"]:
        own = [status_of(where) for number, where in rows if text in (number[:3], "all")]
        counts[text] = (len(own), *(own.count(status) for status in STATUSES))
    return counts


def wrong_index(text):
    """Items, their places or reasons, and how many there are."""
    rows = table_rows(text)
    wanted = [f"{of_text}-{k}" for of_text, n in ITEMS.items() for k in range(1, n + 1)]
    found = [] if [number for number, _ in rows] == wanted else ["not each item once, in order"]
    for number, where in rows:
        found += wrong_place(number, where)
    told = {word: tuple(int(n) for n in numbers.split("|"))
            for word, numbers in re.findall(r"^\| (\d{3}|all)\b[^|]*\|((?: *\d+ *\|){3} *\d+) *\|$", text, re.M)}
    for of_text, counts in counts_of(rows).items():
        if told.get(of_text) != counts:
            found.append(f"{of_text} has {counts}, not {told.get(of_text)}")
    return found


def test_index(checks, folder):
    text = INDEX.read_text(encoding="utf-8")
    known = Known(folder)
    wrong = problems(text, known, is_strict=True) + wrong_index(text)
    checks.that(not wrong, f"inputs/COURSE-INDEX.md: {'; '.join(wrong)}")
    print(counts_of(table_rows(text))["all"], "items, covered, partly, no")


def test_course(checks, folder):
    wrong = problems(COURSE.read_text(encoding="utf-8"), Known(folder), is_strict=False)
    checks.that(not wrong, f"inputs/COURSE.md: {'; '.join(wrong)}")


def test_terms(checks, _):
    """Names of CUDA by which an item of the texts is known stand in the index of terms."""
    names = set(re.findall(r"\bcuda[A-Z]\w*|(?<!\w)__\w+|\batomic[A-Z]\w*", re.sub(r"`[^`]*`", "", INDEX.read_text(encoding="utf-8"))))
    terms = COURSE.read_text(encoding="utf-8").split("\n## Index of terms\n")[1]
    missing = sorted(name for name in names if not re.search(rf"(?<!\w){name}(?!\w)", terms))
    checks.that(len(names) > 25 and not missing, f"not in the index of terms: {missing} of {len(names)}")


UNITS = {"GB/s": 1, "G/s": 1, "GFLOP/s": 1, "TFLOP/s": 1e-3, "us": 1, "ns": 1e3}


def shown_figures(cell):
    """The numbers of a cell, each with the unit that stands behind it or behind a later one."""
    found = re.findall(r"(?:^|[ (])(\d[\d,]*(?:\.\d+)?)(?: (GB/s|G/s|GFLOP/s|TFLOP/s|us|ns)\b)?", cell)
    figures, unit = [], None
    for number, of_number in reversed(found):
        unit = of_number or unit
        if unit:
            figures.append((float(number.replace(",", "")), unit))
    return figures[::-1]


def is_near(shown, measured):
    return measured is not None and abs(measured / shown - 1) < 6e-3


def wrong_line(cells, column, heading, results):
    """What is wrong in the column H100 of a line, and how many figures it has: each named row has its own, in the same order.
    In the ladder it is microseconds and GB/s, and the sum behind them. In a column of a processor the rows stand before the figures."""
    if heading == "processor":
        code, _, shown = cells[column].rpartition("` ")
        cells, column = [code + "`", shown], 1
    names = list(dict.fromkeys(name for cell in cells[:column] for name in re.findall(r"`([a-z]+: [^`]+|cpu [a-z]+: [^`]+)`", cell)
                               if name in results))
    if heading == "H100: us, GB/s":
        shown = [float(word.replace(",", "")) for word in re.findall(r"[\d.,]*\d", cells[column] + " " + cells[column + 1])]
        row = results[names[0]]
        measured = [1e6 * row["seconds_per_call"], row["median"], row["sum"]["result"]]
        good = len(shown) == 3 and all(map(is_near, shown, measured)) and round(measured[2]) == shown[2]
        return [] if good else [f"{names[0]}: {shown} for {measured}"], 3
    figures = shown_figures(cells[column])
    if figures and len(figures) != len(names):
        return [f"{len(figures)} figures for {names}"], len(figures)
    return [f"{name}: {figure} {unit} for {results[name]['median']}" for name, (figure, unit) in zip(names, figures)
            if not is_near(figure, results[name]["median"] * UNITS[unit])], len(figures)


def wrong_figures(text, results, column_of="H100"):
    """(what is wrong in the columns of this machine of all tables, number of figures)."""
    wrong, n_found, columns = [], 0, {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else []
        if not cells:
            columns = {}
        elif any(cell.startswith(column_of) for cell in cells):
            columns = {k: cell for k, cell in enumerate(cells) if cell.startswith(column_of)}
        for column, heading in columns.items():
            if cells[column] not in (heading, "") and "---" not in cells[column] and any("`" in cell for cell in cells):
                found, n = wrong_line(cells, column, heading, results)
                wrong += found
                n_found += n
    return wrong, n_found


def measured_rows(*records):
    results = {}
    for name in records:
        for r in json.loads((SOURCE / "run/results" / name).read_text(encoding="utf-8"))["results"]:
            if r["check"] == "passed":
                results[("cpu " if r["backend"] == "cpu" else "") + f"{r['group']}: {r['variant']}"] = r
    return results


def test_figures(checks, _):
    """What COURSE.md says of an H100, and of a processor, stands in the record."""
    text = COURSE.read_text(encoding="utf-8")
    wrong, n_found = wrong_figures(text, measured_rows("h100/ceilings.json", "h100/ceilings-cpu.json"))
    checks.that(n_found > 150 and not wrong, f"{n_found} figures; {'; '.join(wrong)}")
    of_cpu = {name: row for name, row in measured_rows("h200/ceilings-cpu.json").items() if name.startswith("cpu ")}
    answers = text.index("\n## Answers\n")
    wrong, n_found = wrong_figures(text[:answers], of_cpu, "processor")
    checks.that(n_found > 35 and not wrong, f"{n_found} figures of a processor; {'; '.join(wrong)}")
    for cell, n in (("`cpu branch: random`, `cpu branch: sorted` 0.203, 1.66 G/s", 0), ("`cpu branch: random` 1.66 G/s", 1), ("0.203 G/s", 1),
                    ("`cpu branch: random`, `cpu branch: sorted` 0.203 G/s", 1), ("", 0)):
        found, _ = wrong_figures(f"| a | processor |\n|---|---|\n| `branch: one way` | {cell} |", of_cpu, "processor")
        checks.that(len(found) == n, f"{cell}: {found}")
    row = {"seconds_per_call": 1e-4, "sum": {"result": 123000416.0}}
    results = {f"banks: stride {k}": {**row, "median": 33000.0 / k} for k in (1, 2)}
    head, rows = "| a | where | H100 |\n|---|---|---|\n", "| b | `banks: stride 1`, `banks: stride 2` | "
    for cell, n in (("33,000, 16,500 GB/s", 0), ("16,500, 33,000 GB/s", 2), ("33,000 GB/s", 1), ("33.0, 16.4 TFLOP/s", 1), ("", 0)):
        found, _ = wrong_figures(f"{head}{rows}{cell} |", results)
        checks.that(len(found) == n, f"{cell}: {found}")
    ladder = "| rung | H100: us, GB/s | sum |\n|---|---|---|\n| `banks: stride 1` | 100, 33,000 | 123,000,4"
    checks.that(wrong_figures(ladder + "16 |", results) == ([], 3), "a line of the ladder that is right")
    checks.that(len(wrong_figures(ladder + "17 |", results)[0]) == 1, "a sum that is wrong is found")


def test_planted_index(checks, folder):
    """A fault of the page itself is found, and no other."""
    text, known = INDEX.read_text(encoding="utf-8"), Known(folder)

    def faults(page):
        return problems(page, known, is_strict=True) + wrong_index(page)

    before = faults(text)
    for good, bad, word in (
            ("`branch: one way`", "`branch: one day`", "cuda branch: one day"),
            ("`cpu matrix: *`", "`cpu occupancy: *`", "cpu occupancy"),
            ("`streams: kernels, ...`", "`streams: kernel, ...`", "kernel, ..."),
            ("`force.unroll`", "`force.unrolled`", "force.unrolled"),
            ("`neighbor.sorted=on`", "`neighbor.sorted=yes`", "yes"),
            ("`memory.carveout=driver,l1,shared`", "`memory.carveout=driver,l2,shared`", "l2"),
            ("`launch.registers`", "`launch.registers=256`", "256"),
            ("`src/sensors/`", "`src/sensor/`", "src/sensor/"),
            ("`run/studies/reduce.ini`", "`run/studies/sums.ini`", "sums.ini"),
            ("`mdmini --device`", "`mdmini --devices`", "--devices"),
            ("`mdmini inputs/xy.txt`", "`mdmini inputs/yx.txt`", "yx.txt"),
            ("`mdmini --ceilings transpose`", "`mdmini --ceilings transposed`", "transposed"),
            ("`mdmini --ceilings reduction`", "`mdmini --ceilings 'reduction:sequentia'`", "sequentia"),
            ("mathKernel4: itid", "mathKernel4: `itid`", "itid"),
            ("mathKernel4: itid", "mathKernel4: `itid", "backtick"),
            ("| 000-6 | ", "| 000-7 | ", "order"),
            ("| 000-1 | ", "| 0-1 | ", "order"),
            ("| 000 ", "| 00 ", "000 has")):
        checks.that(good in text, f"{good} is not there to be broken")
        found = [fault for fault in faults(text.replace(good, bad, 1)) if fault not in before]
        checks.that(found and word in found[0], f"{bad}: {found}")
    for where, word in (("the log", "place"), ("", "place"), ("partly: not in three dimensions", "place"), ("no:", "reason"),
                        ("no: `run/ncu.sh`", "reason"), ("partly: `run/ncu.sh`", "reason")):
        found = wrong_place("000-1", where)
        checks.that(len(found) == 1 and word in found[0], f"{where}: {found}")
    for where in ("`run/ncu.sh`", "no: nothing to be seen", "partly: no rows by size; `run/ncu.sh`"):
        checks.that(wrong_place("000-1", where) == [], f"{where}: {wrong_place('000-1', where)}")
    checks.that(len(wrong_index(text.replace("| no: ", "| `run/ncu.sh` ", 1))) == 2, "a count that is wrong")


def test_planted_course(checks, folder):
    """The notation of COURSE.md."""
    known = Known(folder)
    for text, n in (
            ("`__syncthreads()`, `threadIdx.x / 32 > 2`, `x > 0 ? a : b`, `melt.log`, `limited by`", 0),
            ("`branch: two ways`", 1), ("`branch:one way`", 1), ("`banks: stride\n32`", 0), ("`force.method=list`", 1),
            ("`force.kernel=lists`", 1), ("`force.kernel=list\\|pairs`", 0), ("| `force.kernel=list\\|pair` |", 1),
            ("`memory.\nload`", 1), ("`no/such.cu`", 1), ("`mdmini --ceiling`", 1),
            ("`run/ncu.sh\nbuild/mdmini --ceilings bank`", 1), ("    build/mdmini --ceilings bank 'banks:stride 32'  # this", 1),
            ("    $ anything", 0), ("```\nmdmini inputs/melt.txt force.kernel=list,pairs\n```", 1),
            ("    tools/study.py inputs/melt.txt --words \"force.kernel=list\" \\\n        --vary memory.load=global,ldg,lgd", 1)):
        found = problems(text, known, is_strict=False)
        checks.that(len(found) == n, f"{text}: {found}")


def main():
    checks = Checks()
    checks.run(test_index, test_course, test_terms, test_figures, test_planted_index, test_planted_course)
    checks.finish()


main()
