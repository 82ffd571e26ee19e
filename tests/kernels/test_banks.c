/* Shared memory of force.kernel = brick: how many of the eight threads whose reads are served at once read from the same group of
 * banks, in rows with the order of neighbor.distances = matrix. The emulation has no banks, so they are counted here. */
#include "check.h"
#include "cuda/context/shared.h"

enum { GROUPS = 8, SERVED = 8, ROUNDS = 3 };

/* Threads at one group at once, at worst. */
static int worst_read(int threads_per_atom, int first_row, bool in_turns) {
    int worst = 0;
    for (int first = 0; first < 32; first += SERVED)
        for (int k = 0; k < ROUNDS * CUDA_QUAD; k++) {
            int count[GROUPS] = {0};
            for (int lane = first; lane < first + SERVED; lane++) {
                const int row = first_row + lane / threads_per_atom, part = lane % threads_per_atom;
                const int quad = k / CUDA_QUAD * threads_per_atom + part,
                          turn = in_turns ? CUDA_FIRST_OF_QUAD(part, threads_per_atom) : 0;
                const int entry = quad * CUDA_QUAD + (k + turn) % CUDA_QUAD;
                const int group = entry % GROUPS ^ row % GROUPS;
                if (++count[group] > worst) worst = count[group];
            }
        }
    return worst;
}

int main(void) {
    for (int threads_per_atom = 1; threads_per_atom <= 32; threads_per_atom *= 2)
        for (int first_row = 0; first_row < 64; first_row += 32 / threads_per_atom) {
            check_context("%d threads a row, from row %d on", threads_per_atom, first_row);
            CHECK(worst_read(threads_per_atom, first_row, true) == 1);
            CHECK(worst_read(threads_per_atom, first_row, false) == (threads_per_atom <= 2   ? 1
                                                                     : threads_per_atom == 4 ? 2
                                                                                             : 4));
        }
    return check_finish();
}
