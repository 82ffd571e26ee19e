#!/usr/bin/env bash
# Guess: g(r) of a group of atoms with itself leaves out the pair of each atom with itself.
# Found: InterRDF(atoms, atoms) of MDAnalysis counts these N pairs in its first bin, and so does freud's RDF if you give the
# same array again as query points; without query points freud leaves them out. If the bins begin at 0, the first value is in
# the thousands, and plots scale to it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${PYTHON:-python3}" -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile MDAnalysis==2.11.0 freud-analysis==3.4.0
cd "$folder" && "$folder/venv/bin/python" - <<'PYTHON'
import warnings
import freud, MDAnalysis
import numpy as np
from MDAnalysis.analysis.rdf import InterRDF

warnings.simplefilter("ignore")
print("MDAnalysis", MDAnalysis.__version__, "freud", freud.__version__)
n, edge = 1000, 20.0
universe = MDAnalysis.Universe.empty(n, trajectory=True)
universe.atoms.positions = np.random.default_rng(0).random((n, 3)) * edge
universe.dimensions = [edge, edge, edge, 90, 90, 90]
box, points = freud.box.Box.cube(edge), universe.atoms.positions - edge / 2


def freud_rdf(*query):
    rdf = freud.density.RDF(bins=50, r_max=5)
    return rdf.compute((box, points), *query).rdf


seen = {"MDAnalysis, atoms twice": InterRDF(universe.atoms, universe.atoms, nbins=50, range=(0, 5)).run().results.rdf,
        "freud, points twice": freud_rdf(points), "freud, points once": freud_rdf()}
for name, g in seen.items():
    print(f"{name}: g in the first bin {g[0]:.2f}, mean from 1 to 5 {g[10:].mean():.4f}")
first = [float(g[0]) for g in seen.values()]
assert first[0] > 1900 and first[1] > 1900 and first[2] < 10, "this has changed"
assert all(abs(g[10:].mean() - 1) < 0.02 for g in seen.values()), "this has changed"
PYTHON
