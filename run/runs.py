"""Runs of the program whose loop is watched, so that the next one can be set up while the last is being verified."""
import atexit
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from datetime import datetime, timezone
from pathlib import Path


class NotRun(Exception):
    """There is no report, and why."""

    def __init__(self, kind, text):
        super().__init__(text)
        self.kind = kind  # refused, failed, too slow, crashed, time


# Words of Open MPI, which has started no process.
LAUNCHER_REFUSES = ("not enough slots", "attempt to run as root", "binding more processes than cpus")
REFUSED_BY_IT = "refused by the launcher: "
LAUNCHER_S = 8  # that a launcher may take to end its processes
COARSE_S = 0.05  # a loop that looks shorter from outside may have been anything: lines arrive when the reader has its turn


# Told to end: mdmini itself says 75, or 128 + N after a second signal, and dies of one that comes before it has begun to listen.
# A batch system tells all processes of a job at once, so this may be seen before one's own signal.
ENDED = {75, *(code for number in (signal.SIGTERM, signal.SIGINT) for code in (-number, 128 + number))}


def messages(told):
    """The errors among what the program wrote to stderr; where there are none all that stands there as one, as of a launcher that
    could not start it."""
    lines = [line.strip() for line in told.splitlines() if line.strip("- ")]
    own = [line for line in lines if line.startswith("mdmini: error: ")]
    if lines and not own:
        own = [" ".join(lines)]
        if any(words in own[0] for words in LAUNCHER_REFUSES):
            own = [REFUSED_BY_IT + own[0]]
    return [line.replace("mdmini: error: ", "").replace("command line: ", "") for line in own]


def shown(number, form=".3g"):
    """A figure of a report, which is null where it is not finite."""
    return "not finite" if number is None else format(number, form)


def why_no_speed(report):
    """Why the run of a report has no speed: it blew up, or made no step. Empty where it has one."""
    fault = report.get("fault")
    if fault:
        far = f"{fault['displacement']:.3g} sigma in one step" if fault["displacement"] is not None else "to no finite place"
        return f"unstable at step {fault['step']}: atom {fault['atom']} would have moved {far}"
    return "" if report["atom_steps_per_second"] else f"no speed: it made {report['n_steps']} steps"


def utc_now():
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Run:
    """A run that has been started. Its thermo table has two rows, printed just before the loop and at its end: so one sees
    from outside when the loop began, when it ended, and what of the run was not the loop."""
    alive = set()

    def __init__(self, command, n_steps, limit_s, holds=(), is_launched=False):
        """holds: descriptors, with their locks, that the program keeps open for as long as it runs; is_launched: the command is a
        launcher, which ends its processes where it is told to end, and may leave them where it is killed."""
        self.folder, self.errors = tempfile.TemporaryDirectory(prefix="mdmini-run-"), tempfile.TemporaryFile("w+")
        self.n_steps, self.limit_s, self.is_launched = n_steps, limit_s, is_launched
        self.began, self.started = time.monotonic(), utc_now()
        self.loop_began = self.loop_ended = self.gone = None
        self.loop_is_over = threading.Event()  # or will never begin
        self.why_killed = self.result = None
        self.told = ""  # what it wrote to stderr, once it has ended
        self.child = subprocess.Popen(command, cwd=self.folder.name, stdout=subprocess.PIPE, stderr=self.errors,
                                      stdin=subprocess.DEVNULL, pass_fds=holds, text=True, errors="replace")
        Run.alive.add(self)
        self.timer = threading.Timer(limit_s, self.kill, ("too slow", f"{n_steps} steps took more than {limit_s:g} s"))
        self.reader = threading.Thread(target=self.read)
        for thread in (self.timer, self.reader):
            thread.daemon = True
            thread.start()

    def read(self):
        for line in self.child.stdout:
            word = (line.split(maxsplit=1) or [""])[0]
            if word == "0" and not self.loop_began:
                self.loop_began = time.monotonic()
            elif word == str(self.n_steps) and self.loop_began and not self.loop_ended:
                self.loop_ended = time.monotonic()
                self.loop_is_over.set()
        self.child.wait()
        self.gone = time.monotonic()
        self.loop_is_over.set()

    def kill(self, kind, text):
        if self.child.poll() is not None:
            return  # it has come to its own end
        self.why_killed = NotRun(kind, text)
        self.end()

    def end(self):
        if self.is_launched:
            self.child.terminate()
            last = threading.Timer(LAUNCHER_S, self.child.kill)
            last.daemon = True
            last.start()
        else:
            self.child.kill()

    def loop_seconds(self):
        """After loop_is_over: as seen from outside, where that is good enough, or from the report, which is waited for. None:
        it did not get to its end."""
        if self.loop_ended and self.loop_ended - self.loop_began >= COARSE_S:
            return self.loop_ended - self.loop_began
        try:
            return self.report()["loop_seconds"]
        except NotRun:
            return None

    def seconds(self):
        """From start to end, after report()."""
        return round(self.gone - self.began, 3)

    def discard(self):
        """Ends it, and whatever it said does not count."""
        self.end()
        self.why_killed = NotRun("time", "discarded")
        self.reader.join()
        self.close()

    def report(self):
        """Waits for the end: the JSON report, less what is long and not needed. NotRun where there is none."""
        if not self.result:
            self.reader.join()
            try:
                self.result = self.read_report()
            except NotRun as why:
                self.result = why
            self.close()
        if isinstance(self.result, NotRun):
            raise self.result
        return self.result

    def close(self):
        self.timer.cancel()
        Run.alive.discard(self)
        self.errors.close()
        self.folder.cleanup()

    def read_report(self):
        if self.why_killed:
            raise self.why_killed
        self.errors.seek(0)
        code, path = self.child.returncode, Path(self.folder.name) / "step.json"
        self.told = self.errors.read().strip()
        message = (messages(self.told) or ["no message"])[0]
        if code in ENDED:
            raise NotRun("time", "ended by a signal")
        if code == 2:
            raise NotRun("refused", "refused: " + message)
        if len(message) > 400:  # what a launcher says begins, or ends, with the reason
            message = f"{message[:200]} ... {message[-200:]}"
        if message.startswith(REFUSED_BY_IT):
            raise NotRun("refused", message)
        if code not in (0, 3):  # 3: the physics failed, which the report says
            raise NotRun("crashed", f"CRASHED: exit code {code}: {message}")
        if not path.exists():
            raise NotRun("crashed", f"CRASHED: exit code {code}, and no report")
        try:
            report = json.loads(path.read_text())
        except ValueError as error:
            raise NotRun("crashed", f"CRASHED: exit code {code}, and its report is no JSON: {error}") from error
        for key in ("thermo", "effective_deck", "options"):
            report.pop(key, None)
        return report


@atexit.register
def kill_all(kind="time", text="ended while it ran"):
    for run in tuple(Run.alive):
        run.kill(kind, text)
    for run in tuple(Run.alive):  # who has a GPU takes a while to go
        try:
            run.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            pass
