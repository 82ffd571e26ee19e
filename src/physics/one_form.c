/* Compiled once for each file in forms/ (CMakeLists.txt), with MD_FORM_FILE and MD_FORM_FORMULAS, the name of the table. */
#include "physics/formulas.h"
#include "physics/pair.h"

static double force(const MdPair_d *pair, double r_sq) {
    return pair->force_shift != 0 ? md_pair_force_shifted_d(pair, r_sq) : md_pair_force_plain_d(pair, r_sq);
}

static double energy(const MdPair_d *pair, double r_sq) {
    return pair->force_shift != 0 ? md_pair_energy_shifted_d(pair, r_sq) : md_pair_energy_plain_d(pair, r_sq);
}

static float force_in_single(const MdPair_f *pair, float r_sq) {
    return pair->force_shift != 0 ? md_pair_force_shifted_f(pair, r_sq) : md_pair_force_plain_f(pair, r_sq);
}

extern const MdFormFormulas MD_FORM_FORMULAS;
const MdFormFormulas MD_FORM_FORMULAS = {md_form_parameters, md_form_minimum, md_form_shape, force, energy,
                                         force_in_single};
