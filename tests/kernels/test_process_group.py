"""tests/gpu/process_group.py: who runs into the limit, or is stopped, ends with all that it started, which holds its output open."""
import os
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(os.environ["MDMINI_SOURCE"]) / "tests/gpu"))
import process_group  # noqa: E402
from program import Checks  # noqa: E402

checks = Checks()
SLEEPS = ["sh", "-c", "echo begun; sleep 3600 & sleep 3600"]


def timed(command, limit_s):
    start = time.monotonic()
    return (*process_group.run(command, limit_s), time.monotonic() - start)


code, text, seconds = timed(["sh", "-c", "echo out; echo error >&2; exit 3"], 3600)
checks.that(code == 3 and text.split() == ["out", "error"], f"an end by itself: {code}, {text!r}")
code, text, seconds = timed(SLEEPS, 0.5)
checks.that(code is None and text == "begun\n" and seconds < 300, f"the limit: {code}, {text!r}, {seconds:.1f} s")
threading.Timer(0.5, process_group.stop).start()
code, text, seconds = timed(SLEEPS, 3600)
checks.that(code == -9 and seconds < 300, f"stopped: {code}, {seconds:.1f} s")
code, text, seconds = timed(SLEEPS, 3600)
checks.that(code == -9 and seconds < 300 and process_group.is_stopped(), f"begun after that: {code}, {seconds:.1f} s")
checks.finish()
