/* The components of a symmetric tensor, and their axes. Of two dimensions those with z are zero. */
#ifndef MD_PHYSICS_TENSOR_H
#define MD_PHYSICS_TENSOR_H

enum { MD_XX, MD_YY, MD_ZZ, MD_XY, MD_XZ, MD_YZ, MD_N_TENSOR };

#define MD_TENSOR_FIRST_AXIS(k)  ((k) < MD_XY ? (k) : (k) == MD_YZ)
#define MD_TENSOR_SECOND_AXIS(k) ((k) < MD_XY ? (k) : (k) == MD_XY ? 1 : 2)

#endif
