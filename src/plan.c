/* Planning: the deck, checked against this machine. Nothing large is allocated, no file is touched. */
#define _POSIX_C_SOURCE 200809L
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "backends/backends.h"
#include "base/cgroup.h"
#include "base/checksum.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/threads.h"
#include "continue.h"
#include "cpu/threads.h"
#include "deck/value.h"
#include "output/path.h"
#include "output/schedule.h"
#include "parallel/comm.h"
#include "parallel/launcher.h"
#include "report/curves.h"
#include "report/places.h"
#include "simulation.h"

/* Whether another GPU than the one that the deck names by run.device would do: then the deck is at fault. */
static bool has_other_gpu(const MdBackendOps *cuda, const MdRecord *r) {
    MdConfig other = *r->config;
    MdMachine machine;
    MdErrors *ignored = md_errors_create();
    other.run_device = MD_AUTO_INT;
    const bool has = r->config->run_device != MD_AUTO_INT && cuda->probe(&other, r->comm, &machine, ignored) == MD_OK;
    md_errors_destroy(ignored);
    return has;
}

/* Without a GPU that can be used: auto takes the cpu, unless another GPU would do than the one that was asked for, and a deck
 * can still be checked. */
static MdStatus do_without_gpu(MdSimulation *s, const MdBackendOps *cuda, bool only_check, const MdErrors *reasons) {
    const bool is_asked = cuda && has_other_gpu(cuda, &s->record);
    if (s->record.config->run_backend == MD_BACKEND_AUTO && !is_asked) {
        s->record.backend_reason = md_copy_text(md_errors_text(reasons, 0));
    } else if (cuda && only_check && !is_asked) {
        s->record.no_gpu = md_copy_text(md_errors_text(reasons, 0));
        s->record.ops = cuda;
    } else {
        for (int k = 0; k < md_errors_count(reasons); k++)
            md_fail(s->record.errors, MD_ERROR_INPUT, "%s", md_errors_text(reasons, k));
        return MD_ERROR_INPUT;
    }
    return MD_OK;
}

/* The backend asked for. auto takes the GPU if it can run there, else the cpu, and the log says why. */
static MdStatus choose_backend(MdSimulation *s, bool only_check) {
    MdRecord *r = &s->record;
    const MdForm *form = md_form(r->config->potential_form);
    const bool is_for_cpu = form->traits & MD_FORM_EMBEDS;
    if (is_for_cpu && r->config->run_backend == MD_BACKEND_CUDA)
        return md_fail(r->errors, MD_ERROR_INPUT,
                       "potential.form = %s: only the cpu backend has it: take run.backend = cpu", form->word);
    if (is_for_cpu && r->config->run_backend == MD_BACKEND_AUTO)
        r->backend_reason = md_format("only the cpu backend has potential.form = %s", form->word);
    if (r->config->run_backend != MD_BACKEND_CPU && !is_for_cpu) {
        const MdBackendOps *cuda = md_backend_find("cuda");
        MdErrors *reasons = md_errors_create();
        MdStatus status = MD_OK;
        if (!cuda)
            md_fail(reasons, MD_ERROR_INPUT, "run.backend: this program was built without the cuda backend; use cpu");
        if (cuda && cuda->probe(r->config, r->comm, &r->machine, reasons) == MD_OK) r->ops = cuda;
        else status = do_without_gpu(s, cuda, only_check, reasons);
        md_errors_destroy(reasons);
        if (status == MD_OK && r->ops) status = md_cpu_set_threads(0, r->errors); /* of the reference */
        if (status != MD_OK || r->ops) return status;
    }
    r->ops = md_backend_find("cpu");
    return r->ops->probe(r->config, r->comm, &r->machine, r->errors);
}

