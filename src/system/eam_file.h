/* Potential files of the embedded-atom method: LAMMPS' setfl (eam/alloy), its form of Finnis and Sinclair (eam/fs)
 * and funcfl (eam).
 *
 * They are told apart by content. setfl and fs: three comment lines; the number of elements and their names; n_rho
 * d_rho n_r d_r cutoff; for each element a line (atomic number, mass, lattice constant, lattice; the last two may be
 * absent), then F(rho) and, in setfl, the density it makes, in fs the densities it makes at an atom of each element,
 * in the order of the names; last r phi(r) of the pairs 1-1, 2-1, 2-2, 3-1, ... Where a file of several elements has
 * the second one's line after n_rho + n_r values it is setfl, else fs; with one element both are the same. funcfl: a
 * comment line; the line of an element; n_rho d_rho n_r d_r cutoff; F(rho), Z(r), density(r). Its element is that of
 * the atomic number. In setfl and fs only the names count: files are common with other numbers (noted).
 *
 * Values may stand any number a line, with Fortran's exponent (1.5d0); blank lines and `#` comments are ignored.
 * The first point is at r = 0 or rho = 0. A UNITS tag in the comment lines must be metal; where there is none, metal
 * is taken (noted).
 *
 * funcfl becomes the same tables as LAMMPS does it (pair_eam.cpp): r phi = 27.2 * 0.529 Z_a Z_b eV angstrom, not
 * Hartree times Bohr; all files on one grid with the coarsest spacings and the longest ranges, by four-point
 * Lagrange interpolation, even a single file, with one point fewer than the longest range has. */
#ifndef MD_SYSTEM_EAM_FILE_H
#define MD_SYSTEM_EAM_FILE_H

#include "system/eam_read.h"

/* Lengths in angstrom, energies in eV, masses in amu; densities have the unit of the file. */
typedef struct MdEamFile {
    MdEamKind kind;
    int n_elements;
    char (*name)[MD_TYPE_NAME_SIZE]; /* [n_elements] */
    double *mass;                    /* [n_elements] */
    int n_rho, n_r;                  /* 4 at least */
    double d_rho, d_r, cutoff;
    /* Beyond this density F goes on in a straight line. It is that of the last point; of funcfl it is one interval
     * beyond it, where the file itself ends: in that interval LAMMPS keeps F as it is (line_from of a spline,
     * physics/spline.h). */
    double rho_max;
    double *embedding; /* [n_elements][n_rho]: F(rho) */
    /* [n_elements][n_elements][n_r]: of [a][b], what an atom of b makes at an atom of a. In fs that is the table of
     * number a in the block of b; else it is alike for all a. */
    double *density;
    double *pair; /* [n_elements][n_elements][n_r]: r phi(r), eV angstrom; symmetric */
    MdNotes notes;
    char *path; /* of all files, for messages */
} MdEamFile;

/* Reads one file, or several funcfl files, one for each element. NULL, with the problems in errors (`file:line:
 * text`), when they cannot be used: a file that ends early, blocks that run into the next element's line, words that
 * are no finite numbers, names and their count that disagree, spacing, cutoff or mass not above zero, fewer than
 * five points, a cutoff more than one interval beyond the last point, units other than metal, an element twice. */
MdEamFile *md_eam_file_read(const char *const *paths, int n_paths, MdErrors *errors);
void md_eam_file_free(MdEamFile *file); /* accepts NULL */

/* Finds n elements by name (case matters): element[n]. Refuses a name that the file lacks; notes elements that are
 * not used. */
MdStatus md_eam_file_choose(MdEamFile *file, const char *const *names, int n, int *element, MdErrors *errors);

#endif
