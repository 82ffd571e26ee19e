"""Scaling over processes: what each process still does where there are more of them. A factor of numbers of processes
(parallel.ranks) says it of one system (strong scaling), one whose systems grow along (parallel.ranks & system.cells) of a system
for each number (weak scaling); in atom-steps/s both are the same formula.

The efficiency of N processes is speed(N) / N over that of the fewest, N0, all else equal: speed(N) N0 / (N speed(N0)). It
rests on ratios within rounds, and so does its interval, which is that of this one alone."""
from .definition import JOINT, RANKS, n_ranks
from .view import code, figures, table, unit_of

HEAD = ("point", "processes:", "grid", "hosts:", "atoms a process:", "{}atom-steps/s:", "speed-up:", "efficiency:", "interval:")


def factor_of(factors):
    """The factor that has the number of processes; None where there is none."""
    return next((factor for factor in factors if RANKS in factor["key"].split(JOINT)), None)


def scaling(tables, factors):
    """The rows of results.json. tables: SystemTables; factors: as study.json has them."""
    factor = factor_of(factors)
    if not factor:
        return []
    groups = {}
    for system in tables:
        for point in system.points:
            set_here = {**system.record["levels"], **point.point["settings"]}
            levels = {one["key"]: set_here.get(one["key"], one["base"]) for one in factors}
            n = n_ranks({factor["key"]: levels.pop(factor["key"])})
            groups.setdefault(tuple(levels.items()), []).append((n, system, point))
    return [row for group in groups.values() for row in rows_of(sorted(group, key=lambda entry: entry[0]))]


def rows_of(group):
    """group: [(number of processes, SystemTable, PointRuns)], the fewest first, with all else equal."""
    n_first, _, first = group[0]
    rows = []
    for n, system, point in group:
        if not point.is_measured():
            continue
        ratio = None
        if first.is_measured() and point is not first:
            ratio = system.ratio(first, point, system.base)
        told = next((run["report"].get("ranks") for run in point.ok), None) or {}
        rows.append({"system": system.record["id"], "point": point.id, "to": first.id, "ranks": n, "grid": told.get("grid"),
                     "hosts": told.get("hosts"), "atoms_per_rank": system.record["n_atoms"] / n, "speed_up": times(ratio, 1),
                     "efficiency": times(ratio, n_first / n)})
    return rows


def times(ratio, factor):
    """A ratio and its interval by a factor, as JSON has it; None where it is not known."""
    if not ratio or not ratio.n:
        return None
    ends = {key: getattr(ratio, key) * factor for key in ("value", "low", "high")}
    return {**{key: value if value == value else None for key, value in ends.items()}, "n": ratio.n}


# --- as print has it ------------------------------------------------------------------------------------------------


def cells(results):
    """(head, rows of texts), less the columns that have nothing."""
    by_id = {point["id"]: point for point in results["points"]}
    labels = {system["id"]: system["label"] for system in results["systems"]}
    factor, prefix = unit_of([by_id[row["point"]]["speed"]["value"] for row in results["scaling"]])
    rows = []
    for row in results["scaling"]:
        speed_up, efficiency = row["speed_up"], row["efficiency"]
        name = by_id[row["point"]]["label"] + (f" ({labels[row['system']]})" if len(labels) > 1 else "")
        share, interval = figures(efficiency) if efficiency else ("1" if row["point"] == row["to"] else "-", "-")
        rows.append([name, str(row["ranks"]), " x ".join(map(str, row["grid"] or [])), str(row["hosts"] or ""),
                     f"{row['atoms_per_rank']:,.0f}", figures(by_id[row["point"]]["speed"], factor)[0],
                     figures(speed_up)[0] if speed_up else share, share, interval])
    kept = [k for k in range(len(HEAD)) if any(row[k] for row in rows)]
    head = [name.format(f"{prefix} ") for name in HEAD]
    return [head[k] for k in kept], [[row[k] for k in kept] for row in rows]


def explanation(results):
    factor = factor_of(results["factors"])
    fewest = min(n_ranks({factor["key"]: level}) for level in factor["levels"])
    kind = "systems that grow with the processes (weak scaling)" if factor["kind"] == "physics" else "one system (strong scaling)"
    return (f"Efficiency: speed in atom-steps/s a process, over that with {fewest} process{'es' if fewest > 1 else ''}, all else "
            f"equal; of {kind}. Ratios are paired within rounds; an interval ({100 * results['confidence']:g} %) is that of its "
            "row alone.")


def lines(results):
    """On the terminal."""
    if not results.get("scaling"):
        return []
    head, rows = cells(results)
    columns = [[name.rstrip(":"), *(row[k] for row in rows)] for k, name in enumerate(head)]
    widths = [max(map(len, column)) for column in columns]
    return ["", explanation(results),
            *("  ".join(f"{cell:<{width}}" if not name.endswith(":") else f"{cell:>{width}}"
                        for name, cell, width in zip(head, row, widths)).rstrip() for row in zip(*columns))]


def section(results):
    """Of report.md."""
    if not results.get("scaling"):
        return []
    head, rows = cells(results)
    return ["## Scaling over processes", "", explanation(results), "", *table(head, [[code(row[0]), *row[1:]] for row in rows])]
