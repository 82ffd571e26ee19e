/* Shared memory of force.kernel = brick: how many of the eight threads whose reads are served at once read from the same group of
 * banks, in rows with the order of neighbor.distances = matrix. The emulation has no banks, so they are counted here. */
#include "check.h"
#include "cuda/context/shared.h"

enum { GROUPS = 8, SERVED = 8, ROUNDS = 3 };

/* Threads at one group at once, at worst. */
static int worst_read(int row_threads, int first_row, bool in_turns) {
    int worst = 0;
    for (int first = 0; first < 32; first += SERVED)
        for (int k = 0; k < ROUNDS * CUDA_QUAD; k++) {
            int count[GROUPS] = {0};
            for (int lane = first; lane < first + SERVED; lane++) {
                const int row = first_row + lane / row_threads, part = lane % row_threads;
                const int quad = k / CUDA_QUAD * row_threads + part,
                          turn = in_turns ? CUDA_FIRST_OF_QUAD(part, row_threads) : 0;
                const int entry = quad * CUDA_QUAD + (k + turn) % CUDA_QUAD;
                const int group = entry % GROUPS ^ row % GROUPS;
                if (++count[group] > worst) worst = count[group];
            }
        }
    return worst;
}

int main(void) {
    for (int row_threads = 1; row_threads <= 32; row_threads *= 2)
        for (int first_row = 0; first_row < 64; first_row += 32 / row_threads) {
            check_context("%d threads a row, from row %d on", row_threads, first_row);
            CHECK(worst_read(row_threads, first_row, true) == 1);
            CHECK(worst_read(row_threads, first_row, false) == (row_threads <= 2 ? 1 : row_threads == 4 ? 2 : 4));
        }
    return check_finish();
}
