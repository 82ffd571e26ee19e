/* The emulator's own test: what has to be caught, each in a process of its own. */
#include "selftest_parts.h"

enum { STOPPED = 99 };

static void launch_dependent(const char *name, void **arguments) {
    check_context("%s, dependent", name);
    CUlaunchAttribute dependent = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    dependent.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config = {2, 1, 1, 32, 1, 1, 0, stream, &dependent, 1};
    CHECK(cuLaunchKernelEx(&config, function(name), arguments, NULL) == CUDA_SUCCESS);
}

static void run_kernel(const char *name, unsigned threads, unsigned shared) {
    int n = 32;
    void *d = device(128), *one[] = {&d}, *two[] = {&n, &d}, *null = NULL, *none[] = {&null};
    bool counted = strcmp(name, "k_behind") == 0 || strcmp(name, "k_shared_index") == 0;
    launch(name, 1, threads, shared, strcmp(name, "k_null") == 0 ? none : counted ? two : one);
    cudaStreamSynchronize(stream);
    cudaFree(d);
}
static void fault_divergent(void) { run_kernel("k_divergent", 64, 0); }
static void fault_two_barriers(void) { run_kernel("k_two_barriers", 32, 0); }
static void fault_behind(void) { run_kernel("k_behind", 32, 0); }
static void fault_before(void) { run_kernel("k_before", 32, 0); }
static void fault_null(void) { run_kernel("k_null", 1, 0); }
static void fault_shared_index(void) { run_kernel("k_shared_index", 32, 0); }
static void fault_dynamic_behind(void) { run_kernel("k_dynamic_behind", 32, 128); }
static void fault_warp_missing(void) { run_kernel("k_warp_missing", 32, 0); }
static void fault_warp_foreign(void) { run_kernel("k_warp_foreign", 32, 0); }
static void fault_dependent(void) {
    void *d = device(128), *arguments[] = {&d};
    launch_dependent("k_waits", arguments);
    launch_dependent("k_does_not_wait", arguments);
    cudaStreamSynchronize(stream);
    cudaFree(d);
}
static void fault_launch_bounds(void) { run_kernel("k_add", 257, 0); }
static void fault_launch_threads(void) { run_kernel("k_index", 1025, 0); }
static void fault_launch_empty(void) { run_kernel("k_index", 0, 0); }
static void fault_launch_shared(void) { run_kernel("k_dynamic", 32, 49 * 1024); }
static void fault_slack(void) { /* the last bytes before the guard page */
    int n = 1;
    void *d = device(4), *arguments[] = {&n, &d};
    launch("k_behind", 1, 1, 0, arguments);
    cudaFree(d);
}
static void fault_freed(void) {
    void *d = device(128), *arguments[] = {&d};
    cudaFree(d);
    launch("k_increment", 1, 1, 0, arguments);
    cudaStreamSynchronize(stream);
}
static void fault_free_twice(void) {
    void *d = device(128);
    cudaFree(d);
    cudaFree(d);
}
static void fault_free_foreign(void) { cudaFree(&stream); }
static void fault_free_pinned(void) {
    void *d = NULL;
    cudaMallocHost(&d, 8);
    cudaFree(d);
}
static void fault_copy(void) {
    char host[64] = "";
    to_device(device(32), host, sizeof host);
}
static void fault_copy_kind(void) {
    char host[64];
    cudaMemcpyAsync(host, device(64), 64, cudaMemcpyHostToDevice, stream);
}
static void fault_texture(void) {
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};
    struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
    cudaTextureObject_t texture = 0;
    int n = 5;
    void *d = device(128), *arguments[] = {&texture, &n, &d};
    resource.res.linear.devPtr = d;
    resource.res.linear.sizeInBytes = 64;
    resource.res.linear.desc = (struct cudaChannelFormatDesc){32, 32, 32, 32, cudaChannelFormatKindFloat};
    cudaCreateTextureObject(&texture, &resource, &how, NULL);
    launch("k_texture", 1, 32, 0, arguments);
    cudaStreamSynchronize(stream);
}
static void fault_host(void) { printf("%d\n", *(volatile int *)device(8)); }
static void fault_leak(void) { (void)device(8); }
static void fault_stream(void) {
    cudaStream_t more;
    cudaStreamCreate(&more);
}