/* Resolves the switches, and checks them against the backend's variants and the deck. */
static MdStatus resolve(MdSimulation *s, bool planned) {
    MdRecord *r = &s->record;
    MdVariantTable table = r->ops->variants();
    for (int k = 0; k < MD_N_OPTIONS; k++)
        r->lacking[k] = md_variants_lack(table, k) || md_option_is_of_other_backend(k, r->ops->name);
    MdStatus given = md_variants_check_given(table, r->ops->name, r->deck, r->errors);
    if (r->no_gpu) {
        const MdStatus checked = md_variants_check_open(table, r->ops->name, r->config, r->errors);
        return checked == MD_OK ? given : checked;
    }
    if (!planned) return given;
    MdStatus status = r->ops->resolve(&s->resolved, &r->plan, &r->choices, r->errors);
    if (status != MD_OK && r->backend_reason && md_variants_lack_value(table, r->config))
        md_fail(r->errors, MD_ERROR_INPUT, "run.backend=auto took the %s backend: %s", r->ops->name, r->backend_reason);
    if (status == MD_OK) status = md_variants_check_grounds(table, r->deck, r->config, r->errors);
    if (status == MD_OK) status = md_system_check_range(r->deck, &r->plan, r->config->neighbor_skin, r->errors);
    return status == MD_OK ? given : status;
}

/* --- several processes ---------------------------------------------------------------------------------------------- */

/* Equal for processes of one host that have this in common. */
static uint64_t host_mark(const MdComm *comm, const void *of_host, size_t bytes) {
    const char *host = comm ? md_comm_host(comm, md_comm_rank(comm)) : "";
    MdChecksum mark = md_checksum_begin();
    md_checksum_add(&mark, of_host, bytes);
    md_checksum_add(&mark, host, strlen(host));
    return md_checksum_value(&mark);
}

/* How many processes have the same mark as this one. */
static int count_alike(const MdComm *comm, uint64_t own) {
    const int size = md_comm_size(comm);
    uint64_t *all = md_alloc((size_t)size, sizeof *all, "marks of processes");
    int n = 0;
    md_comm_allgather(comm, &own, sizeof own, all);
    for (int rank = 0; rank < size; rank++) n += all[rank] == own;
    md_free(all);
    return n;
}

static bool are_threads_given(const MdRecord *r) {
    return r->config->run_threads != MD_AUTO_INT || getenv("OMP_NUM_THREADS");
}

/* The choice of run.threads = auto for a process under a quota, or one that its launcher has bound: mpirun binds by
 * default. OpenMP knows the processors from before it bound threads to places. */
static void tell_threads(MdRecord *r) {
    const double quota = md_cgroup_cpu().processors;
    const int n = r->machine.n_threads, n_processors = md_threads_processors();
    const long n_there = sysconf(_SC_NPROCESSORS_ONLN);
    if (r->comm || are_threads_given(r) || n == 0) return;
    char value[24];
    snprintf(value, sizeof value, "%d", n);
    if (md_cgroup_share(quota, 1) < n_processors)
        md_choices_add(&r->choices, "run.threads", value,
                       "the quota of its control group is the time of %.3g of %d processors", quota, n_processors);
    else if (md_launcher_is_there() && n_processors == omp_get_num_procs() && n_processors < n_there)
        md_choices_add(&r->choices, "run.threads", value,
                       "its launcher has bound the process to %d of %ld processors (mpirun --bind-to none does not)",
                       n_processors, n_there);
}

/* How many processes may use the same processors, which run.threads = auto shares out among them, and the quota of a
 * control group. */
static void share_processors(MdSimulation *s) {
    MdRecord *r = &s->record;
    if (!r->comm) return;
    const MdProcessors own = md_threads_of_team(1);
    const MdCgroupCpu quota = md_cgroup_cpu();
    const int n_processors = md_threads_processors();
    const int n_sharing = count_alike(r->comm, host_mark(r->comm, &own, sizeof own));
    const int n_in_group = r->n_in_group = count_alike(r->comm, host_mark(r->comm, &quota.mark, sizeof quota.mark));
    if (are_threads_given(r)) return;
    const int n = n_processors > n_sharing ? n_processors / n_sharing : 1;
    const int in_quota = md_cgroup_share(quota.processors, n_in_group);
    s->resolved.run_threads = n < in_quota ? n : in_quota;
    char value[24];
    snprintf(value, sizeof value, "%lld", (long long)s->resolved.run_threads);
    if (in_quota < n)
        md_choices_add(&r->choices, "run.threads", value,
                       "the quota of the control group of %d process%s is the time of %.3g processors", n_in_group,
                       n_in_group == 1 ? "" : "es", quota.processors);
    else if (n_sharing == 1)
        md_choices_add(&r->choices, "run.threads", value, "only this process may use its %d processor%s", n_processors,
                       n_processors == 1 ? "" : "s");
    else
        md_choices_add(&r->choices, "run.threads", value, "%d processes share %d processor%s", n_sharing, n_processors,
                       n_processors == 1 ? "" : "s");
}

