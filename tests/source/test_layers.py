"""Who needs whom in src/: folders include each other as the table of src/README.md says and call only whom they come to by
it, neither files nor folders need each other in a circle, and CUDA, HDF5 and MPI stay in their rooms.

A unit is a .c with the header of its name, or a .cu with its .cuh. A header of types and declarations is a unit of its own
where other files define some of what it declares, or no .c has its name; so is a text that others compile (.inc, .def).
Unit A needs unit B where a file of A includes one of B, or uses a function or an object with external linkage that B defines.
The sources are read as text, without a build; kernels have no linkage, and for them includes are all."""
import os
import re
from collections import namedtuple
from pathlib import Path

from program import Checks

SOURCE = Path(os.environ["MDMINI_SOURCE"])
CODE = (".c", ".cu", ".cuh", ".def", ".h", ".inc")
GENERATED = {"mdmini_build.h", "physics/form.inc"}  # the second is a name that compile.c gives

# (what, where it may stand, an include of it, a word of it)
ROOMS = [
    ("CUDA", r"cuda/|microbench/(cuda|kernels)/", r"(cuda\w*|curand\w*|nvrtc|cub/.*|cooperative_groups.*)(\.h)?", r"(cu|cuda|curand|nvrtc)[A-Z]\w*"),
    ("HDF5", r"output/h5\w+\.[ch]", r"hdf5\w*\.h|H5\w+\.h", r"H5[A-Z]*[a-z_]\w*"),
    ("MPI", r"parallel/comm_mpi\.c", r"mpi\.h", r"MPI_[A-Z]\w*"),
]

# defines: {name: words of the declaration}; macros: {name: words of the body}
File = namedtuple("File", "includes system defines declares uses words macros whole")


# --- one file: what it includes, defines and uses ---

def tokens_of(text):
    """Words and punctuation without comments, strings and numbers; -> becomes a dot, as what follows is a member."""
    token = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[A-Za-z_]\w*|\.?[0-9][\w.']*|->|[=!<>]=|\S", re.S)
    for match in token.finditer(text):
        word = match.group()
        if word.startswith(("//", "/*")) or word[0].isdigit() or re.match(r"\.[0-9]", word):
            continue
        yield "." if word == "->" else '""' if word[0] in "\"'" else word


def split_lines(text):
    """The preprocessor's lines and the rest. Comments go first: a # within one is none."""
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r"(\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')|//[^\n]*|/\*.*?\*/", lambda m: m.group(1) or " ", text, flags=re.S)
    text = re.sub(r"^[ \t]*#[ \t]*ifdef __cplusplus\n.*?^[ \t]*#[ \t]*endif[^\n]*$", "", text, flags=re.S | re.M)  # extern "C" {
    lines = text.split("\n")
    is_directive = [line.lstrip().startswith("#") for line in lines]
    return ([line.strip() for line, is_one in zip(lines, is_directive) if is_one],
            "\n".join(line for line, is_one in zip(lines, is_directive) if not is_one))


def last_declaration(declaration):
    """Without what a macro with a bracket and no semicolon left before it."""
    depth, begin, opener = 0, 0, ""
    for k, word in enumerate(declaration):
        if word == "(" and depth == 0:
            opener = declaration[k - 1] if k else ""
        if depth == 0 and k and declaration[k - 1] == ")" and not opener.startswith("__") and re.match(r"(?!__)[A-Za-z_]", word):
            begin = k
        depth += (word == "(") - (word == ")")
    return declaration[begin:]


def name_of_function(declaration):
    """The name before the first bracket that no attribute opens; None: no function."""
    depth = 0
    for before, word in zip(["", *declaration], declaration):
        if word == "(" and depth == 0 and re.match(r"(?!__)[A-Za-z_]", before):
            return before
        depth += (word == "(") - (word == ")")
    return None


