/* The covering design itself, on a made-up backend that has every value of every switch: which pairs are covered is
 * counted here in another way. And that a backend or a table that refuses too much turns the tests red. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "check.h"
#include "design.h"
#include "state.h"

enum { MAX_VARIANTS = 256, MAX_COMBINATIONS = 1024 };

static MdVariant rows[MAX_VARIANTS];
static int n_rows;

/* What the made-up table needs, and the pairs that this rules out; the last two only by way of a third switch. */
static const struct {
    const char *value, *needs;
} needs[] = {{"force.arithmetic=fast", "run.precision=single|mixed"},
             {"neighbor.sorted=on", "neighbor.search=cell"},
             {"force.kernel=cluster", "memory.sort=cell|morton|hilbert|brick|auto"},
             {"memory.space=mapped", "memory.load=texture"},
             {"memory.load=texture", "memory.layout=vec4"}};
static const char *const ruled_out[][2] = {
    {"force.arithmetic=fast", "run.precision=double"},     {"neighbor.sorted=on", "neighbor.search=brute"},
    {"neighbor.sorted=on", "neighbor.search=brute-tiled"}, {"force.kernel=cluster", "memory.sort=none"},
    {"memory.space=mapped", "memory.load=global"},         {"memory.space=mapped", "memory.load=ldg"},
    {"memory.load=texture", "memory.layout=aos"},          {"memory.load=texture", "memory.layout=soa"},
    {"memory.space=mapped", "memory.layout=aos"},          {"memory.space=mapped", "memory.layout=soa"}};
enum { N_RULED_OUT = sizeof ruled_out / sizeof *ruled_out };

static bool is_walked(int option) { return md_option_is_switch(option) && option != MD_OPTION_run_backend; }

static void make_table(void) {
    static char texts[MAX_VARIANTS][64];
    for (int option = 0; option < MD_N_OPTIONS; option++) {
        if (!is_walked(option) || option == MD_OPTION_run_precision) continue;
        for (int v = 0; md_switch_words(option)[v]; v++) {
            if (strcmp(md_switch_words(option)[v], "auto") == 0) continue;
            md_require(n_rows < MAX_VARIANTS);
            snprintf(texts[n_rows], sizeof *texts, "%s=%s", md_option_name(option), md_switch_words(option)[v]);
            rows[n_rows] = (MdVariant){.stage = "made up", .value = texts[n_rows], .needs = "", .deterministic = ""};
            for (size_t k = 0; k < sizeof needs / sizeof *needs; k++)
                if (strcmp(needs[k].value, texts[n_rows]) == 0) rows[n_rows].needs = needs[k].needs;
            n_rows++;
        }
    }
}

static MdVariantTable variants(void) { return (MdVariantTable){rows, n_rows}; }

static MdStatus resolve(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors) {
    (void)plan, (void)choices;
    return md_variants_check(variants(), "made-up", config, errors);
}

static MdBackendOps made_up = {.name = "made-up", .resolve = resolve, .variants = variants};

/* Whether both switches can have an effect at these values: tries all values of those that others depend on. */
static bool can_have_effect(int x, int v, int y, int w) {
    MdConfig config = state_config();
    for (int kernel_sort = 0; kernel_sort < (MD_KERNEL_AUTO + 1) * (MD_SORT_AUTO + 1); kernel_sort++)
        for (int method = 0; method <= MD_METHOD_CUB; method++)
            for (int way = 0; way < (MD_PERSISTENT_AUTO + 1) * (MD_FUSE_AUTO + 1); way++) {
                config.force_kernel = kernel_sort / (MD_SORT_AUTO + 1);
                config.memory_sort = kernel_sort % (MD_SORT_AUTO + 1);
                config.reduce_method = method, config.launch_persistent = way / (MD_FUSE_AUTO + 1);
                config.launch_fuse = way % (MD_FUSE_AUTO + 1);
                md_switch_set(&config, x, v), md_switch_set(&config, y, w);
                if (md_option_has_effect(&config, x) && md_option_has_effect(&config, y)) return true;
            }
    return false;
}

static bool is_ruled_out(const char *one, const char *other) {
    for (int k = 0; k < N_RULED_OUT; k++)
        if ((strcmp(ruled_out[k][0], one) == 0 && strcmp(ruled_out[k][1], other) == 0) ||
            (strcmp(ruled_out[k][0], other) == 0 && strcmp(ruled_out[k][1], one) == 0))
            return true;
    return false;
}

static bool is_covered(const MdConfig *configs, int n, int x, int v, int y, int w) {
    for (int k = 0; k < n; k++)
        if (md_switch_value(&configs[k], x) == v && md_switch_value(&configs[k], y) == w &&
            md_option_has_effect(&configs[k], x) && md_option_has_effect(&configs[k], y))
            return true;
    return false;
}

static int apply_all(const Design *design, MdConfig *configs) {
    int n = design_count(design);
    CHECK(n > 0 && n <= MAX_COMBINATIONS);
    for (int k = 0; k < n; k++) {
        MdErrors *errors = md_errors_create();
        configs[k] = state_config();
        design_apply(design, k, &configs[k]);
        CHECK(resolve(&configs[k], NULL, NULL, errors) == MD_OK);
        md_errors_destroy(errors);
    }
    return n;
}

