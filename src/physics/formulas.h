/* Inside physics: the formulas of a form as functions (one_form.c, once for each file in forms/). */
#ifndef MD_PHYSICS_FORMULAS_H
#define MD_PHYSICS_FORMULAS_H

#include "physics/form.h"

typedef struct MdFormFormulas {
    void (*parameters)(const double *words, double p[MD_FORM_NUMBERS]);
    double (*minimum)(const double *words);
    MdShape (*shape)(const double *p, double r);
    double (*force)(const MdPair_d *pair, int shift, double r_sq);
    double (*energy)(const MdPair_d *pair, int shift, double r_sq);
    float (*force_in_single)(const MdPair_f *pair, int shift, float r_sq);
} MdFormFormulas;

#endif
