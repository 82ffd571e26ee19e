"""A study and the program's listings: systems, and the points of each. What is legal, the program says (mdmini --check)."""
from dataclasses import dataclass, field
from itertools import product, zip_longest

from decks import read_deck

from .definition import JOINT, OWN_POINTS, RANKS, StudyError, n_ranks, parts, shown
from .fractions import fraction
from .rungs import ladder_points, no_stage, without_points

NO_KEY = "no such key; allowed: "  # of mdmini, which lists those of a section that has few


@dataclass
class System:
    """What is compared stands in one system: the same physics. files: decks and layers of every point; words: overrides."""
    id: str
    decks: list
    base: list
    words: dict
    varied: dict  # the levels of the factors that make systems
    backend: str = ""
    n_atoms: int = 0
    dimension: int = 3
    settings: dict = field(default_factory=dict)  # the effective deck of the base: {key: value}
    points: list = field(default_factory=list)
    aliases: list = field(default_factory=list)   # of a fractional design: groups of what cannot be told apart
    label: str = ""
    refusal: str = None                           # why none of its points can run here

    def interval(self):
        """Steps that runs are a multiple of: whole intervals of a rebuild rule that counts."""
        every = int(self.settings.get("neighbor.every", 20))
        return every if every <= 100 else 20

    def standing(self, key):
        """What the base has of the key of a factor; None where nothing stands there."""
        values = [self.settings.get(one) for one in key.split(JOINT)]
        return None if None in values else JOINT.join(values)

    def record(self, base):
        return {"id": self.id, "label": self.label, "deck": " ".join(map(shown, self.decks)), "words": self.words,
                "n_atoms": self.n_atoms, "dimension": self.dimension, "backend": self.backend, "base": base,
                "levels": self.varied, "aliases": self.aliases}


@dataclass
class Point:
    system: System
    name: str
    settings: dict                 # {key: value} that it sets
    change: str = ""               # the same in words, where it is not the name
    layers: list = field(default_factory=list)  # files that set it, in place of overrides
    reason: str = None             # why it is not run at all
    base_settings: dict = field(default_factory=dict)  # what the base of its design sets
    said: list = None              # the keys that its name or change tells; None: all that it changes

    def __post_init__(self):
        self.id = f"{self.system.id}/{self.name}"
        if self.said is None:
            self.said = self.changed_keys()

    def changed_keys(self):
        """What it sets otherwise than the base."""
        return [key for key, value in self.settings.items() if self.base_settings.get(key) != value]

    def words(self):
        """Its overrides."""
        return {**self.system.words, **({} if self.layers else parts(self.settings))}

    def n_ranks(self):
        return n_ranks(self.words())

    def asked(self, keys):
        """{key: value} of these keys, as its decks have them."""
        layers = {key: value for layer in self.layers for key, value in read_deck(layer).items()}
        standing = {**self.system.settings, **layers, **parts(self.settings)}
        return {key: standing[key] for key in keys if key in standing}

    def command(self, extra=None):
        """Files and overrides of a run, for Program.command. extra: {key: value} that come last."""
        words = {**self.words(), **(extra or {})}
        return [*map(str, [*self.system.decks, *self.system.base, *self.layers]),
                *(f"{key}={value}" for key, value in words.items())]

    def record(self):
        return {"id": self.id, "system": self.system.id, "label": self.name, "settings": self.settings,
                "change": self.change, "said": self.said, "layers": [shown(layer) for layer in self.layers],
                "reason": self.reason}


def is_physics(program, key):
    return key == "deck" or any(program.options.get(one, {}).get("kind") == "physics" for one in key.split(JOINT))


def plain_switches(program, systems):
    """The keys of kind performance that points set and that no stage of a report shows: run.threads, neighbor.skin."""
    keys = {key for system in systems for point in system.points for key in parts(point.settings)}
    return sorted(key for key in keys - {*program.switches.values(), "run.precision"}
                  if program.options.get(key, {}).get("kind") == "performance")


def point_factors(program, study):
    return {key: levels for key, levels in study.factors.items() if not is_physics(program, key)}


def make_systems(program, study):
    """Every combination of the factors that change the physics. One that the program refuses (too large for this machine) keeps
    its points, with the reason. StudyError where it refuses all."""
    factors = {key: levels for key, levels in study.factors.items() if is_physics(program, key)}
    systems, errors = [], {}
    for k, levels in enumerate(product(*factors.values())):
        varied = dict(zip(factors, levels))
        own = parts({key: value for key, value in varied.items() if key != "deck"})
        decks = [*study.decks, *([varied["deck"]] if "deck" in varied else [])]
        system = System(f"s{k}", decks, study.base, {**study.words, **own}, varied)
        checked = program.check(Point(system, "base", {}).command())
        errors.update((text, None) for text in checked.errors)
        system.backend, system.n_atoms, system.dimension = checked.backend, checked.n_atoms, checked.dimension
        system.settings, system.refusal = checked.settings, checked.errors[0] if checked.errors else None
        systems.append(system)
    good = next((system for system in systems if not system.refusal), None)
    if not good:
        raise StudyError(list(errors))
    for system in systems:
        system.varied = {key: shown(value) if key == "deck" else value for key, value in system.varied.items()}
        if system.refusal:
            system.backend, system.dimension, system.settings = good.backend, good.dimension, good.settings
        system.settings = {**system.settings, RANKS: str(n_ranks(system.words))}
        twins = [other for other in systems if other.n_atoms == system.n_atoms]
        own = [f"{key}={value}" for key, value in system.varied.items()] if len(twins) > 1 or system.refusal else []
        system.label = ", ".join([*([] if system.refusal else [f"{system.n_atoms:,} atoms"]), *own])
    return systems


