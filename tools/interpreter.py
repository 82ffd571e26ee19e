"""How the tools begin and end. The python3 on PATH may be one that does not see the distribution's modules; the distribution's own
does. And who reads what a tool prints may have read enough."""
import importlib.util
import os
import signal
import subprocess
import sys

SYSTEM_PYTHON = "/usr/bin/python3"


def need(script, modules, wished=()):
    """Called before a tool imports these modules. If one is missing, a tool that was started as a script starts again
    with the distribution's interpreter, once; else it ends and says which package has it. wished: modules without which the
    tool does less; for these it starts again only where that interpreter has them all. script: its __name__."""
    missing = [module for module in modules if not importlib.util.find_spec(module)]
    less = [module for module in wished if not importlib.util.find_spec(module)]
    if (missing or less and distribution_has((*modules, *wished))) and script == "__main__" \
            and os.path.exists(SYSTEM_PYTHON) and "MDMINI_PYTHON_AGAIN" not in os.environ:
        os.environ["MDMINI_PYTHON_AGAIN"] = "1"
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON] + sys.argv)
    if missing:
        packages = " ".join(f"python3-{module}" for module in modules)
        sys.exit(f"{os.path.basename(sys.argv[0])}: no module {missing[0]}; on Debian: apt-get install {packages}")


def distribution_has(modules):
    return os.path.exists(SYSTEM_PYTHON) and \
        subprocess.run([SYSTEM_PYTHON, "-c", f"import {', '.join(modules)}"], capture_output=True).returncode == 0


def run(main):
    """Exit code of a tool. `| head` closes the pipe before all is printed: then it ends in silence, as what SIGPIPE ends does, but
    with its runs and files cleared away."""
    try:
        try:
            code = main()
        except SystemExit as end:
            code = end.code
        if sys.stdout:  # None where it was closed from the beginning
            sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is flushed at exit, too
        return 128 + signal.SIGPIPE
    return code
