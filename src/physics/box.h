/* The box: a cuboid from 0 to length along each axis, each axis periodic or open.
 *
 * In two dimensions the third axis is open and all z are 0. Along an open axis the length only sets the volume and the
 * box that files show; particles may leave it. */
#ifndef MD_PHYSICS_BOX_H
#define MD_PHYSICS_BOX_H

#include <stdbool.h>

#include "physics/real.h"

typedef struct MdBox {
    int dimension;    /* 2 or 3 */
    double length[3]; /* sigma */
    bool periodic[3];
} MdBox;

#ifndef __CUDACC_RTC__ /* kernels get its numbers as arguments */
/* Area or volume; NaN when an axis (of the dimension) is open. */
static inline double md_box_volume(const MdBox *box) {
    double volume = 1;
    for (int a = 0; a < box->dimension; a++) volume *= box->periodic[a] ? box->length[a] : NAN;
    return volume;
}

/* Whether all axes are open. Files then hold no box: many readers take any box as a periodic one. */
static inline bool md_box_is_open(const MdBox *box) {
    bool open = true;
    for (int a = 0; a < box->dimension; a++) open = open && !box->periodic[a];
    return open;
}

/* The box as three edge vectors, for files. An axis that the dimension lacks needs some length above 0, or readers drop the
 * whole box. */
static inline void md_box_fill_edges(const MdBox *box, double edges[9]) {
    double largest = 0;
    for (int a = 0; a < box->dimension; a++) largest = box->length[a] > largest ? box->length[a] : largest;
    for (int k = 0; k < 9; k++) edges[k] = k % 4 ? 0 : k / 4 < box->dimension ? box->length[k / 4] : largest;
}

/* 1/length of a periodic axis, 0 of an open one: with it the formula below needs no branch. */
static inline double md_box_inverse(const MdBox *box, int axis) {
    return box->periodic[axis] ? 1.0 / box->length[axis] : 0.0;
}

/* Nearest image of a distance component; |d| <= length/2 afterwards. Kernels have another one, of an edge in two floats. */
static inline double md_nearest_image_d(double d, double length, double inverse) {
    return d - length * rint(d * inverse);
}
#endif

#endif
