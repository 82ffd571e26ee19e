/* Random numbers of an atom at a step: they follow from seed, id and step alone (Philox, philox.h), and are the same bits on every
 * host and GPU, in any order of atoms and on any number of ranks. So this file has its own logarithm and sine, with every product that is
 * added written as a fused operation: those of C libraries and of CUDA differ in the last bit. In double precision. */
#ifndef MD_PHYSICS_NOISE_H
#define MD_PHYSICS_NOISE_H

#include "physics/philox.h"
#include "physics/real.h"

/* Natural logarithm of x, 2^-33 to 1, to 2 units in the last place: x = 2^e m with m between 1/sqrt(2) and sqrt(2), and log m = 2
 * artanh(s), s = (m - 1) / (m + 1), by its series up to s^21. */
MD_HD double md_noise_log(double x) {
    double e = 0;
    for (int shift = 32; shift > 0; shift /= 2) {
        const double power = (double)(1ull << shift);
        if (x * power > 1.4142135623730951) continue;
        x *= power;
        e -= shift;
    }
    const double s = (x - 1) / (x + 1), z = s * s;
    double sum = 2.0 / 21;
    for (int n = 19; n > 1; n -= 2) sum = fma(sum, z, 2.0 / n);
    return fma(e, 0.69314718055994531, fma(s * z, sum, 2 * s));
}

/* Sine and cosine of turn / 2^32 of a full turn, to 2 units in the last place of 1: the nearest quarter turn by whole numbers, and the
 * series of the rest, at most an eighth. */
MD_HD void md_noise_sine(uint32_t turn, double *sine, double *cosine) {
    const uint32_t quarter = (turn + (1u << 29)) >> 30;
    const double angle = (double)(int32_t)(turn - (quarter << 30)) * (6.2831853071795865 / 4294967296.0);
    const double z = angle * angle;
    double odd = 0, even = 0;
    for (int n = 17; n > 1;
         n -= 2) { /* 1 - z / (2 * 3) (1 - z / (4 * 5) ...), and 1 - z / (1 * 2) (1 - z / (3 * 4) ...) */
        odd = fma(z * (1 - odd), 1.0 / (n * (n - 1)), 0.0);
        even = fma(z * (1 - even), 1.0 / ((n - 1) * (n - 2)), 0.0);
    }
    const double s = fma(-angle, odd, angle), c = 1 - even;
    *sine = quarter % 4 == 0 ? s : quarter % 4 == 1 ? c : quarter % 4 == 2 ? -s : -c;
    *cosine = quarter % 4 == 0 ? c : quarter % 4 == 1 ? -s : quarter % 4 == 2 ? -c : s;
}

/* Two normal numbers of two words (Box and Muller, Ann. Math. Stat. 29, 610 (1958)); none is beyond 6.8. */
MD_HD void md_noise_normal_pair(const uint32_t words[2], double pair[2]) {
    double sine, cosine;
    const double radius = sqrt(-2 * md_noise_log(fma((double)words[0], 1 / 4294967296.0, 0.5 / 4294967296.0)));
    md_noise_sine(words[1], &sine, &cosine);
    pair[0] = radius * sine;
    pair[1] = radius * cosine;
}

/* Uses of random numbers at a step, so that no two share numbers: what a bath draws for all atoms (there the id counts the draws);
 * whether an atom collides; its normal numbers; those of the centre of mass. */
enum { MD_NOISE_BATH, MD_NOISE_SHARE, MD_NOISE_NORMAL, MD_NOISE_CENTRE };

/* Four random words of an atom at a step, for one use. */
MD_HD void md_noise_words(uint64_t key, uint64_t step, uint32_t id, uint32_t use, uint32_t words[4]) {
    words[0] = id;
    words[1] = use;
    words[2] = (uint32_t)step;
    words[3] = (uint32_t)(step >> 32);
    md_philox_block(words, key);
}

/* Velocities of atoms that collide with a heat bath, in the units of a run. */
typedef struct MdCollisions {
    double shift[3];    /* added to every velocity first */
    double share;       /* the probability of each atom to collide; 1: all do */
    double keep;        /* of the velocity of one that does, */
    double spread;      /* and normal numbers times this / sqrt(mass) are added */
    uint64_t key, step; /* of the random numbers */
    int32_t dimension;  /* 2: z stays as it is */
} MdCollisions;

/* v' = v + shift, and where the atom collides keep v' + spread / sqrt(mass) noise. */
MD_HD void md_noise_collide(const MdCollisions *c, uint32_t id, double inverse_mass, double v[3]) {
    for (int a = 0; a < 3; a++) v[a] += c->shift[a];
    uint32_t words[4];
    if (c->share < 1) {
        md_noise_words(c->key, c->step, id, MD_NOISE_SHARE, words);
        if (fma((double)words[0], 1 / 4294967296.0, 0.5 / 4294967296.0) > c->share) return;
    }
    double normal[4];
    md_noise_words(c->key, c->step, id, MD_NOISE_NORMAL, words);
    md_noise_normal_pair(words, normal);
    md_noise_normal_pair(words + 2, normal + 2);
    const double width = c->spread * sqrt(inverse_mass);
    for (int a = 0; a < c->dimension; a++) v[a] = fma(c->keep, v[a], width * normal[a]);
}

#endif
