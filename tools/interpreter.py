"""The python3 on PATH may be one that does not see the distribution's modules; the distribution's own does."""
import importlib
import os
import sys

SYSTEM_PYTHON = "/usr/bin/python3"


def need(script, modules):
    """Called before a tool imports these modules. If one is missing, a tool that was started as a script starts again
    with the distribution's interpreter, once; else it ends and says which package has it. script: its __name__."""
    try:
        for module in modules:
            importlib.import_module(module)
    except ImportError as missing:
        if script == "__main__" and os.path.exists(SYSTEM_PYTHON) and "MDMINI_PYTHON_AGAIN" not in os.environ:
            os.environ["MDMINI_PYTHON_AGAIN"] = "1"
            os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
        packages = " ".join(f"python3-{module}" for module in modules)
        sys.exit(f"{os.path.basename(sys.argv[0])}: {missing}; on Debian: apt-get install {packages}")