/* Where the threads of a process may run. */
typedef struct Team {
    uint64_t host;
    MdProcessors processors;
    int n_threads; /* 1 where the steps run on a GPU: it issues them */
} Team;

/* The processes of a host whose threads have no other processors than one of them: whether they are more than these. */
static void find_crowd(MdRecord *r) {
    const int size = md_comm_size(r->comm), n_threads = r->machine.n_threads;
    if (!r->comm && n_threads == 0) return;
    const int n_own = n_threads > 0 ? n_threads : 1;
    const Team own = {host_mark(r->comm, "", 0), md_threads_of_team(n_own), n_own};
    Team *all = md_alloc((size_t)size, sizeof *all, "threads of processes");
    md_comm_allgather(r->comm, &own, sizeof own, all);
    for (int k = 0; k < size; k++) {
        MdCrowd crowd = {.n_processors = md_processors_count(&all[k].processors)};
        for (int rank = 0; rank < size; rank++) {
            if (all[rank].host != all[k].host || !md_processors_contain(&all[k].processors, &all[rank].processors))
                continue;
            crowd.n_processes++;
            crowd.n_threads += all[rank].n_threads;
        }
        const bool is_crowded = crowd.n_processors > 0 && crowd.n_threads > crowd.n_processors;
        if (is_crowded && crowd.n_threads > r->crowd.n_threads) r->crowd = crowd;
    }
    md_free(all);
}

/* Where all write frames, nothing may move in the file, and there is no text. */
static MdStatus check_frames(const MdRecord *r) {
    const MdConfig *c = r->config;
    if (c->parallel_frames != MD_FRAMES_ALL) return MD_OK;
    const int other = c->output_compression != MD_COMPRESSION_NONE ? MD_OPTION_output_compression
                      : c->output_xyz_every > 0                    ? MD_OPTION_output_xyz_every
                                                                   : -1;
    if (other < 0) return MD_OK;
    return md_fail(r->errors, MD_ERROR_INPUT, "%s: parallel.frames = all does not go with %s (%s): take root",
                   md_deck_origin(r->deck, MD_OPTION_parallel_frames), md_option_name(other),
                   md_deck_origin(r->deck, other));
}

/* Options that several processes cannot have. */
static MdStatus check_processes(MdSimulation *s) {
    MdRecord *r = &s->record;
    if (!r->comm) return MD_OK;
    MdStatus status = MD_OK;
    if (r->config->output_pipeline == MD_ON && !md_comm_serves_threads(r->comm))
        status = md_fail(r->errors, MD_ERROR_INPUT,
                         "output.pipeline: on needs an MPI with MPI_THREAD_MULTIPLE, which %s is not here: take off",
                         md_comm_library(r->comm));
    if (*r->config->report_neighbors)
        status = md_fail(r->errors, MD_ERROR_INPUT,
                         "%s: report.neighbors: for one process only, but %d were started: start one, or leave it out",
                         md_deck_origin(r->deck, MD_OPTION_report_neighbors), md_comm_size(r->comm));
    return check_frames(r) == MD_OK ? status : MD_ERROR_INPUT;
}

/* For fewer atoms a processor has made the numbers before cuRAND is ready on the GPU: ten steps of 32,000 atoms take 0.50 s, and 0.55 s with
 * numbers of the GPU (an H200; medians of three). */
