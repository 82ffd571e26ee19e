"""The pictures of a study: what failed is not drawn, the numbers drawn are those of results.json, and nothing is empty or cut."""
import distribution

distribution.need("numpy", "matplotlib")

import itertools
import json
import re
from pathlib import Path

import drawing
import matplotlib.collections
import numpy as np
import program
from invented_study import CEILINGS, PEERS, STUDIES, rows_of, sections_of, text_of
from studies import pictures, report, view
from studies.ceilings import read_ceilings, stage_rows


def by_gid(figure):
    """{gid: artists} of what was drawn for a point."""
    found = {}
    for artist in figure.findobj(lambda artist: artist.get_gid() and not isinstance(artist, matplotlib.collections.Collection)):
        for gid in artist.get_gid().split(" s") if isinstance(artist, matplotlib.lines.Line2D) else [artist.get_gid()]:
            found.setdefault(gid if gid.startswith("s") or "/" not in gid else "s" + gid, []).append(artist)
    return found


def scale_of(axes):
    word = re.search(r"\((G|M|k)? ?atom-steps", " ".join([axes.get_xlabel(), axes.get_ylabel()]))
    return {"G": 1e9, "M": 1e6, "k": 1e3, None: 1}[word[1]]


def interval_ends(axes, upright):
    """[(place, low, high)] of all error bars."""
    k = 1 if upright else 0
    return [(line[0][1 - k], line[0][k], line[1][k]) for collection in axes.collections
            if isinstance(collection, matplotlib.collections.LineCollection) for line in collection.get_segments()]


def has_interval(axes, estimated, scale, upright):
    return any(np.isclose(low * scale, estimated["low"]) and np.isclose(high * scale, estimated["high"])
               for _, low, high in interval_ends(axes, upright))


def test_bars(checks, look, picture, system=None):
    """Bars are as long as speeds, with their intervals; every measured point has one where all are to be shown."""
    drawn = by_gid(picture.figure)
    upright = picture.name == "groups"
    for gid, artists in drawn.items():
        point, bar = look.by_id[gid], artists[0]
        scale = scale_of(bar.axes)
        length = (bar.get_height() if upright else bar.get_width()) * scale
        checks.near(length, point["speed"]["value"], 1e-9 * length, f"{picture.name}: bar of {gid}")
        checks.that(has_interval(bar.axes, point["speed"], scale, upright), f"{picture.name}: no interval of {gid}")
    for axes in picture.figure.axes:
        ends = sorted((bar.get_x(), bar.get_x() + bar.get_width()) if upright else (bar.get_y(), bar.get_y() + bar.get_height())
                      for bar in axes.patches if bar.get_gid())
        checks.that(all(a[1] < b[0] + 1e-9 for a, b in zip(ends, ends[1:])), f"{picture.name}: bars lie on each other")
    if system:
        expected = {p["id"] for p in look.measured(system)}
        checks.that(set(drawn) == expected, f"{picture.name} draws {sorted(set(drawn) ^ expected)} otherwise than the table")


def test_marks(checks, look, picture):
    """Ratios, and points of accuracy against speed."""
    drawn = by_gid(picture.figure)
    for gid, artists in drawn.items():
        point = look.by_id[gid]
        if picture.name.startswith("ratios"):
            checks.near(artists[0].get_xdata()[0] if np.ndim(artists[0].get_xdata()) else artists[0].get_xdata(),
                        point["ratio"]["value"], 1e-9, f"{picture.name}: {gid}")
            checks.that(has_interval(artists[0].axes, point["ratio"], 1, False), f"{picture.name}: no interval of {gid}")
        else:
            x = [float(np.ravel(artist.get_xdata())[0]) for artist in artists]
            y = {float(np.ravel(artist.get_ydata())[0]) * scale_of(picture.figure.axes[0]) for artist in artists}
            errors = [point["force_error"]["worst"], *([abs(point["drift"])] if point["drift"] else [])]
            checks.that(np.allclose(x, errors) and len(x) == len(errors), f"{picture.name}: {gid} at {x}")
            checks.that(np.allclose(list(y), point["speed"]["value"]), f"{picture.name}: {gid} at {y}")
    expected = {p["id"] for system in look.systems if picture.name.endswith(system["id"]) for p in look.measured(system)}
    missing = expected - set(drawn) - ({s["base"] for s in look.systems} if picture.name.startswith("ratios") else set())
    checks.that(not missing and drawn, f"{picture.name} lacks {missing}")