def check_factors(program, study):
    """Unknown keys and levels, in the program's words."""
    factors, errors = point_factors(program, study), []
    if study.design in OWN_POINTS and factors:
        errors.append(f"{', '.join(factors)}: a study of design {study.design} makes its own points; its factors can only be "
                      f"decks and keys of kind physics")
    if study.design not in OWN_POINTS and not study.factors:
        errors.append("no factors: there is nothing to compare ([factors] in the study file, or --vary KEY=A,B)")
    if study.design == "fractional":
        errors += [f"{key}: {len(levels)} levels; a fractional design takes two of each factor"
                   for key, levels in factors.items() if len(levels) != 2]
        if len(factors) < 2:
            errors.append("a fractional design takes two factors at least")
    varied = {key: levels for key, levels in study.factors.items() if key != "deck"}
    decks = [*study.decks, *study.factors.get("deck", [])[:1], *study.base]
    words = [f"{key}={value}" for key, value in study.words.items()]
    for levels in zip_longest(*varied.values()):
        own = parts({key: level for key, level in zip(varied, levels) if level is not None})
        own = [f"{key}={level}" for key, level in own.items()]
        errors += [text.replace(NO_KEY, NO_KEY + "ranks (of a study), ") if text.startswith("parallel.") else text
                   for text in program.check([*map(str, decks), *words, *own]).errors
                   if 'read "' in text or "no such key" in text or "no such section" in text]
    errors += [f"{key}: no such key (mdmini --list-options shows them)" for key in parts(dict.fromkeys(varied, ""))
               if key not in program.options and key != RANKS and not any(key in text for text in errors)]
    if errors:
        raise StudyError(list(dict.fromkeys(errors)))


def base_levels(system, factors):
    """What the base has of each factor: the deck's value where it is one of the levels, else the first level."""
    return {key: system.standing(key) if system.standing(key) in levels else levels[0] for key, levels in factors.items()}


def words_of(settings):
    return " ".join(f"{key}={value}" for key, value in settings.items())


def make_fraction(study, factors, base, lacking):
    """(settings of each point, aliases): a fraction of what the backend has, and one point for each level that it lacks."""
    there = {key: levels for key, levels in factors.items() if key not in lacking}
    alone = [{**base, key: level} for key in lacking for level in factors[key] if level != base[key]]
    if len(there) < 2:
        return [{**base, key: level} for key, levels in there.items() for level in levels] + alone, []
    combinations, aliases = fraction(there, base, study.runs)
    return [{**base, **settings} for settings in combinations] + alone, aliases


def add_points(program, study, system):
    """The points of a system, the base first."""
    factors = point_factors(program, study)
    # A point that sets such a factor runs as one that does not, and would be measured in vain.
    lacking = [] if "run.backend" in parts(dict.fromkeys(factors, "")) else [key for key in factors if key in program.lacks[system.backend]]
    if study.design in OWN_POINTS:
        make = ladder_points if study.design == "ladder" else without_points
        system.points = [Point(system, **made) for made in make(program, system)]
        return
    if study.design == "one-at-a-time":
        base = {}
        combinations = [{key: level} for key, levels in factors.items() for level in levels if system.standing(key) != level]
    else:
        base = base_levels(system, factors)
        if study.design == "full":
            combinations = [dict(zip(factors, levels)) for levels in product(*factors.values())]
        else:
            combinations, system.aliases = make_fraction(study, factors, base, lacking)
        combinations = [settings for settings in combinations if settings != base]
    system.points = [Point(system, words_of(base) or "base", base, base_settings=base)]
    for settings in combinations:
        point = Point(system, words_of(settings), settings, base_settings=base)
        point.reason = no_stage(program, system.backend, [key for key in point.changed_keys() if key in lacking])
        system.points.append(point)


def design(program, study):
    """[System] with their points. StudyError where the program knows a key or a level not, or refuses a system."""
    check_factors(program, study)
    systems = make_systems(program, study)
    for system in systems:
        add_points(program, study, system)
        for point in system.points:
            point.reason = system.refusal or point.reason
        if len(system.points) < 2 and len(systems) < 2:
            raise StudyError(["one point only: there is nothing to compare"])
    return systems
