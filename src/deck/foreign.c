/* Words of other programs (LAMMPS, GROMACS, HOOMD-blue, GPUMD, OpenMM): features with another name here, and missing features.
 * One row a meaning: if a feature is added, its words move from `lacks` to `meant`. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/nearest.h"
#include "deck/table.h"

typedef struct Foreign {
    /* NULL: names of keys and sections, commands; an option: its values; "*": those of any that has `meant`. */
    const char *of;
    /* With blanks between them, of small letters, without _ and -; `section.key`: not in another section. */
    const char *words;
    const char *meant, *lacks; /* one of the two */
} Foreign;

static const Foreign table[] = {
    {NULL, "dt tstep stepsize deltat", "run.timestep", NULL},
    {NULL, "nsteps numsteps run", "run.steps", NULL},
    {NULL, "n natoms nparticles numatoms", "system.cells, system.atoms", NULL},
    {NULL, "replicate ncells", "system.cells", NULL},
    {NULL, "lattice createbox createatoms", "system.start, system.cells, system.density", NULL},
    {NULL, "rho latticeconstant numberdensity", "system.density", NULL},
    {NULL, "pbc periodic", "system.boundary", NULL},
    {NULL, "mass", "system.masses", NULL},
    {NULL, "temp velocity genvel gentemp tinit system.t ensemble.tstart", "system.temperature", NULL},
    {NULL, "genseed ldseed", "system.seed", NULL},
    {NULL, "readdata readxyz coordinates inputfile conf", "system.file", NULL},
    {NULL, "pair pairstyle potential style type vdwtype", "potential.form", NULL},
    {NULL, "paircoeff", "potential.epsilon, potential.sigma, potential.pairs", NULL},
    {NULL, "rcut rc rvdw cutoffscheme cutoffdistance nonbondedcutoff", "potential.cutoff", NULL},
    {NULL, "pairmodify vdwmodifier shiftenergy mode", "potential.shift", NULL},
    {NULL, "mix mixingrule combrule", "potential.mixing", NULL},
    {NULL, "ron rvdwswitch switchdist switchingdistance", "potential.switch_from", NULL},
    {NULL, "rbuff buffer rskin verletbuffertolerance", "neighbor.skin", NULL},
    {NULL, "neighbor.cutoff neighbor.rlist rlist", "neighbor.skin (rlist less potential.cutoff)", NULL},
    {NULL, "nstlist neighmodify rebuildcheckdelay", "neighbor.rebuild, neighbor.every", NULL},
    {NULL, "newton", "neighbor.list", NULL},
    {NULL, "nve nvt ensemble tcoupl ensemble.type ensemble.name ensemble.style ensemble.kind",
     "ensemble.thermostat = none (NVE) or csvr or nose-hoover or langevin (NVT)", NULL},
    {NULL, "damp tau taut tdamp damping", "ensemble.relaxation (for langevin: damp / 2)", NULL},
    {NULL, "kt reft ensemble.temperature ensemble.temp ensemble.t", "ensemble.target", NULL},
    {NULL, "thermo logevery loginterval nstlog nstenergy dumpthermo reportinterval", "output.thermo_every", NULL},
    {NULL, "dump traj trajectory nstxout nstxoutcompressed dumpposition dcd gsd output.every", "output.frames_every",
     NULL},
    {NULL, "output.freq output.frequency output.interval output.period", "output.thermo_every, output.frames_every",
     NULL},
    {NULL, "nstvout dumpvelocity", "output.velocities_every", NULL},
    {NULL, "nstfout dumpforce", "output.forces_every", NULL},
    {NULL, "dumpxyz dumpexyz", "output.xyz_every", NULL},
    {NULL, "output.file output.filename prefix basename deffnm log", "output.name", NULL},
    {NULL, "output.folder output.path outdir", "output.directory", NULL},
    {NULL, "overwrite append", "output.existing", NULL},
    {NULL, "restart.write restart.interval output.restart writerestart dumprestart checkpoint", "restart.every", NULL},
    {NULL, "readrestart", "mdmini --restart FILE", NULL},
    {NULL, "platform accelerator gpu cuda", "run.backend", NULL},
    {NULL, "deviceindex gpuid", "run.device", NULL},
    {NULL, "nt nthreads numthreads ompnumthreads ntomp omp", "run.threads", NULL},
    {NULL, "processors decomposition ntmpi", "parallel.grid", NULL},
    {NULL, "ranks nranks parallel.n parallel.np parallel.processes parallel.size mpiranks", "mpirun -n N mdmini", NULL},
    {NULL, "maxh walltimelimit timelimit", "run.walltime", NULL},
    {NULL, "minimise minimizer minstyle fire", "run.minimize", NULL},
    {NULL, "emtol ftol", "run.minimize_force", NULL},
    {NULL, "maxiter", "run.minimize_steps", NULL},

    {NULL, "binsize bin", NULL, "such key: cells follow from cutoff and skin"},
    {NULL, "tail dispcorr tailcorrection", NULL, "such key: the log tells tail corrections, and no number has them"},
    {NULL, "units unitstyle", "system.units", NULL},
    {NULL, "barostat pressure npt nph pcoupl refp taup taus compressibility", NULL, "barostat: the box stays as it is"},
    {NULL, "gamma langevin frictioncoeff frictioncoefficient collisionrate collisionfrequency bdfric",
     "ensemble.thermostat = langevin, ensemble.friction", NULL},
    {NULL, "nhchain nhchainlength tchain", "ensemble.chain", NULL},
    {NULL, "integrator method nosehoover brownian runstyle", NULL, "integrator but velocity Verlet"},
    {NULL, "rdf computerdf gofr", "analysis.rdf_every", NULL},
    {NULL, "msd computemsd", "analysis.msd_every", NULL},
    {NULL, "vacf", "analysis.vacf_every", NULL},
    {NULL, "compute chunk", NULL, "such analysis while it runs; section [analysis] has what there is"},
    {NULL, "charge charges coulomb coulombtype rcoulomb kspace kspacestyle pme ewald", NULL, "charges"},
    {NULL, "bond bonds bondstyle angle angles anglestyle dihedral dihedrals constraints specialbonds molecule topology",
     NULL, "bonds or molecules"},
    {NULL, "eam potentialfile", "potential.file", NULL},
    {NULL, "pairtable tabulated", NULL, "potential from a table of pairs"},
    {NULL, "fix group region variable include atomstyle deform wall gravity", NULL,
     "commands of LAMMPS: a deck has [section] and key = value"},

    {"*", "yes true 1", "on", NULL},
    {"*", "no false 0 none", "off", NULL},
    {"run.backend", "gpu nvidia", "cuda", NULL},
    {"run.backend", "openmp omp host serial", "cpu", NULL},
    {"run.backend", "opencl hip rocm sycl metal mpi", NULL, "such backend"},
    {"run.precision", "float fp32 f32 float32 32", "single", NULL},
    {"run.precision", "fp64 f64 float64 64", "double", NULL},
    {"run.precision", "half fp16 bf16 float16", NULL, "half precision"},
    {"potential.form", "lj/cut ljcut lj126 lennardjones 126", "lj", NULL},
    {"potential.form", "eam/alloy eam/fs setfl funcfl", "eam", NULL},
    {"potential.form", "sc suttonchen", "sutton-chen", NULL},
    {"potential.form", "table nep tersoff sw reaxff buck buckingham harmonic", NULL, "such potential"},
    {"potential.form", "coulomb coul coul/cut coul/long lj/cut/coul/cut lj/cut/coul/long", NULL, "charges"},
    {"potential.shift", "off no", "none", NULL},
    {"potential.shift", "yes on true potentialshift", "energy", NULL},
    {"potential.shift", "shiftedforce forceshift forceswitch", "force", NULL},
    {"potential.shift", "xplor charmm potentialswitch", "switch", NULL},
    {"potential.mixing", "arithmetic lb lorentz berthelot", "lorentz-berthelot", NULL},
    {"potential.mixing", "sixthpower waldmanhagler", NULL, "such rule"},
    {"ensemble.thermostat", "nve off no", "none", NULL},
    {"ensemble.thermostat", "temp/rescale tempscale velocityrescale isokinetic", "rescale", NULL},
    {"ensemble.thermostat", "nvt on bussi bdp vrescale temp/csvr", "csvr", NULL},
    {"ensemble.thermostat", "sd friction ld obabo baoab langevinmiddle langevinintegrator fixlangevin bd csld",
     "langevin", NULL},
    {"ensemble.thermostat", "nosehoover nose nhc nosehooverchain", "nose-hoover", NULL},
    {"ensemble.thermostat", "npt nph barostat", NULL, "barostat: the box stays as it is"},
    {"ensemble.thermostat", "berendsen andersen brownian mttk dpd", NULL, "such thermostat"},
    {"system.units", "reduced", "lj", NULL},
    {"system.units", "angstrom", "metal", NULL},
    {"system.units", "real si cgs nano micro electron", NULL, "such units"},
    {"system.boundary", "p pp ppp xyz yes", "periodic", NULL},
    {"system.boundary", "ppf pps ppm", "periodic periodic open", NULL},
    {"system.boundary", "f s m no none fixed shrink", "open", NULL},
    {"system.start", "lattice cubic", "fcc, sc", NULL},
    {"system.start", "hex triangular", "hexagonal", NULL},
    {"system.start", "diamond hcp", NULL, "such lattice: give a file of coordinates"},
};

