#include "system/random.h"

#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "deck/table.h"
#include "physics/philox.h"
#include "system/random_source.h"

typedef enum NumberKind { KIND_UNDECIDED, KIND_UNIFORM, KIND_NORMAL } NumberKind;

struct MdRandom {
    uint64_t seed, next_chunk;
    uint64_t n_skipped; /* numbers to go on by before the next is handed out: only then their kind is known */
    NumberKind kind;
    size_t n_used; /* of the buffer; all of it at the start */
    double *buffer;
    const MdRandomSource *source; /* NULL: the Philox of our own */
    void *state;                  /* of the source */
    MdRandomCost cost;
};

uint64_t md_random_stream_seed(uint64_t seed, int stream) {
    if (stream == 0) return seed;
    uint64_t z = seed + (uint64_t)stream * 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

MdStatus md_random_check(const MdRandomSource *source, int generator, MdErrors *errors) {
    if (source || generator == MD_GENERATOR_PHILOX) return MD_OK;
    return md_fail(errors, MD_ERROR_INPUT,
                   "system.generator: %s comes from cuRAND, and this program was built without the CUDA toolkit: "
                   "take system.generator = philox, or build with a toolkit (a GPU is not needed)",
                   md_option_row(MD_OPTION_system_generator)->words[generator]);
}

MdRandom *md_random_create(const MdRandomSource *source, int generator, uint64_t seed, int stream, MdErrors *errors) {
    if (md_random_check(source, generator, errors)) return NULL;
    const double start_s = md_clock_s();
    MdRandom *random = md_alloc(1, sizeof *random, "a random generator");
    random->seed = md_random_stream_seed(seed, stream);
    random->buffer = md_alloc(MD_RANDOM_CHUNK, sizeof(double), "random numbers");
    random->n_used = MD_RANDOM_CHUNK;
    random->source = source;
    if (source) random->state = source->create(generator, random->seed);
    random->cost.seconds = md_clock_s() - start_s;
    return random;
}

void md_random_destroy(MdRandom *random, MdRandomCost *cost) {
    if (!random) return;
    const double start_s = md_clock_s();
    if (random->source) random->source->destroy(random->state);
    if (cost) {
        cost->n_numbers += random->cost.n_numbers;
        cost->seconds += random->cost.seconds + md_clock_s() - start_s;
    }
    md_free(random->buffer);
    md_free(random);
}

/* On the host wherever the uniform numbers come from, since the last bits of logarithm and sine are others on a GPU. */
static void make_normal(double *values) {
    for (int k = 0; k < MD_RANDOM_CHUNK; k += 2) md_normal_pair(values + k);
}

static void next_chunk(MdRandom *random) {
    const double start_s = md_clock_s();
    if (random->source) random->source->fill(random->state, random->buffer);
    else md_philox_fill(random->seed, random->next_chunk, random->buffer);
    if (random->kind == KIND_NORMAL) make_normal(random->buffer);
    random->next_chunk++;
    random->n_used = 0;
    random->cost.seconds += md_clock_s() - start_s;
}

static void skip_chunks(MdRandom *random, uint64_t n) {
    const double start_s = md_clock_s();
    random->next_chunk += n;
    if (random->source && n > 0 && !random->source->skip(random->state, n))
        for (; n > 0; n--) random->source->fill(random->state, random->buffer);
    random->cost.seconds += md_clock_s() - start_s;
}

/* The rest of the buffer, then whole chunks, then the beginning of one. */
static void make_skip(MdRandom *random) {
    const uint64_t left = MD_RANDOM_CHUNK - random->n_used;
    if (random->n_skipped <= left) {
        random->n_used += (size_t)random->n_skipped;
    } else {
        const uint64_t beyond = random->n_skipped - left;
        skip_chunks(random, beyond / MD_RANDOM_CHUNK);
        next_chunk(random);
        random->n_used = (size_t)(beyond % MD_RANDOM_CHUNK);
    }
    random->n_skipped = 0;
}

void md_random_skip(MdRandom *random, uint64_t n) { random->n_skipped += n; }

static void random_draw(MdRandom *random, NumberKind kind, double *values, size_t n) {
    /* A change of kind would drop the rest of a chunk, and the numbers would depend on the order of the calls. */
    if (random->kind != KIND_UNDECIDED && random->kind != kind) md_panic("a random stream gives one kind of numbers");
    random->kind = kind;
    random->cost.n_numbers += (int64_t)n;
    if (random->n_skipped > 0) make_skip(random);
    while (n > 0) {
        if (random->n_used == MD_RANDOM_CHUNK) next_chunk(random);
        size_t n_now = MD_RANDOM_CHUNK - random->n_used;
        if (n_now > n) n_now = n;
        memcpy(values, random->buffer + random->n_used, n_now * sizeof *values);
        random->n_used += n_now;
        values += n_now;
        n -= n_now;
    }
}

void md_random_uniform(MdRandom *random, double *values, size_t n) { random_draw(random, KIND_UNIFORM, values, n); }
void md_random_normal(MdRandom *random, double *values, size_t n) { random_draw(random, KIND_NORMAL, values, n); }
