/* Every tolerance of the run's own verification: derived, never tuned. (The tests have their own, apart on purpose.)
 *
 * u is the unit roundoff of the pair arithmetic (2^-24 or 2^-53). The r^-12 part of
 * a pair force, built from products of rounded factors, carries up to 48 u; a row adds its terms one after the other,
 * each addition rounding once (Higham 2002, section 4.2). The
 * bound for each force and each sum follows from the pairs: md_reference_bounds. */
#ifndef MD_REPORT_TOLERANCE_H
#define MD_REPORT_TOLERANCE_H

#include <float.h>
#include <stdlib.h>

#include "deck/deck.h"
#include "physics/bath.h"
#include "physics/thermo.h"
#include "system/system.h"

static inline double md_tolerance_unit(int precision) {
    return precision == MD_PRECISION_DOUBLE ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
}

/* Relative error of a sum over a row of `terms` pairs. Both sides round, so the reference's own error is added. A fast
 * reciprocal of r^2 is off by up to 6 u instead of 2 u, and enters by its sixth power. */
static inline double md_tolerance_roundoff(const MdConfig *config, double terms) {
    double fast = config->force_arithmetic == MD_ARITHMETIC_FAST ? 24 : 0;
    return (48 + fast + terms) * (md_tolerance_unit(config->run_precision) + DBL_EPSILON / 2);
}

/* Additions on the way of a pair's value through the sum of one thread: a row of 128, or as many in each of the rows that
 * one thread of a block of bricks has in turn (force.kernel = brick). A brick has 4,096 atoms at most, and energies are summed
 * by as many blocks as there are bricks, or by 1,024 that share them. config: as it runs, without `auto`. */
static inline double md_tolerance_thread_way(const MdConfig *config, int64_t n_atoms) {
    const double row = 128, n = (double)n_atoms, of_block = n < 4096 ? n : 4096 + n / 1024;
    const int threads = atoi(md_switch_words(MD_OPTION_launch_block_size)[config->launch_block_size]); /* auto: 0 */
    return config->force_kernel == MD_KERNEL_BRICK ? row * (1 + of_block / (threads > 0 ? threads : 32)) : row;
}

/* The rounding error of a sum of n_atoms values, as a share of the sum of their sizes. Each addition on the path of a value rounds,
 * and equal numbers, as in a crystal, round alike (Higham 2002, section 4.2). The longest path to the sum of a block is
 * through a thread, which may have one in 32,768 of all atoms (1,024 blocks of 32 that share them), and a tree over 1,024
 * threads or over all blocks; that may round in single precision, at u. Compensated, a value is rounded once and the
 * result once, to first order (section 4.3). Sums of blocks, of 32 threads at least, are added in double. */
static inline double md_tolerance_accumulate(const MdConfig *config, int64_t n_atoms) {
    const double u = FLT_EPSILON / 2, n = (double)n_atoms;
    const double of_block = md_tolerance_thread_way(config, n_atoms) + n / 32768 + 32, way = of_block + n / 32;
    const double rounded = config->reduce_accumulate == MD_ACCUMULATE_SINGLE        ? of_block * u
                           : config->reduce_accumulate == MD_ACCUMULATE_COMPENSATED ? 4 * u
                                                                                    : 0;
    return rounded + way * DBL_EPSILON / 2;
}

/* Error of a distance, as a share of the largest coordinate or periodic edge in it: two coordinates rounded to the pair
 * precision (each by at most u times it), each brought to where pairs are looked at, and the difference, or that brought to the
 * nearest image: five roundings of numbers up to it in each of three components, sqrt(3) of them together. */
static inline double md_tolerance_shake(int precision) { return 5 * 1.7320508 * md_tolerance_unit(precision); }

/* Largest rounding of a coordinate, sigma, of which the energies of a run can still be trusted. Two coordinates in each of three
 * components put a distance off by up to 2 sqrt(3) of it, and that the energy of two atoms that touch by |U'| times
 * as much: a twentieth of the deepest well at most, as for all errors of energies (md_tolerance_energy_cap). */
