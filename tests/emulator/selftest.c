/* The emulator's own test: a small program of kernels (selftest.cu) that must give what a GPU gives; memory of another process
 * (selftest_process.c); and planted faults that must stop the program (selftest_faults.c). */
#include <math.h>
#include <nvrtc.h>

#include "selftest_parts.h"

static CUmodule module;
cudaStream_t stream;

static char *read_source(void) {
    FILE *file = fopen(EMULATOR_SOURCE "/selftest.cu", "r");
    static char text[65536];
    if (!file) exit(1);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static nvrtcResult compile(const char *source, const char *option, char **image, char *log) {
    const char *header = "#define SELFTEST_INCREMENT 3\n", *name = "selftest.h";
    const char *options[] = {"--gpu-architecture=sm_90", "--std=c++17", option};
    size_t bytes = 0;
    nvrtcProgram program;
    nvrtcCreateProgram(&program, source, "selftest.cu", 1, &header, &name);
    nvrtcResult result = nvrtcCompileProgram(program, option ? 3 : 2, options);
    nvrtcGetProgramLogSize(program, &bytes);
    if (log && bytes < 65536) nvrtcGetProgramLog(program, log);
    if (result == NVRTC_SUCCESS && image) {
        nvrtcGetCUBINSize(program, &bytes);
        nvrtcGetCUBIN(program, *image = malloc(bytes));
    }
    nvrtcDestroyProgram(&program);
    return result;
}

CUfunction function(const char *name) {
    CUfunction f = NULL;
    if (!CHECK(cuModuleGetFunction(&f, module, name) == CUDA_SUCCESS)) exit(check_finish());
    return f;
}

void launch(const char *name, unsigned blocks, unsigned threads, unsigned shared, void **arguments) {
    check_context("%s", name);
    const CUlaunchConfig config = {blocks, 1, 1, threads, 1, 1, shared, stream, NULL, 0};
    CHECK(cuLaunchKernelEx(&config, function(name), arguments, NULL) == CUDA_SUCCESS);
}

void *device(size_t bytes) {
    void *data = NULL;
    CHECK(cudaMalloc(&data, bytes) == cudaSuccess);
    return data;
}

void to_device(void *data, const void *host, size_t bytes) {
    CHECK(cudaMemcpyAsync(data, host, bytes, cudaMemcpyHostToDevice, stream) == cudaSuccess);
}

void to_host(void *host, const void *data, size_t bytes) {
    CHECK(cudaMemcpyAsync(host, data, bytes, cudaMemcpyDeviceToHost, stream) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
}

void load(void) {
    static char log[65536];
    char *image = NULL;
    if (compile(read_source(), NULL, &image, log) != NVRTC_SUCCESS) {
        printf("%s\n", log);
        exit(1);
    }
    CHECK(cuModuleLoadData(&module, image) == CUDA_SUCCESS);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    free(image);
}

void finish(void) {
    CHECK(cuModuleUnload(module) == CUDA_SUCCESS);
    CHECK(cudaStreamDestroy(stream) == cudaSuccess);
}

/* --- what has to work ----------------------------------------------------------------------------------------------- */

static void test_threads(void) {
    enum { N = 1000 };
    float a[N], b[N], c[N];
    for (int i = 0; i < N; i++) a[i] = (float)i, b[i] = 0.5f;
    void *d_a = device(sizeof a), *d_b = device(sizeof b), *d_c = device(sizeof c);
    to_device(d_a, a, sizeof a);
    to_device(d_b, b, sizeof b);
    int n = N - 1;
    void *arguments[] = {&n, &d_a, &d_b, &d_c};
    launch("k_add", 4, 256, 0, arguments);
    to_host(c, d_c, sizeof c);
    bool right = true;
    for (int i = 0; i < n; i++) right = right && c[i] == (float)i + 0.5f;
    CHECK(right);
    CHECK(isnan(c[n])); /* never written: all bits set */
    void *sums[] = {&n, &d_a, &d_b};
    launch("k_block_sum", 8, 128, 0, sums);
    to_host(b, d_b, sizeof b);
    float total = 0;
    for (int k = 0; k < 8; k++) total += b[k];
    CHECK(total == 498501);
    void *broken[] = {&d_a, &d_b};
    launch("k_block_sum_broken", 1, 128, 0, broken);
    to_host(b, d_b, sizeof b);
    CHECK(!(b[0] == 8128)); /* a missing barrier shows */
    launch("k_uninitialised", 1, 32, 0, &broken[1]);
    to_host(b, d_b, sizeof b);
    CHECK(isnan(b[0]));
    unsigned index[3];
    void *out[] = {&d_c};
    const CUlaunchConfig config = {1, 2, 1, 4, 3, 2, 0, stream, NULL, 0};
    CHECK(cuLaunchKernelEx(&config, function("k_index"), out, NULL) == CUDA_SUCCESS);
    to_host(index, d_c, sizeof index);
    CHECK(index[0] == 3 && index[1] == 2 && index[2] == 0);
    cudaFree(d_a);
    cudaFree(d_b);
    cudaFree(d_c);
}

static void test_warps(void) {
    int in[32], out[256], sum = 0;
    unsigned odd = 0;
    for (int t = 0; t < 32; t++) {
        in[t] = t * 7 % 31;
        sum += in[t];
        odd |= (unsigned)(in[t] & 1) << t;
    }
    void *d_in = device(sizeof in), *d_out = device(sizeof out), *arguments[] = {&d_in, &d_out};
    to_device(d_in, in, sizeof in);
    launch("k_warp", 1, 32, 0, arguments);
    to_host(out, d_out, sizeof out);
    for (int t = 0; t < 32; t++) {
        const int *o = &out[8 * t];
        int same = 0;
        for (int l = t & 16; l < (t & 16) + 16; l++) same += (in[l] & 3) == (in[t] & 3);
        CHECK(o[0] == sum && (unsigned)o[1] == odd && o[2] == 30);
        CHECK(o[3] == in[t ^ 3] && o[4] == in[t % 8 ? t - 1 : t] && o[5] == 3 && o[6] == same && o[7] == 1);
    }
    cudaFree(d_in);
    cudaFree(d_out);
}

static void test_memory(void) {
    struct {
        unsigned long long l;
        double d;
        int i;
        unsigned u;
        float f;
    } host = {100, 0, 0, 0, 0}, *d = device(sizeof host);
    to_device(d, &host, sizeof host);
    void *i = &d->i, *u = &d->u, *f = &d->f, *dd = &d->d, *l = &d->l, *arguments[] = {&i, &u, &f, &dd, &l};
    launch("k_atomics", 3, 100, 0, arguments);
    to_host(&host, d, sizeof host);
    CHECK(host.i == 300 && host.u == 2099 && host.f == 150 && host.d == 75 && host.l == 7);
    cudaFree(d);

    float out[16];
    void *d_out = device(sizeof out), *only_out[] = {&d_out};
    launch("k_dynamic", 1, 16, sizeof out, only_out);
    to_host(out, d_out, sizeof out);
    CHECK(out[0] == 15 && out[15] == 0);

    const float scale[4] = {1, 2, 3, 4};
    CUdeviceptr c_scale = 0;
    size_t bytes = 0;
    CHECK(cuModuleGetGlobal(&c_scale, &bytes, module, "c_scale") == CUDA_SUCCESS && bytes == sizeof scale);
    to_device((void *)c_scale, scale, sizeof scale);
    launch("k_constant", 1, 16, 0, only_out);
    to_host(out, d_out, sizeof out);
    CHECK(out[0] == 1 && out[7] == 4);

    float texels[16];
    for (int k = 0; k < 16; k++) texels[k] = (float)k;
    void *d_texels = device(sizeof texels);
    to_device(d_texels, texels, sizeof texels);
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};
    resource.res.linear.devPtr = d_texels;
    resource.res.linear.sizeInBytes = sizeof texels;
    resource.res.linear.desc = (struct cudaChannelFormatDesc){32, 32, 32, 32, cudaChannelFormatKindFloat};
    struct cudaTextureDesc how = {.readMode = cudaReadModeElementType};
    cudaTextureObject_t texture = 0;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, NULL) == cudaSuccess);
    int n = 4;
    void *of_texture[] = {&texture, &n, &d_out};
    launch("k_texture", 1, 32, 0, of_texture);
    to_host(out, d_out, sizeof out);
    CHECK(out[3] == 12 + 130 + 1400 + 15000);
    cudaDestroyTextureObject(texture);
    cudaFree(d_texels);
    cudaFree(d_out);
}

