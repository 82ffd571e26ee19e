"""tools/plot.py of a run without frames: viscosity, displacements, velocity autocorrelation and g(r) against what is known, and what it says
of them."""
import csv
import json
import os
import re
import tempfile

from plotting import check_picture, run_tool

import curves
import diffusion
import h5py
import labels
import numpy as np
import viscosity


def tensor_table(rows, dimension, interval=0.1, tau=0.5, seed=3):
    """A thermo table of an isotropic tensor whose components are independent random walks, C(t) = 0.04 exp(-t / tau), about a pressure of 2."""
    random = np.random.default_rng(seed)
    keep = np.exp(-interval / tau)
    axes = [axes for axes in ("xx", "yy", "zz", "xy", "xz", "yz") if set(axes) <= set("xyz"[:dimension])]
    kicks = random.normal(0, 0.2, (rows, len(axes)))
    kicks[1:] *= np.sqrt(1 - keep**2)
    for k in range(1, rows):
        kicks[k] += keep * kicks[k - 1]
    # of an isotropic tensor (xx - yy) / 2 fluctuates as xy does
    table = {f"pressure_{axis}": 2 + np.sqrt(2) * kicks[:, k] if axis[0] == axis[1] else kicks[:, k] for k, axis in enumerate(axes)}
    flat = {key: -3 + 0.01 * random.normal(size=rows) for key in ("potential_energy", "kinetic_energy", "total_energy", "conserved_energy")}
    return {"step": np.arange(rows) * 20, "time": np.arange(rows) * interval, "temperature": 0.8 + 0.01 * random.normal(size=rows),
            "pressure": np.full(rows, 2.0), **flat, **table}


def test_viscosity(folder):
    """V/kT 0.04 tau of a known correlation, within its errors, which are small; the correlation by all pairs of rows; no viscosity where
    there can be none."""
    values = np.random.default_rng(5).normal(size=50)
    right = [np.mean(values[:50 - k] * values[k:]) for k in range(12)]
    assert np.allclose(viscosity.autocorrelation(values, 12), right, rtol=1e-12, atol=1e-14)
    for dimension in (2, 3):
        thermo, volume = tensor_table(40000, dimension), 500.0
        found, words, first = curves.find_viscosity(thermo, "lj", dimension, volume, 0)
        # the trapezoidal sum of exp(-k d / tau), to the end
        exact = volume / 0.8 * 0.04 * 0.05 * (1 + np.exp(-0.2)) / (1 - np.exp(-0.2)) * (1 - np.exp(-found.time[found.end] / 0.5))
        value, error = found.viscosity[found.end], found.viscosity_error[found.end]
        assert abs(value - exact) < 4 * error and error < 0.06 * exact, (dimension, value, error, exact)
        assert abs(found.product[0] - 0.04) < 4 * found.product_error[0], found.product[0]
        assert first == 0 and (value, error) == (found.value, found.error), (first, found.value)
        assert "from step 0" in words and 1 < found.time[found.end] < 6, found.time[found.end]
    argon = curves.find_viscosity(thermo, "metal", 3, volume, 0)[0]
    assert np.allclose(argon.viscosity, found.viscosity * 1e5**2 * 1e-30 * 1e-12 / 1.380649e-23 * 1e3, rtol=1e-9)
    flat = curves.find_viscosity(tensor_table(4000, 2), "metal", 2, volume, 0)[0]
    assert np.allclose(flat.viscosity, curves.find_viscosity(tensor_table(4000, 2), "lj", 2, volume, 0)[0].viscosity / 8.617333262e-5, rtol=1e-9)
    for damage, what in (({"pressure_xy": np.full(40000, np.nan)}, "begin it after them (--from STEP)"), ({}, "take system.boundary = periodic")):
        try:
            curves.find_viscosity({**thermo, **damage}, "lj", 3, np.nan if not damage else volume, 0)
            raise AssertionError(what)
        except ValueError as error:
            assert what in str(error), error
    base = os.path.join(folder, "shear")
    report = {"atom_steps_per_second": 1, "unit_style": "lj", "volume": volume, "options": {"system.dimension": {"value": "3"}}}
    for rows in (2000, 30):
        thermo = {key: column.tolist() for key, column in tensor_table(rows, 3).items()}
        with open(base + ".json", "w") as stream:
            json.dump({**report, "thermo": thermo}, stream)
        run = run_tool(base + ".json", "--from", "0")
        made = ["thermo.png", "viscosity.png", "viscosity.csv", "coefficients.csv"] if rows > 200 else ["thermo.png"]
        assert run.returncode == 0 and run.stdout.split() == [f"{base}-{kind}" for kind in made], (run.stdout, run.stderr)
        assert (run.stderr == "") == (rows > 200) and (rows > 200 or "has 30 rows" in run.stderr and "needs 200: make the run longer or output.thermo_every smaller" in run.stderr), run.stderr
    check_picture(base + "-viscosity.png")
    table = np.genfromtxt(base + "-viscosity.csv", delimiter=",", names=True)
    assert table.dtype.names == ("time_tau", "correlation_epsilon2sigma6", "correlation_error_epsilon2sigma6", "viscosity_epsilon_tausigma3",
                                 "viscosity_error_epsilon_tausigma3") and len(table) == 100, table.dtype.names


