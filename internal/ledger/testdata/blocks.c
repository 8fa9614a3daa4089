/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * blocks THREADS [tensors|pools]: threads report that they make, resize and free blocks, small and large ones at
 * random. The blocks do not exist: there are only the functions that report them. Each line that the program reads is a
 * number: every thread reports as many changes. Then the program prints the bytes that live, the most bytes that lived,
 * the most of one thread alone, the bytes in small blocks that live, and how many blocks were made.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 256, MOST = 8, SMALL = 65536 };

struct thread {
	pthread_t id;
	uint64_t random, base, sizes[SLOTS], live, most, made;
	uint64_t moved[SLOTS]; /* pools: how far each block is from where its slot is */
	long steps;
};

__attribute__((noinline)) void made(uint64_t address, uint64_t size)
{
	asm volatile("" ::"r"(address), "r"(size));
}

__attribute__((noinline)) void freed(uint64_t address)
{
	asm volatile("" ::"r"(address), "r"(1));
}

__attribute__((noinline)) void resizing(uint64_t address, uint64_t size)
{
	asm volatile("" ::"r"(address), "r"(size), "r"(2));
}

__attribute__((noinline)) void resized(uint64_t address)
{
	asm volatile("" ::"r"(address), "r"(3));
}

/* As c10::ProfiledCPUMemoryReporter's New and Delete are called. */
__attribute__((noinline)) void tensor_new(void *self, uint64_t address, uint64_t size)
{
	asm volatile("" ::"r"(self), "r"(address), "r"(size), "r"(4));
}

__attribute__((noinline)) void tensor_delete(void *self, uint64_t address)
{
	asm volatile("" ::"r"(self), "r"(address), "r"(5));
}

/*
 * The functions of Arrow's pools, with their arguments and results: the word at `status` is NULL for success, else it
 * points to a byte, 1 for no memory. The place where a function returns has a name of its own.
 */
struct pool {
	uint64_t address; /* of the next block */
	int fails;
};

static const uint8_t no_memory[8] = { 1 };

__attribute__((used)) void *pool_allocates(const void **status, struct pool *self, int64_t size,
					   int64_t alignment, uint64_t *out)
{
	*status = self->fails ? no_memory : NULL;
	if (!self->fails)
		*out = self->address;
	return status;
}

__attribute__((used)) void *pool_reallocates(const void **status, struct pool *self, int64_t before,
					     int64_t size, int64_t alignment, uint64_t *at)
{
	return pool_allocates(status, self, size, alignment, at);
}

#ifdef __aarch64__
#define CALLS(body) "stp x29, x30, [sp, -16]!\n\tbl " body "\n\tldp x29, x30, [sp], 16\n"
#define FUNCTION "%function"
#else
#define CALLS(body) "sub $8, %rsp\n\tcall " body "\n\tadd $8, %rsp\n"
#define FUNCTION "@function"
#endif
#define POOL_FUNCTION(name, body)                                                                      \
	asm(".text\n.globl " name "\n.type " name ", " FUNCTION "\n" name ":\n\t" CALLS(body)           \
	    ".globl " name "_ends\n.type " name "_ends, " FUNCTION "\n" name "_ends:\n\tret\n")

POOL_FUNCTION("pool_allocate", "pool_allocates");
POOL_FUNCTION("pool_reallocate", "pool_reallocates");

void *pool_allocate(const void **status, struct pool *self, int64_t size, int64_t alignment, uint64_t *out);
void *pool_reallocate(const void **status, struct pool *self, int64_t before, int64_t size, int64_t alignment,
		      uint64_t *at);

__attribute__((noinline)) void pool_free(struct pool *self, uint64_t address, int64_t size, int64_t alignment)
{
	asm volatile("" ::"r"(self), "r"(address), "r"(size), "r"(alignment), "r"(6));
}

static int tensors, pools;

static void makes(uint64_t address, uint64_t size)
{
	if (tensors)
		tensor_new(NULL, address, size);
	else
		made(address, size);
}

static void frees(uint64_t address)
{
	if (tensors)
		tensor_delete(NULL, address);
	else
		freed(address);
}

static uint64_t next(struct thread *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return t->random;
}

static uint64_t some_size(struct thread *t)
{
	return next(t) % 8 ? 1024 + next(t) % 20000 : 1024 + next(t) % 400000;
}

static void has(struct thread *t, int i, uint64_t size)
{
	t->live += size - t->sizes[i];
	t->sizes[i] = size;
	if (t->live > t->most)
		t->most = t->live;
}

/* What a pool does to a slot's block: makes, resizes or frees it, or fails to. */
static void pool_moves(struct thread *t, int i, uint64_t size)
{
	uint64_t slot = t->base + ((uint64_t)i << 20), at = slot + t->moved[i];
	struct pool pool = { .address = slot + next(t) % 4 * 262144, .fails = next(t) % 16 == 0 };
	const void *status = no_memory;

	if (t->sizes[i] && next(t) % 4) {
		pool_free(&pool, at, t->sizes[i], 64);
		has(t, i, 0);
		return;
	}
	if (t->sizes[i]) {
		size *= next(t) % 8 != 0; /* to nothing, now and then */
		pool_reallocate(&status, &pool, t->sizes[i], size, 64, &at);
	} else {
		pool_allocate(&status, &pool, size, 64, &at);
		t->made += !status;
	}
	if (status)
		return;
	t->moved[i] = at - slot;
	has(t, i, size);
}

static void *moves(void *argument)
{
	struct thread *t = argument;

	for (; t->steps > 0; t->steps--) {
		int i = next(t) % SLOTS;
		uint64_t address = t->base + ((uint64_t)i << 20), size = some_size(t);
		if (pools) {
			pool_moves(t, i, size);
		} else if (!t->sizes[i]) {
			makes(address, size);
			has(t, i, size);
			t->made++;
		} else if (!tensors && next(t) % 4 == 0) {
			resizing(address, size);
			resized(address);
			has(t, i, size);
		} else {
			frees(address);
			has(t, i, 0);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct thread threads[MOST];
	int n = argc > 1 ? atoi(argv[1]) : 1;
	long steps;

	tensors = argc > 2 && !strcmp(argv[2], "tensors");
	pools = argc > 2 && !strcmp(argv[2], "pools");
	for (int i = 0; i < n && i < MOST; i++) {
		threads[i].random = 0x9e3779b97f4a7c15ull * (i + 1);
		threads[i].base = (uint64_t)(i + 1) << 40;
	}
	puts("ready");
	fflush(stdout);
	while (scanf("%ld", &steps) == 1) {
		uint64_t live = 0, small = 0, count = 0;
		for (int i = 0; i < n && i < MOST; i++) {
			threads[i].steps = steps;
			if (pthread_create(&threads[i].id, NULL, moves, &threads[i]))
				return 1;
		}
		for (int i = 0; i < n && i < MOST; i++) {
			pthread_join(threads[i].id, NULL);
			live += threads[i].live;
			count += threads[i].made;
			for (int s = 0; s < SLOTS; s++)
				small += threads[i].sizes[s] < SMALL ? threads[i].sizes[s] : 0;
		}
		printf("%llu %llu %llu %llu\n", (unsigned long long)live, (unsigned long long)threads[0].most,
		       (unsigned long long)small, (unsigned long long)count);
		fflush(stdout);
		threads[0].most = threads[0].live;
	}
	return 0;
}