def test_lines(checks, look, picture):
    """Sweeps, and speed against size: lines through the speeds of their points."""
    n_points = 0
    for axes in picture.figure.axes:
        for line in axes.get_lines():
            ids = ["s" + part if k else part for k, part in enumerate((line.get_gid() or "").split(" s"))]
            if ids == [""]:
                continue
            points = [look.by_id[one] for one in ids]
            n_points += len(points)
            y = np.array(line.get_ydata()) * scale_of(axes)
            checks.that(np.allclose(y, [p["speed"]["value"] for p in points]), f"{picture.name}: {ids} at {y}")
            at = [next(s["n_atoms"] for s in look.systems if s["id"] == p["system"]) if picture.name == "sizes"
                  else float(p["settings"].get("launch.block_size", 64)) for p in points]
            checks.that(np.allclose(np.array(line.get_xdata(), dtype=float), at), f"{picture.name}: {ids} at {line.get_xdata()}")
    checks.that(n_points > 2, f"{picture.name}: {n_points} points")


def test_map(checks, look, picture):
    image = picture.figure.axes[0].get_images()[0].get_array()
    system = picture.name.split("-")[1]
    effects = [e for e in look.results["effects"] if e["system"] == system]
    found = np.sort(2 ** np.ma.compressed(np.ma.masked_invalid(image)))
    expected = np.sort([e["value"] for e in effects])
    checks.that(len(found) == len(expected) and np.allclose(found, expected), f"{picture.name}: {found}, expected {expected}")
    picture.figure.canvas.draw()
    ticks = [float(label.get_text()) for label in picture.figure.axes[1].get_yticklabels()]
    far = max(np.exp(np.abs(np.log(expected))))
    checks.that(len(ticks) == 5 and np.allclose(ticks, [1 / far, far ** -0.5, 1, far ** 0.5, far], rtol=0.005),
                f"{picture.name}: the scale has {ticks}, the cells {expected}")
    texts = [text.get_text() for text in picture.figure.axes[0].texts]
    for effect in effects:
        text = f"{effect['value']:.3g}"
        text = (text if effect["outcome"] != "not distinguishable" else f"({text})") + ("\u2020" if effect["besides"] else "")
        checks.that(text in texts,
                    f"{picture.name}: {text} is not written in {texts}")


def test_roofline(checks, look, picture, ceilings):
    drawn = by_gid(picture.figure)
    system = next(s for s in look.systems if picture.name.endswith(s["id"]))
    rows = [row for row in stage_rows(look, system, ceilings) if row["intensity"]]
    n = len({row["point"]["id"] for row in rows})
    checks.that(len(rows) == 2 * n, f"{picture.name}: {len(rows)} stages of {n} points")
    found = {artist.get_gid(): artist for artist in picture.figure.axes[0].get_lines() if artist.get_gid()}
    for row in rows:
        mark, entry = found[f"{row['point']['id']} {row['stage']}"], row["point"]["stages"][row["stage"]]
        x, y = (float(np.ravel(data)[0]) for data in mark.get_data())
        checks.near(y, entry["gflop_per_s"], 1e-6, f"{picture.name}: rate of {row['stage']}")
        checks.near(x, entry["gflop_per_s"] / entry["gb_per_s"], 1e-9, f"{picture.name}: operations a byte of {row['stage']}")
    for name, value in (("memory_bandwidth", 4100), ("peak_single", 2000), ("peak_double", 1000)):
        x, y = found[name].get_data()
        checks.near(y[0] / (x[0] if name == "memory_bandwidth" else 1), value, 1e-6 * value, f"{picture.name}: {name}")
    shares = {row["stage"]: (row["bound"], row["share"]) for row in rows}
    # force: 1400 GB/s at 6.1 operations a byte, above the ridge of 2000 / 4100; integrate: 2100 GB/s at 0.16, below it
    expected = {"force": ("arithmetic", 1400 * 6.1 / 2000), "integrate": ("memory", 2100 / 4100)}
    for stage, (bound, share) in expected.items():
        checks.that(shares[stage][0] == bound and abs(shares[stage][1] - share) < 1e-9, f"{stage}: {shares[stage]}")
    checks.that(drawn, f"{picture.name} is empty")


