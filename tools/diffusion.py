"""Mean square displacement and velocity autocorrelation of a run (section [analysis]), and the diffusion coefficients from them.

In D dimensions: the slope of the mean square displacement over the second half of its lags by least squares, divided by 2 D; the integral
of the velocity autocorrelation by trapezoids, divided by D. Errors by windows are those of the report beside the curves."""
import csv
import json
import os

import numpy as np

TITLES = {"msd": "mean_square_displacement", "vacf": "velocity_autocorrelation"}


class Curves:
    """name: msd or vacf; kinds: "", "of type 1", ...; time [n]; value and error [n, kinds], NaN: not known; coefficients [kinds] of (mean,
    error), by the report, or of the curves themselves, without an error."""

    def __init__(self, name, dimension, kinds, time, value, error, report=None):
        self.name, self.dimension, self.kinds, self.time, self.value, self.error = name, dimension, kinds, time, value, error
        if time.shape + (len(kinds),) != value.shape or value.shape != error.shape or len(time) < 2:
            raise ValueError("columns are not of one length")
        self.half = len(time) // 2 if len(time) > 3 else 0
        told = ((report or {}).get("analysis") or {}).get(name, {}).get("diffusion", [])
        if len(told) == len(kinds) and told[0]["mean"] is not None:
            self.coefficients = [(one["mean"], np.nan if one["error"] is None else one["error"]) for one in told]
        else:
            self.coefficients = [(self.coefficient(k), np.nan) for k in range(len(kinds))]

    def running(self, k):
        """Up to each lag; of displacements the local slope."""
        if self.name == "msd":
            return np.gradient(self.value[:, k], self.time) / (2 * self.dimension)
        return np.append(0, np.cumsum((self.value[1:, k] + self.value[:-1, k]) / 2 * np.diff(self.time))) / self.dimension

    def coefficient(self, k):
        if self.name == "vacf":
            return self.running(k)[-1]
        return np.polyfit(self.time[self.half:], self.value[self.half:, k], 1)[0] / (2 * self.dimension)

    @property
    def columns(self):
        columns = {"time": self.time}
        for k, kind in enumerate(self.kinds):
            end = kind.replace("of type ", "_")
            columns.update({self.name + end: self.value[:, k], f"{self.name}{end}_error": self.error[:, k], "diffusion" + end: self.running(k)})
        return columns


def read_table(path, name, axis="time"):
    """(kinds, time, value, error) of NAME.msd.csv, or of another such table."""
    with open(path, encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    words = [word.split(" (")[0] for word in rows[0]]
    numbers = np.array([[float(word or "nan") for word in row] for row in rows[1:]]).T
    chosen = [k for k, word in enumerate(words) if word == name or word.startswith(name + " ")]
    return ([words[k][len(name) + 1:] for k in chosen], numbers[words.index(axis)], numbers[chosen].T,
            numbers[[k + 1 for k in chosen]].T)


def find_curves(base, dimension, file=None, report=None):
    """[Curves] of the files BASE.msd.csv and BASE.vacf.csv; where one is not there, of the trajectory."""
    found = []
    for name, title in TITLES.items():
        path, place = f"{base}.{name}.csv", f"parameters/mdmini/analysis/{title}"
        try:
            if os.path.exists(path):
                parts = read_table(path, name)
            elif file is not None and place in file:
                value = file[place]["value"][...]
                kinds = [f"of type {k}" if k else "" for k in range(value.shape[1])]
                parts = kinds, file[place]["time"][...], value, file[place]["error"][...]
            else:
                continue
            known = np.isfinite(parts[2][:, 0])
            if known.sum() > 1:
                found.append(Curves(name, dimension, parts[0], *(values[known] for values in parts[1:]), report))
        except (KeyError, ValueError, IndexError, TypeError) as error:
            raise ValueError(f"{path if os.path.exists(path) else place}: cannot be read ({type(error).__name__}: {error})") from error
    return found


def load_report(base):
    """The report beside a trajectory; None: there is none."""
    path = f"{base}.json"
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)
