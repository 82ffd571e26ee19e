/* The option table for people (--list-options, inputs/README.md) and for programs (JSON). */
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "deck/table.h"

/* Prints words of text, indented, in lines of at most `width`; `column` is where the first line stands already. */
static void print_wrapped(FILE *stream, const char *text, int indent, int width) {
    int column = 0;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + length > width) {
            fputc('\n', stream);
            column = 0;
        }
        if (column == 0) {
            fprintf(stream, "%*s", indent, "");
            column = indent;
        } else {
            fputc(' ', stream);
            column++;
        }
        fprintf(stream, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', stream);
}

static const char *shown_default(const MdOptionRow *row) { return row->default_text[0] ? row->default_text : "\"\""; }

/* --- text --- */

static void print_text(FILE *stream) {
    enum { WIDTH = 100 };
    fprintf(stream, "Options, as `[section]` and `key = value` in a deck or `section.key=value` on the command line.\n"
                    "Each has its default, the allowed values, its unit in brackets, and its kind.\n");
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        const MdOptionRow *row = md_option_row(k);
        if (md_section_find(row->section) == k) fprintf(stream, "\n[%s]\n", row->section);
        char *allowed = md_option_allowed(row);
        char *values = md_format("%s%s%s%s; %s", allowed, row->unit[0] ? " [" : "", row->unit, row->unit[0] ? "]" : "",
                                 md_kind_word(row->kind));
        fprintf(stream, "  %s = %s\n", row->key, shown_default(row));
        print_wrapped(stream, row->help, 6, WIDTH);
        print_wrapped(stream, values, 6, WIDTH);
        free(allowed);
        free(values);
    }
}

/* --- JSON --- */

static const char *const type_words[] = {"int",     "int or auto", "real",  "real or auto", "time", "choice",
                                         "choices", "ints",        "reals", "text",         "path"};

/* `"low": 2, "high": 3`; `"above": 0` where the limit itself is excluded; nothing where there is no limit. */
static void write_range(MdJson *json, const MdOptionRow *row) {
    if (row->low == MD_ABOVE_ZERO) md_json_int(json, "above", 0);
    else md_json_real(json, "low", row->low);
    if (row->high != MD_NO_LIMIT) md_json_real(json, "high", row->high);
}

static void write_choices(MdJson *json, const MdOptionRow *row) {
    md_json_begin_array(json, "choices");
    for (int v = 0; row->words[v]; v++) md_json_text(json, NULL, row->words[v]);
    md_json_end_array(json);
}

static void print_json(FILE *stream) {
    MdJson *json = md_json_create();
    md_json_begin_array(json, NULL);
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        const MdOptionRow *row = md_option_row(k);
        md_json_begin_object(json, NULL);
        md_json_text(json, "section", row->section);
        md_json_text(json, "key", row->key);
        md_json_text(json, "type", type_words[row->type]);
        md_json_text(json, "default", row->default_text);
        if (row->words[0]) write_choices(json, row);
        else if (row->type != MD_TYPE_TEXT && row->type != MD_TYPE_PATH) write_range(json, row);
        md_json_text(json, "unit", row->unit);
        md_json_text(json, "kind", md_kind_word(row->kind));
        md_json_text(json, "help", row->help);
        md_json_end_object(json);
    }
    md_json_end_array(json);
    fputs(md_json_string(json), stream);
    md_json_destroy(json);
}

/* --- markdown: inputs/README.md --- */