static void test_pairs(MdConfig *configs) {
    MdConfig base = state_config();
    MdSystemPlan plan = {.n_atoms = 1000};
    Design *design = design_create(&made_up, &base, DESIGN_PAIRS, NULL, &plan, 1);
    int n = apply_all(design, configs), n_ruled_out = 0, n_covered = 0;
    for (int x = 0; x < MD_N_OPTIONS; x++)
        for (int y = x + 1; y < MD_N_OPTIONS; y++) {
            if (!is_walked(x) || !is_walked(y)) continue;
            for (int v = 0; md_switch_words(x)[v]; v++)
                for (int w = 0; md_switch_words(y)[w]; w++) {
                    char one[64], other[64];
                    snprintf(one, sizeof one, "%s=%s", md_option_name(x), md_switch_words(x)[v]);
                    snprintf(other, sizeof other, "%s=%s", md_option_name(y), md_switch_words(y)[w]);
                    bool expected = !is_ruled_out(one, other) && can_have_effect(x, v, y, w);
                    check_context("%s with %s", one, other);
                    CHECK(is_covered(configs, n, x, v, y, w) == expected);
                    n_covered += expected, n_ruled_out += is_ruled_out(one, other);
                }
        }
    CHECK(n_ruled_out == N_RULED_OUT);
    CHECK(n_covered > 5000);
    CHECK(n < 200); /* some 70 are the least: two switches have eight and seven values, and others need theirs */
    design_destroy(design);
}

static void test_singles(MdConfig *configs) {
    MdConfig base = state_config();
    MdSystemPlan plan = {.n_atoms = 1000};
    Design *design = design_create(&made_up, &base, DESIGN_SINGLES, "memory.sort", &plan, 1);
    int n = apply_all(design, configs);
    for (int x = 0; x < MD_N_OPTIONS; x++)
        for (int v = 0; is_walked(x) && md_switch_words(x)[v]; v++) {
            check_context("%s=%s", md_option_name(x), md_switch_words(x)[v]);
            bool fixed = x == MD_OPTION_memory_sort && v != base.memory_sort;
            fixed = fixed || x == MD_OPTION_memory_brick_grid ||
                    x == MD_OPTION_memory_brick_cells; /* without effect beside what is fixed */
            CHECK(is_covered(configs, n, x, v, x, v) == !fixed);
        }
    design_destroy(design);
}

/* What a fixed switch leaves without effect is not asked for. */
static void test_fixed(void) {
    MdConfig base = state_config();
    MdSystemPlan plan = {.n_atoms = 1000};
    check_context("reduce.method is fixed");
    CHECK(base.reduce_method == MD_METHOD_SHUFFLE);
    for (DesignKind kind = DESIGN_SINGLES; kind <= DESIGN_PAIRS; kind++) {
        Design *design = design_create(&made_up, &base, kind, "reduce.method", &plan, 1);
        for (int k = 0; k < design_count(design); k++) {
            char text[2048];
            design_describe(design, k, text, sizeof text);
            CHECK(strstr(text, "reduce.addressing") == NULL);
        }
        design_destroy(design);
    }
}

static MdStatus refuse_sort_none(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors) {
    if (config->memory_sort == MD_SORT_NONE) return md_fail(errors, MD_ERROR_INPUT, "not today");
    return resolve(config, plan, choices, errors);
}

static MdStatus refuse_by_choice(MdConfig *config, const MdSystemPlan *plan, MdChoices *choices, MdErrors *errors) {
    if (config->force_kernel == MD_KERNEL_AUTO && config->memory_sort == MD_SORT_NONE)
        return md_fail(errors, MD_ERROR_INPUT, "auto chose what cannot go with it");
    return resolve(config, plan, choices, errors);
}

/* The exit code of a test that makes this design. */
static int exit_code_of(const char *what, MdBackendOps ops, DesignKind kind) {
    printf("--- a child is to find out: %s\n", what);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        MdConfig base = state_config();
        MdSystemPlan plan = {.n_atoms = 1000};
        if (!freopen("/dev/null", "w", stdout)) _exit(-1);
        design_destroy(design_create(&ops, &base, kind, NULL, &plan, 1));
        int code = check_finish();
        fflush(stdout);
        _exit(code);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_refusals(void) {
    MdBackendOps refusing = made_up;
    check_context("a backend that refuses");
    CHECK(exit_code_of("nothing is wrong", made_up, DESIGN_PAIRS) == 0);
    refusing.resolve = refuse_sort_none;
    CHECK(exit_code_of("a value is refused", refusing, DESIGN_SINGLES) == 1);
    CHECK(exit_code_of("pairs are refused", refusing, DESIGN_PAIRS) == 1);
    refusing.resolve = refuse_by_choice;
    CHECK(exit_code_of("auto chooses wrong, and others take its place", refusing, DESIGN_SINGLES) == 0);
    CHECK(exit_code_of("auto chooses wrong in pairs", refusing, DESIGN_PAIRS) == 0);
    for (int k = 0; k < n_rows; k++)
        if (strcmp(rows[k].value, "memory.sort=morton") == 0) rows[k].needs = "run.precision=single memory.layout=soa";
        else if (strcmp(rows[k].value, "memory.layout=soa") == 0) rows[k].needs = "run.precision=double";
    check_context("a table that contradicts itself");
    CHECK(exit_code_of("a table that rules a value out", made_up, DESIGN_SINGLES) == 1);
}

int main(void) {
    make_table();
    MdConfig *configs = md_alloc(MAX_COMBINATIONS, sizeof *configs, "configurations");
    test_pairs(configs);
    test_singles(configs);
    md_free(configs);
    test_fixed();
    test_refusals();
    return check_finish();
}