static void fault_map_own(void) {
    cudaIpcMemHandle_t handle;
    void *d = device(8);
    cudaIpcGetMemHandle(&handle, d);
    cudaIpcOpenMemHandle(&d, handle, cudaIpcMemLazyEnablePeerAccess);
}
static void fault_export_inside(void) {
    cudaIpcMemHandle_t handle;
    cudaIpcGetMemHandle(&handle, (char *)device(8) + 4);
}
static void fault_export_mapped(void) {
    cudaIpcMemHandle_t handle;
    cudaIpcGetMemHandle(&handle, map());
}
static void fault_free_mapped(void) { cudaFree(map()); }
static void fault_close_own(void) { cudaIpcCloseMemHandle(device(8)); }
static void fault_close_twice(void) {
    void *data = map();
    cudaIpcCloseMemHandle(data);
    cudaIpcCloseMemHandle(data);
}
static void fault_mapped_too_long(void) {
    char host[2 * WORDS_BYTES] = "";
    to_device(map(), host, sizeof host);
}
static void fault_mapped_left(void) { (void)map(); }

static const struct {
    const char *name, *says;
    void (*run)(void);
} faults[] = {
    {"divergent barrier", "which 17 of the 64 live threads", fault_divergent},
    {"two barriers", "divergent barrier", fault_two_barriers},
    {"access behind", "of device memory of 128 bytes (cudaMalloc)", fault_behind},
    {"access before", "was written before its begin", fault_before},
    {"null", "access to (nil)", fault_null},
    {"index in shared memory", "index outside of an array", fault_shared_index},
    {"behind dynamic shared memory", "behind the dynamic shared memory", fault_dynamic_behind},
    {"lane missing", "lanes 0x80000000 of the mask do not come", fault_warp_missing},
    {"lane not in its mask", "lacks the calling lane 0", fault_warp_foreign},
    {"no wait for the kernel before", "k_does_not_wait: launched as a dependent kernel", fault_dependent},
    {"launch bounds", "more than its launch bounds of 256", fault_launch_bounds},
    {"too many threads", "blocks of 1025 x 1 x 1 threads", fault_launch_threads},
    {"no threads", "blocks of 0 x 1 x 1 threads", fault_launch_empty},
    {"too much shared memory", "50176 bytes of dynamic shared memory", fault_launch_shared},
    {"write into the slack", "was written behind its end", fault_slack},
    {"freed memory", "128 bytes that is freed", fault_freed},
    {"freed twice", "which is freed already", fault_free_twice},
    {"foreign memory freed", "not the begin of an allocation", fault_free_foreign},
    {"pinned memory freed as device memory", "cudaFree of pinned host memory", fault_free_pinned},
    {"copy too long", "64 bytes from byte 0 of device memory of 32 bytes", fault_copy},
    {"copy of the wrong kind", "does not fit its pointers", fault_copy_kind},
    {"texture index", "of element 4 of a texture of 4", fault_texture},
    {"host touches device memory", "the host accesses", fault_host},
    {"leak", "8 bytes of device memory not freed (cudaMalloc)", fault_leak},
    {"own memory mapped", "cannot be mapped", fault_map_own},
    {"inside of memory given to others", "not the begin of an allocation", fault_export_inside},
    {"mapped memory given to others", "cudaIpcGetMemHandle of memory of another process", fault_export_mapped},
    {"mapped memory freed", "cudaFree of memory of another process", fault_free_mapped},
    {"own memory unmapped", "cudaIpcCloseMemHandle of memory of this process", fault_close_own},
    {"unmapped twice", "which is freed already", fault_close_twice},
    {"copy into mapped memory too long", "64 bytes from byte 0 of device memory of 32 bytes", fault_mapped_too_long},
    {"mapped memory left", "32 bytes of device memory not freed (cudaIpcOpenMemHandle)", fault_mapped_left},
    {"stream not destroyed", "1 streams and 0 events not destroyed", fault_stream},
};

static void test_fault(size_t k) {
    int ends[2], status = 0;
    char said[4096] = "";
    if (pipe(ends) != 0) exit(1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        dup2(ends[1], 2);
        faults[k].run();
        finish();
        exit(0);
    }
    close(ends[1]);
    for (size_t n = 0; n < sizeof said - 1;) {
        ssize_t more = read(ends[0], said + n, sizeof said - 1 - n);
        if (more <= 0) break;
        n += (size_t)more;
        said[n] = 0;
    }
    close(ends[0]);
    waitpid(child, &status, 0);
    check_context("%s: %s", faults[k].name, said);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == STOPPED);
    CHECK(strstr(said, faults[k].says) != NULL);
}

void test_faults(void) {
    for (size_t k = 0; k < sizeof faults / sizeof faults[0]; k++) test_fault(k);
}
