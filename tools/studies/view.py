"""What the table and the pictures of a study share: what of results.json counts as measured, and names and figures as
print has them."""
import math

LATE = "*"  # behind a speed: rebuilds came late
# Drift. A study samples the energy where a loop begins and ends, so it is their difference over the steps, and holds what the
# time step does to the energy at these two: about dt^2, however long the run (tolerance.h). Of the melt at dt = 0.005 that is
# 5e-5 per atom between the crystal and the liquid, and 2e-3 over the root of the number of atoms from step to step (256 to
# 32,000 atoms, double precision, safe list). A drift is shown where that, over the steps, is below what such a list drifts by.
DRIFT_START, DRIFT_FLUCTUATION, DRIFT_RESOLVED = 5e-5, 2e-3, 5e-9
SCATTER = 1.5  # runs of a point that differ by such a factor were not made under the same conditions
FAR = 2  # an interval that ends so many times beyond all runs rests on the shape that few runs are taken to have
STAGES_WITHOUT_TIME = ("memory", "output")  # what they cost is in the others, or beside the loop


class View:
    """results.json, looked at by system and by point."""

    def __init__(self, results):
        self.results = results
        self.design = results["definition"]["design"]
        self.systems = results["systems"]
        self.by_id = {point["id"]: point for point in results["points"]}
        self.factors = [f for f in results["factors"] if f["kind"] == "performance"]
        self.short_names = short_names([factor["key"] for factor in self.factors])

    def points(self, system):
        return [point for point in self.results["points"] if point["system"] == system["id"]]

    def measured(self, system):
        """Those that have a speed, in the order of the design."""
        return [point for point in self.points(system) if is_measured(point)]

    def others(self, system):
        """Those that have none that counts: failed, refused, crashed, too slow, without effect, not run."""
        return [point for point in self.points(system) if not is_measured(point)]

    def base(self, system):
        return self.by_id.get(system["base"])

    def ordered(self, system):
        """The ladder as it is climbed; what is left out of a base from what costs most up, below the base itself; other
        designs from the fastest down."""
        points = self.measured(system)
        if self.design == "leave-one-out":
            points.sort(key=lambda point: (point["id"] != system["base"], worth(point)))
        elif self.design == "one-at-a-time":
            points.sort(key=worth, reverse=True)
        elif self.design != "ladder":
            points.sort(key=lambda point: -point["speed"]["value"])
        return points

    def compared(self, point):
        """The comparison that its design is about: with the rung below, or with the base. None: it is the base."""
        return point.get("step_ratio" if self.design == "ladder" else "ratio")

    def level(self, point, factor):
        return point["settings"].get(factor["key"], factor["base"])

    def at_base(self, point, but=()):
        """Every factor but these is at the level of the base."""
        return all(f["key"] in but or self.level(point, f) == f["base"] for f in self.factors)

    def name(self, point):
        """Its label; less the sections of keys where these are not needed."""
        return " ".join(self.short(word) for word in point["label"].split())

    def short(self, word):
        key, equals, value = word.partition("=")
        return self.short_names.get(key, key) + equals + value


def short_names(keys):
    """{section.key: key} of those that no other section has, too."""
    last = [key.split(".")[-1] for key in keys]
    return {key: name for key, name in zip(keys, last) if last.count(name) == 1}


def step_counts(point):
    """The numbers of steps of its runs: mostly one."""
    return point.get("n_steps_of_runs") or [point["n_steps"]]


FEW_STEPS = "less than a third of the base's steps, since it was predicted that more would take longer than the limit; more of such a loop " \
            "is begin and end"


def with_few_steps(results, points, base):
    """Those of a system whose loops are much shorter than the base's. The rungs of a ladder all have steps of their own."""
    base_steps = next((point["n_steps"] for point in points if point["id"] == base), None)
    return [] if results["definition"]["design"] == "ladder" or not base_steps else [
        point for point in points if point["status"] == "measured" and 3 * min(step_counts(point)) < base_steps]


def steps_text(point, none="-"):
    return ", ".join(none if n is None else str(n) for n in step_counts(point))


