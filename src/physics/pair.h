/* The formulas of a pair of one form (form.h), MD_FORM_FILE, in single and double precision. A file that includes this is compiled
 * once for each form; others call form.h. */
#ifndef MD_PHYSICS_PAIR_H
#define MD_PHYSICS_PAIR_H

#include "physics/form.h"

/* A product that is not fused with the sum after it: kernels with energies and without might be fused in different ways. GCC fuses those of
 * the cpu alike (tests/run/test_forms.py). */
#ifdef __CUDACC_RTC__
#define MD_PRODUCT plain_product
#else
#define MD_PRODUCT(x, y) ((x) * (y))
#endif

#define MD_REAL       float
#define MD_TYPE(name) name##_f
#ifdef __cplusplus
#define MD_NAME(name) name
#else
#define MD_NAME(name) name##_f
#endif
#define MD_SQRT        sqrtf
#define MD_EXP         expf
#define MD_POW         powf
#define MD_POSITIVE(x) ((x) > 0 ? (x) : 0)
#include "physics/pair.inc"
#undef MD_REAL
#undef MD_TYPE
#undef MD_NAME
#undef MD_SQRT
#undef MD_EXP
#undef MD_POW
#undef MD_POSITIVE

#define MD_REAL       double
#define MD_TYPE(name) name##_d
#ifdef __cplusplus
#define MD_NAME(name) name
#else
#define MD_NAME(name) name##_d
#endif
#define MD_SQRT        sqrt
#define MD_EXP         exp
#define MD_POW         pow
#define MD_POSITIVE(x) ((x) > 0 ? (x) : 0)
#ifdef MD_FORM_FORMULAS /* one_form.c */
#define MD_FORM_HOST
#endif
#include "physics/pair.inc"
#undef MD_REAL
#undef MD_TYPE
#undef MD_NAME
#undef MD_SQRT
#undef MD_EXP
#undef MD_POW
#undef MD_POSITIVE

#endif
