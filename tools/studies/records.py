"""The folder of a study: study.json (what it is), plan.json (what tries said of the time steps take), runs.jsonl (a line for
each finished run, of shard K of N in runs-K-of-N.jsonl). Everything else there is derived from these."""
import fcntl
import gzip
import json
import os
import re
import zlib
from contextlib import contextmanager
from pathlib import Path

from kinds import wrong_file
from scripts import portable, save_json

from .definition import StudyError

FORMAT = "mdmini-study-definition 1"


class Folder:
    def __init__(self, path, shard=(1, 1)):
        self.path, self.shard = Path(path), shard
        k, n = shard
        self.runs_file = self.path / ("runs.jsonl" if n == 1 else f"runs-{k}-of-{n}.jsonl")
        self.stream = None

    def shard_name(self):
        return "{}/{}".format(*self.shard)

    @contextmanager
    def alone(self):
        """While one plans, others wait; on file systems without locks they do not. The file `lock` is there meanwhile."""
        with self.lock():
            try:
                yield
            finally:
                (self.path / "lock").unlink(missing_ok=True)

    def lock(self):
        """The open file, locked. One that was waited for has been removed by then: then once more."""
        while True:
            try:
                stream = open(self.path / "lock", "a", encoding="utf-8")
            except OSError as error:
                raise StudyError([f"{self.path}: {error.strerror}"]) from error
            try:
                fcntl.flock(stream, fcntl.LOCK_EX)
            except OSError:
                return stream
            try:
                if os.path.samestat(os.fstat(stream.fileno()), os.stat(stream.name)):
                    return stream
            except FileNotFoundError:
                pass
            stream.close()

    def claim(self, record):
        """Makes the folder that of this study, or resumes it, with more rounds where the study is the same but for these.
        StudyError where it is that of another one, or in use. Returns the rounds that it was to have so far, None for a new one."""
        there = None
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            with self.alone():
                if (self.path / "study.json").exists():
                    there = read_json(self.path / "study.json")
                    wrong = [] if has_more_rounds(there, record) else differing(there, record)
                    if wrong:
                        raise StudyError([f"{self.path} is that of another study, or of another program:", *wrong,
                                          "take another folder (--output), or remove that one"])
                else:
                    save_json(str(self.path / "study.json"), record)
        except OSError as error:
            raise StudyError([f"{self.path}: {error.strerror}"]) from error
        self.take()
        if there and has_more_rounds(there, record):  # now that nobody else makes these runs
            record["definition"]["name"] = there["definition"]["name"]
            with self.alone():
                save_json(str(self.path / "study.json"), record)
        self.stream.truncate(len(whole_lines(self.runs_file.read_bytes())))  # a line that was cut is a run that is lost
        return there and there["definition"]["repeats"]

    def take(self):
        """Opens and locks the file of this part. StudyError where it is in use, or where parts of another number are being made: such
        parts have runs in common, and each sees only what is there when it begins."""
        with self.alone():
            for path in {*run_files(self.path), self.runs_file} - self.parts_beside():
                stream = open(path, "a+b")
                try:
                    fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    stream.close()
                    raise StudyError([f"{path}: another process makes these runs at the moment, or a run goes on of one that was killed"]) from error
                except OSError:
                    pass
                if path == self.runs_file:
                    self.stream = stream
                else:
                    stream.close()

    def parts_beside(self):
        """Files of the other parts of the same number."""
        return {path for path in run_files(self.path) if path != self.runs_file and path.stem.endswith(f"-of-{self.shard[1]}")}

    def append(self, line):
        self.stream.write((portable(json.dumps(line), self.path) + "\n").encode())
        self.stream.flush()
        os.fsync(self.stream.fileno())

    def leave(self):
        """No more runs of this part are made; of one that had none to make no file stays."""
        with self.alone():  # or another process has opened it, and locks it when it has no name any more
            if self.stream.seek(0, os.SEEK_END) == 0:
                self.runs_file.unlink()
            self.stream.close()

    def all_runs(self):
        return [run for path in run_files(self.path) for run in read_lines(path)]

    def read_plan(self):
        path = self.path / "plan.json"
        return read_json(path) if path.exists() else {"points": {}, "systems": {}}

    def save_plan(self, plan):
        save_json(str(self.path / "plan.json"), plan)


def outcome_text(status, reason):
    """Why there is no speed; reasons of the program begin with the status themselves."""
    return reason if reason.casefold().startswith(status) else f"{status}: {reason}"


def read_json(path):
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyError([f"{path}: {error.strerror}"]) from error
    except ValueError as error:
        raise StudyError([f"{path}: not a file of a study: {error}"]) from error


