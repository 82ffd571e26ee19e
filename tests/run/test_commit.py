"""Which commit a build reports: the source's own, `unknown` without git, and never that of a repository that the source was unpacked in."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from program import SKIPPED, Checks

checks = Checks()
script = Path(os.environ["MDMINI"]).parent / "build_info.cmake"
if not script.exists():
    print(f"skipped: {script.parent} is no build folder")
    sys.exit(SKIPPED)


def git(folder, *words):
    subprocess.run(["git", "-C", folder, "-c", "user.name=nobody", "-c", "user.email=none", *words], check=True, capture_output=True)


def reported(source):
    """What the build's script writes for a source in this folder: commit, and whether it has changes."""
    output, copy = source.parent / "info.h", source.parent / "info.cmake"
    text = script.read_text().replace(str(script.parent / "generated/mdmini_build.h"), str(output))
    text = re.sub(r'set\(commit "\w*"\)', 'set(commit "")', text)  # also where the build was told its commit
    copy.write_text(text.replace(os.environ["MDMINI_SOURCE"], str(source)))
    subprocess.run(["cmake", "-P", copy], check=True, env=os.environ | {"GIT_CEILING_DIRECTORIES": str(source.parent.parent)})
    words = dict(line.split(maxsplit=2)[1:] for line in output.read_text().splitlines() if line.startswith("#define"))
    return words["MD_BUILD_COMMIT"].strip('"'), words["MD_BUILD_DIRTY"]


with tempfile.TemporaryDirectory() as name:
    top = Path(name).resolve() / "top"
    source = top / "mdmini"
    source.mkdir(parents=True)
    (source / "file").write_text("1\n")
    checks.that(reported(source) == ("unknown", "0"), f"without git: {reported(source)}")
    git(top, "init")
    git(top, "add", "mdmini/file")
    git(top, "commit", "-m", "of another project")
    (source / "file").write_text("2\n")
    checks.that(reported(source) == ("unknown", "0"), f"in the repository of another project: {reported(source)}")
    git(source, "init")
    checks.that(reported(source) == ("unknown", "0"), f"a repository without a commit: {reported(source)}")
    git(source, "add", "file")
    git(source, "commit", "-m", "of mdmini")
    head = subprocess.run(["git", "-C", source, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    checks.that(len(head) == 12 and reported(source) == (head, "0"), f"its own: {reported(source)}, not {head}")
    (source / "file").write_text("3\n")
    checks.that(reported(source) == (head, "1"), f"its own, changed: {reported(source)}")
checks.finish()
