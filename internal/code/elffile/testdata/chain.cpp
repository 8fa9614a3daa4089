// A program that calls itself in many ways. At the end of each chain of calls it writes down everything that an
// unwinder starts from (registers, the top of the stack, the mappings), and the result of libgcc's backtrace(), which
// is the truth. Nothing here knows the tracer.
//
//   chain DIR    writes DIR/0, DIR/1, … and DIR/maps
#include <alloca.h>
#include <execinfo.h>
#include <pthread.h>
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

static const char *directory;
static int written;

// One file: ip, sp, bp, the register with the return address, how many bytes of the stack, the number of calls; the
// bytes; the calls' return addresses.
static void save(const ucontext_t &at, void *const *calls, int count)
{
#ifdef __aarch64__
	const mcontext_t &m = at.uc_mcontext;
	uint64_t ip = m.pc, sp = m.sp, bp = m.regs[29], link = m.regs[30], size = 32 << 10;
#else
	const greg_t *r = at.uc_mcontext.gregs;
	uint64_t ip = r[REG_RIP], sp = r[REG_RSP], bp = r[REG_RBP], link = 0, size = 32 << 10;
#endif
	pthread_attr_t attributes;
	void *low;
	size_t length;
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &length);
	if (sp + size > (uintptr_t)low + length)
		size = (uintptr_t)low + length - sp;
	uint64_t head[6] = { ip, sp, bp, link, size, (uint64_t)count };
	FILE *f = fopen((std::string(directory) + "/" + std::to_string(written++)).c_str(), "w");
	if (!f)
		abort();
	fwrite(head, sizeof head, 1, f);
	fwrite((void *)sp, size, 1, f);
	fwrite(calls, sizeof *calls, count, f);
	fclose(f);
}

#define BARRIER asm volatile("" ::: "memory") // no tail calls

extern "C" __attribute__((noinline)) void leaf(void)
{
	ucontext_t at;
	void *calls[200];
	int count = backtrace(calls, 200);
	getcontext(&at);
	save(at, calls, count);
	BARRIER;
}

namespace shapes
{
template <typename T> struct Box {
	T kept;
	__attribute__((noinline)) T fill(T n);
};

template <typename T> T Box<T>::fill(T n)
{
	leaf();
	BARRIER;
	return kept + n;
}

// A frame whose size is known at run time only: rbp.
__attribute__((noinline)) int variable(int n)
{
	volatile char *room = (volatile char *)alloca(n);
	room[0] = 1;
	Box<long> box = { 3 };
	int sum = box.fill(n) + room[0];
	BARRIER;
	return sum;
}

// A frame that is aligned anew: the caller's stack pointer lies in memory.
__attribute__((noinline)) int aligned(int n)
{
	alignas(128) volatile char block[256];
	block[n & 255] = 1;
	int sum = variable(n + 100) + block[0];
	BARRIER;
	return sum;
}

// The same with a size that is known at run time only: DW_CFA_def_cfa_expression.
__attribute__((noinline)) int aligned_variable(int n, long, long, long, long, long, long on_stack, long)
{
	alignas(128) volatile char block[256];
	volatile char *room = (volatile char *)alloca(n);
	block[n & 255] = room[0] = 1;
	int sum = aligned(n) + block[0] + on_stack;
	BARRIER;
	return sum;
}

// Every register that a function may keep for its caller.
__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f)
{
	long x[8];
	for (int i = 0; i < 8; i++)
		x[i] = a * i + b;
	aligned_variable((int)(a & 63) + 1, b, c, d, e, f, x[3], x[4]);
	for (int i = 0; i < 8; i++)
		a += x[i] * c + d * e + f;
	BARRIER;
	return a;
}

// A call that never returns is the last instruction.
[[noreturn]] __attribute__((noinline)) void throws(int n)
{
	many(n, 2, 3, 4, 5, 6);
	throw n;
}

__attribute__((noinline)) void unlikely(int n)
{
	if (__builtin_expect(n != 12345, 1)) {
		throws(n);
	}
	puts("never");
}
}

#ifdef __aarch64__
// Keeps its frame record in room of its caller's, as libffi's ffi_call_SYSV does.
extern "C" void recorded(void *room, void (*function)(void));
asm(".text\n.type recorded, %function\nrecorded:\n\t.cfi_startproc\n"
    "\tstp x29, x30, [x0]\n\t.cfi_def_cfa x0, 0\n\t.cfi_offset x29, 0\n\t.cfi_offset x30, 8\n"
    "\tmov x29, x0\n\t.cfi_def_cfa_register x29\n"
    "\tblr x1\n"
    "\tldp x29, x30, [x29]\n\t.cfi_def_cfa sp, 0\n\t.cfi_restore x29\n\t.cfi_restore x30\n"
    "\tret\n\t.cfi_endproc\n.size recorded, . - recorded\n");
#else
static void recorded(void *, void (*function)(void)) { function(); }
#endif

__attribute__((noinline)) void recording(int n)
{
	recorded(alloca(64 + n), leaf);
	BARRIER;
}

static int compare(const void *a, const void *b)
{
	static int once;
	if (!once++) {
		std::vector<std::function<void()>> todo;
		todo.push_back([] { shapes::many(7, 6, 5, 4, 3, 2); });
		for (auto &f : todo)
			f();
	}
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) int recursive(int n)
{
	volatile char room[40];
	room[n % 40] = 1;
	if (n == 0)
		recording(n);
	else
		recursive(n - 1);
	BARRIER;
	return room[0];
}

extern "C" void *thread_main(void *)
{
	shapes::many(1, 2, 3, 4, 5, 6);
	BARRIER;
	return NULL;
}

int main(int argc, char **argv)
{
	directory = argv[argc - 1];
	leaf();
	recursive(20);
	shapes::many(1, 2, 3, 4, 5, 6);
	try {
		shapes::unlikely(argc);
	} catch (int) {
	}
	int numbers[] = { 3, 1, 2 };
	qsort(numbers, 3, sizeof *numbers, compare);
	pthread_t thread;
	pthread_create(&thread, NULL, thread_main, NULL);
	pthread_join(thread, NULL);
	char text[4096];
	FILE *from = fopen("/proc/self/maps", "r"), *to = fopen((std::string(directory) + "/maps").c_str(), "w");
	while (from && to && fgets(text, sizeof text, from))
		fputs(text, to);
	return !to || fclose(to);
}
