/*
 * libvisits.so records the entered functions, with their order, thread and arguments. It is for the tests of the
 * nesting. A breakpoint replaces the instruction that makes a function's frame (after the landing pad, if there is
 * one), and its handler does the work of the instruction, as the kernel does for a uprobe there. That is
 * `push %rbp` on x86-64, and on arm64 `stp x29, x30, [sp, -N]!`.
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

enum { PLACES = 128, VISITS = 4096 };

#ifdef __aarch64__
typedef uint32_t instruction;
enum { LANDING = 0xd503245f, BREAKPOINT = 0xd4200000 }; /* bti c; brk 0 */
#else
typedef uint8_t instruction;
enum { PUSH_RBP = 0x55, BREAKPOINT = 0xcc };
#endif

struct visit {
	int32_t place, tid;
	uint64_t arguments[5];
};

static instruction *places[PLACES], replaced[PLACES];
static int place_count, visit_count;
static struct visit visits[VISITS];

static int place_of(instruction *at)
{
	int i;

	for (i = 0; i < place_count && places[i] != at; i++)
		;
	if (i == place_count)
		_exit(99);	/* nobody's breakpoint */
	return i;
}

#ifdef __aarch64__
/* Returns where a function makes its frame, NULL where it does not begin in that way. */
static instruction *frame_of(instruction *function)
{
	instruction *at = function + (*function == LANDING);

	return (*at & ~0x003f8000u) == 0xa9807bfd ? at : NULL; /* stp x29, x30, [sp, N]! */
}

/* Does the work of the replaced instruction. Returns the place, and copies the arguments. */
static int steps(ucontext_t *context, uint64_t arguments[5])
{
	mcontext_t *m = &context->uc_mcontext;
	int place = place_of((instruction *)m->pc);
	int words = (int)(replaced[place] << 10) >> 25; /* the signed 7 bits from 15 on */

	m->sp += (uint64_t)(int64_t)words * 8;
	((uint64_t *)m->sp)[0] = m->regs[29];
	((uint64_t *)m->sp)[1] = m->regs[30];
	m->pc += 4;
	for (int n = 0; n < 5; n++)
		arguments[n] = m->regs[n];
	return place;
}
#else
static instruction *frame_of(instruction *function)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	instruction *at = function + (memcmp(function, endbr64, 4) ? 0 : 4);

	return *at == PUSH_RBP ? at : NULL;
}

static int steps(ucontext_t *context, uint64_t arguments[5])
{
	static const int registers[] = { REG_RDI, REG_RSI, REG_RDX, REG_RCX, REG_R8 };
	greg_t *r = context->uc_mcontext.gregs;

	r[REG_RSP] -= 8;
	*(greg_t *)r[REG_RSP] = r[REG_RBP];
	for (int n = 0; n < 5; n++)
		arguments[n] = (uint64_t)r[registers[n]];
	return place_of((instruction *)r[REG_RIP] - 1);
}
#endif

static void trapped(int signal, siginfo_t *info, void *context)
{
	struct visit visit = { .tid = (int32_t)syscall(SYS_gettid) };

	(void)signal, (void)info;
	visit.place = steps(context, visit.arguments);
	int n = __atomic_fetch_add(&visit_count, 1, __ATOMIC_RELAXED);
	if (n < VISITS)
		visits[n] = visit;
}

/* Returns the number of the place from now on; -1: the function does not begin in that way. */
EXPORT int visits_watch(instruction *function)
{
	struct sigaction action = { .sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	instruction *at = frame_of(function);
	uint8_t *page = (uint8_t *)((uintptr_t)at & ~(uintptr_t)(size - 1));

	if (!at || place_count == PLACES || sigaction(SIGTRAP, &action, NULL) ||
	    mprotect(page, size, PROT_READ | PROT_WRITE | PROT_EXEC))
		return -1;
	places[place_count] = at;
	replaced[place_count] = *at;
	*at = BREAKPOINT;
	__builtin___clear_cache((char *)at, (char *)(at + 1));
	mprotect(page, size, PROT_READ | PROT_EXEC);
	return place_count++;
}

/* Copies up to `most` visits since the last call, and removes them. Returns their number. */
EXPORT int visits_take(struct visit *out, int most)
{
	int n = __atomic_exchange_n(&visit_count, 0, __ATOMIC_RELAXED);

	memcpy(out, visits, sizeof *out * (size_t)(n < most ? n : most));
	return n;
}
