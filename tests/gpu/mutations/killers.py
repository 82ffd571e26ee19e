"""The mutants: what is broken, where, and which tests are to notice.

A row: name; file and, after a blank, text from the first line of the function; what stands there exactly once; what takes its
place; killers, in the order in which they are tried. What would only change the speed does not belong here, nor does what
changes nothing that anybody could see.

tests(...)     tests/physics/test_backends: forces, sums, motion and gathering, in the combination nearest to the defaults
               that has these switches
IN_RANGE       tests/neighbor/test_bricks: what bricks stage; BEYOND_FACES, CROWDS, and of few bricks FEW_BRICKS (test_few_bricks): the same of other systems
MANY_KEYS      tests/neighbor/test_bricks: cells of more atoms than there is room for in the sort of few cells; FEW_CELLS: one sort after the other
rows(...)      tests/neighbor/test_rows: lists as sets, regrown from an overflow, in motion
boundary(...)  tests/physics/test_boundary: how long the box is across its boundary
bits(...)      tests/physics/test_dynamics: the same bits when run again
ahead(...)     tests/neighbor/test_predict: lists of where atoms will be, complete at every step (predict.py)
held(...)      tests/neighbor/test_memory: what stands in the memory of the GPU after a build
overlap(...)   tests/pipeline/test_overlap: rows and frames beside the steps, as the steps are issued there
FAULTS         of atoms that are too fast, with the defaults
FULL           a list that fills up while the host goes on
AGAIN          a list that a restart makes again; AGAIN_TYPES: of two types
COLLISION      an atom that becomes too fast in the middle of a batch of steps
LEAPERS        atoms that fail in several steps, while blocks overtake each other
BARRIER_USE    blocks of the resident kernel that wait for those around them only
SPECULATION    a list that lasts shorter than speculated, or does not, and a fault before that is known
queue(...)     tests/physics/test_queue: the same bits by a queue of bricks, in these cases
UNFORESEEN     a list that fails in the middle of a batch of steps
sampled(...)   tests/run/test_analysis: what is sampled while the run goes, against frames and known motions
over_ranks(...) tests/parallel/test_ranks_*.py: several processes
rdf(...)       tests/run/test_rdf.py: histograms of pairs
SILENT         a rank that does not answer another's GPU
UNANSWERED     a list of which such a rank has not sent its part
race(...)      racecheck of compute-sanitizer on a run of mdmini with these words: on a GPU, for shared memory
"""
from typing import NamedTuple


class Killer(NamedTuple):
    name: str
    program: str
    environment: tuple = ()
    words: tuple = ()
    only: str = ""  # "gpu" or "emulated"


class Mutant(NamedTuple):
    name: str
    file: str
    head: str
    old: tuple  # of texts, each once in its function
    new: tuple
    killers: tuple


def narrowed(program, switches, systems, seed):
    environment = (("MDMINI_TEST_ONLY", switches), ("MDMINI_TEST_SYSTEM", systems))
    if seed:
        environment += (("MDMINI_EMULATOR_SEED", str(seed)),)
    name = f"{program} ({switches})" if switches else program
    return Killer(name + (f", seed {seed}" if seed else ""), program, environment, only="emulated" if seed else "")


BOTH = "3-D mixed boundary, 2 types|2-D uneven"
IN_MOTION = "one moves|2-D in motion|3-D in motion"


def tests(switches="", systems=BOTH, seed=0):
    return narrowed("test_backends", switches, systems, seed)


def rows(switches="", systems=BOTH + "|" + IN_MOTION, seed=0):
    return narrowed("test_rows", switches, systems, seed)


def held(switches="", systems="3-D dilute, many cells|2-D dilute, many cells"):
    return narrowed("test_memory", switches, systems, 0)


def boundary(kernel):
    return narrowed("test_boundary", "", kernel, 0)


def bits(switches=""):
    return narrowed("test_dynamics", switches, "bits", 0)