enum { FEW_RANDOM_ATOMS = 250 * 1000 };

/* Where the random numbers of the start are made. A run that goes on makes none. */
static MdStatus choose_random(MdSimulation *s) {
    MdRecord *r = &s->record;
    const int asked = r->config->system_random;
    if (s->resumed || r->no_gpu || asked == MD_RANDOM_PLACE_HOST) return MD_OK;
    char reason[128];
    const bool on_cpu = r->ops == md_backend_find("cpu");
    const struct MdRandomSource *device = NULL;
    if (on_cpu)
        snprintf(reason, sizeof reason, "%s",
                 r->backend_reason ? "run.backend = auto took the cpu backend here" : "the cpu backend uses no GPU");
    else if (asked == MD_RANDOM_PLACE_AUTO && r->plan.n_atoms < FEW_RANDOM_ATOMS)
        snprintf(reason, sizeof reason, "fewer than %d atoms: cuRAND takes longer to get ready on the GPU",
                 FEW_RANDOM_ATOMS);
    else device = md_backend_random_on_device(reason, sizeof reason);
    if (!device && asked == MD_RANDOM_PLACE_DEVICE)
        return md_fail(r->errors, MD_ERROR_INPUT,
                       "%s: system.random: device, but %s: take system.random = host or auto%s",
                       md_deck_origin(r->deck, MD_OPTION_system_random), reason,
                       on_cpu ? ", or run.backend = cuda where there is a GPU" : "");
    if (device) r->plan.random = device;
    s->resolved.system_random = device ? MD_RANDOM_PLACE_DEVICE : MD_RANDOM_PLACE_HOST;
    if (asked == MD_RANDOM_PLACE_AUTO)
        md_choices_add(&r->choices, "system.random", device ? "device" : "host", "%s",
                       device ? "the GPU of the run makes the same numbers" : reason);
    return MD_OK;
}

/* The peak memory of the program: program and libraries, the particles on the host, the backend, the frame slots
 * and the verification (whose five arrays come on top of all that). */
static MdMemory estimate_memory(const MdSimulation *s) {
    const uint64_t program = UINT64_C(24) << 20;  /* text, HDF5, OpenMP stacks as touched; the driver's part is below */
    const uint64_t driver = UINT64_C(144) << 20;  /* a CUDA context on the host side, as measured with driver 580, */
    const uint64_t compiler = UINT64_C(64) << 20; /* and NVRTC 13, where the kernels are not kept */
    MdMemory memory = s->record.ops->estimate(s->record.config, &s->record.plan);
    const MdRingSpec ring = md_pipeline_ring(s->record.config);
    const MdMemory output = s->record.ops->output_estimate(s->record.config, &s->record.plan, &ring);
    memory.host_bytes += program + md_system_bytes(&s->record.plan);
    if (s->record.machine.device_total_bytes) memory.host_bytes += driver + compiler;
    memory.host_bytes += output.host_bytes;
    memory.device_bytes += output.device_bytes;
    if (s->record.files.trace) memory.host_bytes += md_trace_bytes(MD_TRACE_EVENTS);
    /* One after the other: the verification, the compression of a frame, and a device's state on its way to or from a
     * restart file, where rows, tags, ids and types of its particles stand side by side (src/cuda/stages/state.c). */
    const uint64_t verify = s->record.config->report_verify == MD_ON ? md_verify_bytes(&s->record.plan) : 0;
    const uint64_t n_own = (uint64_t)md_comm_block_size(s->record.comm, s->record.plan.n_atoms),
                   state = s->record.machine.device_total_bytes ? 56 * n_own : 0;
    const MdTrajectorySpec trajectory = md_trajectory_of_run(&s->record, s->system);
    const uint64_t packing = md_h5md_packing_bytes(&trajectory.h5md);
    uint64_t largest = verify > state ? verify : state;
    if (packing > largest) largest = packing;
    memory.host_bytes += largest;
    return memory;
}

static bool minimizes(const MdSimulation *s) {
    return !s->resumed && s->record.config->run_minimize != MD_MINIMIZE_OFF;
}