/* Whether the n letters of word are the word read, ignoring case, _, - and blanks. */
static bool is_word(const char *word, size_t n, const char *read) {
    size_t k = 0;
    for (; *read; read++) {
        if (*read == '_' || *read == '-' || *read == ' ') continue;
        if (k == n || tolower((unsigned char)*read) != tolower((unsigned char)word[k])) return false;
        k++;
    }
    return k == n;
}

static bool has_word(const char *words, const char *read) {
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        if (is_word(words, n, read)) return true;
    }
    return false;
}

static char *hint_of(const Foreign *row) {
    return row->meant ? md_nearest_question(row->meant) : md_format("; mdmini has no %s", row->lacks);
}

char *md_foreign_value(const MdOptionRow *option, const char *read) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const Foreign *row = &table[k];
        const bool is_of = row->of && (strcmp(row->of, option->name) == 0 ||
                                       (row->of[0] == '*' && md_option_word(option, row->meant) >= 0));
        if (is_of && has_word(row->words, read)) return hint_of(row);
    }
    return NULL;
}

char *md_foreign_name(const char *read) {
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (!table[k].of && has_word(table[k].words, read)) return hint_of(&table[k]);
    const size_t n = strlen(read), n_every = strlen("every");
    if (n <= n_every || strcasecmp(read + n - n_every, "every") != 0) return NULL;
    char *shorter = md_format("%.*s", (int)(n - n_every), read), *hint = md_foreign_name(shorter);
    free(shorter);
    return hint;
}