def test_half_known(checks, path):
    """Without a roof of arithmetic nothing holds a stage; nor one whose operations nobody counted. Names of roofs stay inside."""
    results = json.loads(json.dumps(STUDIES["ladder"]))
    for point in results["points"]:
        point["stages"].get("integrate", {}).update(gflop_per_s=None, flops_per_step=None)
    look, system = view.View(results), results["systems"][0]
    whole = read_ceilings(path)
    for lost, words in (((), ""), (("peak_single", "peak_double"), "the roof of arithmetic in single precision"),
                        (("memory_bandwidth",), "the roof of main memory")):
        ceilings = {**whole, "roofs": {name: {} if name in lost else roof for name, roof in whole["roofs"].items()}}
        rows = stage_rows(look, system, ceilings)
        held = {row["stage"]: row["bound"] for row in rows}
        checks.that(held == {"sort": None if lost else "memory", "force": None if lost else "arithmetic", "integrate": None},
                    f"without {lost}: held by {held}")
        picture = pictures.draw_roofline(look, system, ceilings)
        text = text_of(results, ceilings, [picture])
        lines = rows_of(sections_of(text)["32,000 atoms, cuda", "Roofline"])
        for row in lines[1:]:
            checks.that((row[2] == row[4] == "not known") == (row[1] == "integrate"), f"without {lost}: {row}")
            checks.that((row[5] == row[6] == "-") == (bool(lost) or row[1] == "integrate"), f"without {lost}: {row}")
        checks.that((f"**Not measured: {words}**" in text) == bool(words) and (f"Not measured: {words}." in text) == bool(words),
                    f"without {lost} the report does not say so")
        test_room(checks, f"without {lost}", picture)
        axes = picture.figure.axes[0]
        for label in axes.texts:
            box, frame = label.get_window_extent(), axes.get_window_extent()
            checks.that(frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1,
                        f"without {lost}: {label.get_text()} leaves the frame: {box} of {frame}")
        drawing.plt.close(picture.figure)


def test_words(checks, look, picture):
    """Late rebuilds are marked, what a caption says is so, and no speed is below zero."""
    kind, figure = picture.name.split("-")[0], picture.figure
    if kind in ("groups", "sweep"):
        drawn = {point["id"] for point in map(look.by_id.get, by_gid(figure)) if point and point["n_late_rebuilds"]}
        n_marks = sum(text.get_text() == "*" for axes in figure.axes for text in axes.texts)
        checks.that(n_marks == len(drawn), f"{picture.name}: {n_marks} marks of {len(drawn)} points whose rebuilds came late")
        checks.that(("rebuilds came late" in picture.caption) == bool(drawn), f"{picture.name}: {picture.caption}")
    if kind in ("groups", "sweep", "accuracy"):
        checks.that(all(axes.get_ylim()[0] >= 0 for axes in figure.axes), f"{picture.name}: a speed below zero")
    if kind == "accuracy":
        checks.that("half the error" in picture.caption, f"{picture.name}: {picture.caption}")