/* The relaxation comes before the run, in memory that it gives back. */
static MdStatus add_minimization(MdSimulation *s, bool bench) {
    MdMemory *memory = &s->record.memory, relaxed;
    if (!minimizes(s)) return MD_OK;
    if (bench)
        return md_fail(s->record.errors, MD_ERROR_INPUT,
                       "%s: run.minimize: --bench starts where the deck does, without a relaxation: take off",
                       md_deck_origin(s->record.deck, MD_OPTION_run_minimize));
    if (s->record.no_gpu) return MD_OK;
    const MdStatus status =
        md_minimize_estimate(s->record.ops, s->record.asked, &s->record.plan, &relaxed, s->record.errors);
    if (status != MD_OK) return status;
    if (relaxed.device_bytes > memory->device_bytes) memory->device_bytes = relaxed.device_bytes;
    if (relaxed.host_bytes > memory->host_bytes) memory->host_bytes = relaxed.host_bytes;
    return MD_OK;
}

/* The memory of all processes of this host. */
static uint64_t add_on_host(const MdRecord *r) {
    const int size = md_comm_size(r->comm);
    uint64_t *all = md_alloc((size_t)size, sizeof *all, "memory of processes"), sum = 0;
    md_comm_allgather(r->comm, &r->memory.host_bytes, sizeof *all, all);
    for (int rank = 0; rank < size; rank++)
        if (!r->comm || strcmp(md_comm_host(r->comm, rank), md_comm_host(r->comm, md_comm_rank(r->comm))) == 0)
            sum += all[rank];
    md_free(all);
    return sum;
}

static MdStatus check_memory(MdSimulation *s) {
    if (s->record.no_gpu) return MD_OK; /* it is not known, nor is the machine that it will be taken of */
    const uint64_t available = md_host_memory_available_bytes(), needed = add_on_host(&s->record);
    s->record.host_of_ranks = needed;
    MdStatus status = MD_OK;
    if (needed > available)
        status = md_fail(s->record.errors, MD_ERROR_INPUT,
                         "%lld atoms need %s of main memory, but %s are available: fewer atoms, or a machine with more "
                         "memory",
                         (long long)s->record.plan.n_atoms, md_bytes(needed).text, md_bytes(available).text);
    if (s->record.memory.device_bytes > s->record.machine.device_free_bytes && s->record.machine.device_total_bytes)
        status = md_fail(s->record.errors, MD_ERROR_INPUT,
                         "%lld atoms need %s on the GPU, but %s of %s are free: fewer atoms, a smaller neighbor.skin, "
                         "or run.backend = cpu",
                         (long long)s->record.plan.n_atoms, md_bytes(s->record.memory.device_bytes).text,
                         md_bytes(s->record.machine.device_free_bytes).text, s->record.machine.name);
    return status;
}

static uint64_t bytes_on_disk(const char *path) {
    struct stat there;
    return stat(path, &there) == 0 ? (uint64_t)there.st_blocks * 512 : 0;
}

/* Frames before the step of a restart file exist already, or are lost. Returns the additional bytes on the disk that files
 * of frames take. */
static uint64_t plan_frames(MdSimulation *s, uint64_t *copied) {
    MdRecord *r = &s->record;
    *copied = 0;
    if (!r->files.h5) return 0;
    const MdTrajectorySpec spec = md_trajectory_of_run(&s->record, s->system);
    const int64_t from = s->resumed ? r->step + 1 : 0;
    r->n_frames = md_schedule_count(r->config->output_frames_every, from, r->config->run_steps);
    r->trajectory_bytes = md_h5md_bytes(&spec.h5md, from);
    r->trajectory_there = r->files.h5_there ? bytes_on_disk(r->files.h5) : 0;
    /* The savings of compression are unknown. */
    if (spec.h5md.compression != MD_COMPRESSION_NONE) return 0;
    /* A file that continues unchanged has its room already; a copied one needs it once more. */
    if (s->resumed && md_continue_copies(r)) *copied = r->trajectory_there;
    return r->trajectory_bytes + *copied;
}