static const char introduction[] =
    "# Input files\n"
    "\n"
    "The program prints this page: `mdmini --list-options=markdown > inputs/README.md`.\n"
    "\n"
    "    mdmini FILE... [section.key=value...]\n"
    "\n"
    "A FILE is a deck or a file of coordinates. Files and values are applied as layers in the order of the command line,\n"
    "and a later layer wins over an earlier one: first a deck, then perhaps a preset, then single values. You need to\n"
    "give only the values that differ from the defaults below. `mdmini --check ...` prints the effective deck: every key,\n"
    "its value and the origin of the value. It is itself a deck that gives the same run.\n"
    "\n"
    "## Decks\n"
    "\n"
    "    # a comment: a whole line, or after a blank\n"
    "    [system]\n"
    "    dimension = 2\n"
    "    boundary  = periodic open   # lists are separated by blanks\n"
    "\n"
    "    [run]\n"
    "    steps = 1e4\n"
    "\n"
    "A file has each key at most once; a section may be opened again. On the command line you write\n"
    "`run.steps=1e4 \"system.boundary=periodic open\"`. An argument with a `=` is such a value; with a `/` before the `=`\n"
    "it is a file.\n"
    "\n"
    "- Whole numbers may be written as `32000`, `32e3` or `1.5e6`. Numbers are decimal; `nan` and `inf` are refused.\n"
    "- Text and paths may have double quotes. They need them if they contain ` #` or begin or end with a blank; inside,\n"
    "  `\\\"` and `\\\\` mean `\"` and `\\`. `\"\"` is an empty text.\n"
    "- The path of an input file is relative to the deck that names it; on the command line it is relative to the working\n"
    "  directory. Paths of output files are relative to the working directory.\n"
    "- With `auto` the program chooses; the log shows its choice.\n"
    "\n"
    "Nothing is ignored. An error that names file and line is: an unknown section, key or word, a number out of range, a\n"
    "key given twice, or a key without effect (`ensemble.target = 2` without a thermostat). All errors of reading are\n"
    "shown together; if there are none, all contradictions. The exit code is 2, and no file is changed.\n"
    "\n"
    "A key without effect is no error if its value is the default or `off`, or if a later layer made it pointless: the\n"
    "effective deck then shows it as a comment. A switch of a stage that the backend does not have is refused if the deck\n"
    "names the backend. If a later layer names it, or none does, the log has a note instead. `SWITCHES.md` explains every\n"
    "switch; `VARIANTS.md` says which backend has it, and what it costs.\n"
    "\n"
    "## Files of coordinates\n"
    "\n"
    "If the first line of content has two or three numbers, the file is a table of coordinates, `x y` or `x y z` in each\n"
    "line. If it is a single whole number, the file is XYZ: the number of atoms, a comment, then `name x y z` in each\n"
    "line. As a FILE it sets `system.start = file`, `system.file`, `system.dimension` (the columns of the table; 3 for\n"
    "XYZ) and `system.boundary = open`; if the comment of an XYZ file has `Lattice=\"...\"` or `pbc=\"...\"`, box and\n"
    "boundaries come from the file. Everything else comes from the defaults and from other layers. A FILE, also one of\n"
    "coordinates, may be a pipe: `mdmini <(zcat start.xyz.gz)`.\n"
    "\n"
    "From extended XYZ, as ASE, OVITO, LAMMPS, GPUMD and chemfiles write it, the program uses, in any case and order:\n"
    "\n"
    "- the keys `Lattice` (a cuboid along the axes), `Origin`, `pbc` and `Properties`;\n"
    "- the columns `species` (or `element`, `type`, or atomic numbers `Z`), `pos`, `velo` (`vel`, `velocities`) or\n"
    "  `momenta`, `mass` (one for all atoms of a type) and `id`, which gives the order of the atoms.\n"
    "\n"
    "The log and `--check` list the keys and columns that are not used. Numbers are in the units of\n"
    "`system.units`: with `lj` lengths in angstrom would be read as lengths in sigma. With `metal` velocities are in\n"
    "angstrom/ps, those of a column `vel` in angstrom/fs (GPUMD, dynasor), masses in amu, and momenta in sqrt(amu eV), as\n"
    "ASE writes them.\n"
    "\n"
    "## Pair potentials\n"
    "\n"
    "A pair has the energy U(r) up to the cutoff; `potential.shift` says what is continuous there. The numbers of a form\n"
    "are in `potential.parameters`; for `lj` and `wca` they are in `potential.epsilon` and `potential.sigma`.\n"
    "`potential.pairs` has the numbers of single pairs of types.\n"
    "\n"
    "| form | numbers | U(r) |\n"
    "|---|---|---|\n"
#define ROW(name, word, file, words, traits, formula) "| `" word "` | " words " | " formula " |\n"
    MD_FORMS(ROW)
