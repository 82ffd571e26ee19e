"""Checks of mdmini for ReFrame 4: the program is built from this tree, or taken as it is installed, and runs a deck on one process,
on several, and on a GPU. A check fails where the run does not say PASSED, or is slower than its reference. run/reframe/README.md"""
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, performance_function, run_after, run_before, sanity_function, variable

TREE = Path(__file__).resolve().parents[2]

# Steps a second of each check: machine (SYSTEM or SYSTEM:PARTITION of the settings): (steps/s, how much lower, how much
# higher). -0.3: down to 70 %; None: any. A machine without a row passes at any speed, which is shown and kept.
REFERENCES = {
    # Two cores of a shared Intel Xeon, commit 6c6ea1d76383: the median of twelve runs, 391 to 467.
    "mdmini_one_process": {"xeon": (432, -0.3, None)},
    "mdmini_processes": {},
    "mdmini_gpu": {},
}


class settings(rfm.RegressionTestPlugin):
    """What the command line sets by -S NAME=VALUE, beside ReFrame's own variables (modules, num_tasks, ...)."""
    program = variable(str, value="")  # an installed one: a path, or a name that modules or PATH know; empty: built from the tree
    options = variable(str, value="")  # of that build, further ones of cmake, such as -DMDMINI_CUDA=ON
    jobs = variable(int, value=4)  # of that build
    deck = variable(str, value="melt.txt")  # of inputs/, or a path
    words = variable(str, value="")  # further layers and keys, such as system.cells=63


class mdmini_program(rfm.CompileOnlyRegressionTest, settings):
    """The program, once for each partition and programming environment."""
    sourcesdir = None
    build_system = "CustomBuild"

    @run_before("compile")
    def set_commands(self):
        build = [f"cmake -S {TREE} -B . -DMDMINI_TESTS=OFF {self.options}", f"cmake --build . --parallel {self.jobs}"]
        self.build_system.commands = [*([] if self.program else build), f"{self.path} --version"]

    @property
    def path(self):
        return self.program or str(Path(self.stagedir) / "mdmini")

    @sanity_function
    def has_version(self):
        return sn.assert_found(r"^mdmini \d+\.\d+\.\d+", self.stdout)


class mdmini_run(rfm.RunOnlyRegressionTest, settings):
    """One run of a deck."""
    built = fixture(mdmini_program, scope="environment")
    own_words = ""
    valid_prog_environs = ["*"]
    sourcesdir = None
    time_limit = "10m"
    tags = {"mdmini"}

    @run_after("init")
    def set_reference(self):
        for machine, (speed, below, above) in REFERENCES.get(type(self).__name__, {}).items():
            self.reference.update({machine: {"speed": (speed, below, above, "steps/s")}})

    @run_before("run")
    def set_command(self):
        self.executable = self.built.path
        self.executable_opts = [str(TREE / "inputs" / self.deck), self.own_words, self.words]
        if self.num_tasks == 1:  # mpirun would bind it to one core
            self.job.launcher = getlauncher("local")()

    @sanity_function
    def passed(self):
        return sn.all([sn.assert_found(r"^verdict: PASSED$", self.stdout, "no verdict PASSED"), *self.was_as_asked()])

    def was_as_asked(self):
        return []

    @performance_function("steps/s")
    def speed(self):
        return sn.extractsingle(r"^speed +(\S+) steps/s", self.stdout, 1, float)


@rfm.simple_test
class mdmini_one_process(mdmini_run):
    own_words = "run.backend=cpu"
    valid_systems = ["+cores"]


@rfm.simple_test
class mdmini_processes(mdmini_run):
    own_words = "run.backend=cpu"
    valid_systems = ["+mpi"]
    num_tasks = 2

    def was_as_asked(self):
        return [sn.assert_found(rf"^ranks +{self.num_tasks} processes", self.stdout, "not one run of all processes")]


@rfm.simple_test
class mdmini_gpu(mdmini_run):
    own_words = "run.backend=cuda"
    valid_systems = ["+gpu"]
    num_gpus_per_node = 1

    def was_as_asked(self):
        return [sn.assert_found(r"^backend +cuda", self.stdout, "not on a GPU")]