/* Of those written on the way three are there at a time: the last one, the one before, and the next one. A run that goes on has
 * some of them. */
static uint64_t plan_restart_files(const MdSimulation *s) {
    const MdConfig *config = s->record.config;
    const char *path = s->record.files.restart;
    if (!path || (config->restart_every == 0 && !s->resumed)) return 0;
    char *previous = md_format("%s.prev", path);
    const int64_t n = config->restart_every > 0 ? (config->run_steps - 1) / config->restart_every + 1 : 1;
    const int64_t most = s->resumed ? 3 - (bytes_on_disk(path) > 0) - (bytes_on_disk(previous) > 0) : 3;
    free(previous);
    return (uint64_t)(n < most ? n : most) * md_checkpoint_bytes(&s->record);
}

/* Whether a folder has room for so many bytes, besides other files, counting files that the run replaces there. */
static MdStatus check_room(const MdSimulation *s, const char *folder, uint64_t needed, uint64_t besides, int option,
                           const char *what, const char *way_out) {
    struct statvfs disk;
    if (needed == 0 || statvfs(folder, &disk) != 0) return MD_OK; /* the folder was looked at already */
    const uint64_t replaced = md_files_replaced_bytes(s->record.deck, &s->record.files, folder);
    const uint64_t free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize + replaced;
    if (needed + besides <= free_bytes) return MD_OK;
    char *absolute = md_path_absolute(NULL, folder);
    char *more = besides ? md_format(" and all else %s", md_bytes(besides).text) : md_copy_text("");
    const MdStatus status =
        md_fail(s->record.errors, MD_ERROR_INPUT, "%s: %s: %s need %s%s, but %s are free in %s%s: %s",
                md_deck_origin(s->record.deck, option), md_option_name(option), what, md_bytes(needed).text, more,
                md_bytes(free_bytes).text, absolute, replaced ? ", with replaced files" : "", way_out);
    free(absolute);
    free(more);
    return status;
}

static bool same_disk(const char *a, const char *b) {
    struct stat of_a, of_b;
    return stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev;
}

/* Output that cannot fit is refused before the first step, not after the last one. */
static MdStatus check_disk(MdSimulation *s) {
    MdRecord *r = &s->record;
    uint64_t copied;
    const char *directory = r->config->output_directory;
    const uint64_t frames = plan_frames(s, &copied), restart = plan_restart_files(s);
    char *what = md_format("%lld frames%s", (long long)r->n_frames, copied ? ", and a copy of those there," : "");
    MdStatus status = check_room(s, directory, frames, 0, MD_OPTION_output_frames_every, what,
                                 "fewer frames, or another output.directory");
    free(what);
    if (status != MD_OK || !r->files.restart) return status;
    char *folder = md_path_folder(r->files.restart);
    status = check_room(s, folder, restart, same_disk(folder, directory) ? frames : 0, MD_OPTION_restart_every,
                        "restart files", "another restart.file, or none at the end: restart.every = 0");
    free(folder);
    return status;
}

/* Checks of the deck only; velocities of a file, or of a restart file, are checked when they are read. */
static MdStatus check_motion(const MdSimulation *s) {
    if (s->resumed || s->record.config->system_temperature != 0) return MD_OK;
    return md_thermostat_check(&s->thermostat, 0, 0, s->record.deck, s->record.errors);
}

MdStatus md_simulation_check_files(MdSimulation *s) {
    if (!s->resumed) return MD_OK;
    double kinetic = 0;
    MdStatus status = md_checkpoint_check(s->resumed, &s->record, &kinetic);
    if (status == MD_OK)
        status = md_thermostat_check(&s->thermostat, kinetic, s->record.step, s->record.deck, s->record.errors);
    status = md_comm_worst_status(s->record.comm, status, s->record.errors);
    if (status != MD_OK || !md_comm_is_root(s->record.comm)) return status;
    MdTrajectorySpec spec = md_trajectory_of_run(&s->record, s->system);
    md_continue_plan(&s->record, &spec);
    return md_trajectory_check(&spec, &s->record.resume.continued, s->record.errors);
}

