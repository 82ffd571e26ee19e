/* cuRAND's device generators give the numbers of its host generators, all four, over several chunks. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "check.h"
#include "deck/choices.h"

#ifdef MDMINI_HAVE_CUDA
#include "cuda/device/random_curand.h"

static void test_generator(int generator, const char *word, bool normal) {
    double *host = md_alloc(MD_RANDOM_CHUNK, sizeof *host, "test"),
           *device = md_alloc(MD_RANDOM_CHUNK, sizeof *host, "test");
    MdCurand *on_host = md_curand_create(generator, 12345, false),
             *on_device = md_curand_create(generator, 12345, true);
    for (int chunk = 0; chunk < 3; chunk++) {
        check_context("%s, %s numbers, chunk %d", word, normal ? "normal" : "uniform", chunk);
        md_curand_fill(on_host, normal, host);
        md_curand_fill(on_device, normal, device);
        int n_different = 0;
        double worst = 0;
        for (int k = 0; k < MD_RANDOM_CHUNK; k++) {
            n_different += host[k] != device[k];
            worst = fmax(worst, fabs(host[k] - device[k]));
        }
        printf("%s %s chunk %d: %d of %d differ, at most by %.3g\n", word, normal ? "normal" : "uniform", chunk,
               n_different, MD_RANDOM_CHUNK, worst);
        /* Uniform numbers are whole numbers times a power of two: no rounding. Normal numbers are r sin(2 pi u) and
         * r cos(2 pi u) with r = sqrt(-2 log u'): u' has 53 bits, so r is at most 8.6; the product 2 pi u may round
         * twice and the sine turns that into 4 pi 2^-53 r, wherever its value lies; sine, logarithm, root and product
         * give 5 r 2^-53 more. */
        CHECK_NEAR(worst, 0, normal ? 8.6 * (4 * 3.1415927 + 5) * 0x1p-53 : 0);
    }
    md_curand_destroy(on_host);
    md_curand_destroy(on_device);
    md_free(host);
    md_free(device);
}

int main(void) {
    char reason[256];
    if (!md_curand_has_device(reason, sizeof reason)) {
        printf("skipped: %s\n", reason);
        return CHECK_SKIPPED;
    }
    for (int normal = 0; normal < 2; normal++) {
#define TEST(name, word) test_generator(MD_GENERATOR_##name, word, normal);
        MD_CHOICES_GENERATOR(TEST)
#undef TEST
    }
    return check_finish();
}
#else
int main(void) {
    printf("skipped: built without the CUDA toolkit\n");
    return CHECK_SKIPPED;
}
#endif
