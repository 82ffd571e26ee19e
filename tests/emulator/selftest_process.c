/* The emulator's own test: two processes that share memory of the emulated GPU. */
#include "selftest_parts.h"

/* It has no call of the emulator in common with this one. Both talk by words in its memory. */
enum { ROUNDS = 50 };
static struct {
    pid_t process;
    int ask, answer; /* ends of pipes */
    cudaIpcMemHandle_t handle;
} other;

static void talk(void *data, int own) {
    unsigned long long words[2];
    unsigned shorts[4];
    int n = ROUNDS;
    void *behind = (char *)data + sizeof words, *arguments[] = {&data, &behind, &own, &n};
    launch("k_talk", 1, 1, 0, arguments);
    to_host(words, data, sizeof words);
    to_host(shorts, behind, sizeof shorts);
    CHECK(words[own] == (unsigned long long)ROUNDS << 32 && shorts[own] == 10 * ROUNDS + 1u - (unsigned)own);
}

static void be_the_other(int questions, int answers) {
    char question;
    const char nothing[WORDS_BYTES] = "";
    alarm(300);
    load();
    void *data = device(sizeof nothing);
    to_device(data, nothing, sizeof nothing);
    CHECK(cudaStreamSynchronize(stream) == cudaSuccess);
    CHECK(cudaIpcGetMemHandle(&other.handle, data) == cudaSuccess);
    CHECK(write(answers, &other.handle, sizeof other.handle) == sizeof other.handle);
    while (read(questions, &question, 1) == 1 && question == 't') talk(data, 1);
    cudaFree(data);
    finish();
    exit(check_finish());
}

void start_other(void) {
    int questions[2], answers[2];
    if (pipe(questions) != 0 || pipe(answers) != 0) exit(1);
    other.process = fork();
    if (other.process == 0) {
        close(questions[1]);
        be_the_other(questions[0], answers[1]);
    }
    close(questions[0]);
    other.ask = questions[1];
    other.answer = answers[0];
}

void meet_other(void) { CHECK(read(other.answer, &other.handle, sizeof other.handle) == sizeof other.handle); }

void *map(void) {
    void *data = NULL;
    CHECK(cudaIpcOpenMemHandle(&data, other.handle, cudaIpcMemLazyEnablePeerAccess) == cudaSuccess);
    return data;
}

void test_other(void) {
    int status = 1;
    void *data = map();
    check_context("another process");
    CHECK(write(other.ask, "t", 1) == 1);
    talk(data, 0);
    CHECK(cudaIpcCloseMemHandle(data) == cudaSuccess);
    CHECK(write(other.ask, "e", 1) == 1);
    waitpid(other.process, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
