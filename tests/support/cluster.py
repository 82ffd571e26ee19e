"""A Slurm of one node on this machine, for tests: its daemons run in a folder of their own, as the user who runs the test, on
free ports, and are gone at the end. Nothing of a Slurm that is set up on this machine is read or touched.

It needs slurmctld, slurmd, the commands of slurm-client, and munged, by which the daemons know who asks: without it every
user of the machine could start processes as the one who runs the test. The node pretends to have eight cores and one GPU.

    python3 tests/support/cluster.py [COMMAND...]    a shell (or COMMAND) in which sbatch is that of such a cluster

Tests: MDMINI_TEST_ONLY is the name of one.
"""
import ctypes
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "run" / "slurm"
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "squeue", "scontrol", "scancel", "sinfo")
SYSTEM_PATH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"  # where Debian has daemons, and users often do not look
START_S = 20
STOP_S = 15
REVOKED_S = 2  # a job that starts again in the second in which it ended is killed: its credential was revoked in that second
PR_SET_PDEATHSIG = 1

CONFIGURATION = """\
ClusterName=mdmini-test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
# A credential's life is how long a requeued job waits for its next start: two minutes if nothing is said.
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=10
OverTimeLimit=0
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/log/jobs
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=16000 Gres=gpu:1 State=UNKNOWN
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=10
PartitionName=urgent Nodes={host} MaxTime=INFINITE State=UP PriorityTier=2 PreemptMode=OFF
"""


def why_not():
    """What is missing here for such a cluster; None: nothing."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=SYSTEM_PATH)]
    if missing:
        return f"no {', '.join(missing)}: Debian's packages slurmctld, slurmd, slurm-client"
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return f"user {os.getuid()} has no name here, and Slurm wants one"
    return None


def die_with_parent():
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


class Cluster:
    """with Cluster() as cluster: ... environment: for commands that are to meet this cluster."""

    def __enter__(self):
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # with what __exit__ has to do
        self.folder, self.daemons = Path(tempfile.mkdtemp(prefix="mdmini-slurm-")), []
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith(("SLURM", "SBATCH", "SRUN", "SALLOC"))}
        self.environment |= {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": SYSTEM_PATH}
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        for name in ("munge", "state", "spool", "log"):
            (self.folder / name).mkdir()
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=host, user=pwd.getpwuid(os.getuid()).pw_name, folder=self.folder, ports=free_ports(2)))
        (self.folder / "gres.conf").write_text(f"NodeName={host} Name=gpu File=/dev/null\n")
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}",
                    *(f"--{what}={self.folder}/munge/{what}" for what in ("socket", "pid-file", "log-file", "seed-file")))
        self.wait(lambda: (self.folder / "munge" / "socket").exists(), START_S, "munged does not start")
        self.daemon("slurmctld", "-D", "-c")
        self.daemon("slurmd", "-D")
        self.wait(lambda: "idle" in self.command("sinfo", "-h", "-o", "%T", check=False), START_S, "no node is idle")

    def daemon(self, *words):
        with open(self.folder / "log" / f"{words[0]}.out", "w", encoding="utf-8") as out:
            self.daemons.append(subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                                 start_new_session=True, preexec_fn=die_with_parent))

    def stop(self):
        """Jobs first, as they would outlive the daemons."""
        if len(self.daemons) == 3:
            self.command("scancel", "--user", pwd.getpwuid(os.getuid()).pw_name, check=False)
            self.wait(lambda: not self.command("squeue", "-h", check=False), STOP_S)
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(STOP_S)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.kill("", signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def left(self):
        """Processes that were started in this cluster and are still there."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if f"SLURM_CONF={self.folder}/".encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                    found.append(int(path.parent.name))
            except OSError:
                pass  # it is gone, or another user's
        return found

    def kill(self, name, number):
        """Sends a signal to what runs in this cluster under the name ("": to all), not by way of Slurm."""
        for pid in self.left():
            try:
                if not name or Path(f"/proc/{pid}/comm").read_text().strip() == name:
                    os.kill(pid, number)
            except OSError:
                pass  # it has ended

    def command(self, *words, folder=None, check=True):
        """Standard output of a command of Slurm, less the last newline."""
        done = subprocess.run([str(word) for word in words], cwd=folder, env=self.environment, capture_output=True, text=True, timeout=300)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(map(str, words))}: exit code {done.returncode}: {done.stderr}{self.logs()}")
        return done.stdout.strip()

    def wait(self, holds, seconds, what=None):
        """Until holds() is true; after the seconds an error that says what, or False."""
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                if what:
                    raise RuntimeError(f"{what} after {seconds} s{self.logs()}")
                return False
            time.sleep(0.05)
        return True

    def logs(self):
        text = ""
        for path in sorted((self.folder / "log").glob("*")):
            text += f"\n--- end of {path.name}\n{path.read_text(errors='replace')[-1500:]}"
        return text

    def submit(self, *words, folder):
        """The number of the job that sbatch makes of these words, called in the folder."""
        return self.command("sbatch", "--parsable", *words, folder=folder).split(";")[0]

    def job(self, job):
        """{key: value} of a job or a task of an array (ID_TASK), as scontrol shows it."""
        words = self.command("scontrol", "-o", "show", "job", job).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def wait_state(self, job, *states, seconds=600):
        """Until the job is in one of these states; returns what scontrol shows then."""
        self.wait(lambda: self.job(job)["JobState"] in states, seconds, f"job {job} is not {' or '.join(states)}")
        return self.job(job)

    def wait_requeued(self, job, n_starts, hurry=True, seconds=600):
        """Until the job runs again for the n-th time after its first. hurry: with less of the wait that Slurm has before."""
        waits_since = None

        def runs_again():
            nonlocal waits_since
            state = self.job(job)
            if state["JobState"] != "PENDING" or state["Reason"] != "BeginTime":
                waits_since = None
            elif not waits_since:
                waits_since = time.monotonic()
            elif hurry and time.monotonic() > waits_since + REVOKED_S:
                self.command("scontrol", "update", f"JobId={job}", "StartTime=now", check=False)
            if state["JobState"] == "COMPLETED":
                raise RuntimeError(f"job {job} has ended before start {n_starts}: {state}")
            return int(state["Restarts"]) >= n_starts and state["JobState"] == "RUNNING"
        self.wait(runs_again, seconds, f"job {job} has not begun again")


