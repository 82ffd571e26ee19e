/* Prints the combinations that the tests walk for a backend, one a line as `key=value ...`: walk_list BACKEND
 * singles|pairs. For programs that start mdmini themselves, such as tests/gpu/sanitize.py. Lines of another form are
 * remarks. */
#include <stdio.h>
#include <string.h>

#include "backends/backends.h"
#include "check.h"
#include "design.h"
#include "state.h"

int main(int n_arguments, char **arguments) {
    const MdBackendOps *ops = n_arguments == 3 ? md_backend_find(arguments[1]) : NULL;
    bool singles = n_arguments == 3 && strcmp(arguments[2], "singles") == 0;
    if (!ops || (!singles && strcmp(arguments[2], "pairs") != 0)) {
        fprintf(stderr, "usage: walk_list BACKEND singles|pairs\n");
        return 2;
    }
    /* The melt of 500 atoms: what sanitize.py runs. */
    const char *words[] = {"system.density=0.8442", "system.cells=5", NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *system = state_system(deck);
    MdSystemPlan plan = state_plan(system);
    MdConfig config = *md_deck_config(deck);
    Design *design = design_create(ops, &config, singles ? DESIGN_SINGLES : DESIGN_PAIRS, NULL, &plan, 1);
    for (int k = 0; k < design_count(design); k++) {
        char text[2048];
        design_describe(design, k, text, sizeof text);
        printf("%s\n", text);
    }
    design_destroy(design);
    md_system_destroy(system);
    md_deck_destroy(deck);
    return check_finish();
}