static void test_cooperative(void) {
    enum { BLOCKS = 24, THREADS = 64, N = BLOCKS * THREADS };
    int out[N], zeros[2] = {0, 0}, *d = device(sizeof zeros);
    void *d_out = device(sizeof out), *count = d, *sum = d + 1, *arguments[] = {&count, &sum, &d_out};
    to_device(d, zeros, sizeof zeros);
    CUfunction f = function("k_cooperative");
    check_context("k_cooperative");
    CHECK(cuLaunchCooperativeKernel(f, BLOCKS, 1, 1, THREADS, 1, 1, THREADS * sizeof(int), stream, arguments) ==
          CUDA_SUCCESS);
    to_host(out, d_out, sizeof out);
    bool right = true;
    for (int k = 0; k < N; k++)
        right = right && out[k] == (int)(BLOCKS * (BLOCKS - 1) / 2 + 1000 * (k / THREADS) + 1000000u * (unsigned)k);
    CHECK(right);
    CHECK(cuLaunchCooperativeKernel(f, 1000, 1, 1, THREADS, 1, 1, 0, stream, arguments) ==
          CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    cudaFree(d);
    cudaFree(d_out);
}

/* Blocks of a queue live together, also more of them than fit, of which the last find nothing. */
static void test_queue(void) {
    unsigned words[5] = {0}, most = 0;
    for (unsigned blocks = 1; blocks <= 300; blocks += 299)
        for (int time = 0; time < 4; time++) {
            int n_items = 500;
            unsigned *d = device(sizeof words);
            void *place[5], *arguments[6] = {&n_items};
            for (int k = 0; k < 5; k++) place[k] = d + k, arguments[k + 1] = &place[k], words[k] = 0;
            to_device(d, words, sizeof words);
            launch("k_relay_queue", blocks, 1, 0, arguments);
            to_host(words, d, sizeof words);
            CHECK(words[0] == 500 + blocks && words[1] == 500 && words[2] == 0 && words[4] == 500);
            CHECK(blocks > 1 || words[3] == 1);
            most = words[3] > most ? words[3] : most;
            cudaFree(d);
        }
    CHECK(most > 32);
}

static void test_groups(void) {
    enum { BLOCKS = 3, THREADS = 64, N = BLOCKS * THREADS };
    int out[N], zero = 0;
    void *counter = device(sizeof zero), *d_out = device(sizeof out), *arguments[] = {&counter, &d_out};
    to_device(counter, &zero, sizeof zero);
    check_context("k_groups");
    CHECK(cuLaunchCooperativeKernel(function("k_groups"), BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, arguments) ==
          CUDA_SUCCESS);
    to_host(out, d_out, sizeof out);
    CHECK(out[64] == 64 * 64 + 63 * 32 && out[65] == N && out[9] == 8 * 8 + 28);
    cudaFree(counter);
    cudaFree(d_out);
}

static int attribute(const char *name, CUfunction_attribute which) {
    int value = -1;
    CHECK(cuFuncGetAttribute(&value, which, function(name)) == CUDA_SUCCESS);
    return value;
}

static void test_functions(void) {
    int blocks = 0;
    check_context("functions");
    CHECK(attribute("k_add", CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 256);
    CHECK(attribute("k_add", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 0);
    CHECK(attribute("k_block_sum", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 512);
    CHECK(attribute("k_shared_size", CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 96);
    CUfunction f = function("k_dynamic");
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 0) == CUDA_SUCCESS && blocks == 16);
    CHECK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, 128, 40000) == CUDA_SUCCESS && blocks == 5);
    CHECK(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000) == CUDA_SUCCESS);
    void *d_out = device(1024 * sizeof(float)), *arguments[] = {&d_out};
    launch("k_dynamic", 1, 1024, 60000, arguments);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    cudaFree(d_out);
}

