"""Trajectories that other programs have stored anew, or added to: a run goes on with what they hold, or says what to do before
anything is touched; nothing that was added is lost.

MDMINI_TEST_ variables as in support/resuming.py."""
import hashlib
import shutil
import signal
from pathlib import Path

import h5check
import h5py
import numpy

import program
from resuming import deck, resume, run_tests, same_frames, start, wait_for

LONGER = ("run.steps=100",)


def contents(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def inventory(path):
    """All that is in a trajectory; {} where it is not there."""
    if not path.exists():
        return {}
    found = {}
    with h5py.File(path, "r") as file:
        def note(name, item):
            data = item[()] if isinstance(item, h5py.Dataset) and item.dtype != h5py.ref_dtype else None
            found[name] = (str(data) if data is None or numpy.ndim(data) == 0 else data.tobytes(), sorted(map(str, item.attrs.items())))
        note("/", file)
        file.visititems(note)
        found["links"] = [(name, type(file.get(name, getlink=True))) for name in file]
    return found


def begin(checks, folder, compression="none"):
    """A folder with a run "m" to step 60, which is made once."""
    made = folder / f"made-{compression}"
    if not made.exists():
        made.mkdir()
        done = program.run(deck(made, "m"), f"output.compression={compression}", folder=made, name="m")
        checks.that(done.code == 0, f"the run fails: {done.last_lines()}")
    shutil.rmtree(folder / "m", ignore_errors=True)
    shutil.copytree(made, folder / "m")
    return folder / "m"


def run_whole(folder):
    program.run(deck(folder, "whole"), *LONGER, folder=folder, name="whole")


def store_anew(path, form, libver):
    """The same groups, links, attributes and numbers, each series as form(group, name, data) makes it."""
    aside, made = path.with_suffix(".aside"), {}

    def copy(old, new):
        for name, value in old.attrs.items():
            new.attrs.create(name, value, dtype=old.attrs.get_id(name).dtype)
        for name, item in old.items() if isinstance(old, h5py.Group) else ():
            key = h5py.h5o.get_info(item.id).addr
            if key in made:
                new[name] = made[key]
                continue
            if isinstance(item, h5py.Group):
                made[key] = new.create_group(name)
            elif name in ("value", "step", "time", "schedule") and item.shape[0] > 0:
                made[key] = form(new, name, item[...])
            else:
                old.copy(name, new)
                made[key] = new[name]
                continue
            copy(item, made[key])

    with h5py.File(path, "r") as old, h5py.File(aside, "w", libver=libver) as new:
        copy(old, new)
    aside.replace(path)


def contiguous(group, name, data):
    return group.create_dataset(name, data=data)


def compact(group, name, data):
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_layout(h5py.h5d.COMPACT if data.nbytes < 60000 else h5py.h5d.CONTIGUOUS)
    made = h5py.h5d.create(group.id, name.encode(), h5py.h5t.py_create(data.dtype), h5py.h5s.create_simple(data.shape), creation)
    made.write(h5py.h5s.ALL, h5py.h5s.ALL, data)
    return h5py.Dataset(made)


def chunked(**how):
    def form(group, name, data):
        return group.create_dataset(name, data=data, chunks=(1, *data.shape[1:]), maxshape=(None, *data.shape[1:]), **how)
    return form


def only(ending, form, otherwise=chunked()):
    """This form for the datasets of this path alone."""
    return lambda group, name, data: (form if f"{group.name}/{name}".endswith(ending) else otherwise)(group, name, data)


def big_endian(group, name, data):
    return group.create_dataset(name, data=data.astype(data.dtype.newbyteorder(">")), chunks=data.shape, maxshape=(None, *data.shape[1:]))


def external(group, name, data):
    raw = Path(group.file.filename).with_suffix(".raw")
    return group.create_dataset(name, data=data, external=[(str(raw), 0, h5py.h5f.UNLIMITED)])


def virtual(group, name, data):
    with h5py.File(Path(group.file.filename).with_suffix(".raw"), "w") as source:
        inner = source.create_dataset(f"{group.name}/{name}", data=data)
        layout = h5py.VirtualLayout(data.shape, data.dtype)
        layout[...] = h5py.VirtualSource(inner)
    return group.create_virtual_dataset(name, layout)


FORMS = {"contiguous": contiguous, "compact": compact, "fletcher32": chunked(fletcher32=True), "shuffle": chunked(shuffle=True),
         "gzip, no shuffle": chunked(compression="gzip"), "gzip, shuffle, fletcher32": chunked(compression="gzip", shuffle=True, fletcher32=True),
         "scale and offset of numbers of steps": only("/step", chunked(scaleoffset=0)), "big endian": big_endian,
         "velocities contiguous": only("velocity/value", contiguous), "forces of another level": only("velocity/value", chunked(compression=9)),
         "energies contiguous": only("potential_energy/value", contiguous), "schedule contiguous": only("schedule", contiguous)}
if h5py.h5z.filter_avail(h5py.h5z.FILTER_SZIP) and h5py.h5z.get_filter_info(h5py.h5z.FILTER_SZIP) & 1:
    FORMS["szip"] = only("position/value", chunked(compression="szip"))


def test_forms(checks, top):
    """Stored in any form: written anew, with all numbers; and nobody calls the file damaged."""
    run_whole(top)
    for k, (what, form) in enumerate(FORMS.items()):
        libver = "earliest" if k % 2 else ("v108", "v110")
        for compression in ("none", "gzip-1") if k < 3 else ("none",) if k % 4 < 2 else ("gzip-1",):
            what = f"{compression}, {what}, {libver}"
            folder = begin(checks, top, compression)
            store_anew(folder / "m.h5", form, libver)
            before = contents(folder)
            done = program.run("--recover", "m.h5", folder=folder)
            checks.that(done.code == 0 and "in good order" in done.stdout, f"{what}, --recover: {done.last_lines()}")
            why = "m.h5, with all frames that stay: "
            for words in (LONGER, ()):  # to the same end it would go on in place otherwise
                done = program.run("--check", "--restart", "m.restart", *words, folder=folder)
                checks.that(done.code == 0 and f"# rewrites  {why}" in done.stdout and "stored it in another form" in done.stdout,
                            f"{what}, --check {words}: {done.last_lines()}")
            checks.that(contents(folder) == before, f"{what}: files were touched")
            done = resume(folder, "m", *LONGER)
            checks.that(done.code == 0 and "another program has stored it in another form" in " ".join(done.stdout.split()),
                        f"{what}: {done.last_lines()}")
            same_frames(checks, top, "whole", "m/m", what)
            checks.that(not h5check.check(folder / "m.h5") and not list(folder.glob("m.1.*")), f"{what}: {h5check.check(folder / 'm.h5')}")


def test_unreadable(checks, top):
    """What this program cannot read, or what is not in the file: refused, with the way out, by all that would go on with it."""
    for what, form, told, way_out, recovers in (
            ("a filter of h5py", chunked(compression="lzf"), "filter 32000", "HDF5_PLUGIN_PATH", False),
            ("velocities by a filter of h5py", only("velocity/value", chunked(compression="lzf")), "filter 32000", "HDF5_PLUGIN_PATH", False),
            ("external", only("position/value", external), "has its numbers in other files", "output.frames_every=0", True),
            ("virtual", only("position/value", virtual), "has its numbers in other files", "output.frames_every=0", True)):
        folder = begin(checks, top)
        store_anew(folder / "m.h5", form, "earliest")
        before = contents(folder)
        for check in ([], ["--check"]):
            done = program.run(*check, "--restart", "m.restart", *LONGER, folder=folder)
            checks.that(done.code == 2 and told in done.stderr and way_out in done.stderr and "damaged" not in done.stderr,
                        f"{what}, {check}: {done.code} {done.last_lines()}")
        done = program.run("--recover", "m.h5", folder=folder)
        checks.that(done.code == (0 if recovers else 2) and "damaged" not in done.stderr, f"{what}, --recover: {done.last_lines()}")
        checks.that(contents(folder) == before, f"{what}: files were touched")
        done = resume(folder, "m", *LONGER, "output.frames_every=0")
        checks.that(done.code == 0, f"{what}, without frames: {done.last_lines()}")


ADDITIONS = {
    "/analysis": lambda file: file.create_dataset("analysis/rdf", data=[1.0, 2.0]),
    "/h5md/authors": lambda file: file.create_group("h5md/authors"),
    "/particles/all/mycharge": lambda file: file.create_dataset("particles/all/mycharge", data=[0.0] * 256),
    "/particles/solvent": lambda file: file.create_dataset("particles/solvent/position/value", data=[[[0.0] * 3]]),
    "/particles/all/connectivity": lambda file: file.create_dataset("particles/all/connectivity", data=[[0, 1]]),
    "/observables/msd": lambda file: file.create_dataset("observables/msd/value", data=[0.0]),
    "/parameters/mine": lambda file: file.create_group("parameters/mine"),
    "/parameters/mdmini/comment": lambda file: file.create_dataset("parameters/mdmini/comment", data=1),
    "/particles/all/position/error": lambda file: file.create_dataset("particles/all/position/error", data=1),
    "attribute comment of /particles/all/position/value": lambda file: file["particles/all/position/value"].attrs.create("comment", "mine"),
    "attribute unit of /observables/temperature": lambda file: file["observables/temperature"].attrs.create("unit", "K"),
    "attribute title of /": lambda file: file.attrs.create("title", "mine"),
    "/soft": lambda file: file.__setitem__("soft", h5py.SoftLink("/particles/all/position")),
    "/dangling": lambda file: file.__setitem__("dangling", h5py.SoftLink("/nowhere")),
    "/elsewhere": lambda file: file.__setitem__("elsewhere", h5py.ExternalLink("other.h5", "/")),
    "/hard": lambda file: file.__setitem__("hard", file["particles/all"]),
    "/reference": lambda file: file.create_dataset("reference", data=file["particles/all"].ref, dtype=h5py.ref_dtype),
    "/type": lambda file: file.__setitem__("type", numpy.dtype("f8"))}


def test_additions(checks, top):
    """What a user has added stays in the file that goes on in place; one that is written anew is kept under the next free name."""
    run_whole(top)
    for what, add in ADDITIONS.items():
        folder = begin(checks, top)
        with h5py.File(folder / "m.h5", "r+") as file:
            add(file)
        before, held = contents(folder), inventory(folder / "m.h5")
        note = f"stays, as m.1.h5, for it holds {what}, which mdmini did not write"
        done = program.run("--check", "--restart", "m.restart", *LONGER, folder=folder)
        checks.that(done.code == 0 and note in done.stdout and contents(folder) == before, f"{what}, --check: {done.last_lines()}")
        done = resume(folder, "m", *LONGER)
        checks.that(done.code == 0 and note in " ".join(done.stdout.split()), f"{what}: {done.last_lines()}")
        checks.that(inventory(folder / "m.1.h5") == held, f"{what}: it is lost")
        same_frames(checks, top, "whole", "m/m", what)


def test_names(checks, top):
    """Numbers that other files have are left alone; a change of the layout; the author stays; in place nothing is lost."""
    folder = begin(checks, top)
    (folder / "m.1.json").write_text("{}")
    with h5py.File(folder / "m.h5", "r+") as file:
        file["mine"] = 1
        file["h5md/author"].attrs["email"] = "me@here"
    held = inventory(folder / "m.h5")
    done = resume(folder, "m", "restart.file=m.restart", "output.compression=gzip-1", "output.velocities_every=7")
    checks.that(done.code == 0 and inventory(folder / "m.2.h5") == held, f"layout: {done.last_lines()}")
    with h5py.File(folder / "m.h5", "r+") as file:
        checks.that(file["h5md/author"].attrs["email"] == "me@here", "the author is lost")
        file["mine"] = 2
    done = resume(folder, "m")
    again = list(folder.glob("m.3.*"))
    with h5py.File(folder / "m.h5", "r") as file:
        checks.that(done.code == 0 and file["mine"][()] == 2 and not again, f"in place: {done.last_lines()}")


def test_broken_off(checks, top):
    """A full disk, or a kill while the file is written anew: the file that was there is there."""
    folder = begin(checks, top)
    with h5py.File(folder / "m.h5", "r+") as file:
        file["mine"] = numpy.arange(10)
    held = inventory(folder / "m.h5")
    for limit in (20000, 60000, 150000):
        done = resume(folder, "m", "run.steps=1000", file_size_limit=limit)
        checks.that(done.code == 4 and inventory(folder / "m.h5") == held, f"room for {limit}: {done.code} {done.last_lines()}")
        checks.that(not list(folder.glob("m.1.*")) and not list(folder.glob("*.tmp")), f"room for {limit}: {list(folder.iterdir())}")
    for turn in range(5):
        shutil.rmtree(top / "killed", ignore_errors=True)
        shutil.copytree(folder, top / "killed")
        child = start(top / "killed", "--restart", "m.restart", "run.steps=100000")
        wait_for(top / "killed/m.h5.tmp")
        child.send_signal(signal.SIGKILL)
        child.communicate()
        kept = [path.name for path in (top / "killed").glob("m*.h5") if inventory(path) == held]
        checks.that(kept and (top / "killed/m.h5").exists(), f"killed {turn}: {list((top / 'killed').iterdir())}")


def test_open_for_writing(checks, top):
    """A file that a notebook has open to write to is whole, and is not called damaged."""
    folder = begin(checks, top)
    with h5py.File(folder / "m.h5", "r+"):
        done = program.run("--recover", "m.h5", folder=folder)
        checks.that(done.code == 2 and "is open in another program: close it there" in done.stderr, done.last_lines())


run_tests(test_forms, test_unreadable, test_additions, test_names, test_broken_off, test_open_for_writing)