#undef ROW
    "\n"
    "| `potential.shift` | energy of a pair inside the cutoff |\n"
    "|---|---|\n"
    "| `none` | U(r): it jumps at the cutoff |\n"
    "| `energy` | U(r) - U(cutoff): the force jumps |\n"
    "| `force` | U(r) - U(cutoff) + (r - cutoff) F(cutoff): energy and force go to zero |\n"
    "| `switch` | U(r) S(r): energy and force go to zero, and pairs closer than s = `potential.switch_from` keep U(r). "
    "S = (1 - t)^2 (1 + 2 t) with t = (r^2 - s^2) / (cutoff^2 - s^2), as in CHARMM, X-PLOR and HOOMD-blue (`xplor`) |\n"
    "\n"
    "## Many-body potentials\n"
    "\n"
    "`sutton-chen` is for metals (Sutton and Chen, Phil. Mag. Lett. 61, 139 (1990)): the energy is a sum over pairs and a\n"
    "sum over atoms,\n"
    "\n"
    "    E = sum over pairs phi(r) + sum over atoms F(rho)        rho = sum over the neighbours of an atom g(r)\n"
    "    phi = epsilon (a/r)^n        g = (a/r)^m        F = -epsilon c sqrt(rho)\n"
    "\n"
    "`potential.shift` truncates phi and g. With `none` densities jump at the cutoff, so no energy is conserved: it is for\n"
    "`run.steps = 0`. With several types each pair has its numbers `epsilon a n m c` in `potential.pairs`; F has those of\n"
    "the pair of a type with itself. Tail corrections are for pairs only. F' grows without limit as rho goes to 0: the force\n"
    "between two atoms far from all others jumps at the cutoff with `force` and `switch`, and diverges there with `energy`.\n"
    "\n"
    "`inputs/copper-sc.txt` is an example. Numbers of Sutton and Chen, for `system.units = metal`:\n"
    "\n"
    "| metal | `potential.parameters` | `system.masses` |\n"
    "|---|---|---|\n"
    "| nickel | 0.015707 3.52 9 6 39.432 | 58.693 |\n"
    "| copper | 0.012382 3.61 9 6 39.432 | 63.546 |\n"
    "| silver | 0.0025415 4.09 12 6 144.41 | 107.868 |\n"
    "| gold | 0.012793 4.08 10 8 34.408 | 196.967 |\n"
    "\n"
    "`eam` is the embedded-atom method (Daw and Baskes, Phys. Rev. B 29, 6443 (1984)): phi, g and F are tables of\n"
    "`potential.file`, a file of LAMMPS: setfl (`eam/alloy`), fs (`eam/fs`) or funcfl (`eam`), told apart by content. The\n"
    "cutoff is that of the file, and so are the masses, unless `system.masses` gives others; `potential.elements` names\n"
    "the element of each type. Functions are those of LAMMPS: cubics with slopes by finite differences, and beyond the\n"
    "last density F is a straight line. With metal units only. `inputs/copper.txt` is an example. A resumed run needs a\n"
    "file with the same functions; it may be elsewhere.\n"
    "\n"
    "A step makes two passes over the list: densities and F', then forces. Several processes exchange F' of the atoms at\n"
    "their borders in between. The cpu backend has these forms, with `force.kernel = list`, `neighbor.list = full` and\n"
    "`force.cutoff_test = select`; `run.backend = auto` takes it.\n"
    "\n"
    "## Thermostats\n"
    "\n"
    "    [ensemble]\n"
    "    thermostat = csvr\n"
    "    target = 0.722           # temperature; two numbers are a ramp\n"
    "    relaxation = 0.5         # in tau, or ps; a tenth of tau to some tau is usual in liquids\n"
    "\n"
    "A thermostat acts up to `ensemble.last_step`. rescale, csvr and nose-hoover act every `ensemble.every` steps, after the\n"
    "output of the step; on a GPU a small number costs speed. csvr samples the canonical ensemble for any `ensemble.every`,\n"
    "nose-hoover if it is a quarter of the relaxation time at most. They leave the total momentum as it is: the temperature\n"
    "has D (N - 1) degrees of freedom.\n"
    "\n"
    "langevin acts in each step, in the midst of the drift (BAOAB of Leimkuhler and Matthews, 2013): the error of the\n"
    "time step of positions, and so of potential energy and pressure, is the smallest of such methods. Velocities of a step\n"
    "are colder by the share (w dt)^2 / 4, as without a thermostat. Noise moves the centre of mass: the temperature is that\n"
    "of all D N degrees of freedom. `ensemble.friction` or `ensemble.relaxation` = 1 / (2 friction) says how strong it is.\n"
    "Friction slows diffusion and changes viscosity and velocity autocorrelation. To measure these, hold the temperature up\n"
    "to `ensemble.last_step` and measure at constant energy, or take csvr with a relaxation time of some tau.\n"
    "\n"
    "Random numbers follow from `system.seed`, and those of langevin from that, the id of the atom and the step: they are\n"
    "the same on any number of processes and after a restart.\n"
    "\n"
    "The conserved energy is the total energy less the heat that the thermostat has put in, and less the jumps of pairs at\n"
    "the cutoff. With nose-hoover the heat is what the chain loses: this is the conserved quantity of the method, for a\n"
    "constant target. With langevin, the error of the time step does work that is not in the heat: with a long time step the\n"
    "conserved energy drifts a little. The verdict allows for it.\n"
    "\n"
    "`fix temp/csvr` of LAMMPS has the same relaxation time. `damp` of LAMMPS' `fix langevin` and `tau-t` of GROMACS' `sd`\n"
    "are 1 / friction.\n"
    "\n"
    "| thermostat | what it does |\n"
    "|---|---|\n"