def coefficients(base):
    with open(base + "-coefficients.csv", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def svg(base, kind):
    with open(f"{base}-{kind}.svg", encoding="utf-8") as stream:
        return stream.read()


def test_told(folder):
    """Values with units in titles, heads and the table of coefficients, in both kinds of units; that langevin changes them, where it acts on
    what is measured."""
    base, time = os.path.join(folder, "told"), 0.05 * np.arange(41)
    units = {"lj": ("tau", "sigma^2", "epsilon tau/sigma^3"), "metal": ("ps", "angstrom^2", "mPa s")}
    thermo = {key: column.tolist() for key, column in tensor_table(2000, 3).items()}
    cases = {("csvr", "auto", "0"): "", ("langevin", "auto", "0"): "DV", ("langevin", "3000", "4000"): "V", ("langevin", "5000", "4000"): "DV", ("langevin", "3000", "3000"): "V"}
    for style in units:
        time_unit, area, eta = units[style]
        with open(base + ".msd.csv", "w") as stream:
            stream.write(f"step (steps),time ({time_unit}),windows,msd ({area}),error of msd ({area})\n")
            stream.writelines(f"{k},{t},3,{6 * 0.03 * t + 0.1},0.01\n" for k, t in enumerate(time))
        for (bath, last_step, msd_from), changed in list(cases.items())[:None if style == "lj" else 2]:
            options = {"system.dimension": "3", "ensemble.thermostat": bath, "ensemble.last_step": last_step, "analysis.msd_from": msd_from}
            report = {"atom_steps_per_second": 1, "unit_style": style, "volume": 500.0, "thermo": thermo, "options": {key: {"value": value} for key, value in options.items()},
                      "analysis": {"msd": {"diffusion": [{"mean": 0.031, "error": 0.002}]}}}
            with open(base + ".json", "w") as stream:
                json.dump(report, stream)
            for first_step, has_viscosity in ((0, "V" in changed), (6000, bath == "langevin" and last_step == "auto"))[:2 if style == "lj" else 1]:
                run = run_tool(base + ".json", "--from", str(first_step), "--format", "svg")
                assert run.returncode == 0, run.stderr
                assert ("friction changes D" in run.stderr) == ("D" in changed) and ("friction changes the viscosity" in run.stderr) == has_viscosity, (style, bath, last_step, first_step, run.stderr)
                rows = coefficients(base)
                assert [row["quantity"] for row in rows] == ["viscosity", "diffusion coefficient"] and [row["unit"] for row in rows] == [eta, f"{area}/{time_unit}"], rows
                assert [bool(row["remark"]) for row in rows] == [has_viscosity, "D" in changed], rows
                assert (float(rows[1]["value"]), float(rows[1]["error"])) == (0.031, 0.002) and float(rows[0]["value"]) > 0 < float(rows[0]["error"]), rows
                assert ("friction" in svg(base, "msd")) == ("D" in changed) and ("friction" in svg(base, "viscosity")) == has_viscosity
        with open(base + "-msd.csv", encoding="utf-8") as stream:
            assert stream.readline() == f"time ({time_unit}),msd ({area}),msd_error ({area}),diffusion ({area}/{time_unit})\n"
        # of text with formulas the SVG has the source in a comment
        for kind, unit in (("viscosity", labels.LABELS[style]["of_viscosity3"]), ("msd", labels.LABELS[style]["of_diffusion"])):
            assert any(r"\pm" in text and unit in text for text in re.findall("<!-- (.*?) -->", svg(base, kind), re.S)), f"{kind}: a value without {unit}"


def test_diffusion(folder):
    """Of a known line and a known decay, by CSV and by the trajectory alone; with the errors of the report; two kinds."""
    base, time = os.path.join(folder, "flow"), 0.05 * np.arange(41)
    with open(base + ".msd.csv", "w") as stream:
        stream.write("step (steps),time (tau),windows,msd (sigma^2),error of msd (sigma^2),msd of type 1 (sigma^2),error of msd of type 1 (sigma^2)\n")
        stream.writelines(f"{k},{t},3,{6 * 0.03 * t + 0.1},0.01,{6 * 0.05 * t},\n" for k, t in enumerate(time))
    with open(base + ".vacf.csv", "w") as stream:
        stream.write("step (steps),time (tau),windows,vacf (sigma^2/tau^2),error of vacf (sigma^2/tau^2)\n")
        stream.writelines(f"{k},{t},1,{3 * np.exp(-t / 0.1)},\n" for k, t in enumerate(time))
    msd, vacf = diffusion.find_curves(base, 3)
    assert msd.kinds == ["", "of type 1"] and vacf.kinds == [""], (msd.kinds, vacf.kinds)
    assert np.allclose([one[0] for one in msd.coefficients], [0.03, 0.05], rtol=1e-10) and np.isnan(msd.coefficients[0][1])
    assert np.allclose(msd.running(1), 0.05, rtol=1e-9)
    trapezoids = 0.025 * (1 + np.exp(-0.5)) / (1 - np.exp(-0.5)) * (1 - np.exp(-20))  # to lag 2, of 3 exp(-t / 0.1), divided by 3
    assert abs(vacf.coefficients[0][0] - trapezoids) < 1e-9, (vacf.coefficients, trapezoids)
    told = [{"mean": 0.031, "error": 0.002}, {"type": 1, "mean": 0.049, "error": None}]
    report = {"atom_steps_per_second": 1, "unit_style": "lj", "volume": None, "options": {"system.dimension": {"value": "3"}},
              "analysis": {"msd": {"diffusion": told}},
              "thermo": {key: column.tolist() for key, column in tensor_table(30, 3).items() if not key.startswith("pressure_")}}
    assert diffusion.find_curves(base, 3, None, report)[0].coefficients[0] == (0.031, 0.002)
    with open(base + ".json", "w") as stream:
        json.dump(report, stream)
    run = run_tool(base + ".json")
    made = ["thermo.png", "msd.png", "msd.csv", "vacf.png", "vacf.csv", "coefficients.csv"]
    assert run.returncode == 0 and run.stdout.split() == [f"{base}-{kind}" for kind in made], (run.stdout, run.stderr)
    check_picture(base + "-msd.png")
    check_picture(base + "-vacf.png")
    table = np.genfromtxt(base + "-msd.csv", delimiter=",", names=True)
    assert table.dtype.names == ("time_tau", "msd_sigma2", "msd_error_sigma2", "diffusion_sigma2tau", "msd_1_sigma2", "msd_1_error_sigma2", "diffusion_1_sigma2tau") and len(table) == 41, table.dtype.names
    assert [(row["of"], row["value"], row["error"]) for row in coefficients(base)[:2]] == [("all atoms", "0.031", "0.002"), ("of type 1", "0.049", "")], coefficients(base)
    with h5py.File(base + ".h5", "w") as file:
        group = file.create_group("parameters/mdmini/analysis/mean_square_displacement")
        group["time"], group["value"], group["error"] = time, msd.value, msd.error
        assert np.array_equal(diffusion.find_curves(base + "2", 3, file)[0].value, msd.value)
    with open(base + ".vacf.csv", "w") as stream:
        stream.write("time (tau),vacf (x)\n1,2\n2\n")
    run = run_tool(base + ".json")
    assert run.returncode == 2 and "flow.vacf.csv: cannot be read" in run.stderr, run.stderr


def test_rdf(folder):
    """g(r) that the run has sampled, drawn from NAME.rdf.csv, and its numbers."""
    base = os.path.join(folder, "sampled")
    r = (np.arange(40) + 0.5) * 0.07
    g, part = 1 + np.exp(-(r - 1.1)**2 / 0.02) * (r > 0.9), 1 + 0.3 * np.sin(r)
    with open(base + ".rdf.csv", "w") as stream:
        stream.write("r (sigma),outer r (sigma),blocks,g,error of g,neighbors,pairs,g of types 1 2,error of g of types 1 2,neighbors of types 1 2,pairs of types 1 2\n")
        for k in range(40):
            stream.write(f"{r[k]},{r[k] + 0.035},12,{g[k]},0.01,{k},{2 * k},{part[k]},,{k},{k}\n")
    thermo = {key: column.tolist() for key, column in tensor_table(300, 3).items() if "pressure_" not in key}
    with open(base + ".json", "w") as stream:
        json.dump({"atom_steps_per_second": 1, "unit_style": "lj", "volume": None, "options": {"system.dimension": {"value": "3"}},
                   "thermo": thermo}, stream)
    run = run_tool(base + ".json")
    assert run.returncode == 0 and run.stdout.split() == [f"{base}-{kind}" for kind in ("thermo.png", "rdf.png", "rdf.csv")], (run.stdout, run.stderr)
    check_picture(base + "-rdf.png")
    table = np.genfromtxt(base + "-rdf.csv", delimiter=",", names=True)
    assert table.dtype.names == ("r_sigma", "g", "g_error", "g_1_2", "g_1_2_error") and np.allclose(table["g_1_2"], part) and np.isnan(table["g_1_2_error"]).all(), table
    assert np.allclose(table["r_sigma"], r) and np.allclose(table["g"], g) and np.allclose(table["g_error"], 0.01)
    with open(base + ".rdf.csv", "w") as stream:
        stream.write("r (sigma)\n")
    run = run_tool(base + ".json")
    assert run.returncode == 2 and "sampled.rdf.csv" in run.stderr, (run.returncode, run.stderr)


with tempfile.TemporaryDirectory() as directory:
    test_viscosity(directory)
    test_told(directory)
    test_diffusion(directory)
    test_rdf(directory)
print("viscosity, diffusion, g(r) of a run: as expected")
