"""The python3 on PATH may not see the distribution's modules; the distribution's own does."""
import importlib.util
import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"


def need(*modules):
    """Called before a test imports these modules: where one is missing the test starts again with the distribution's
    interpreter, and where that lacks it, too, it is skipped."""
    missing = [module for module in modules if not importlib.util.find_spec(module)]
    if missing and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON) and os.path.exists(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-B"] + sys.argv)
    if missing:
        print(f"skipped: no {missing[0]} (Debian: python3-{missing[0]})")
        sys.exit(77)