static inline double md_tolerance_rounding(const MdPotential *potential) {
    double depth = 0, slope = 0;
    for (int k = 0; k < potential->n_types * potential->n_types; k++) {
        const double contact = md_potential_contact(potential, k);
        depth = fmax(depth, md_potential_scale(potential, k));
        slope = fmax(slope, fabs(md_potential_shape(potential, k, contact).du));
    }
    return 0.05 * depth / (slope * 2 * 1.7320508);
}

/* Share of the step that an atom of thermal speed makes along an axis, up to which rounding its position may change it. */
static const double md_tolerance_step_share = 0.05;

/* The limit of the rounding error of an atom's displacement in a step, sigma. A slow atom far from the origin is rounded alike at
 * each step while its velocity stays the same: to the end of the run, or for a part of an oscillation in its surroundings
 * (Einstein frequency). The sum of these errors may not exceed the allowed error of a position. curvature: as below; step: how
 * many have been made. */
static inline double md_tolerance_step_loss(const MdConfig *config, const MdSystem *system, double curvature,
                                            int64_t step) {
    const double frequency = sqrt(fmax(curvature, 0) / system->box.dimension);
    const double alike = fmax(frequency * config->run_timestep, 1 / (double)step); /* one over that many steps */
    return md_tolerance_rounding(&system->potential) * alike;
}

/* By how much a displacement in one step may differ from velocity times time step, sigma. longest: the longest displacement;
 * extent: the largest coordinate or periodic edge; position_roundoff: the backend's; thermal: displacement along an axis at the
 * thermal speed of the type; loss: as above.
 *
 * Rounded are the new position, its way to the other side of the box and the edge of that; the velocity, the time step, their
 * product and the kick of half a step, in the precision of pairs. That may be more than the loss up to a share of the steps. */
static inline double md_tolerance_displacement(const MdConfig *config, double longest, double extent,
                                               double position_roundoff, double thermal, double loss) {
    const double lost = fmax(md_tolerance_step_share * thermal, loss);
    return fmin(3 * position_roundoff * extent + 8 * md_tolerance_unit(config->run_precision) * longest, lost);
}

/* Drift of the conserved energy that is allowed, epsilon per particle and step, in units of the largest well depth. Melt
 * runs of this potential drift by 5e-9 in double precision with a safe list, and by 1.4e-8 to 4e-8 where coordinates are
 * single; mixed precision is held to the limit of double. A list that is rebuilt by count alone misses about 7e-5 of the
 * pairs at the end of the benchmark's interval and drifts by 1e-7. The limits are ten times these: a list without skin, or
 * a wrong force, drifts by orders more. */
static inline double md_tolerance_drift(const MdConfig *config) {
    double limit = config->run_precision == MD_PRECISION_SINGLE ? 4e-7 : 5e-8;
    return config->neighbor_rebuild == MD_REBUILD_EVERY ? limit + 1e-6 : limit;
}

/* The error of the energy by the time step, epsilon per particle, beyond a drift. `row` holds the largest temperature,
 * fluctuation, heat and pairs of the samples of a run, and its length in time; curvature is that of the reference, per
 * particle.
 *
 * On the whole. The energy of velocity Verlet differs from the conserved shadow energy by dt^2 (v K v / 12 - F^2 / 24m)
 * per particle, K the Hessian (Toxvaerd, Phys. Rev. E 50, 2271 (1994)). The mean of v K v is T times the curvature; F^2/m
 * is measured. Each scaling of the velocities changes the first term by the share of the kinetic energy that it adds:
 * together by that of the heat, taken as temperature. The energy may move by the sum of the sizes of all three.
 * With w^2 = K / 3, dt^2 T K / 12 is T (w dt)^2 / 4, and velocity Verlet keeps v^2 + (1 - (w dt)^2 / 4) w^2 x^2 of an
 * oscillator: its temperature is off by that share. 2 % of kT, or of the deepest well, are allowed for that and (1)
 * together; a time step that needs more is too long.
 *
 * By chance, in small systems. (1) A single hard collision: at an energy of 3 T two particles come as near as U(r) = 3 T
 * and feel F = -U'(r); each counts dt^2 F^2 / 24m. (2) A force that
 * ends in a step F_c at the cutoff: a pair that crosses it inside a time step is given up to F_c v dt / 2 too much or
 * too little, evenly spread; a pair crosses about 2 v t / r_c times. Both are independent events, so their sum grows like
 * the root of their number, and six standard deviations are allowed. */
