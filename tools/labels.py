"""Units of a run by its unit_style: of axes and titles (TeX), and of the heads of tables, as in the tables of the program."""

LABELS = {  # of axes; t: of a frame, with its time; of_...: the unit alone; a digit: the dimension
    "lj": {"temperature": r"temperature  $k_\mathrm{B}T/\varepsilon$", "potential_energy": r"potential energy  $U/N\varepsilon$",
           "total_energy": r"total energy  $E/N\varepsilon$", "drift": r"conserved energy: drift  $\Delta E/N\varepsilon$",
           "pressure2": r"pressure  $P\sigma^2/\varepsilon$", "pressure3": r"pressure  $P\sigma^3/\varepsilon$", "time": r"time  $t/\tau$",
           "speed": r"speed  $v\tau/\sigma$", "x": r"$x/\sigma$", "y": r"$y/\sigma$", "z": r"$z/\sigma$",
           "r": r"distance  $r/\sigma$", "viscosity2": r"$\eta\,\sigma/\sqrt{m\varepsilon}$",
           "viscosity3": r"$\eta\,\sigma^2/\sqrt{m\varepsilon}$", "msd": r"mean square displacement  $\Delta r^2/\sigma^2$",
           "diffusion": r"$D\,\tau/\sigma^2$", "t": r"$t = {:g}\,\tau$", "of_diffusion": r"$\sigma^2/\tau$",
           "of_viscosity2": r"$\sqrt{m\varepsilon}/\sigma$", "of_viscosity3": r"$\sqrt{m\varepsilon}/\sigma^2$"},
    "metal": {"temperature": r"temperature  $T$ (K)", "potential_energy": r"potential energy  $U/N$ (eV)",
              "total_energy": r"total energy  $E/N$ (eV)", "drift": r"conserved energy: drift  $\Delta E/N$ (eV)",
              "pressure2": r"pressure  $P$ (eV/Å$^2$)", "pressure3": r"pressure  $P$ (bar)", "time": r"time  $t$ (ps)",
              "speed": r"speed  $v$ (Å/ps)", "x": r"$x$ (Å)", "y": r"$y$ (Å)", "z": r"$z$ (Å)", "r": r"distance  $r$ (Å)",
              "viscosity2": r"$\eta$ (eV ps/Å$^2$)", "viscosity3": r"$\eta$ (mPa s)",
              "msd": r"mean square displacement  $\Delta r^2$ (Å$^2$)", "diffusion": r"$D$ (Å$^2$/ps)", "t": r"$t = {:g}$ ps",
              "of_diffusion": r"Å$^2$/ps", "of_viscosity2": r"eV ps/Å$^2$", "of_viscosity3": "mPa s"}}
UNITS = {  # of columns; sqrt(m epsilon) / sigma is epsilon tau / sigma^2
    "lj": {"time": "tau", "length": "sigma", "msd": "sigma^2", "vacf": "sigma^2/tau^2", "diffusion": "sigma^2/tau",
           "stress2": "epsilon^2/sigma^4", "stress3": "epsilon^2/sigma^6", "viscosity2": "epsilon tau/sigma^2",
           "viscosity3": "epsilon tau/sigma^3"},
    "metal": {"time": "ps", "length": "angstrom", "msd": "angstrom^2", "vacf": "angstrom^2/ps^2", "diffusion": "angstrom^2/ps",
              "stress2": "eV^2/angstrom^4", "stress3": "bar^2", "viscosity2": "eV ps/angstrom^2", "viscosity3": "mPa s"}}


def with_units(columns, style, kinds):
    """The columns with their units in the names, `time (ps)`. kinds: a word of UNITS for the columns whose name begins with a key of it; the
    longest key counts."""
    def head(name):
        known = [key for key in kinds if name.startswith(key)]
        return f"{name} ({UNITS[style][kinds[max(known, key=len)]]})" if known else name
    return {head(name): values for name, values in columns.items()}
