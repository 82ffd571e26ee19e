"""Input that cannot be used: each file of bad/ is refused with its message, exit code 2, and nothing written.

bad/NAME.expected holds lines that must each occur in what goes to stderr. Its first line may be a comment with the
arguments, `# arguments: {here}/NAME.txt run.steps=1`; without it the argument is bad/NAME.txt. {here} is the folder bad,
{locked} a folder without write permission. good/ holds decks that look odd and are legal (arguments in their first line):
a program that refused everything would fail there.
"""
import os
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.get("MDMINI", "")
failures = []


def names(folder, ending):
    return sorted(name[: -len(ending)] for name in os.listdir(folder) if name.endswith(ending))


def run(arguments, places):
    """Runs the program in a folder of its own; (exit code, stderr, what it left behind)."""
    with tempfile.TemporaryDirectory() as folder:
        words = [word.format(**places) for word in arguments]
        done = subprocess.run([PROGRAM] + words, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, timeout=300)
        return done.returncode, done.stderr.decode("utf-8", "replace"), os.listdir(folder)


def arguments_of(lines, fallback):
    if lines and lines[0].startswith("# arguments:"):
        return shlex.split(lines[0].split(":", 1)[1]), lines[1:]
    return [fallback], lines


def fail(name, text):
    failures.append(name)
    print(f"FAILED {name}: {text}")


def check_bad(name, places):
    with open(os.path.join(places["here"], name + ".expected"), encoding="utf-8") as file:
        arguments, expected = arguments_of(file.read().splitlines(), "{here}/" + name + ".txt")
    if not expected:
        fail(name, "no message is expected: this tests nothing")
        return
    # The program that is to run refuses with the same words as the one that only checks. It is not let loose on a
    # deck that the check took for good.
    for mode in (["--check"], []):
        code, errors, left = run(mode + arguments, places)
        if code != 2:
            fail(name, f"exit code {code}, expected 2; it said: {errors}")
            return
        for line in expected:
            if line not in errors:
                fail(name, f"not found: {line}\n    in: {errors}")
        for line in errors.splitlines():
            if not line.startswith("mdmini: error: "):
                fail(name, f"not a message of the program: {line}")
        if left:
            fail(name, f"left behind: {left}")


def check_good(name, places):
    with open(os.path.join(places["here"], name + ".txt"), encoding="utf-8") as file:
        arguments, _ = arguments_of(file.read().splitlines(), "{here}/" + name + ".txt")
    code, errors, left = run(["--check"] + arguments, places)
    if code != 0 or errors or left:
        fail(name, f"exit code {code}, expected 0; it said: {errors}; left behind: {left}")


def main():
    if not PROGRAM:
        print("skipped: MDMINI does not name the program")
        return 77
    bad, good = os.path.join(HERE, "bad"), os.path.join(HERE, "good")
    with tempfile.TemporaryDirectory() as locked:
        os.chmod(locked, 0o555)
        places = {"here": bad, "locked": locked}
        n_bad = 0
        for name in names(bad, ".expected"):
            if name == "output_folder_locked" and os.access(locked, os.W_OK):
                print(f"not run: {name}: this user (root?) may write everywhere")
                continue
            check_bad(name, places)
            n_bad += 1
        for name in names(good, ".txt"):
            check_good(name, {"here": good, "locked": locked})
        os.chmod(locked, 0o755)
    without = set(names(bad, ".txt")) - set(names(bad, ".expected"))
    if without:
        fail(", ".join(sorted(without)), "no .expected beside it")
    print(f"{n_bad} bad and {len(names(good, '.txt'))} good decks, {len(failures)} failures")
    return 1 if failures or n_bad == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