def overlap(mode):
    return Killer(f"test_overlap ({mode})", "test_overlap", (("MDMINI_TEST_SYSTEM", mode),))


def queue(*cases, seeds=(11, 12, 13)):
    """As the emulator lets blocks overtake each other, in each of some orders."""
    systems = "|".join(cases or ("5 x 4 x 6 bricks, 2 types",))
    return tuple(Killer(f"test_queue ({systems}), seed {seed}", "test_queue",
                        (("MDMINI_TEST_SYSTEM", systems), ("MDMINI_EMULATOR_SEED", str(seed))), only="emulated") for seed in seeds)


def over_ranks(test, case="", transport=""):
    """tests/parallel/test_ranks_cuda or _edges, or with the name of a file before it another one: runs of several processes."""
    file, _, test = test.rpartition(":")
    script = f"parallel/{file or 'test_ranks_cuda' + '_edges' * (test not in ('test_bits', 'test_shorter_lists'))}.py"
    chosen = (("MDMINI_TEST_ONLY", test), ("MDMINI_TEST_CASE", case), ("MDMINI_TEST_TRANSPORT", transport))
    return Killer(f"{script[9:-3]} ({', '.join(value for _, value in chosen if value)})", script, tuple(each for each in chosen if each[1]))


def sampled(*tests):
    """tests/run/test_analysis: these of its tests."""
    return Killer(f"test_analysis ({', '.join(tests)})", "run/test_analysis.py", (("MDMINI_TEST_ONLY", ",".join(tests)),))


def rdf(tests="test_default"):
    """tests/run/test_rdf: counts of pairs by distance against all pairs over frames."""
    return Killer(f"test_rdf ({tests})", "run/test_rdf.py", (("MDMINI_TEST_ONLY", tests), ("MDMINI_TEST_BACKENDS", "cuda"), ("MDMINI_TEST_STOP", "1")))


SILENT = over_ranks("test_ranks_hangs:test_gpus")
UNANSWERED = over_ranks("test_ranks_hangs:test_list_without_answer")
STEPWISE, BY_GRAPH = "device-check, step by step", "device-check, graph"


def on_gpu(killer):
    """Where threads run at the same time: those of the emulator stop at barriers only."""
    return killer._replace(only="gpu")


def emulated(killer):
    """What a GPU shows by chance only: an access beyond an array or of what nobody wrote may find what does no harm there, and
    blocks that begin after others have ended are rare."""
    return killer._replace(only="emulated")


def seeded(killer, seed):
    """As the emulator orders threads and blocks by this seed."""
    return killer._replace(name=f"{killer.name}, seed {seed}", environment=killer.environment + (("MDMINI_EMULATOR_SEED", str(seed)),), only="emulated")


FAULTS = Killer("test_dynamics (faults)", "test_dynamics", (("MDMINI_TEST_SYSTEM", "faults"),))
CROWDS = Killer("test_bricks", "test_bricks")
IN_RANGE, BEYOND_FACES = (Killer(f"test_bricks ({systems})", "test_bricks", (("MDMINI_TEST_SYSTEM", systems),))
                       for systems in ("uniform|far", "beyond"))
FEW_CELLS = Killer("test_bricks (few cells)", "test_bricks", (("MDMINI_TEST_SYSTEM", "few cells"),))
MANY_KEYS = Killer("test_bricks (many keys)", "test_bricks", (("MDMINI_TEST_SYSTEM", "many keys"),))
FEW_BRICKS = Killer("test_few_bricks (device)", "test_few_bricks", (("MDMINI_TEST_SYSTEM", "device"),))
COUNTED = Killer("test_cuda (melt)", "test_cuda", (("MDMINI_TEST_SYSTEM", "melt"),))
FULL = Killer("test_cuda (full)", "test_cuda", (("MDMINI_TEST_SYSTEM", "full"),))
AGAIN_TYPES = Killer("test_state (2 types)", "test_state",
                     (("MDMINI_TEST_ONLY", "neighbor.search=cell force.kernel=list run.precision=mixed memory.layout=vec4 memory.sort=cell"),
                      ("MDMINI_TEST_SYSTEM", "3-D mixed boundary, 2 types")))