def extremes(point):
    """(slowest, fastest) of the runs that count; None where results.json does not have them."""
    speeds = point.get("speeds")
    return (min(speeds), max(speeds)) if speeds else None


def scatters(point):
    ends = extremes(point)
    return ends is not None and ends[1] > SCATTER * ends[0]


def is_far(point, base=None):
    """Whether the interval of its speed (with a base: of its ratio to that) ends far beyond all its runs."""
    ends, estimate = extremes(point), point["ratio"] if base else point["speed"]
    if base and ends and extremes(base):
        ends = ends[0] / extremes(base)[1], ends[1] / extremes(base)[0]
    if not ends or not estimate or estimate["low"] is None or estimate["high"] is None:
        return False
    return estimate["low"] < ends[0] / FAR or estimate["high"] > FAR * ends[1]


def drift_steps(n_atoms):
    """Steps from which on a drift is more than noise, rounded up to thousands."""
    return 1000 * math.ceil((DRIFT_START + DRIFT_FLUCTUATION / math.sqrt(n_atoms)) / DRIFT_RESOLVED / 1000)


def is_measured(point):
    """A point that failed has no speed that counts, whatever its status says."""
    speed = (point["speed"] or {}).get("value")
    return point["status"] == "measured" and point["verdict"] != "FAILED" and speed is not None


def worth(point):
    """Its ratio to the base: 1 of the base itself."""
    return (point.get("ratio") or {}).get("value") or 1


def is_number(text):
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


# --- figures ----------------------------------------------------------------------------------------------------------


def unit_of(values):
    """(factor, prefix) in which the middle of some positive values reads best."""
    values = sorted(values)
    middle = values[len(values) // 2] if values else 1
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if middle >= factor:
            return factor, prefix
    return 1, ""


def decimals_for(value, low=None, high=None):
    """Decimals that show two digits of the half-width of the interval where these are below 35, else one (as the Particle
    Data Group rounds): from two to five digits of the value. Three where there is no interval."""
    if not value:
        return 0
    leading = math.floor(math.log10(abs(value)))
    n_digits = 3
    if low is not None and high is not None:
        half = (high - low) / 2
        n_digits = min(max(leading - math.floor(math.log10(half / 0.355)) + 2, 2), 5) if half > 0 else 5
    return n_digits - 1 - leading


def fixed(value, decimals):
    return f"{round(value, decimals):,.{max(decimals, 0)}f}" if value is not None else "-"


def figures(estimate, factor=1):
    """(value, interval) of {"value", "low", "high"} as text, in units of factor, in the digits that the interval allows; the
    ends of a wide one in two digits of their own."""
    found = [estimate.get(key) for key in ("value", "low", "high")]
    value, low, high = (None if one is None else one / factor for one in found)
    if value is None:
        return "-", "-"
    decimals = decimals_for(value, low, high)
    if low is None or high is None:
        return fixed(value, decimals), "-"
    is_wide = decimals == two_digits(value)
    ends = (fixed(end, two_digits(end) if is_wide else decimals) for end in (low, high))
    return fixed(value, decimals), " to ".join(ends)


def two_digits(value):
    """Decimals of two significant digits."""
    return 1 - math.floor(math.log10(abs(value))) if value else 0


def brief(value, digits=3):
    """A number without an interval; powers of ten where zeros would take over."""
    if value is None:
        return "-"
    if value and not 1e-3 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return fixed(value, decimals_for(value) + digits - 3) if value else "0"


def probability(p):
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


# --- parts of Markdown ------------------------------------------------------------------------------------------------


def table(head, rows):
    """Lines of a table, and an empty one; head: texts, of columns of figures with a colon behind."""
    lines = ["| " + " | ".join(name.rstrip(":") for name in head) + " |",
             "|" + "|".join("---:" if name.endswith(":") else "---" for name in head) + "|"]
    return [*lines, *("| " + " | ".join(escape(cell) for cell in row) + " |" for row in rows), ""]


def escape(text):
    return str(text if text is not None else "-").replace("|", "\\|").replace("\n", " ")


def code(text):
    return f"`{text}`"
