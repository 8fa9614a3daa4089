/*
 * libvisits.so records the entered functions, with their order, thread and arguments. It is for the tests of the
 * nesting. A breakpoint replaces the `push %rbp` with which a function begins (after endbr64, if there is one),
 * and its handler does the work of the instruction, as the kernel does for a uprobe there.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { PUSH_RBP = 0x55, BREAKPOINT = 0xcc, PLACES = 128, VISITS = 4096 };

struct visit {
	int32_t place, tid;
	uint64_t arguments[5];
};

static uint8_t *places[PLACES];
static int place_count, visit_count;
static struct visit visits[VISITS];

static void trapped(int signal, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint8_t *at = (uint8_t *)r[REG_RIP] - 1;
	int i;

	(void)signal, (void)info;
	for (i = 0; i < place_count && places[i] != at; i++)
		;
	if (i == place_count)
		_exit(99);	/* nobody's breakpoint */
	r[REG_RSP] -= 8;
	*(greg_t *)r[REG_RSP] = r[REG_RBP];
	int n = __atomic_fetch_add(&visit_count, 1, __ATOMIC_RELAXED);
	if (n < VISITS)
		visits[n] = (struct visit){ i, (int32_t)syscall(SYS_gettid),
					    { (uint64_t)r[REG_RDI], (uint64_t)r[REG_RSI], (uint64_t)r[REG_RDX], (uint64_t)r[REG_RCX],
					      (uint64_t)r[REG_R8] } };
}

/* Returns the number of the place from now on; -1: the function does not begin in that way. */
EXPORT int visits_watch(uint8_t *function)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	struct sigaction action = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	uint8_t *at = function + (memcmp(function, endbr64, 4) ? 0 : 4);
	uint8_t *page = (uint8_t *)((uintptr_t)at & ~(uintptr_t)4095);

	if (*at != PUSH_RBP || place_count == PLACES || sigaction(SIGTRAP, &action, NULL) ||
	    mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -1;
	places[place_count] = at;
	*at = BREAKPOINT;
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	return place_count++;
}

/* Copies up to `most` visits since the last call, and removes them. Returns their number. */
EXPORT int visits_take(struct visit *out, int most)
{
	int n = __atomic_exchange_n(&visit_count, 0, __ATOMIC_RELAXED);

	memcpy(out, visits, sizeof *out * (size_t)(n < most ? n : most));
	return n;
}