#define ROW(name, word, file, traits, help) "| `" word "` | " help " |\n"
    MD_BATHS(ROW)
#undef ROW
    "\n"
    "## Analysis\n"
    "\n"
    "    [analysis]\n"
    "    msd_every = 10           # steps between two samples: of the mean square displacement,\n"
    "    msd_lags = 500           # in windows of so many samples\n"
    "    vacf_every = 2           # of the velocity autocorrelation\n"
    "    vacf_lags = 200\n"
    "    msd_from = 5000          # first step of the first window of both\n"
    "    rdf_every = 100          # of g(r), from step rdf_from on\n"
    "    rdf_from = 5000\n"
    "    pressure = tensor        # components of the pressure in the thermo table\n"
    "\n"
    "The backend samples while the run goes, on every device and any number of processes. A window begins at\n"
    "`analysis.msd_from`, and the next one after `msd_lags` samples. Its first sample is the origin of all of its samples:\n"
    "displacements are those since then, through any number of boxes, and velocities are multiplied with those of then. The\n"
    "value at a lag is the mean over the atoms and over windows; its standard error comes from the windows, and is unknown\n"
    "for a single one. So a run needs some windows, each as long as the longest time of interest. By default sampling\n"
    "begins at step 0, with the crystal: set `msd_from` and `rdf_from` to a step at which the system is in equilibrium.\n"
    "\n"
    "`NAME.msd.csv` and `NAME.vacf.csv` have a row for each lag: steps, time, windows, value and error, and if there are\n"
    "several types the same for the atoms of each. They are written with each restart file and at the end, and `NAME.h5` has\n"
    "the same in `/parameters/mdmini/analysis`. Log and `NAME.json` have the diffusion coefficient, the mean over whole\n"
    "windows with its error: of displacements the slope over the second half of the lags divided by 2 D, of velocities the\n"
    "integral over all lags divided by D. It is that of the finite periodic box. The motion of the centre of mass is not\n"
    "subtracted: it rests, except with langevin, whose noise moves each atom by itself. In a restarted run the sums go on to\n"
    "the bit. A run that is extended may begin another analysis after the step of its restart file: set `analysis.msd_from`.\n"
    "On a GPU displacements take 48 bytes an atom, and velocities 24, in single or mixed precision.\n"
    "\n"
    "`NAME.rdf.csv` has a row for each of `rdf_bins` shells: r in its middle, outer r, blocks, g and its error, neighbors\n"
    "(the coordination number: the mean number of atoms up to the outer r), and the number of pairs that were counted. With\n"
    "`rdf_types = all` the same follows for each pair of types: neighbors are atoms of the second type around one of the\n"
    "first. g is 1 for independent atoms, however few: an atom is not its own partner. In two dimensions shells are rings.\n"
    "Distances are those of all pairs, up to half of the shortest edge of the box; on several processes up to the largest\n"
    "cutoff. Errors come from the means of 10 to 20 blocks of samples (fewer than 20 samples are a block each); they are\n"
    "right when a block is longer than the correlation of the structure. An open box is refused, as it has no density.\n"
    "\n"
    "With `pressure = tensor` table and files have xx, yy, zz, xy, xz and yz of the pressure tensor (the sum of m v v and of\n"
    "r F over pairs, divided by the volume), whose trace is the pressure times D, and averages with errors; in two\n"
    "dimensions xx, yy and xy. `tools/plot.py` computes the shear viscosity from them. It costs a little at steps with\n"
    "output, and nothing at others.\n"
    "\n"
    "## Units and kinds\n"
    "\n"
    "With `system.units = lj` units are reduced: lengths in sigma, energies in epsilon, masses in m, times in\n"
    "tau = sigma sqrt(m/epsilon); D is the dimension. The tables below have these units. A key of kind performance never\n"
    "changes the physics.\n"
    "\n"
    "With `system.units = metal` numbers are converted when they are read and when they are shown:\n"
    "\n"
    "| reduced | metal | H5MD |\n"
    "|---|---|---|\n"
    "| sigma | angstrom | `Angstrom` |\n"
    "| epsilon | eV | `eV` |\n"
    "| m | amu | `u` |\n"
    "| tau | ps | `ps` |\n"
    "| epsilon/k | K | `K` |\n"
    "| epsilon/sigma^3 | bar (in two dimensions eV/angstrom^2) | `bar` |\n"
    "| sigma/tau | angstrom/ps | `Angstrom ps-1` |\n"
    "| sigma^2 | angstrom^2 | `Angstrom2` |\n"
    "| sigma^2/tau | angstrom^2/ps | `Angstrom2 ps-1` |\n"
    "| sigma^2/tau^2 | angstrom^2/ps^2 | `Angstrom2 ps-2` |\n"
    "| epsilon/sigma | eV/angstrom | `kJ mol-1 Angstrom-1`: MDAnalysis reads no forces in eV |\n"
    "| 1/sigma^D | 1/angstrom^D | `Angstrom-3` |\n"
    "\n"
    "Then no physical key with a unit has a default number: a deck gives `potential.sigma`, `potential.cutoff`,\n"
    "`system.masses`, `system.temperature`, `run.timestep` and, where they have an effect, the others. The error names a\n"
    "value that works. `neighbor.skin` is `auto` unless it is given. The well depth is `potential.epsilon` in eV, or\n"
    "`potential.epsilon_kelvin`; the numbers in `potential.parameters` and `potential.pairs` are in eV and angstrom.\n"
    "`--check`, log, `NAME.json`, `NAME.csv`, `NAME.h5` and `NAME.xyz` name the units; a restart file keeps them.\n"
    "`inputs/argon.txt` is an example. The constants are those of CODATA 2018, k = 8.617333262e-5 eV/K and\n"
    "1 amu = 1.66053906660e-27 kg. Inside, the program computes with angstrom, eV and amu.\n"
    "\n"
    "Any other consistent units work with `system.units = lj`: the formulas are the same, with k = 1. Choose a unit of\n"
    "length, energy and mass; times are then in length sqrt(mass/energy), temperatures are energies, pressures energies per\n"
    "volume, and the names of units in the output are to be read so. For nm, kJ/mol and amu the unit of time is 1 ps, and\n"
    "a temperature of 300 K is 300 * 0.008314462618 = 2.494 kJ/mol. Give all keys that have a unit, also `neighbor.skin`.\n";

void md_print_cell(FILE *stream, const char *text, const char *end) {
    for (; *text; text++) {
        if (*text == '|') fputc('\\', stream);
        fputc(*text, stream);
    }
    fputs(end, stream);
}

static void print_markdown(FILE *stream) {
    fputs(introduction, stream);
    for (int k = 0; k < MD_N_OPTIONS; k++) {
        const MdOptionRow *row = md_option_row(k);
        if (md_section_find(row->section) == k)
            fprintf(stream, "\n## [%s]\n\n%s\n", row->section,
                    "| key | default | allowed | unit | kind | meaning |\n|---|---|---|---|---|---|");
        char *allowed = md_option_allowed(row);
        fprintf(stream, "| `%s` | `%s` | ", row->key, shown_default(row));
        md_print_cell(stream, allowed, " | ");
        fprintf(stream, "%s | %s | ", row->unit, md_kind_word(row->kind));
        md_print_cell(stream, row->help, " |\n");
        free(allowed);
    }
}

void md_options_print(FILE *stream, MdListFormat format) {
    switch (format) {
    case MD_LIST_TEXT: print_text(stream); break;
    case MD_LIST_JSON: print_json(stream); break;
    case MD_LIST_MARKDOWN: print_markdown(stream); break;
    }
}