MdSimulation *md_simulation_plan(const MdDeck *deck, MdPurpose purpose, MdCheckpoint *resumed, const char *command,
                                 MdComm *comm, MdLog *log, MdErrors *errors) {
    const bool bench = purpose == MD_TO_BENCH;
    MdSimulation *s = md_alloc(1, sizeof *s, "simulation");
    s->record.deck = deck;
    s->record.command = command;
    s->record.asked = md_deck_config(deck);
    s->resolved = *s->record.asked;
    s->record.config = &s->resolved;
    s->record.comm = comm;
    s->record.log = log;
    s->record.errors = errors;
    s->record.verification.fault.step = -1;
    s->start_s = md_clock_s();
    s->resumed = resumed;
    s->record.resume.sessions = md_alloc(MD_MAX_SESSIONS, sizeof(MdSession), "sessions");
    const MdFilesUse use = resumed ? md_checkpoint_files(resumed, bench) : (MdFilesUse){.bench = bench};
    /* All of these are tried, so that all problems are shown together. */
    MdStatus planned = resumed ? md_checkpoint_plan(resumed, deck, &s->record.plan, errors)
                               : md_system_plan(deck, md_backend_random(), &s->record.plan, errors);
    s->record.plan.comm = comm;
    if (planned == MD_OK) planned = md_curves_check(deck, &s->record.plan, errors);
    share_processors(s);
    MdStatus chosen = choose_backend(s, purpose == MD_TO_CHECK);
    if (chosen == MD_OK) tell_threads(&s->record);
    const bool is_root = md_comm_is_root(comm); /* all files are its */
    MdStatus filed = is_root ? md_files_plan(deck, &use, &s->record.files, errors) : MD_OK;
    MdStatus resolved = chosen == MD_OK ? resolve(s, planned == MD_OK) : MD_OK;
    if (chosen == MD_OK && (choose_random(s) != MD_OK || check_processes(s) != MD_OK)) resolved = MD_ERROR_INPUT;
    const bool good = planned == MD_OK && chosen == MD_OK && filed == MD_OK && resolved == MD_OK;
    if (md_comm_worst_status(comm, good ? MD_OK : md_errors_status(errors), errors) == MD_OK) {
        s->record.analysis = md_analysis_create(s->record.config, &s->record.plan);
        MdStatus recalled = resumed ? md_checkpoint_recall(resumed, &s->record) : md_checkpoint_name(&s->record);
        s->record.resume.reported = is_root && resumed && recalled == MD_OK && md_continue_is_reported(&s->record);
        md_comm_broadcast(comm, &s->record.resume.reported, sizeof s->record.resume.reported);
        find_crowd(&s->record);
        md_balance_gather_gpus(comm, &s->record.machine, &s->record.balance);
        s->record.effective_deck = md_deck_effective_text(deck, s->record.lacking, s->record.ops->name);
        if (!s->record.no_gpu) s->record.memory = estimate_memory(s);
        s->thermostat = md_thermostat_make(s->record.config, &s->record.plan);
        MdBathSaved bath = {0};
        if (resumed && recalled == MD_OK) recalled = md_checkpoint_bath(resumed, s->record.config, &bath, errors);
        s->thermostat.heat = bath.heat;
        memcpy(s->thermostat.state, bath.state, sizeof bath.state);
        const MdStatus relaxed = add_minimization(s, bench);
        MdStatus memory = check_memory(s), disk = is_root ? check_disk(s) : MD_OK, motion = check_motion(s),
                 places = md_places_check(&s->record),
                 there = is_root && resumed ? md_continue_check(&s->record) : MD_OK;
        const bool runs = recalled == MD_OK && relaxed == MD_OK && memory == MD_OK && disk == MD_OK &&
                          motion == MD_OK && places == MD_OK && there == MD_OK;
        if (md_comm_worst_status(comm, runs ? MD_OK : md_errors_status(errors), errors) == MD_OK) return s;
    }
    md_simulation_destroy(s);
    return NULL;
}