def name_of_object(declaration):
    """The last word before = and what stands in square brackets."""
    depth, name = 0, None
    for word in declaration[:declaration.index("=")]:
        depth += (word == "[") - (word == "]")
        if depth == 0 and re.fullmatch(r"[A-Za-z_]\w*", word):
            name = word
    return name


def read_body(text):
    """What is defined outside of braces, with the words before its name; what is declared there; and the words that are used:
    in braces, and behind = outside of them."""
    defines, declares, uses = {}, set(), set()
    declaration, depth, is_function, is_type, last = [], 0, False, False, ""
    for word in tokens_of(text):
        if depth > 0:
            if re.match(r"[A-Za-z_]", word) and last != "." and not is_type:
                uses.add(word)
        elif word == ";":
            if "=" in declaration:
                defines[name_of_object(declaration)] = declaration
            elif "typedef" not in declaration:
                declares.add(name_of_function(declaration) or (declaration or [""])[-1])
            declaration = []
        else:
            if "=" in declaration and re.match(r"[A-Za-z_]", word):
                uses.add(word)
            if word == "{":
                declaration = last_declaration(declaration)
                is_function = "=" not in declaration and "typedef" not in declaration and bool(name_of_function(declaration))
                is_type = "=" not in declaration and not is_function
                if is_function:
                    defines[name_of_function(declaration)] = declaration
            elif word != "}":
                declaration.append(word)
        depth += (word == "{") - (word == "}")
        if word == "}" and depth == 0 and is_function:
            declaration, is_function = [], False
        last = word
    return defines, declares, uses, depth == 0 and not declaration


def read_file(path):
    directives, rest = split_lines(path.read_text(encoding="utf-8"))
    includes, system, macros = [], [], {}
    for line in directives:
        if match := re.match(r"#\s*include\s*([<\"])([^>\"]+)", line):
            (includes if match.group(1) == '"' else system).append(match.group(2))
        elif match := re.match(r"#\s*define\s+(\w+)(\([^)]*\))?\s*(.*)", line):
            body = list(tokens_of(match.group(3)))
            macros[match.group(1)] = [word for before, word in zip(["", *body], body) if before != "."]
    defines, declares, uses, whole = read_body(rest)
    words = {word for body in macros.values() for word in body}
    return File(includes, system, defines, declares, uses, words | set(tokens_of(rest)), macros, whole)


# --- the tree ---

def read_tree(top):
    """{path below top: File}"""
    return {str(path.relative_to(top)): read_file(path) for path in sorted(top.rglob("*")) if path.suffix in CODE}


def folder_of(path):
    return os.path.dirname(path) or "top"


def units(tree):
    """{path: its unit}"""
    defined_by, found = definitions(tree), {}
    for path, file in tree.items():
        stem, ending = os.path.splitext(path)
        shared = {defined_by[name] for name in file.declares & defined_by.keys()} - {stem + ".c"}
        found[path] = path if ending in (".def", ".inc") or (ending == ".h" and (shared or stem + ".c" not in tree)) else stem
    return found


def resolve(path, name, tree):
    """What an include in quotes means: beside the file, or from the top. None: not of this tree."""
    return next((found for found in (os.path.normpath(os.path.join(os.path.dirname(path), name)), name) if found in tree), None)


def includes_of(path, tree):
    return [found for found in (resolve(path, name, tree) for name in tree[path].includes) if found]


def definitions(tree):
    """{name with external linkage: path of the .c that defines it}. What an .inc defines is its includer's, by the name that
    this one gives it. A macro may say static, too."""
    hidden = {"static", "inline"}
    hidden |= {name for file in tree.values() for name, body in file.macros.items() if hidden & set(body)}
    found = {}

    def add(owner, path, seen):
        for name, declaration in tree[path].defines.items():
            if not hidden & set(declaration):
                found["".join(tree[owner].macros.get(name, [name]))] = owner
        for inner in includes_of(path, tree):
            if inner.endswith(".inc") and inner not in seen:
                add(owner, inner, {*seen, inner})

    for path in tree:
        if path.endswith(".c"):
            add(path, path, {path})
    return found


