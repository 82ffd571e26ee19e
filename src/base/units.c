#include "base/units.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Those of metal with a blank before, as they follow a number. */
static const struct {
    const char *name[MD_N_STYLES], *in_h5md;
} names[MD_N_QUANTITIES] = {
    [MD_LENGTH] = {{"sigma", " angstrom"}, "Angstrom"},
    [MD_ENERGY] = {{"epsilon", " eV"}, "eV"},
    [MD_MASS] = {{"m", " amu"}, "u"},
    [MD_TIME] = {{"tau", " ps"}, "ps"},
    [MD_TEMPERATURE] = {{"epsilon/k", " K"}, "K"},
    [MD_RATE] = {{"1/tau", " 1/ps"}, "ps-1"},
    [MD_VELOCITY] = {{"sigma/tau", " angstrom/ps"}, "Angstrom ps-1"},
    [MD_FORCE] = {{"epsilon/sigma", " eV/angstrom"}, "kJ mol-1 Angstrom-1"},
    [MD_MOMENTUM] = {{"m sigma/tau", " amu angstrom/ps"}, "u Angstrom ps-1"},
    [MD_DENSITY] = {{"1/sigma^D", " 1/angstrom^D"}, NULL},
    [MD_PRESSURE_2] = {{"epsilon/sigma^2", " eV/angstrom^2"}, "eV Angstrom-2"},
    [MD_PRESSURE_3] = {{"epsilon/sigma^3", " bar"}, "bar"},
    [MD_KELVIN] = {{"K", " K"}, "K"},
    [MD_AREA] = {{"sigma^2", " angstrom^2"}, "Angstrom2"},
    [MD_VELOCITY_SQ] = {{"sigma^2/tau^2", " angstrom^2/ps^2"}, "Angstrom2 ps-2"},
    [MD_DIFFUSION] = {{"sigma^2/tau", " angstrom^2/ps"}, "Angstrom2 ps-1"},
};

const char *md_unit_style(MdUnits units) { return units == MD_STYLE_METAL ? "metal" : "lj"; }

const char *md_unit_name(MdUnits units, MdQuantity quantity) {
    return quantity == MD_NO_UNIT ? "" : names[quantity].name[units] + (units == MD_STYLE_METAL);
}

const char *md_unit_after(MdUnits units, MdQuantity quantity) {
    return units == MD_STYLE_LJ || quantity == MD_NO_UNIT ? "" : names[quantity].name[units];
}

double md_unit_factor(MdUnits units, MdQuantity quantity) {
    if (units == MD_STYLE_LJ) return 1;
    const double time_ps = 1e2 * sqrt(md_amu / md_electronvolt); /* angstrom sqrt(amu/eV), 1e-10 s, in 1e-12 s */
    switch (quantity) {
    case MD_TIME: return time_ps;
    case MD_RATE:
    case MD_VELOCITY:
    case MD_DIFFUSION:
    case MD_MOMENTUM: return 1 / time_ps;
    case MD_VELOCITY_SQ: return 1 / (time_ps * time_ps);
    case MD_TEMPERATURE:
    case MD_KELVIN: return md_electronvolt / md_boltzmann;
    case MD_PRESSURE_3: return 1e25 * md_electronvolt; /* 1e30 angstrom^3 a m^3, 1e5 Pa a bar */
    default: return 1;
    }
}

const char *md_unit_in_h5md(MdUnits units, MdQuantity quantity) {
    return units == MD_STYLE_LJ || quantity == MD_NO_UNIT ? NULL : names[quantity].in_h5md;
}

double md_unit_h5md_factor(MdUnits units, MdQuantity quantity) {
    return units == MD_STYLE_METAL && quantity == MD_FORCE ? 1e-3 * md_electronvolt * md_avogadro
                                                           : md_unit_factor(units, quantity);
}

MdQuantity md_unit_find(const char *name) {
    for (int quantity = 0; quantity < MD_N_QUANTITIES; quantity++)
        if (strcmp(names[quantity].name[MD_STYLE_LJ], name) == 0) return (MdQuantity)quantity;
    return MD_NO_UNIT;
}