def run_tests(*tests):
    """test(checks, folder, cluster): each in a folder of its own, all in one cluster."""
    import program  # what it imports, the shell does without
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        sys.exit(program.SKIPPED)
    checks, begun = program.Checks(), time.monotonic()
    with Cluster() as cluster:
        print(f"a cluster of one node is up after {time.monotonic() - begun:.1f} s", flush=True)
        for test in tests:
            if os.environ.get("MDMINI_TEST_ONLY", test.__name__) != test.__name__:
                continue
            with program.temporary_folder() as folder:
                before, begun = checks.n_failed, time.monotonic()
                try:
                    test(checks, Path(folder), cluster)
                except RuntimeError as error:  # of the cluster: something did not happen
                    checks.that(False, f"{test.__name__}: {error}")
                if checks.n_failed > before:
                    for path in sorted(Path(folder).glob("*.out")):
                        print(f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}")
                print(f"{test.__name__}: {'passed' if checks.n_failed == before else 'FAILED'}, "
                      f"{time.monotonic() - begun:.1f} s", flush=True)
    checks.finish()


def main():
    reason = why_not()
    if reason:
        sys.exit(f"cluster.py: {reason}")
    with Cluster() as cluster:
        words = sys.argv[1:] or [os.environ.get("SHELL", "/bin/sh")]
        print(f"a cluster of one node in {cluster.folder}, until this command ends: {' '.join(words)}", flush=True)
        code = subprocess.run(words, env=cluster.environment).returncode
    sys.exit(code)


if __name__ == "__main__":
    main()
