"""Shear viscosity from the fluctuations of the pressure tensor (Green-Kubo).

eta = V/kT times the integral over t of C(t), the autocorrelation of a shear stress. All components of the traceless tensor Q serve:
C(t) = <Q(0):Q(t)> / ((D - 1)(D + 2)), which is the mean over xy, xz, yz, (xx - yy)/2 and two like it of an isotropic fluid
(P. J. Daivis and D. J. Evans, J. Chem. Phys. 100, 541 (1994))."""
import numpy as np

N_BLOCKS = 10  # the error of ten has a standard deviation of a quarter, and blocks remain long
LEAST_ROWS = 20  # of a block: ten lags, each of ten pairs of rows and more
# CODATA 2018 (E. Tiesinga, P. J. Mohr, D. B. Newell, B. N. Taylor, Rev. Mod. Phys. 93, 025010 (2021)), as in src/base/units.h: both are
# exact in the SI.
BOLTZMANN, ELECTRONVOLT = 1.380649e-23, 1.602176634e-19  # J/K, J
BAR, ANGSTROM, PICOSECOND, MILLI = 1e5, 1e-10, 1e-12, 1e-3  # Pa, m, s
# The unit of V P^2 t / kT by dimension, in units of the viscosity: with metal V in angstrom^2, P in eV/angstrom^2, t in ps and T in K
# it is in eV ps/angstrom^2; with V in angstrom^3 and P in bar, in mPa s.
FACTORS = {"lj": {2: 1, 3: 1},
           "metal": {2: ELECTRONVOLT / BOLTZMANN, 3: ANGSTROM**3 * BAR**2 * PICOSECOND / BOLTZMANN / MILLI}}


def traceless(thermo, dimension):
    """[(weight, values)]: the components of Q, and how often each stands in the tensor."""
    axes = "xyz"[:dimension]
    diagonal = [thermo[f"pressure_{a}{a}"] for a in axes]
    parts = [(1, values - np.mean(diagonal, axis=0)) for values in diagonal]
    return parts + [(2, thermo[f"pressure_{a}{b}"]) for k, a in enumerate(axes) for b in axes[k + 1:]]


def autocorrelation(values, n_lags):
    """<x(0) x(t)> for lags 0 .. n_lags - 1: the mean over all pairs of rows so far apart. The mean of x is not taken off: that of a fluid
    is zero by symmetry."""
    n = len(values)
    spectrum = np.fft.rfft(values, 2 * n)
    return np.fft.irfft(spectrum * spectrum.conj())[:n_lags] / (n - np.arange(n_lags))


class Viscosity:
    """time, product (the correlation) and viscosity with their standard errors [n_lags]; end: the lag at which the correlation has sunk to its error,
    None where it has not. volume, temperature and interval: of the run, time between two rows."""

    def __init__(self, parts, dimension, volume, temperature, interval, factor=1):
        rows = len(parts[0][1]) // N_BLOCKS
        if rows < LEAST_ROWS:
            raise ValueError(f"the pressure tensor has {len(parts[0][1])} rows in the part without a drift, and the viscosity needs "
                             f"{LEAST_ROWS * N_BLOCKS}: make the run longer or output.thermo_every smaller, or name the first step of that "
                             "part (--from STEP)")
        n_lags = rows // 2  # of longer lags a block has fewer pairs than half of its rows
        blocks = [sum(weight * autocorrelation(values[k * rows:(k + 1) * rows], n_lags) for weight, values in parts)
                  for k in range(N_BLOCKS)] / np.array((dimension - 1) * (dimension + 2))
        running = np.zeros_like(blocks)
        running[:, 1:] = np.cumsum((blocks[:, 1:] + blocks[:, :-1]) / 2, axis=1) * interval * volume / temperature * factor
        self.time = np.arange(n_lags) * interval
        self.product, self.viscosity = blocks.mean(axis=0), running.mean(axis=0)
        self.product_error, self.viscosity_error = (one.std(axis=0, ddof=1) / np.sqrt(N_BLOCKS) for one in (blocks, running))
        # Beyond this lag the integral gains noise alone.
        sunk = np.flatnonzero(self.product <= self.product_error)
        self.end = int(sunk[0]) if len(sunk) else None

    @property
    def value(self):
        return self.viscosity[self.end]

    @property
    def error(self):
        return self.viscosity_error[self.end]

    @property
    def columns(self):
        return {"time": self.time, "correlation": self.product, "correlation_error": self.product_error,
                "viscosity": self.viscosity, "viscosity_error": self.viscosity_error}