def whole_lines(raw):
    return raw[:raw.rfind(b"\n") + 1]


def read_whole(path):
    """The lines of a file of runs, gzipped or not, without a last one that was cut. StudyError where it cannot be read."""
    raw = path.read_bytes()
    try:
        return whole_lines(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except (OSError, EOFError, zlib.error) as error:
        raise StudyError([f"{path}: not a gzipped file of runs: {error}"]) from error


def read_lines(path):
    """The runs of a file."""
    found = []
    for k, text in enumerate(read_whole(path).splitlines()):
        try:
            found.append(json.loads(text))
        except ValueError as error:
            raise StudyError([f"{path}:{k + 1}: not a line of a study: {error}"]) from error
    return found


def run_files(folder):
    """Those of all parts; gzipped ones are kept and added to no more."""
    return sorted(path for path in Path(folder).glob("runs*") if re.fullmatch(r"runs(-\d+-of-\d+)?\.jsonl(\.gz)?", path.name))


def check_folder(path):
    """StudyError where it is not the folder of a study."""
    if not (Path(path) / "study.json").is_file():
        raise StudyError([wrong_file(str(path), "study", why="no folder of a study: it has no study.json")])


def read_study(folder):
    """(study.json, all runs of all shards) of a folder. StudyError where it is none."""
    check_folder(folder)
    record = read_json(Path(folder) / "study.json")
    if record.get("format") != FORMAT:
        raise StudyError([f"{folder}/study.json: of format {record.get('format')!r}, not {FORMAT!r}"])
    return record, Folder(folder).all_runs()


def differing(there, here):
    """What differs in two study.json that should be of one definition and one program, in words; [] where nothing does.
    A name is not what a study is: without one it has that of its folder."""
    wrong = []
    if there.get("format") != here["format"]:
        wrong.append(f"format: {there.get('format')!r} there, {here['format']!r} now")
    for part, old, new in (("", there.get("definition", {}), here["definition"]),
                           ("program: ", dict(enumerate(there.get("program", []))), dict(enumerate(here["program"])))):
        for key in [*new, *(key for key in old if key not in new)]:
            if old.get(key) != new.get(key) and key != "name":
                name = "" if isinstance(key, int) else f"{key}: "
                wrong.append(f"{part}{name}{json.dumps(old.get(key))} there, {json.dumps(new.get(key))} now")
    if not wrong and [p["id"] for p in there["points"]] != [p["id"] for p in here["points"]]:
        wrong.append("the program makes other points of it")
    return wrong


def has_more_rounds(there, here):
    """Whether the study here is the one there with more rounds, and in nothing else another."""
    repeats = there.get("definition", {}).get("repeats")
    return (isinstance(repeats, int) and repeats < here["definition"]["repeats"] and
            not differing({**there, "definition": {**there["definition"], "repeats": here["definition"]["repeats"]}}, here))


def why_apart(wrong):
    """What to do with two studies that are not merged; wrong: of differing."""
    if all(line.startswith("program: ") for line in wrong):
        return "studies of two programs are not merged, but compared: tools/compare.py"
    return "they are different studies: merged are parts of one (--shard K/N), with the same definition and program"


def merge(sources, target):
    """Copies the shards of several folders into one. All have to be of one program: else a ratio of two points would be one of
    two programs, too, and runs might stand under a verdict that another program got."""
    target = Path(target)
    records, runs, plan = [], {}, {"points": {}, "systems": {}}
    for source in sources:
        record, _ = read_study(source)
        records.append(record)
        wrong = differing(records[0], record)
        if wrong:
            raise StudyError([f"{source} is not of the study and the program of {sources[0]} (there):", *wrong, why_apart(wrong)])
        for path in run_files(source):
            if path.name in runs:
                raise StudyError([f"{runs[path.name]} and {path}: the same shard twice"])
            runs[path.name] = path
        for part, known in Folder(source).read_plan().items():
            plan[part].update(known)
    if not runs:
        raise StudyError([f"{', '.join(map(str, sources))}: no runs there"])
    if target.exists() and any(target.iterdir()):
        raise StudyError([f"{target}: there is something already; merge into a new folder"])
    target.mkdir(parents=True, exist_ok=True)
    if len({record["definition"]["name"] for record in records}) > 1:  # those of the folders of the parts
        records[0]["definition"]["name"] = target.name
    save_json(str(target / "study.json"), records[0])
    save_json(str(target / "plan.json"), plan)
    for name, path in runs.items():
        (target / name).write_bytes(path.read_bytes() if path.suffix == ".gz" else read_whole(path))