AGAIN = Killer("test_state", "test_state", (("MDMINI_TEST_ONLY", "neighbor.search=cell force.kernel=list"),))
COLLISION = Killer("test_ahead (collision)", "test_ahead", (("MDMINI_TEST_SYSTEM", "collision"),))
LEAPERS = Killer("test_speculation (leapers)", "test_speculation", (("MDMINI_TEST_SYSTEM", "leapers"),), only="emulated")
BARRIER_USE = Killer("test_ahead (barrier)", "test_ahead", (("MDMINI_TEST_SYSTEM", "barrier"),))
ACCURACY = Killer("test_accuracy", "test_accuracy")
SPECULATION = Killer("test_speculation (speculation)", "test_speculation", (("MDMINI_TEST_SYSTEM", "speculation"),))
# Blocks that begin late, which a GPU has no reason to let happen.
LATECOMERS = tuple(Killer(f"test_ahead (barrier), seed {seed}", "test_ahead",
                          (("MDMINI_TEST_SYSTEM", "barrier"), ("MDMINI_EMULATOR_SEED", str(seed))), only="emulated") for seed in (11, 12, 13))
UNFORESEEN = Killer("test_ahead (unforeseen ahead)", "test_ahead", (("MDMINI_TEST_SYSTEM", "unforeseen ahead"),))
DECK = ("system.density=0.8442", "run.steps=24", "output.thermo_every=8", "output.frames_every=12")


def race(switches, cells=6):
    """cells: along an edge, of an fcc crystal."""
    return Killer(f"racecheck ({switches})", "racecheck", words=DECK + (f"system.cells={cells}",) + tuple(switches.split()))


def barrier(switches, systems=BOTH, cells=6):
    """Killers of a missing barrier: the emulator runs threads in an order that a seed gives. cells: of racecheck, on a GPU."""
    return (tests(switches, systems), *(tests(switches, systems, seed) for seed in (11, 12, 13)), race(switches, cells))


# Makes the first warp late: without the barrier that should wait for it, others overtake it, on a GPU as well.
LATE = "if (threadIdx.x < 32) __nanosleep(20000);"

# In place of "atomicAdd(": what another thread adds in between is lost.
PLAIN = "[](auto *at, auto by) { const auto old = *at; *at = old + by; return old; }("

MUTANTS = []


def mutant(name, place, old, new, *killers):
    file, _, head = place.partition(" ")
    flat = sum(((k,) if isinstance(k, Killer) else tuple(k) for k in killers), ())
    old, new = ((text,) if isinstance(text, str) else text for text in (old, new))
    MUTANTS.append(Mutant(name, file, head, old, new, flat))


# Files and switches that several stages name.
COMMON = "cuda/kernels/common.cuh"
SEPARATION = "cuda/kernels/separation.cuh"
LAYOUTS = ("aos", "soa", "vec4")
SORT = "cuda/kernels/sort.cu"
COUNT_IN_CELL = "cuda/kernels/count_in_cell.cuh"
CELLS = "neighbor.search=cell force.kernel=list neighbor.threads_per_atom=1"
MANY = "2-D dilute, many cells"
GRID = "cuda/kernels/cells.cuh"
AHEAD_PLACES = "cuda/kernels/ahead.cuh"
SCANS = "cuda/kernels/scan.cuh"
LIST = "force.kernel=list"
SPLIT = "force.kernel=list-split force.threads_per_atom=8 force.partial_sums="
ADD_UP, SHARED_ROWS = "cuda/kernels/pair.cuh void add_up_row(", "force.kernel=brick memory.sort=brick force.threads_per_atom=4"
DEVICE = "neighbor.rebuild=device-check"
OF_BRICK = "force.kernel=brick memory.sort=brick"
BRICK = OF_BRICK + " neighbor.distances=thread"