def test_wide_intervals(checks):
    """Intervals that reach down to nothing draw no axis below zero."""
    for name, kinds in (("one-at-a-time", ("sweep", "accuracy")), ("full", ("sweep", "accuracy"))):
        results = json.loads(json.dumps(STUDIES[name]))
        for point in results["points"]:
            if point["speed"]:
                point["speed"]["low"] *= 0.01
        look = view.View(results)
        for picture in pictures.choose(look):
            if picture.name.startswith(kinds):
                test_words(checks, look, picture)
            drawing.plt.close(picture.figure)


def test_scatter(checks):
    """What the runs scatter by, the load before them, and which interval it is, are said; an interval far beyond all runs, too."""
    for design, n, interval in (("full", 5, "(Student's, of the mean of the logarithms)"), ("leave-one-out", 9, "of the median")):
        results = json.loads(json.dumps(STUDIES[design]))
        base, other = results["points"][0], results["points"][1]
        for point in results["points"]:
            if point["speed"]:
                point["speed"]["n"] = n
        text = text_of(results)
        checks.that("scatter by" not in text and "differ by a factor" not in text and "ends beyond" not in text,
                    f"{design}: runs that do not scatter are said to")
        row = next(row for row in rows_of(text.splitlines()) if row[0] == f"`{base['label']}`" and len(row) > 9)
        checks.that("0.99 to 1.01" in row, f"{design}: the extremes of the base: {row}")
        checks.that("| load of the machine | 0.5 to 0.5 before the runs" in text, f"{design}: no load")
        speed = base["speed"]["value"]
        base["speeds"], other["speeds"] = [0.5 * speed, speed, 1.6 * speed], [s * k for s, k in zip(other["speeds"], (0.6, 1, 1))]
        other["speed"]["high"] = 2.1 * max(other["speeds"])
        if other["ratio"]:
            other["ratio"]["high"] = 2.1 * max(other["speeds"]) / min(base["speeds"])
        results["points"][2]["load_1min"] = 3.2
        text = text_of(results)
        for words in ("**The runs of the base scatter by a factor of 3.2: intervals and outcomes allow for that where it came by chance,", f"by a factor of more than 1.5: `{other['label']}`.",
                      f"scatter: `{other['label']}`.", "0.50 to 1.60", "0.5 to 3.2 before the runs"):
            checks.that(words in text, f"{design}: the report lacks {words!r}")
        for picture in pictures.choose(view.View(results)):
            kind = picture.name.split("-")[0]
            if kind in ("bars", "groups", "sweep", "sizes", "ratios"):
                expected = "(Student's, of the mean of the logarithms)" if kind == "ratios" else interval
                checks.that(f"95 % intervals {expected}" in picture.caption, f"{design}, {picture.name}: {picture.caption}")
                said = "The interval of" in picture.caption and "ends beyond 2 times" in picture.caption
                checks.that(said == (other["id"] in by_gid(picture.figure)), f"{design}, {picture.name}: a wide interval is drawn "
                            f"without a word, or words without it: {picture.caption}")
            drawing.plt.close(picture.figure)


def test_room(checks, name, picture):
    """Nothing that is written reaches beyond the picture, and no two ticks of an axis lie on each other."""
    figure = picture.figure
    figure.canvas.draw()
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox(figure.canvas.get_renderer())
    checks.that(box.x0 > -0.01 and box.y0 > -0.01 and box.x1 < width + 0.01 and box.y1 < height + 0.01,
                f"{name}: {picture.name}: what is drawn reaches from {box.min} to {box.max} inches, of {width} x {height}")
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            places = [*zip(axis.get_majorticklocs(), axis.get_majorticklabels()),
                      *zip(axis.get_minorticklocs(), axis.get_minorticklabels())]
            boxes = [label.get_window_extent() for place, label in places
                     if label.get_text() and label.get_rotation() == 0 and low <= place <= high]
            meet = [a for a, b in itertools.combinations(boxes, 2) if a.shrunk(0.9, 0.9).overlaps(b.shrunk(0.9, 0.9))]
            checks.that(not meet, f"{name}: {picture.name}: labels of ticks overlap at {meet}")


