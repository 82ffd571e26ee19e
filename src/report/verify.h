/* How a run judges itself.
 *
 * At the first and the last step the backend's forces (force-only path and force-and-energy path), energy and virial
 * are compared with the double-precision reference at the same positions. One more step is made after the last one, and the atoms must move
 * by velocity times time step. Over the run the conserved energy and
 * the total momentum must stay within limits that follow from time step, precision and length (tolerance.h). */
#ifndef MD_REPORT_VERIFY_H
#define MD_REPORT_VERIFY_H

#include <stddef.h>

#include "backend/backend.h"
#include "report/history.h"

typedef enum MdVerdict { MD_VERDICT_NOT_CHECKED, MD_VERDICT_PASSED, MD_VERDICT_FAILED } MdVerdict;

typedef struct MdCheck {
    char name[64];
    int64_t step;        /* at which it was made, -1: over the run */
    double value, limit; /* passed when value <= limit; NaN fails */
    double rms;          /* of the same errors, not over their bounds: forces, epsilon/sigma a component; else NaN */
} MdCheck;

typedef struct MdVerification {
    int n_checks;
    MdCheck checks[32];
    double curvature;   /* largest seen, per particle: scale of the time-step error of the energy */
    double force;       /* sizes of the forces of all pairs of a particle, summed; largest mean seen, epsilon/sigma */
    double accumulated; /* that adding up the potential energy may lose, per particle */
    MdFault fault;      /* step -1 when nothing went wrong */
    bool complete;      /* everything that a verdict needs was checked: first step, last step, conservation */
    double curvature_at_end; /* that seen last, of the type where it is largest; not in restart files */
} MdVerification;

enum { MD_VERIFICATION_SAVED_BYTES = offsetof(MdVerification, curvature_at_end) };

/* Compares the backend with the reference at the current positions. Leaves their forces and energies.
 * MD_STOPPED, without a check, if a stop was requested meanwhile (base/stop.h). Collective: each process judges a
 * part, and all get the same result. */
MdStatus md_verify_forces(MdVerification *verification, const MdBackendOps *ops, void *context, const MdSystem *system,
                          const MdConfig *config, int64_t step);

/* Makes one step and compares the displacement of each atom with its velocity at half of it times the time step: rounding may not
 * hold atoms back. At the end of a run, of `step` steps; its forces must be there. Leaves the backend a step further. Collective. */
MdStatus md_verify_motion(MdVerification *verification, const MdBackendOps *ops, void *context, const MdSystem *system,
                          const MdConfig *config, int64_t step);

/* Judges conservation over the rows of a run and at its end. end: the row of the last step, made from a list that was
 * just built: a run that went on with a stale list conserves the energy of that list, and the true one shows here. With
 * neighbor.rebuild = every some pairs may be missed by the choice of the deck; the limit allows for the pairs that the benchmark's
 * own rule misses. */
void md_verify_conservation(MdVerification *verification, const MdHistory *history, const MdThermo *end,
                            const MdSystem *system, const MdConfig *config);

/* Bytes of host memory that md_verify_forces takes in this process. */
uint64_t md_verify_bytes(const MdSystemPlan *plan);

bool md_check_passed(const MdCheck *check);
/* Of value and limit, which are in the units inside; MD_NO_UNIT: they are shares or numbers. */
MdQuantity md_check_quantity(const MdCheck *check);
char *md_check_name(const MdCheck *check, MdUnits units); /* as it is shown, with its unit in others than lj; text from malloc */
MdVerdict md_verify_verdict(const MdVerification *verification);
const char *md_verdict_text(MdVerdict verdict); /* PASSED, FAILED, NOT CHECKED */

#endif
