"""What the scripts of this folder that measure have in common: a budget of time, their arguments, records that a cut leaves
whole."""
import argparse
import difflib
import json
import os
import re
import shlex
import signal
import time
from pathlib import Path

from runs import kill_all

TOP = Path(__file__).resolve().parents[1]


class Budget:
    """The time after which no run begins."""

    def __init__(self, seconds):
        self.start, self.seconds, self.signal = time.monotonic(), seconds, None

    def spent(self):
        return time.monotonic() - self.start

    def is_over(self):
        return self.seconds is not None and self.spent() >= self.seconds

    def end_at_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.end)

    def why_over(self):
        return f"stopped by {self.signal}" if self.signal else "time was up"

    def end(self, number, _):
        """By a signal: what runs is lost, what was measured is told."""
        self.seconds, self.signal = 0, signal.Signals(number).name
        kill_all()


def shell_path(path):
    """A path in a command that can be pasted into a shell, and that no program takes for an option."""
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def guess(text, allowed):
    """Of these words the one that may have been meant, as the end of a message; empty where none is near."""
    near = difflib.get_close_matches(text, allowed, 1)
    return f'; did you mean "{near[0]}"?' if near else ""


class Parser(argparse.ArgumentParser):
    def parse_args(self, args=None, namespace=None):
        found, left = self.parse_known_args(args, namespace)
        if left:
            name = left[0].split("=")[0]
            self.error(f"unrecognized arguments: {' '.join(left)}{guess(name, re.findall(r'--[a-z0-9-]+', self.format_usage()))}")
        return found

    def error(self, message):  # without the usage, which is long
        quote = "; several words of one option stand in quotes" if message.startswith("unrecognized") and "=" in message else ""
        self.exit(2, f"{self.prog}: {message}{quote} (--help tells more)\n")


def one_of(*allowed):
    """Of an option that is one of these words."""
    def word(text):
        if text not in allowed:
            raise argparse.ArgumentTypeError(f"read {text!r}; allowed: {', '.join(allowed)}{guess(text, allowed)}")
        return text
    return word


def whole(text):
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def positive(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return value


def check_program(parser, path):
    if not os.path.isfile(path) or not os.access(path, os.X_OK):
        parser.error(f"{path}: no such program")


def check_paths(parser, a):
    """The program is there, and a place for the record."""
    check_program(parser, a.mdmini)
    if a.output and not os.path.isdir(os.path.dirname(os.path.abspath(a.output))):
        parser.error(f"{a.output}: no such folder")


def portable(text, folder):
    """A record travels: it names files from the top of the source, and those beside it by their names, not where they were on the
    machine that made it."""
    for place in sorted({str(TOP), str(Path(folder).resolve())} - {"/"}, key=len, reverse=True):
        text = text.replace(place + "/", "")
    return text


def save_json(path, record):
    """Aside first: a cut leaves the old file or the new one."""
    aside = Path(path + ".new")
    aside.write_text(portable(json.dumps(record), Path(path).parent) + "\n")
    aside.replace(path)
