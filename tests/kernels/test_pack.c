/* The tile of output.pack (kernels/gather.cu): how many numbers a warp asks of one bank at once, as it reads the tile in
 * the order of the file. The emulation has no banks, so they are counted here. */
#include "check.h"
#include "cuda/context/shared.h"

enum { BANKS = 32, BANK_BYTES = 4, WARP = 32 };

/* The most accesses that the hardware makes for one read of a warp: numbers of 8 bytes go half a warp at a time, each over
 * two banks. */
static int worst_access(int block, int pad, int number_bytes) {
    const int lanes = WARP * BANK_BYTES / number_bytes, places = BANKS * BANK_BYTES / number_bytes, edge = block + pad;
    int worst = 0;
    for (int first = 0; first < 3 * block; first += lanes) {
        int count[BANKS] = {0};
        for (int k = first; k < first + lanes; k++) {
            const int place = (k % 3 * edge + k / 3) % places;
            if (++count[place] > worst) worst = count[place];
        }
    }
    return worst;
}

int main(void) {
    for (int block = 32; block <= 1024; block *= 2)
        for (int bytes = 4; bytes <= 8; bytes += 4) {
            check_context("block of %d, numbers of %d bytes", block, bytes);
            CHECK(worst_access(block, 0, bytes) == 3);             /* x, y and z of a row: shared */
            CHECK(worst_access(block, CUDA_TILE_PAD, bytes) == 1); /* padded */
        }
    return check_finish();
}
