"""The python3 on PATH may not see the distribution's modules; the distribution's own does."""
import importlib.util
import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"


def find_missing(modules):
    return [module for module in modules if not importlib.util.find_spec(module)]


def prefer(*modules):
    """Called before a test imports these modules: where one is missing the test starts again with the distribution's
    interpreter."""
    if find_missing(modules) and os.path.realpath(sys.executable) != os.path.realpath(SYSTEM_PYTHON) \
            and os.path.exists(SYSTEM_PYTHON):
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-B"] + sys.argv)


def need(*modules):
    """The same; where that lacks one, too, the test is skipped."""
    prefer(*modules)
    missing = find_missing(modules)
    if missing:
        print(f"skipped: no {missing[0]} (Debian: python3-{missing[0]})")
        sys.exit(77)
