"""What a study is: read from a study file (INI), from the command line, or from both, and judged as far as this can be done
without a run. All errors are shown together."""
import configparser
import hashlib
import math
import os
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from kinds import no_file
from scripts import guess

from . import TOP

DESIGNS = {
    "full": "every combination of the levels",
    "one-at-a-time": "the base, and each other level alone",
    "leave-one-out": "the base (inputs/presets/fast.txt), and each of its switches at its naive value",
    "ladder": "from inputs/presets/naive.txt up, one rung ladder-*.txt at a time",
    "fractional": "a fraction of the combinations of two levels each, with main effects and pairwise interactions",
}
OWN_POINTS = ("leave-one-out", "ladder")  # what their points set follows from the presets
RANKS = "parallel.ranks"  # no key of the program: how many processes the launcher starts
JOINT = " & "  # between keys that vary together, and between their values
RESERVED = ("output.name", "output.directory", "output.progress", "report.verify", "restart.every")  # the study itself sets them


class StudyError(Exception):
    """What is wrong with a study, one message an item."""

    def __init__(self, messages):
        super().__init__("\n".join(messages))
        self.messages = messages


def parts(settings):
    """{key: value} with the keys that vary together told apart."""
    found = {}
    for key, value in settings.items():
        found.update(zip(key.split(JOINT), value.split(JOINT)) if JOINT in key else [(key, value)])
    return found


def n_ranks(settings):
    """The number of processes that these settings ask for."""
    return int(parts(settings).get(RANKS, 1))


@dataclass
class Study:
    """decks, base: files, layered from left to right; words: overrides of every run; factors: {key: levels}."""
    name: str = ""
    decks: list = field(default_factory=list)
    base: list = field(default_factory=list)
    words: dict = field(default_factory=dict)
    design: str = "full"
    repeats: int = 5
    seconds: float = 1.0     # that a timed loop should take, where run.steps is not in words
    limit: float = 60.0      # seconds that a loop may take at most
    budget: float = None     # seconds after which no run begins
    seed: int = 1            # of the order of the runs
    confidence: float = 0.95
    runs: int = 0            # of a fractional design; 0: as few as resolution IV takes
    launcher: str = "mpirun -n {ranks}"  # of points of several processes
    factors: dict = field(default_factory=dict)

    def resolved(self):
        """As it stands in study.json: files by their names from the top of the source, with the hash of what is in them."""
        record = {key: value for key, value in vars(self).items() if key != "budget"}  # that is of one session, not of the study
        launcher = " ".join(shown(word) if os.path.isabs(word) else word for word in record.pop("launcher").split())
        record.update({"launcher": launcher} if self.has_several_ranks() else {})
        record["decks"], record["base"] = [list(map(shown, files)) for files in (self.decks, self.base)]
        levels = {key: [shown(level) for level in levels] if key == "deck" else levels for key, levels in self.factors.items()}
        return {**record, "factors": levels, "files": self.hashes()}

    def hashes(self):
        """{name: hash of the text} of all files; one of the same name in another folder has a prime behind it."""
        found = {}
        for file in self.files():
            name, text = shown(file), file_hash(file)
            while found.get(name, text) != text:
                name += "'"
            found[name] = text
        return found

    def asked_ranks(self):
        """The texts that say how many processes points have."""
        settings = [self.words, *({key: level} for key, levels in self.factors.items() for level in levels)]
        return [parts(one)[RANKS] for one in settings if RANKS in parts(one)]

    def has_several_ranks(self):
        return any(int(text) > 1 for text in self.asked_ranks())

    def files(self):
        presets = sorted((TOP / "inputs/presets").glob("ladder-*.txt")) if self.design == "ladder" else []
        return [*self.decks, *self.factors.get("deck", []), *self.base, *map(str, presets)]


def shown(path):
    path = Path(path).resolve()
    return str(path.relative_to(TOP)) if path.is_relative_to(TOP) else path.name


