/* Numbers of a run as they are shown: in the units of system.units. */
#ifndef MD_DECK_UNITS_H
#define MD_DECK_UNITS_H

#include "deck/config.h"
#include "physics/thermo.h"

/* The time step as the deck gives it, to 15 digits. */
double md_config_shown_timestep(const MdConfig *config);

/* Time, temperature, pressure and momentum converted; energies are the same inside. fluctuation is never shown. */
MdThermo md_thermo_shown(const MdConfig *config, const MdThermo *thermo);
/* Whether the thermo table has this component of the pressure tensor. */
bool md_config_shows_tensor(const MdConfig *config, int component);

#endif
