/* Units of the numbers that go in and out. Inside, all formulas are those of reduced units, with k = 1; numbers are converted only
 * where they are read, and where they are shown.
 *
 * metal: inside are angstrom, eV and amu, so lengths, energies, masses and forces are not converted. The unit of time that
 * goes with them is sqrt(amu angstrom^2 / eV), 10.18 fs, and temperatures are energies. Constants of CODATA 2018
 * (E. Tiesinga et al., Rev. Mod. Phys. 93, 025010 (2021)); of the four all but amu are exact. */
#ifndef MD_BASE_UNITS_H
#define MD_BASE_UNITS_H

/* In the order of the choices of system.units. */
typedef enum MdUnits { MD_STYLE_LJ, MD_STYLE_METAL, MD_N_STYLES } MdUnits;

typedef enum MdQuantity {
    MD_NO_UNIT = -1, /* a plain number */
    MD_LENGTH,
    MD_ENERGY,
    MD_MASS,
    MD_TIME,
    MD_RATE,
    MD_TEMPERATURE,
    MD_VELOCITY,
    MD_FORCE,
    MD_MOMENTUM,
    MD_DENSITY, /* particles per volume; D is the dimension */
    MD_PRESSURE_2,
    MD_PRESSURE_3,
    MD_KELVIN, /* an energy, given as a temperature */
    MD_AREA,   /* a mean square displacement */
    MD_VELOCITY_SQ,
    MD_DIFFUSION,
    MD_N_QUANTITIES
} MdQuantity;

/* kg; J, and C; J/K; 1/mol. */
static const double md_amu = 1.66053906660e-27, md_electronvolt = 1.602176634e-19, md_boltzmann = 1.380649e-23,
                    md_avogadro = 6.02214076e23;

const char *md_unit_style(MdUnits units);                      /* `metal` */
const char *md_unit_name(MdUnits units, MdQuantity quantity);  /* `angstrom/ps`; "" for MD_NO_UNIT */
const char *md_unit_after(MdUnits units, MdQuantity quantity); /* after a number: ` bar`; "" in reduced units */
double md_unit_factor(MdUnits units, MdQuantity quantity);     /* number shown / number inside */

/* For H5MD, in the words of its module units, which MDAnalysis reads: `Angstrom ps-1`; NULL: lj has none. Forces are in
 * kJ/mol/angstrom, as MDAnalysis refuses others with eV. */
const char *md_unit_in_h5md(MdUnits units, MdQuantity quantity);
double md_unit_h5md_factor(MdUnits units, MdQuantity quantity);

/* The quantity with this name in reduced units, `tau`; MD_NO_UNIT: it is none of them. */
MdQuantity md_unit_find(const char *name);

static inline MdQuantity md_unit_pressure(int dimension) { return dimension == 2 ? MD_PRESSURE_2 : MD_PRESSURE_3; }

#endif