def file_hash(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


class Reader:
    """Takes texts, gives a Study, and keeps what is wrong."""

    def __init__(self, study_file=None):
        at_top = study_file and TOP / study_file
        self.study_file = str(at_top) if at_top and not Path(study_file).exists() and at_top.is_file() else study_file
        self.errors = []

    def file(self, text, what):
        """Beside the study file, in the working directory, at the top of the source: the first that is there."""
        places = ([Path(self.study_file).parent] if self.study_file else []) + [Path.cwd(), TOP]
        for place in places:
            if (place / text).is_file():
                return str((place / text).resolve())
        self.errors.append(f"{what}: {no_file(text, places)}")
        return text

    def files(self, text, what):
        return [self.file(word, what) for word in text.replace(",", " ").split()]

    def number(self, text, what, kind, low, high=math.inf):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not low <= value <= high:  # nan, too
            self.errors.append(f"{what}: read {text!r}; allowed: {'a whole number' if kind is int else 'a number'} "
                               f"from {low:g}{'' if high == math.inf else f' to {high:g}'}")
        return value

    def words(self, text, what):
        found = {}
        for word in text.split():
            key, is_pair, value = word.partition("=")
            if not is_pair:
                self.errors.append(f"{what}: read {word!r}; allowed: section.key=value ...")
            elif key in found:
                self.errors.append(f"{what}: {key} stands there twice")
            found[key] = value
        return found

    def levels(self, key, text):
        n_keys = len(key.split(JOINT))
        each = [[part.strip() for part in level.split("&")] if n_keys > 1 else [level.strip()] for level in text.split(",")]
        levels = [JOINT.join(level) for level in each]
        if not all(all(level) and len(level) == n_keys for level in each):
            level = JOINT.join(["value"] * n_keys) if n_keys > 1 else "level"
            self.errors.append(f"{key}: read {text!r}; allowed: {level}, {level}, ...")
        if len(set(levels)) < len(levels):
            self.errors.append(f"{key}: a level stands there twice: {text}")
        return [self.file(level, key) for level in levels if level] if key == "deck" else levels

    def choice(self, text, what, allowed):
        if text not in allowed:
            self.errors.append(f"{what}: read {text!r}; allowed: {', '.join(allowed)}{guess(text, allowed)}")
        return text

    def field(self, key, text):
        """The value of a key of [study]."""
        numbers = {"repeats": (int, 1), "seconds": (float, 1e-9), "limit": (float, 1e-9), "budget": (float, 1e-9),
                   "seed": (int, 0), "runs": (int, 2), "confidence": (float, 0.5, 0.9999)}
        if key in numbers:
            return self.number(text, key, *numbers[key])
        if key in ("decks", "base"):
            return self.files(text, key)
        if key == "words":
            return self.words(text, key)
        return self.choice(text, key, tuple(DESIGNS)) if key == "design" else text

    def ini(self):
        """({key: text} of [study], {key: text} of [factors]) of the study file."""
        parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#", ";"),
                                           inline_comment_prefixes=("#", ";"))
        parser.optionxform = str
        try:
            parser.read_string(Path(self.study_file).read_text(encoding="utf-8"), source=os.path.basename(self.study_file))
        except OSError as error:
            raise StudyError([no_file(self.study_file) if isinstance(error, FileNotFoundError) else
                              f"{self.study_file}: {error.strerror}"]) from error
        except UnicodeDecodeError as error:
            raise StudyError([f"{self.study_file}: no text: {error}"]) from error
        except configparser.Error as error:
            raise StudyError([" ".join(str(error).split())]) from error
        for section in parser.sections():
            self.choice(section, "section", ("study", "factors"))
        found = [dict(parser[section]) if section in parser else {} for section in ("study", "factors")]
        for key in list(found[0]):
            if key not in vars(Study()) or key == "factors":
                allowed = [k for k in vars(Study()) if k != "factors"]
                self.errors.append(f"[study] {key}: no such key; allowed: {', '.join(allowed)}{guess(key, allowed)}")
                del found[0][key]
        return found

    def read(self, given, vary, folder):
        """given: {key: text} of the command line, which win; vary: ["KEY=A,B", ...], factors besides; folder: the name of that of the
        study, for one that has no name."""
        texts, factors = self.ini() if self.study_file else ({}, {})
        study = Study(name=Path(self.study_file).stem if self.study_file else folder or "study")
        words = self.words(given.pop("words", ""), "--words")
        for key, text in {**texts, **given}.items():
            setattr(study, key, self.field(key, text))
        study.words = {**study.words, **words}
        factors = {joint(key): text for key, text in factors.items()}
        for text in vary:
            key, is_pair, levels = text.partition("=")
            if not is_pair:
                self.errors.append(f"--vary: read {text!r}; allowed: section.key=level,level,...")
                continue
            factors[joint(key)] = levels
        study.factors = {key: self.levels(key, text) for key, text in factors.items()}
        self.judge(study)
        if self.errors:
            raise StudyError(self.errors)
        return study

    def judge(self, study):
        """What contradicts itself, whatever the program says."""
        def wrong(message):
            self.errors.append(message)

        if not study.decks and "deck" not in study.factors:
            wrong("decks: a study needs a deck")
        if not study.name or "/" in study.name:
            wrong(f"name: read {study.name!r}; allowed: the name of a folder")
        if study.design == "ladder" and study.base:
            wrong("base: a ladder starts from inputs/presets/naive.txt, and has no other base")
        if study.design == "leave-one-out" and not study.base:
            study.base = [str(TOP / "inputs/presets/fast.txt")]
        if study.runs and study.design != "fractional":
            wrong(f"runs: only a fractional design has a number of runs; this one is {study.design}")
        varied = [one for key in study.factors for one in key.split(JOINT)]
        for key in dict.fromkeys(varied):
            if key in study.words:
                wrong(f"{key}: stands in [factors] and in words; --vary {shlex.quote(f'{key}=VALUE,...')} takes the place of a factor of the file")
            if varied.count(key) > 1:
                wrong(f"{key}: varies twice")
            if key == "deck" and key not in study.factors:
                wrong("deck: decks vary alone, not together with a key")
        for key in [*varied, *study.words]:
            if key in RESERVED:
                wrong(f"{key}: the study sets it for every run")
        self.judge_ranks(study)

    def judge_ranks(self, study):
        n_wrong = len(self.errors)
        numbers = [self.number(text, RANKS, int, 1) for text in study.asked_ranks()]
        if len(self.errors) == n_wrong and max(numbers, default=1) > 1:
            try:
                words = shlex.split(study.launcher)
            except ValueError:  # a quote without an end
                words = []
            if not any("{ranks}" in word for word in words[1:]):
                self.errors.append(f"launcher: read {study.launcher!r}; allowed: a program and its words, {{ranks}} among them, as in "
                                   f"{Study.launcher}")


def joint(text):
    """The key of a factor: one, or several that vary together."""
    return JOINT.join(key.strip() for key in text.split("&"))


def read_study(study_file=None, given=None, vary=(), folder=""):
    """Study. StudyError where something is wrong with it."""
    return Reader(study_file).read(dict(given or {}), vary, folder)
