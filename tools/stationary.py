"""Which part of a run a mean is over: that without a trend."""
import numpy as np


def drifts(thermo, first_step):
    """Whether temperature or potential energy have a trend from a step on: along a straight line they change by more than twice what they
    scatter about it, and by four standard errors."""
    later = thermo["step"] >= first_step
    for key in ("temperature", "potential_energy"):
        x, y = thermo["step"][later], thermo[key][later]
        x, y = x[np.isfinite(y)], y[np.isfinite(y)]
        if len(x) < 4 or x[-1] == x[0]:
            continue  # too few to tell
        slope, start = np.polyfit(x, y, 1)
        scatter = np.sqrt(np.sum((y - slope * x - start) ** 2) / (len(x) - 2))
        if abs(slope) * (x[-1] - x[0]) > max(2, 4 * np.sqrt(12 / len(x))) * scatter + 1e-9 * np.abs(y).max():
            return True
    return False


def part_of_mean(steps, thermo, first_step):
    """(indices of the frames, or rows, that a mean is over; in words, which part of the run they are). Without a first step: of the last
    half, quarter or eighth of the run, the longest in which the thermo table does not drift; of none where it drifts to the end. steps:
    of all frames."""
    if first_step is not None:
        chosen, words = np.flatnonzero(steps >= first_step), f"from step {first_step:,.0f} on, as asked"
        if len(chosen) == 0:
            raise ValueError(f"--from {first_step:g}: the last frame is of step {steps[-1]}")
    else:
        for share, name in ((2, "half"), (4, "quarter"), (8, "eighth")):
            begin = steps[-1] - (steps[-1] - steps[0]) / share
            chosen, words = np.flatnonzero(steps >= begin), f"the last {name} of the run"
            if not drifts(thermo, begin):
                break
        else:
            return np.array([len(steps) - 1]), "no mean: temperature or energy drift to the end (--from STEP)"
    return chosen, words