static void test_streams(void) {
    int *pinned = NULL, zero = 0, *d = device(sizeof zero);
    void *arguments[] = {&d};
    cudaEvent_t copied = NULL, other = NULL;
    cudaStream_t second;
    check_context("streams");
    CHECK(cudaMallocHost((void **)&pinned, sizeof *pinned) == cudaSuccess);
    CHECK(cudaEventCreate(&copied) == cudaSuccess && cudaEventCreate(&other) == cudaSuccess);
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking) == cudaSuccess);
    to_device(d, &zero, sizeof zero);
    zero = 77; /* pageable memory is copied when the copy is issued */
    launch("k_increment", 1, 1, 0, arguments);
    *pinned = -1;
    cudaMemcpyAsync(pinned, d, sizeof *pinned, cudaMemcpyDeviceToHost, stream);
    cudaEventRecord(copied, stream);
    launch("k_increment", 1, 1, 0, arguments);
    CHECK(*pinned == -1); /* nobody has waited */
    CHECK(cudaEventSynchronize(copied) == cudaSuccess);
    CHECK(*pinned == 3);
    /* another stream takes over by an event */
    cudaEventRecord(other, stream);
    CHECK(cudaStreamWaitEvent(second, other, 0) == cudaSuccess);
    cudaMemcpyAsync(pinned, d, sizeof *pinned, cudaMemcpyDeviceToHost, second);
    CHECK(cudaStreamSynchronize(second) == cudaSuccess && *pinned == 6);
    float elapsed = -1;
    CHECK(cudaEventElapsedTime(&elapsed, copied, other) == cudaSuccess && elapsed >= 0);
    /* an answer comes by polling */
    launch("k_increment", 1, 1, 0, arguments);
    cudaEventRecord(copied, stream);
    int polls = 0;
    while (cudaEventQuery(copied) == cudaErrorNotReady) polls++;
    CHECK(polls == 1);
    CHECK(cudaGetLastError() == cudaErrorNotReady && cudaGetLastError() == cudaSuccess);

    check_context("graph");
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    size_t nodes = 0;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    launch("k_increment", 1, 1, 0, arguments);
    cudaMemcpyAsync(pinned, d, sizeof *pinned, cudaMemcpyDeviceToHost, stream);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
    CHECK(cudaGraphGetNodes(graph, NULL, &nodes) == cudaSuccess && nodes == 2);
    CHECK(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);
    for (int k = 0; k < 3; k++) CHECK(cudaGraphLaunch(executable, stream) == cudaSuccess);
    CHECK(*pinned == 6);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess && *pinned == 9 + 9);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
    CHECK(cudaStreamSynchronize(stream) == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated);
    (void)cudaGetLastError();
    cudaGraphExecDestroy(executable);
    cudaEventDestroy(copied);
    cudaEventDestroy(other);
    cudaStreamDestroy(second);
    cudaFreeHost(pinned);
    cudaFree(d);
}

static void test_compiler(void) {
    static char log[65536];
    check_context("compiler");
    CHECK(compile("extern \"C\" __global__ void k(int *a) { a[0] = b; }", NULL, NULL, log) == NVRTC_ERROR_COMPILATION);
    CHECK(strstr(log, "selftest.cu:1") != NULL);
    CHECK(compile("#include <cub/device/device_reduce.cuh>\n", NULL, NULL, log) == NVRTC_ERROR_COMPILATION);
    CHECK(strstr(log, "not emulated") != NULL);
    CHECK(compile("", "--no-such-option", NULL, log) == NVRTC_ERROR_INVALID_OPTION);
    char nothing[64] = "no image";
    CUmodule other;
    CHECK(cuModuleLoadData(&other, nothing) == CUDA_ERROR_NO_BINARY_FOR_GPU);
}

int main(void) {
    start_other(); /* before the emulator has begun */
    load();
    meet_other();
    test_faults();
    test_threads();
    test_warps();
    test_memory();
    test_cooperative();
    test_queue();
    test_groups();
    test_functions();
    test_streams();
    test_compiler();
    test_other(); /* from then on nothing runs late */
    finish();
    return check_finish();
}
