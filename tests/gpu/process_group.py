"""Programs that start others (compute-sanitizer does), so that what ends one ends all: a child of a child that goes on keeps the
pipe open on which its output is waited for."""
import os
import signal
import subprocess
import threading

_alive, _stopped = set(), threading.Event()


def _kill(child):
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def run(command, limit_s, **rest):
    """(exit code, output) of a command as the leader of a group of its own; the code is None where there was no end within
    the limit. OSError where it does not start."""
    child = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             errors="replace", **rest)
    _alive.add(child)
    if _stopped.is_set():
        _kill(child)
    try:
        text = child.communicate(timeout=limit_s)[0]
        return child.returncode, text
    except subprocess.TimeoutExpired:
        _kill(child)
        return None, child.communicate()[0]
    finally:
        _alive.discard(child)


def stop():
    """Ends all groups that run, and each one that is begun from now on."""
    _stopped.set()
    for child in tuple(_alive):
        _kill(child)


def is_stopped():
    return _stopped.is_set()
