/* Random numbers that a GPU makes are those that the host makes, bit for bit, with all four generators: over several chunks,
 * and as places, types and velocities of whole systems. On a GPU only can this fail: with the emulated one, generators of the host
 * stand for those of the device. */
#include <stdio.h>
#include <string.h>

#include "backends/backends.h"
#include "base/memory.h"
#include "check.h"
#include "deck/table.h"
#include "state.h"
#include "system/random_source.h"

static const MdRandomSource *device;

static void test_chunks(int generator, const char *word) {
    const MdRandomSource *host = md_backend_random();
    double *by_host = md_alloc(MD_RANDOM_CHUNK, sizeof *by_host, "test"),
           *by_device = md_alloc(MD_RANDOM_CHUNK, sizeof *by_host, "test");
    void *on_host = host->create(generator, 12345), *on_device = device->create(generator, 12345);
    for (int chunk = 0; chunk < 6; chunk++) {
        check_context("%s, chunk %d", word, chunk);
        if (chunk == 3) { /* two that the device jumps over, if it can, and the host makes */
            host->fill(on_host, by_host);
            host->fill(on_host, by_host);
            CHECK(device->skip(on_device, 2) == (generator != MD_GENERATOR_MT19937));
            for (int k = 0; k < 2 && generator == MD_GENERATOR_MT19937; k++) device->fill(on_device, by_device);
        }
        host->fill(on_host, by_host);
        device->fill(on_device, by_device);
        CHECK(by_host[0] != by_host[1]);
        CHECK(memcmp(by_host, by_device, MD_RANDOM_CHUNK * sizeof *by_host) == 0);
    }
    host->destroy(on_host);
    device->destroy(on_device);
    md_free(by_host);
    md_free(by_device);
}

static MdSystem *make_system(const MdDeck *deck, const MdRandomSource *source) {
    MdErrors *errors = md_errors_create();
    MdSystemPlan plan;
    MdSystem *system = NULL;
    if (CHECK(md_system_plan(deck, source, &plan, errors) == MD_OK)) system = md_system_create(deck, &plan, errors);
    md_require(system != NULL);
    md_system_plan_free(&plan);
    md_errors_destroy(errors);
    return system;
}

/* 100,000 atoms take more than one chunk for their velocities. */
static void test_system(const char *word) {
    char generator[64];
    snprintf(generator, sizeof generator, "system.generator=%s", word);
    const char *const words[] = {"system.start=random",
                                 "system.atoms=100000",
                                 "system.density=0.5",
                                 "system.types=2",
                                 "system.seed=99",
                                 generator,
                                 NULL};
    MdDeck *deck = state_deck(words);
    MdSystem *by_host = make_system(deck, md_backend_random()), *by_device = make_system(deck, device);
    const size_t n = (size_t)by_host->n_atoms, bytes = 3 * n * sizeof(double);
    check_context("%s, a whole system", word);
    CHECK(by_device->random.n_numbers == by_host->random.n_numbers);
    CHECK(by_device->random.n_numbers > (int64_t)(7 * n - 1));
    CHECK(memcmp(by_host->position, by_device->position, bytes) == 0);
    CHECK(memcmp(by_host->velocity, by_device->velocity, bytes) == 0);
    CHECK(memcmp(by_host->type, by_device->type, n * sizeof *by_host->type) == 0);
    md_system_destroy(by_host);
    md_system_destroy(by_device);
    md_deck_destroy(deck);
}

int main(void) {
    char reason[256];
    device = md_backend_random_on_device(reason, sizeof reason);
    if (!device) {
        printf("skipped: %s\n", reason);
        return CHECK_SKIPPED;
    }
    const char *const *words = md_option_row(MD_OPTION_system_generator)->words;
    for (int generator = 0; words[generator]; generator++) test_chunks(generator, words[generator]);
    test_system("philox");
    test_system("xorwow");
    test_system("mrg32k3a");
    return check_finish();
}
