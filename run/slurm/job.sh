# Read by every batch script here (sourced, not run): what the site wants, the cores that were granted, and a program that works.
# A job that cannot run ends here, with exit code 2 and the reason, before srun.

refuse() {
    echo "$(basename "$script"): $*" >&2
    exit 2
}

# find_program: sets mdmini to $MDMINI, or else to what was built where sbatch was called, built or installed with this folder, or is
# on the PATH.
find_program() {
    local place places=("${MDMINI-}")
    [ -n "${MDMINI-}" ] || places=(build-gpu/mdmini build/mdmini "$here"/../../build-gpu/mdmini "$here"/../../build/mdmini
        "$here"/../../../../bin/mdmini "$(command -v mdmini)")
    for place in "${places[@]}"; do
        [ -f "$place" ] && [ -x "$place" ] && mdmini=$place && return
    done
    [ -z "${MDMINI-}" ] || refuse "MDMINI=$MDMINI: no such program on $(hostname), in $PWD"
    refuse "no program on $(hostname); looked for ${places[*]} in $PWD: build it, or export MDMINI=/path/to/mdmini"
}

# check_program BACKEND: it starts on this node, and has this backend.
check_program() {
    local said
    said=$("$mdmini" --version 2>&1) ||
        refuse "$mdmini does not start on $(hostname): $said. Load the modules that it was built with ($here/site.sh)"
    [[ $said == mdmini\ * ]] || refuse "$mdmini does not answer as mdmini does: $said"
    grep -q "^backends:.*\<$1\>" <<<"$said" || refuse "$mdmini has no backend $1; $(grep '^backends:' <<<"$said"). It has one where" \
        "the CUDA toolkit is found when it is built (cmake -DMDMINI_CUDA=ON); cpu.sbatch runs on the processor"
}

# backend_of DEFAULT WORD...: the last run.backend=BACKEND of the words.
backend_of() {
    local word backend=$1
    shift
    for word in "$@"; do
        [[ $word != run.backend=* ]] || backend=${word#run.backend=}
    done
    [ "$backend" = auto ] && echo cpu || echo "$backend"
}

# tell_to_go_on OPTION...: the command, with these options of sbatch, that goes on with the run in $folder.
tell_to_go_on() {
    echo "Stopped before its end. To go on: sbatch$(printf ' %q' "$@" ${SLURM_MEM_PER_NODE:+--mem="${SLURM_MEM_PER_NODE}M"} \
        run/slurm/chain.sbatch --restart "$folder"/*.restart)"
}

# own_folder NAME: sets folder to that of this job: NAME, or NAME.1 and so on where that exists, as numbers of jobs begin anew on another
# cluster. By the mark in it a job that was sent back to the queue finds its folder again, and the tasks of an array that of the others.
own_folder() {
    local id="${SLURM_CLUSTER_NAME-} ${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}" mark new=$1.new.${SLURM_CLUSTER_NAME-}.$SLURM_JOB_ID number
    folder=
    [ "${SLURM_RESTART_COUNT:-0}" -eq 0 ] || for mark in "$1"/.job "$1".[0-9]*/.job; do
        grep -qs "^$id " "$mark" && [[ -z $folder || $mark -nt $folder/.job ]] && folder=${mark%/.job}
    done
    [ -z "$folder" ] || return 0
    mark="$id $(scontrol show job "$SLURM_JOB_ID" | sed -n '/SubmitTime=/ { s/.*SubmitTime=//; s/ .*//; p; q }')"
    if mkdir -p "$new" && echo "$mark" >"$new/.job"; then
        for ((number = 0; number < 10000; number++)); do
            folder=$1
            [ $number -eq 0 ] || folder=$1.$number
            mv -T "$new" "$folder" 2>/dev/null && break # fails where something is in it
            [ "$(cat "$folder/.job" 2>/dev/null)" != "$mark" ] || { rm -r "$new" && break; }
        done
    fi
    [ -e "$folder/.job" ] || { echo "$1: no such folder can be made on $(hostname) in $PWD: submit the job where it can" >&2; exit 4; }
    [ "$folder" = "$1" ] || echo "$1 is there already, of another job; the files of this one go to $folder"
}

[ -f "$here/site.sh" ] || refuse "$here/site.sh is missing: copy it beside the script, or submit the script where it is"
. "$here/site.sh"
# The cores that were granted, shared out to the tasks of a node; not every site confines a job to them.
n_tasks=${SLURM_TASKS_PER_NODE%%[!0-9]*} # of `8(x2)`, as of `8,7`, 8
export OMP_NUM_THREADS=$((SLURM_CPUS_ON_NODE / n_tasks))
find_program

# How the program is started. Several tasks are the ranks of one run: MPI joins them by what srun tells each of the others, each keeps
# to its cores, and where one is lost the others end at once.
step=(srun --cpus-per-task="$OMP_NUM_THREADS")
if [ "${SLURM_NTASKS:-1}" -gt 1 ]; then
    "$mdmini" --version | grep -q '^MPI: *none' && refuse "$mdmini was built without MPI, which joins the $SLURM_NTASKS tasks of" \
        "this job to one run: build it where an MPI is found (cmake -DMDMINI_MPI=ON)"
    step+=(--mpi="${MDMINI_SRUN_MPI:-pmix}" --cpu-bind=cores --kill-on-bad-exit=1)
    # Each rank sees all GPUs of its node: multi-gpu.sbatch says why.
    [ -z "${SLURM_GPUS_ON_NODE-}" ] || step+=(--gpu-bind=none)
fi