def seen_by(path, tree):
    """The file itself and all that it includes, by others too."""
    seen, todo = set(), [path]
    while todo:
        other = todo.pop()
        if other not in seen:
            seen.add(other)
            todo += includes_of(other, tree)
    return seen


def uses_of(path, tree):
    """Words in the bodies of a file, and in those of the macros that it uses, wherever they are defined."""
    bodies = {}
    for other in seen_by(path, tree):
        for name, body in tree[other].macros.items():
            bodies.setdefault(name, set()).update(body)
    found, todo = set(), list(tree[path].uses)
    while todo:
        word = todo.pop()
        if word not in found:
            found.add(word)
            todo += bodies.get(word, ())
    return found


def needs(tree, by=lambda path: path):
    """{(A, B): why}, A and B what `by` makes of a path: by include, or by a name that B defines."""
    defined_by, found = definitions(tree), {}
    for path in tree:
        for other in includes_of(path, tree):
            found.setdefault((by(path), by(other)), f"{path} includes {other}")
        for name in sorted(uses_of(path, tree) & defined_by.keys()):
            found.setdefault((by(path), by(defined_by[name])), f"{path} uses {name}")
    return {pair: why for pair, why in found.items() if pair[0] != pair[1]}


def reach(after):
    """{node: those that it comes to, by one arrow or several}, of {node: those that it has an arrow to}."""
    found = {}
    for start in after:
        found[start], todo = set(), [start]
        while todo:
            new = set(after.get(todo.pop(), ())) - found[start]
            found[start] |= new
            todo += new
    return found


def circles(arrows):
    """Sets of more than one node that all reach each other."""
    after = {}
    for a, b in arrows:
        after.setdefault(a, set()).add(b)
    reached = reach(after)
    return sorted({tuple(sorted(b for b in reached[a] if a in reached.get(b, ()))) for a in after if a in reached[a]})


def circle_problems(arrows, known):
    """Circles that nobody knows of, with the arrows that make them, and known ones that are not there."""
    found = [set(circle) for circle in circles(arrows)]
    wrong = []
    for circle in found:
        if circle not in known:
            inside = [why for (a, b), why in sorted(arrows.items()) if a in circle and b in circle]
            wrong.append(f"a circle of {', '.join(sorted(circle))}: {'; '.join(inside)}")
    return wrong + [f"the known circle of {', '.join(sorted(circle))} is not there" for circle in known if circle not in found]


# --- src/README.md ---

def table_rows(page):
    """{folder: those that it includes} as the table says."""
    section = page.split("\n## Who includes whom\n", 1)[1].split("\n## ", 1)[0]
    rows = re.findall(r"^\| ([\w/]+) \|([^|]*)\|$", section, re.M)
    return {folder: set(re.findall(r"[\w/]+", others)) for folder, others in rows if folder != "folder"}


def known_circles(page):
    """Of folders: the bullets below "Remaining cycles", each with its folders before the colon."""
    parts = page.split("\nRemaining cycles:\n", 1)
    if len(parts) == 1:
        return []
    bullets = re.findall(r"^- (.*?):", parts[1].split("\n## ", 1)[0], re.M | re.S)
    return [set(re.findall(r"`([\w/]+)`", bullet)) for bullet in bullets]


def table_problems(tree, table):
    """Includes against the table, both ways."""
    wrong, used = [], {folder: set() for folder in map(folder_of, tree)}
    for path in tree:
        for other in includes_of(path, tree):
            if folder_of(other) != folder_of(path):
                used[folder_of(path)].add(folder_of(other))
                if folder_of(other) not in table.get(folder_of(path), ()):
                    wrong.append(f"{path} includes {other}, which the table does not have")
    wrong += [f"the table has no row for {folder}" for folder in sorted(used.keys() - table.keys())]
    for folder, others in table.items():
        wrong += [f"the table says {folder} includes {other}; no file does" for other in sorted(others - used.get(folder, set()))]
        if folder not in used:
            wrong.append(f"the table has a row for {folder}, which has no files")
    return wrong


