/* The variants of the cuda backend: one row for each, and which one a context runs.
 *
 * Bytes and operations are models of main-memory traffic in mixed precision, per atom and per list entry of one call;
 * caches are taken to hold what is read again at once. */
#include <stdio.h>

#include "cuda/context.h"

static const MdVariant variants[] = {
    {"sort", "none", "memory.sort=none", "", true, 120, 20, 0, 0,
     "wraps; cells by index: every gather of the force kernel is a transaction of its own"},
    {"sort", "cell", "memory.sort=cell", "", true, 380, 60, 0, 0,
     "one read and one write of all arrays a rebuild, and room for a second copy of them"},
    {"neighbor", "brute-atomic-row", "neighbor.search=brute neighbor.write=atomic neighbor.order=row", "", false, 24, 0,
     12, 0, "N^2/2 distances; atomics to both rows; uncoalesced list"},
    {"neighbor", "brute-atomic-column", "neighbor.search=brute neighbor.write=atomic neighbor.order=column", "", false,
     24, 0, 12, 0, "N^2/2 distances; atomics to both rows"},
    {"neighbor", "brute-nonatomic-row", "neighbor.search=brute neighbor.write=nonatomic neighbor.order=row", "", true,
     20, 0, 4, 0, "N^2 distances; uncoalesced list"},
    {"neighbor", "brute-nonatomic-column", "neighbor.search=brute neighbor.write=nonatomic neighbor.order=column", "",
     true, 20, 0, 4, 0, "N^2 distances"},
    {"neighbor", "cell-atomic-row", "neighbor.search=cell neighbor.write=atomic neighbor.order=row", "", false, 32, 0,
     12, 70, "about 6.4 distances an entry, half of them skipped early; atomics to both rows; uncoalesced list"},
    {"neighbor", "cell-atomic-column", "neighbor.search=cell neighbor.write=atomic neighbor.order=column", "", false,
     32, 0, 12, 70, "about 6.4 distances an entry, half of them skipped early; atomics to both rows"},
    {"neighbor", "cell-nonatomic-row", "neighbor.search=cell neighbor.write=nonatomic neighbor.order=row", "", true, 28,
     0, 4, 110, "about 6.4 distances an entry; uncoalesced list"},
    {"neighbor", "cell-nonatomic-column", "neighbor.search=cell neighbor.write=nonatomic neighbor.order=column", "",
     true, 28, 0, 4, 110, "about 6.4 distances an entry"},
    {"force", "list", "", "full list", true, 36, 3, 4, 34,
     "each pair twice; one gather of 16 bytes (double: 32) an entry"},
    {"integrate", "kick-drift", "neighbor.rebuild=every", "", true, 192, 18, 0, 0,
     "every array read and written once by each half step"},
    {"integrate", "kick-drift-check", "neighbor.rebuild=host-check", "", true, 208, 26, 0, 0,
     "one more read, one atomic a block, and the host waits once a step"},
    {"reduce", "shared-two-pass", "", "", true, 48, 22, 0, 0, "a second small kernel, for the same bits in every run"},
    {"gather", "staging", "", "", true, 80, 0, 0, 0, "the loop waits for the bus"},
};

static const char *const stage_names[CUDA_N_STAGES] = {"sort", "neighbor", "force", "integrate", "reduce", "gather"};

MdVariantTable cuda_variants(void) { return MdVariantTable{variants, (int)(sizeof variants / sizeof *variants)}; }

/* The name that the switches of a context ask for. */
static void variant_name(const CudaContext *context, CudaStage stage, char *name, size_t size) {
    const char *plain[CUDA_N_STAGES] = {context->sort == MD_SORT_CELL ? "cell" : "none",
                                        NULL,
                                        "list",
                                        context->rebuild == MD_REBUILD_HOST_CHECK ? "kick-drift-check" : "kick-drift",
                                        "shared-two-pass",
                                        "staging"};
    if (plain[stage]) snprintf(name, size, "%s", plain[stage]);
    else
        snprintf(name, size, "%s-%s-%s", context->search == MD_SEARCH_CELL ? "cell" : "brute",
                 context->write == MD_LIST_WRITE_ATOMIC ? "atomic" : "nonatomic",
                 context->list_order == MD_LIST_ORDER_COLUMN ? "column" : "row");
}

/* Nothing but what is asked for can run here: no value of these switches chooses. */
void cuda_variant_describe(const CudaContext *context, CudaStage stage, MdStageTime *time) {
    char name[64];
    variant_name(context, stage, name, sizeof name);
    md_variant_describe(cuda_variants(), stage_names[stage], name, time);
}
