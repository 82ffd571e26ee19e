"""Measured ceilings, and where the stages of a step stand below them: the roofline (Williams, Waterman, Patterson,
Commun. ACM 52(4), 65 (2009)). The roof above a stage is that of memory where its operations a byte are few, else that of arithmetic. Bytes and
operations are those of the model in the variants table, so a stage whose data stay in a cache may pass main memory."""
import json

from kinds import wrong_file

from .definition import StudyError

ROOFS = ("memory_bandwidth", "l2_bandwidth", "shared_bandwidth", "peak_single", "peak_double")
NAMES = {"memory_bandwidth": "main memory", "l2_bandwidth": "second-level cache", "shared_bandwidth": "shared memory",
         "peak_single": "single precision", "peak_double": "double precision"}


def read_ceilings(path):
    """{"path", "roofs": {roof: {backend: GB/s or GFLOP/s, or None}}} of a file that `mdmini --ceilings` wrote. StudyError:
    it is none, and why."""
    try:
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream)
    except OSError as error:
        raise StudyError([wrong_file(path, "ceilings", why=error.strerror)]) from None
    except ValueError as error:
        raise StudyError([wrong_file(path, "ceilings", why=f"no JSON: {error}")]) from None
    roofs = data.get("ceilings") if isinstance(data, dict) else None
    if not isinstance(roofs, dict) or not isinstance(roofs.get(ROOFS[0]), dict):
        raise StudyError([wrong_file(path, "ceilings", why="no ceilings: mdmini --ceilings writes such a file")])
    if data.get("quick"):
        raise StudyError([f"{path}: of mdmini --ceilings --quick, whose figures mean nothing: measure without --quick"])
    return {"path": path, "roofs": {roof: roofs.get(roof) or {} for roof in ROOFS},
            "provenance": data.get("provenance") or {}}


def roof(ceilings, system, name):
    value = ceilings["roofs"][name].get(system.get("backend"))
    return value if isinstance(value, (int, float)) and value > 0 else None


def peak_name(point):
    """Pairs in double precision are held by that; single and mixed ones by the other."""
    return "peak_double" if (point.get("ran") or {}).get("run.precision") == "double" else "peak_single"


def roofline_points(view, system):
    """The base and the fastest that has its rebuilds in time, where they have stages with a time."""
    points = [point for point in view.measured(system)
              if any(entry.get("gb_per_s") for entry in (point.get("stages") or {}).values())]
    in_time = [point for point in points if not point.get("n_late_rebuilds")] or points
    fastest = max(in_time, key=lambda point: point["speed"]["value"], default=None)
    base = [point for point in points if point["id"] == system["base"]]
    return base + ([fastest] if fastest and fastest not in base else [])


def lacks(ceilings, system, points):
    """In words, the roofs that points of a system are to be held against and that were not measured; empty: none. Without one
    of the two nothing can be said of what holds a stage."""
    wanted = ["memory_bandwidth", *dict.fromkeys(map(peak_name, points))]
    return " and ".join(f"the roof of {'arithmetic in ' if name.startswith('peak') else ''}{NAMES[name]}" for name in wanted
                        if not roof(ceilings, system, name))


def stage_rows(view, system, ceilings):
    """Of each point and stage: operations a byte, what it reaches, the roof above it, what the roof is, and the share of it
    that is reached. None: not known, as where the model does not count operations, or a roof was not measured; operations a
    byte are None, too, of a stage that computes nothing."""
    rows = []
    bandwidth = roof(ceilings, system, "memory_bandwidth")
    for point in roofline_points(view, system):
        peak = roof(ceilings, system, peak_name(point))
        for stage, entry in point["stages"].items():
            bytes_rate, flops = entry.get("gb_per_s"), entry.get("gflop_per_s")
            if not bytes_rate:
                continue
            if entry.get("flops_per_step") == 0:  # a rate of nothing is null in the report of a run
                flops = 0
            row = {"point": point, "stage": stage, "gb_per_s": bytes_rate, "gflop_per_s": flops,
                   "intensity": flops / bytes_rate if flops else None, "roof": None, "bound": None, "share": None}
            if bandwidth and peak and flops is not None:
                if flops / bytes_rate * bandwidth <= peak:
                    row.update(roof=bandwidth, bound="memory", share=bytes_rate / bandwidth)
                else:
                    row.update(roof=peak, bound="arithmetic", share=flops / peak)
            rows.append(row)
    return rows