static inline double md_tolerance_time_step(const MdThermo *row, double curvature, const MdSystem *system,
                                            double timestep) {
    const MdPotential *potential = &system->potential;
    double peak_sq = 0, step_force = 0, scale = row->temperature, n = (double)system->n_atoms;
    for (int k = 0; k < potential->n_types * potential->n_types; k++) {
        const MdPair_d *pair = &potential->pair[k];
        double mass = fmin(system->mass[k / potential->n_types], system->mass[k % potential->n_types]);
        double nearest = fmin(pair->cutoff, md_potential_reach(potential, k, 3 * row->temperature));
        double force = fabs(md_potential_shape(potential, k, nearest).du);
        double speed = sqrt(2 * row->temperature / mass);
        peak_sq = fmax(peak_sq, force * force / mass);
        scale = fmax(scale, md_potential_scale(potential, k));
        double jump = md_potential_edge_force(potential, k);
        double crossings = row->pairs * (2 * speed * row->time / pair->cutoff + 1);
        step_force = fmax(step_force, fabs(jump) * speed * sqrt(crossings));
    }
    double collision = timestep * timestep * peak_sq / 24, crossing = step_force * timestep / sqrt(12.0);
    double heat_temperature = 2 * row->heat / system->box.dimension;
    double shadow = timestep * timestep * curvature * (row->temperature + heat_temperature) / 12;
    return fmin(shadow + 6 * collision / sqrt(n), 0.02 * scale) + row->fluctuation / 24 + 6 * crossing / sqrt(n);
}

/* The share by which the temperature of the velocities is below that of the positions, (w dt)^2 / 4 as above. The conserved energy
 * does not show it: pressure and energies are those of the higher temperature. The warning begins at half of the
 * 2 % that the energy is allowed. */
static inline double md_tolerance_temperature_error(double curvature, int dimension, double timestep) {
    return timestep * timestep * fmax(curvature, 0) / dimension / 4;
}
static const double md_tolerance_temperature_share = 0.01;

/* Whether a thermostat acts on each atom in each step. */
static inline bool md_tolerance_has_bath(const MdConfig *config) {
    return md_bath_traits(config->ensemble_thermostat) & MD_BATH_BY_ATOM;
}

/* Thermostats that act on each atom: what they change of the shadow energy is in no account. A step draws a share of the velocities
 * anew, and with it that share of dt^2 v K v / 12, whose mean is dt^2 T K / 12 afterwards. In BAOAB the velocity there has the target's
 * temperature for oscillators, and nothing is left on average; for other motion at most the mean times (w dt)^2 / 4, by which velocities
 * at whole steps are too slow (shadow work: Sivak, Chodera, Crooks, Phys. Rev. X 3, 011007 (2013)). By chance a step leaves
 * dt^2 v K v / 12 of the energy that is drawn anew: six standard deviations. `row` and curvature as above. */
static inline double md_tolerance_collisions(const MdConfig *config, double quantum, const MdThermo *row,
                                             double curvature, const MdSystem *system, double steps) {
    if (!md_tolerance_has_bath(config)) return 0;
    const double drawn = -expm1(-config->run_timestep / md_config_relaxation(config));
    const double shadow = config->run_timestep * config->run_timestep * fmax(curvature, 0) * row->temperature / 12;
    const double lower = md_tolerance_temperature_error(curvature, system->box.dimension, config->run_timestep);
    const double degrees = (double)system->box.dimension * (double)system->n_atoms;
    /* Each step rounds the heat of an atom to a quantum, at random, and in the precision of pairs each velocity, and the products that
     * the heat is made of: four roundings of v^2 for each direction. Without noise (a target of 0) roundings are alike, until so little is
     * drawn that it is half a quantum. */
    const MdRamp ramp = md_config_target(config);
    const double unit = md_tolerance_unit(config->run_precision), target = fmax(ramp.from, ramp.to);
    const double rounded = quantum + fmax(row->temperature, target) * 4 * system->box.dimension * unit;
    const double lost = fmin(ramp.from, ramp.to) > 0 ? 0 : quantum / drawn;
    return drawn * shadow * lower * steps + 6 * shadow * sqrt(2 * drawn * steps / degrees) +
           6 * rounded * sqrt(steps / (double)system->n_atoms) + lost;
}

