/* Compiled once for each file in forms/ (CMakeLists.txt), with MD_FORM_FILE and MD_FORM_FORMULAS, the name of the table. */
#include "physics/formulas.h"
#include "physics/pair.h"

static double force(const MdPair_d *pair, int shift, double r_sq) { return md_pair_force_at_d(pair, r_sq, shift); }
static double energy(const MdPair_d *pair, int shift, double r_sq) { return md_pair_energy_at_d(pair, r_sq, shift); }
static float force_in_single(const MdPair_f *pair, int shift, float r_sq) {
    return md_pair_force_at_f(pair, r_sq, shift);
}

extern const MdFormFormulas MD_FORM_FORMULAS;
const MdFormFormulas MD_FORM_FORMULAS = {md_form_parameters, md_form_minimum, md_form_shape, force, energy,
                                         force_in_single};
