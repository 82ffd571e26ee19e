/* Fibers: stacks and the switch between them. swapcontext asks the system twice for each switch; the few lines of
 * assembly do not. */
#define _GNU_SOURCE 1
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "emulator.h"

/* Each page without access parts a mapping, of which a process has some 65,000. */
enum { STACK_BYTES = 64 * 1024, PAGE = 4096, MOST_FENCED = 16384 };

static char *stacks; /* each with a page below it, which is without access for the first MOST_FENCED of them */
static int *free_stacks, n_free, n_used;
static EmulatorFiber *started;

void emulator_lane_body(EmulatorFiber *fiber);

/* Of all threads that the GPU holds at once. */
static int most_stacks(void) { return (int)(emulator_gpu()->n_sms * emulator_gpu()->sm_threads); }

static char *stack_at(int stack) { return stacks + (size_t)stack * (STACK_BYTES + PAGE); }

static int take_stack(void) {
    if (n_free > 0) return free_stacks[--n_free];
    if (!stacks) {
        stacks = mmap(NULL, (size_t)most_stacks() * (STACK_BYTES + PAGE), PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        free_stacks = malloc((size_t)most_stacks() * sizeof *free_stacks);
        if (stacks == MAP_FAILED || !free_stacks) emulator_fail("no memory for the stacks of the threads");
    }
    const size_t fence = n_used < MOST_FENCED ? PAGE : 0;
    if (n_used == most_stacks() ||
        mprotect(stack_at(n_used) + fence, STACK_BYTES + PAGE - fence, PROT_READ | PROT_WRITE) != 0)
        emulator_fail("no memory for the stacks of the threads");
    return n_used++;
}

bool emulator_fiber_overflow(const void *address) {
    const uintptr_t offset = (uintptr_t)address - (uintptr_t)stacks, stack = offset / (STACK_BYTES + PAGE);
    return stacks && stack < (uintptr_t)n_used && stack < MOST_FENCED && offset % (STACK_BYTES + PAGE) < PAGE;
}

/* The top of a stack. Tops that lie a power of two apart would all compete for the same lines of the cache. */
static char *stack_top(int stack) { return stack_at(stack) + PAGE + STACK_BYTES - (stack % 32) * 192; }

static void fiber_main(void) {
    EmulatorFiber *fiber = started;
    emulator_lane_body(fiber);
    fiber->ended = true;
    emulator_fiber_pause(fiber);
    __builtin_unreachable();
}

#if defined __x86_64__
static void *host_pointer;

/* Saves what the calling convention preserves, leaves the stack pointer in *save and goes on at `to`. */
void emulator_switch(void **save, void *to);
__asm__(".text\n.p2align 4\n.globl emulator_switch\n.hidden emulator_switch\n.type emulator_switch,@function\n"
        "emulator_switch:\n"
        "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
        "movq %rsp,(%rdi)\nmovq %rsi,%rsp\n"
        "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
        ".size emulator_switch,.-emulator_switch\n");

void emulator_fiber_run(EmulatorFiber *fiber) {
    if (fiber->stack < 0) {
        fiber->stack = take_stack();
        /* six registers, the address to return to, and one more: at a function's entry the stack is 8 off 16 */
        void **top = (void **)stack_top(fiber->stack) - 8;
        for (int k = 0; k < 8; k++) top[k] = NULL;
        *(void (**)(void))(top + 6) = fiber_main;
        fiber->pointer = top;
        started = fiber;
    }
    emulator_switch(&host_pointer, fiber->pointer);
    if (fiber->ended) {
        free_stacks[n_free++] = fiber->stack;
        fiber->stack = -1;
    }
}

void emulator_fiber_pause(EmulatorFiber *fiber) { emulator_switch(&fiber->pointer, host_pointer); }
#else
#include <ucontext.h>

static ucontext_t host_context, *contexts;

void emulator_fiber_run(EmulatorFiber *fiber) {
    if (fiber->stack < 0) {
        fiber->stack = take_stack();
        if (!contexts) contexts = calloc((size_t)most_stacks(), sizeof *contexts);
        if (!contexts) emulator_fail("no memory for the stacks of the threads");
        ucontext_t *context = &contexts[fiber->stack];
        getcontext(context);
        context->uc_stack.ss_sp = stack_at(fiber->stack) + PAGE;
        context->uc_stack.ss_size = (size_t)(stack_top(fiber->stack) - stack_at(fiber->stack) - PAGE);
        context->uc_link = NULL;
        makecontext(context, fiber_main, 0);
        started = fiber;
    }
    swapcontext(&host_context, &contexts[fiber->stack]);
    if (fiber->ended) {
        free_stacks[n_free++] = fiber->stack;
        fiber->stack = -1;
    }
}

void emulator_fiber_pause(EmulatorFiber *fiber) { swapcontext(&contexts[fiber->stack], &host_context); }
#endif