def call_problems(tree, table, known):
    """Calls of a folder that a folder does not come to by the arrows of the table, unless they are of a known circle."""
    reached = reach(table)
    return [f"{why}, to which the table has no way from {a}" for (a, b), why in needs(tree, folder_of).items()
            if " uses " in why and b not in reached.get(a, ()) and not any({a, b} <= circle for circle in known)]


def room_problems(tree):
    """CUDA, HDF5 and MPI outside the files that may see them."""
    wrong = []
    for what, where, header, word in ROOMS:
        for path, file in tree.items():
            if not re.match(where, path):
                found = [name for name in file.system if re.fullmatch(header, name)]
                found += sorted(name for name in file.words if re.fullmatch(word, name))
                wrong += [f"{path} has {name}: {what} is not for this file"] if (name := ", ".join(found)) else []
    return wrong


def unread(tree):
    """Files that the reader lost its way in, or that include what is not there."""
    wrong = [f"{path}: braces do not end" for path, file in tree.items() if path.endswith(".c") and not file.whole]
    return wrong + [f"{path} includes {name}, which is not there"
                    for path, file in tree.items() for name in file.includes if name not in GENERATED and not resolve(path, name, tree)]


# --- tests ---

def test_tree(checks, _):
    tree, page = read_tree(SOURCE / "src"), (SOURCE / "src/README.md").read_text(encoding="utf-8")
    checks.that(len(tree) >= 200 and len(definitions(tree)) >= 500, f"{len(tree)} files, {len(definitions(tree))} definitions")
    table, known = table_rows(page), known_circles(page)
    for wrong in (unread(tree), table_problems(tree, table), call_problems(tree, table, known), circle_problems(needs(tree, units(tree).get), []),
                  circle_problems(needs(tree, folder_of), known), room_problems(tree)):
        for line in wrong:
            checks.that(False, line)