/* The energy that the steps of a chain of thermostats lose, with the same sign in all actions at worst. */
static inline double md_tolerance_chain(const MdConfig *config, const MdThermo *row, int dimension, double steps) {
    if (!(md_bath_traits(config->ensemble_thermostat) & MD_BATH_HAS_CHAIN)) return 0;
    const double hottest = fmax(row->temperature, fmax(md_config_target(config).from, md_config_target(config).to));
    return md_bath_chain_lost * hottest * dimension / 2 * steps / (double)config->ensemble_every;
}

/* The total momentum per particle that such a thermostat makes: of all particles together at the temperature of `row`, six standard
 * deviations along each axis. mass: the largest. */
static inline double md_tolerance_momentum_of_bath(const MdConfig *config, const MdThermo *row, double mass,
                                                   const MdSystem *system) {
    if (!md_tolerance_has_bath(config)) return 0;
    return 6 * sqrt(system->box.dimension * mass * row->temperature / (double)system->n_atoms);
}

/* The share of the bound of the potential energy that its error may still reach when atoms are this far (sigma) from a crystal.
 * The pairs of a crystal have a few distances, and pairs of the same distance round alike: the error is that of one pair times
 * their number. Distances that differ by the resolution, the most that one is rounded by, round independently, and the error
 * of a mean over so many of them falls with the root of their number. The bound adds the sizes of 48 roundings and more:
 * twelve standard deviations of their sum. */
static inline double md_tolerance_alike(double apart, double resolution) {
    return apart > resolution ? sqrt(resolution / apart) : 1;
}

/* The error of the energy by rounding positions after each step, epsilon per particle, in single precision: each coordinate
 * moves by up to the resolution against its force. Roundings are independent, so this grows with the root of the
 * steps; six standard deviations (Hoeffding). `row` as above; mass: the largest. */
static inline double md_tolerance_kick(const MdConfig *config, const MdThermo *row, double resolution, double mass,
                                       int64_t n_atoms) {
    if (config->run_precision != MD_PRECISION_SINGLE) return 0;
    return 6 * sqrt(row->fluctuation * mass / (double)n_atoms) / config->run_timestep * resolution;
}

/* How large the total momentum per particle may become by rounding. `row` as above, its last step that of the run; force:
 * sizes of the forces of the pairs of a particle, summed, mean; mass: the largest.
 *
 * Each step rounds each velocity (u |v|) and the two forces of a pair apart (bounded by the roundoff of a row); the forces of a
 * crystal at rest cancel, their roundings do not. The sum of independent roundings grows with the root of the steps.
 * Forces at the same positions round the same way again: errors add linearly until the particles have moved by more
 * than the rounding of a distance. */
static inline double md_tolerance_momentum(const MdConfig *config, const MdThermo *row, double force, double mass,
                                           const MdSystem *system) {
    const double speed = sqrt(3 * row->temperature * mass), dt = config->run_timestep, steps = row->time / dt + 1;
    const double rounded_away = md_tolerance_unit(config->run_precision) * system->potential.cutoff_max;
    const double alike = fmin(fmax(rounded_away / (sqrt(3 * row->temperature / mass) * dt), 1), steps);
    const double kick = sqrt(row->fluctuation * mass) + force * dt * sqrt(alike);
    return (speed + kick) * sqrt(steps) * md_tolerance_roundoff(config, 64) +
           speed * md_tolerance_accumulate(config, system->n_atoms);
}

/* The largest allowed error of a time step, epsilon per particle: a failed run must not raise its own limit.
 * A twentieth of the energies that the run began with. */
static inline double md_tolerance_energy_cap(const MdThermo *first, double epsilon) {
    return 0.05 * (epsilon + first->kinetic + fabs(first->conserved));
}

#endif
