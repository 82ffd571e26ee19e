"""The points of a ladder and of a leave-one-out study, from the presets: what each sets, and what must change along with it."""
from decks import read_deck

from . import TOP

PRESETS = TOP / "inputs" / "presets"


def holds(term, settings):
    key, values = term.split("=")
    return settings.get(key, "auto") in (*values.split("|"), "auto")


def companions(options, rows, settings, key, value):
    """What else must change for key = value to be legal: {key: value}. Either the value needs it, or a value that stands
    there needs what is left. options, rows: of listings.Program, the rows those of one backend."""
    settings, changed = {**settings, key: value}, {}
    for _ in range(4):  # chains are short
        for other in [key, *changed, *settings]:  # what is settled already comes first, and stays
            row = rows.get((other, settings[other]))
            for term in (row["needs"].split() if row else []):
                if holds(term, settings):
                    continue
                needed, allowed = term.split("=")
                settled = {key, *changed}
                if needed not in settled:
                    changed[needed] = settings[needed] = allowed.split("|")[0]
                elif other not in settled:
                    legal = [word for word in options[other]["choices"] if (other, word) in rows and
                             all(holds(t, settings) for t in rows[other, word]["needs"].split())]
                    if legal:
                        changed[other] = settings[other] = legal[-1]
    return changed


def lacks_as_one_process(ran, key):
    """Whether a run of one process has no such switch, which belongs to several: parallel.*."""
    return key.startswith("parallel.") and not any(other.startswith("parallel.") for other in ran)


def differences(ran, base, but=()):
    """In words: the switches that ran otherwise than in the base, but for those named."""
    changed = [f"{key}={value}" for key, value in ran.items()
               if base.get(key) != value and key not in but and not lacks_as_one_process(base, key)]
    gone = {}
    for key in base:
        if key not in ran and key not in but and not lacks_as_one_process(ran, key):
            section, name = key.split(".")
            gone.setdefault(section, []).append(name)
    without = [f"{section}.{'/'.join(names)}" for section, names in gone.items()]
    return " ".join(filter(None, ["with " + " ".join(changed) if changed else "",
                                  "without " + " ".join(without) if without else ""]))


def no_stage(program, backend, keys):
    """Why a point is not even tried: the backend has no stage for anything that it sets."""
    return f"{', '.join(keys)}: the {backend} backend has no such switch" if keys and set(keys) <= program.lacks[backend] else None


def ladder_points(program, system):
    """What makes each Point: the rungs, with the layers of all rungs below."""
    layers = [PRESETS / "naive.txt"]
    points = [{"name": "naive", "change": "every switch at its naive value", "settings": {}, "layers": layers}]
    lacks, rows = program.lacks[system.backend], program.rows[system.backend]
    for rung in sorted(PRESETS.glob("ladder-*.txt")):
        layers = [*layers, rung]
        given = read_deck(rung)
        missing = [f"{key}={value}" for key, value in given.items()
                   if key not in lacks and value != "auto" and (key, value) not in rows and not key.startswith("run.")]
        reason = no_stage(program, system.backend, given)
        if missing and not reason:
            reason = f"the {system.backend} backend does not have {', '.join(missing)}"
        change = " ".join(f"{key}={value}" for key, value in given.items())
        points.append({"name": rung.stem, "change": change if len(given) == 1 else rung.read_text().splitlines()[0][2:],
                       "settings": given, "layers": layers, "reason": reason})
    return points


def without_points(program, system):
    """What makes each Point: the base, and each of its switches at the first value of its kind, with what that needs."""
    standing = {}
    for layer in system.base:
        standing.update(read_deck(layer))
    points = [{"name": "fast" if system.base == [str(PRESETS / "fast.txt")] else "base", "settings": {}}]
    for key, value in standing.items():
        option = program.options[key]
        if option["kind"] != "performance" or not option.get("choices") or option["choices"][0] == value:
            continue
        naive = option["choices"][0]
        along = companions(program.options, program.rows[system.backend], standing, key, naive)
        points.append({"name": f"{key}={naive}", "settings": {key: naive, **along}, "said": [key],
                       "reason": no_stage(program, system.backend, [key])})
    return points
