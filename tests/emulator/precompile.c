/* precompile DECK...: compiles the kernels that decks launch, and runs nothing (MDMINI_PRECOMPILE in CMakeLists.txt). They are those of
 * the imaginary GPU of MDMINI_EMULATOR_GPU (idle.c), and are kept in the folder MDMINI_KERNEL_CACHE. The program that is installed has the
 * same library, so that its names of compiled kernels are the same. */
#include <stdio.h>

#include "simulation.h"

/* Up to where a run has its kernels. */
static MdStatus compile(char *path, MdLog *log, MdErrors *errors) {
    char *const words[] = {path, "run.backend=cuda"};
    MdDeck *deck = md_deck_read(2, words, errors);
    const MdForm *form = deck ? md_form(md_deck_config(deck)->potential_form) : NULL;
    if (form && form->traits & MD_FORM_EMBEDS) {
        printf("%s: no kernels: the cuda backend does not have potential.form = %s\n", path, form->word);
        md_deck_destroy(deck);
        return MD_OK;
    }
    MdSimulation *s = deck ? md_simulation_plan(deck, MD_TO_BENCH, NULL, path, NULL, log, errors) : NULL;
    if (s) s->system = md_system_create(deck, &s->record.plan, errors);
    if (s && s->system &&
        s->record.ops->create(&s->context, s->record.config, s->record.asked, s->system, errors) == MD_OK) {
        s->record.ops->statistics(s->context, &s->record.statistics);
        const MdCompilation *c = &s->record.statistics.compilation;
        printf("%s: %d files of kernels, %d of them compiled now\n", path, c->n_compiled + c->n_kept, c->n_compiled);
        if (!c->is_written) md_fail(errors, MD_ERROR_OUTPUT, "MDMINI_KERNEL_CACHE=%s: cannot be written to", c->folder);
    }
    md_simulation_destroy(s);
    md_errors_print(errors, stderr);
    md_deck_destroy(deck);
    return md_errors_status(errors);
}

int main(int argc, char **argv) {
    MdLog *log = md_log_create(NULL);
    MdErrors *errors = md_errors_create();
    MdStatus status = MD_OK;
    for (int k = 1; k < argc && status == MD_OK; k++) status = compile(argv[k], log, errors);
    md_errors_destroy(errors);
    md_log_destroy(log);
    return (int)status;
}