def plant(folder, files):
    """A tree of these texts by path."""
    for path in [path for path in Path(folder).rglob("*") if path.is_file()]:
        path.unlink()
    for path, text in files.items():
        (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
        (Path(folder) / path).write_text(text, encoding="utf-8")
    return read_tree(Path(folder))


def test_reader(checks, folder):
    """Definitions and uses of one file that others might overlook, or see where there are none."""
    for text, defines, uses in (
            ("int f(int a) { return g(a); }", {"f"}, {"g"}),
            ("int f(int a);\nextern int n;", set(), set()),
            ("static int f(void) { return 1; }\nstatic const int n = 1;", set(), set()),
            ("typedef struct S { int (*f)(void); } S;\nenum { A = 1 };\nstruct S *f(S s) { return s.g + s->h; }", {"f"}, set()),
            ("const S table[] = {{\"f\", f}};\nconst int n = m;", {"table", "n"}, {"f", "m"}),
            ("const int a[N] = {1};\nint f(void) { return 1; }", {"a", "f"}, set()),
            ("// int f(void) {\n/* g() { */ const char *s = \"{ h( \\\" \"; char c = '{';\nint i(void) {}", {"s", "c", "i"}, set()),
            ("_Static_assert(sizeof(S) == 8, \"\");\n__attribute__((noinline)) int f(void) {}", {"f"}, set()),
            ("#define HIDDEN static inline\nHIDDEN int f(void) {}\nMAKE(static, a)\nMAKE(static, b)\nint g(void) {}", {"g"}, set()),
            ("#ifdef __cplusplus\nextern \"C\" {\n#endif\nint f(void) {}\n#ifdef __cplusplus\n}\n#endif", {"f"}, set()),
            ("#define CALL(a) \\\n    (g(a) + (a).h)\nint f(int a) { return CALL(a); }", {"f"}, {"g"}),
            ("#define CALL(a) g(a)\nint f(void) { return 1; }", {"f"}, set())):
        tree = plant(folder, {"a.c": text})
        checks.that(not unread(tree) and definitions(tree).keys() == defines, f"{text}: defines {definitions(tree)}")
        names = {word for word in uses_of("a.c", tree) if re.fullmatch("[a-z]", word)} - {"a", "s"}
        checks.that(names == uses, f"{text}: uses {names}")
    for text, word in (("int f(void) {", "braces do not end"), ("#include \"none.h\"", "not there")):
        wrong = unread(plant(folder, {"a.c": text}))
        checks.that(len(wrong) == 1 and word in wrong[0], f"{text}: {wrong}")


def test_planted_circles(checks, folder):
    """Circles of units are found, and what is none is not."""
    uses_f, uses_g = "int g(void) { return f(); }", "int f(void) { return g(); }"
    for files, found in (
            ({"r/a.c": uses_f, "r/b.c": uses_g}, [{"r/a", "r/b"}]),
            ({"r/a.c": uses_f, "s/b.c": "int f(void) { return 1; }"}, []),
            ({"r/a.c": uses_f, "r/b.c": "static " + uses_g}, []),
            ({"r/a.c": uses_f, "r/b.c": "int h(void) { return g(); }", "s/c.c": "int (*const table[])(void) = {h};\n"
              "int f(void) { return table[0](); }"}, [{"r/a", "r/b", "s/c"}]),
            ({"r/a.c": uses_f, "r/b.h": "int f(void);\n#define ASK() g()", "r/b.c": "#include \"b.h\"\nint f(void) { return ASK(); }"},
             [{"r/a", "r/b"}]),
            ({"r/a.c": "", "r/a.h": "#include \"r/b.h\"\ntypedef int A;", "r/b.c": "", "r/b.h": "#include \"a.h\""}, [{"r/a", "r/b"}]),
            # a header that two files share is nobody's
            ({"r/a.c": "#include \"r/a.h\"\n" + uses_f, "r/a.h": "int f(void);\nint g(void);",
              "r/b.c": "#include \"r/a.h\"\nint f(void) { return 1; }"}, []),
            # who uses a macro calls what it calls, not the header that has it
            ({"r/a.c": "#include \"r/a.h\"\nint f(void) { return 1; }", "r/a.h": "int f(void);\nint g(void);\n#define ASK() f()",
              "r/b.c": "#include \"r/a.h\"\nint g(void) { return ASK(); }"}, []),
            # what is compiled twice is two files' own
            ({"r/k.inc": "int NAME(void) { return f(); }", "r/a.c": "#define NAME a\n#include \"k.inc\"",
              "r/b.c": "#define NAME b\n#include \"k.inc\"", "r/c.c": "int f(void) { return b(); }"}, [{"r/b", "r/c", "r/k.inc"}]),
            ({"r/a.cu": "#include \"a.cuh\"", "r/a.cuh": "#include \"b.cuh\"", "r/b.cuh": "#include \"a.cuh\""}, [{"r/a", "r/b"}])):
        tree = plant(folder, files)
        arrows = needs(tree, units(tree).get)
        checks.that([set(circle) for circle in circles(arrows)] == found, f"{files}: {circles(arrows)}")
        checks.that(len(circle_problems(arrows, [])) == len(found) and not circle_problems(arrows, found), f"{files}: known circles")
        checks.that(len(circle_problems(arrows, [*found, {"r/x", "r/y"}])) == 1, f"{files}: a known circle that is not there")
        larger = [circle | {"r/x"} for circle in found]
        checks.that(len(circle_problems(arrows, larger)) == 2 * len(found), f"{files}: a known circle that is another")


PAGE = """# The source

## Who includes whom

| folder | includes |
|---|---|
| top | r |
| r | r/s |
| r/s | |

Remaining cycles:

- `r` and
  `r/s`: because, as `a` says;
- `t`, `u`: too.

## Next

- `v`: no circle.
"""


def test_planted_arrows(checks, folder):
    """Includes against the table, circles of folders, and what only some files may see."""
    table = table_rows(PAGE)
    checks.that(table == {"top": {"r"}, "r": {"r/s"}, "r/s": set()}, f"table: {table}")
    checks.that(known_circles(PAGE) == [{"r", "r/s"}, {"t", "u"}], f"circles: {known_circles(PAGE)}")
    checks.that(not known_circles(PAGE.split("\nRemaining cycles")[0]), "circles of a page without any")
    right = {"a.c": "#include \"r/b.h\"", "r/b.h": "#include \"s/c.h\"", "r/s/c.h": ""}
    for changes, words in (({}, []), ({"r/s/c.h": "#include \"r/b.h\""}, ["r/s/c.h includes r/b.h"]),
                           ({"r/b.h": ""}, ["the table says r includes r/s"]), ({"t/d.h": ""}, ["no row for t"]),
                           ({"r/s/c.h": "#include \"a.h\"", "a.h": ""}, ["r/s/c.h includes a.h"])):
        wrong = table_problems(plant(folder, {**right, **changes}), table)
        checks.that(len(wrong) == len(words) and all(word in line for word, line in zip(words, wrong)), f"{changes}: {wrong}")
    wrong = table_problems(plant(folder, right), {**table, "t": set()})
    checks.that(len(wrong) == 1 and "row for t" in wrong[0], f"a row without files: {wrong}")

    tree = plant(folder, {**right, "r/b.c": "int f(void) { return 1; }", "r/s/c.c": "int g(void) { return f(); }"})
    wrong = circle_problems(needs(tree, folder_of), [])
    checks.that(len(wrong) == 1 and "r, r/s" in wrong[0] and "r/s/c.c uses f" in wrong[0], f"folders in a circle by call: {wrong}")

    table["t"] = {"r"}
    for files, word in (({"r/b.c": "int f(void) { return 1; }", "r/s/c.c": "int g(void) { return f(); }"}, "r/s/c.c uses f"),
                        ({"r/s/c.c": "int f(void) { return 1; }", "t/d.c": "int g(void) { return f(); }"}, None)):
        wrong = call_problems(plant(folder, files), table, [])
        checks.that(len(wrong) == (1 if word else 0) and all(word in line for line in wrong), f"{files}: {wrong}")
        checks.that(not call_problems(plant(folder, files), table, [{"r", "r/s"}]), f"{files}, a known circle")

    for path, text, n in (("base/a.c", "#include <cuda_runtime_api.h>", 1), ("base/a.c", "#include <cuda.h>", 1),
                          ("base/a.c", "void f(void) { cudaFree(0); }", 1), ("base/a.c", "#define FREE(p) cuMemFree(p)", 1),
                          ("base/a.c", "void f(void) { cuda_free(\"cudaFree\"); cut(); } // cudaFree", 0),
                          ("cuda/x/a.c", "#include <cuda.h>\nvoid f(void) { cudaFree(0); }", 0), ("cuda.c", "#include <cuda.h>", 1),
                          ("output/a.c", "#include <hdf5.h>", 1), ("output/a.c", "void f(void) { H5Fopen(n, H5F_ACC_RDWR); }", 1),
                          ("output/h5a.c", "#include <hdf5.h>\nvoid f(void) { H5Fopen(n, H5F_ACC_RDWR); }", 0),
                          ("cuda/a.c", "void f(void) { H5Fopen(0); }", 1), ("parallel/a.c", "#include <mpi.h>", 1),
                          ("parallel/a.c", "void f(void) { MPI_Init(0, 0); }", 1), ("parallel/a.c", "const char *s = \"MPI_RANK\";", 0)):
        wrong = room_problems(plant(folder, {path: text}))
        checks.that(len(wrong) == n, f"{path}: {text}: {wrong}")


def main():
    checks = Checks()
    checks.run(test_tree, test_reader, test_planted_circles, test_planted_arrows)
    checks.finish()


main()