EXPECTED = {"full": ["bars-s0", "groups", "sweep-launch.block_size", "sizes", "interactions-s0", "accuracy-s0",
                     "roofline-s0"],
            "ladder": ["bars-s0", "sizes", "accuracy-s0", "roofline-s0"],
            "leave-one-out": ["ratios-s0", "sizes", "accuracy-s0", "roofline-s0"],
            "one-at-a-time": ["ratios-s0", "sweep-launch.block_size", "sizes", "accuracy-s0", "roofline-s0"],
            "alone": ["bars-s0", "bars-s1", "groups", "sizes", "accuracy-s0", "roofline-s0", "accuracy-s1", "roofline-s1"]}


def test_pictures(checks, name, results, ceilings, peers):
    look = view.View(results)
    if name == "leave-one-out":
        ratios = [point["ratio"] and point["ratio"]["value"] for point in look.ordered(results["systems"][0])]
        checks.that(ratios[0] is None and ratios[1:] == sorted(ratios[1:]), f"not the base, then what costs most: {ratios}")
    found = list(pictures.choose(look, ceilings, peers))
    names = [picture.name for picture in found if not (name == "leave-one-out" and picture.name.startswith("sweep"))]
    checks.that(names == EXPECTED[name], f"{name} has the pictures {names}")
    for picture in found:
        lost = {p["id"] for p in results["points"]} - {p["id"] for s in look.systems for p in look.measured(s)}
        drawn = " ".join(gid for gid in by_gid(picture.figure)) + " "
        checks.that(not any(f"{one} " in drawn for one in lost), f"{name}: {picture.name} draws what failed: {drawn}")
        kind = picture.name.split("-")[0]
        if kind in ("bars", "groups"):
            test_bars(checks, look, picture, next((s for s in look.systems if picture.name == f"bars-{s['id']}"), None))
        elif kind in ("ratios", "accuracy"):
            test_marks(checks, look, picture)
        elif kind in ("sweep", "sizes"):
            test_lines(checks, look, picture)
        elif kind == "interactions":
            test_map(checks, look, picture)
        elif kind == "roofline":
            test_roofline(checks, look, picture, ceilings)
        test_room(checks, name, picture)
        test_words(checks, look, picture)
        drawing.plt.close(picture.figure)


def test_peers(checks, path):
    """Steps a second become atom-steps a second, and both are drawn."""
    rows = report.read_peers(path)
    checks.that([row["speed"] for row in rows] == [32000 * 9600, 1.2e9], f"speeds of the others: {rows}")
    checks.that([row["atoms"] for row in rows] == [32000, 1000188], f"sizes of the others: {rows}")
    picture = pictures.draw_sizes(view.View(STUDIES["alone"]), rows)
    line = next(line for line in picture.figure.axes[0].get_lines() if line.get_label() == "OTHER, double, rebuild every")
    y = np.array(line.get_ydata()) * scale_of(picture.figure.axes[0])
    checks.that(np.allclose(y, [32000 * 9600, 1.2e9]), f"the others are drawn at {y}")
    drawing.plt.close(picture.figure)


def main():
    checks = program.Checks()
    test_wide_intervals(checks)
    with program.temporary_folder() as folder:
        ceilings, peers = Path(folder) / "ceilings.json", Path(folder) / "peers.csv"
        ceilings.write_text(json.dumps(CEILINGS))
        peers.write_text(PEERS)
        drawing.use_style()
        for name, results in STUDIES.items():
            test_pictures(checks, name, results, read_ceilings(ceilings), report.read_peers(peers))
        test_scatter(checks)
        test_half_known(checks, ceilings)
        test_peers(checks, peers)
    checks.finish()


if __name__ == "__main__":
    main()
