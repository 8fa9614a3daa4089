/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls the counting library as NumPy does, without Python: random lives of blocks, with any C library and on any
 * processor, against a model that adds up the same sizes.
 *
 *   counts_life LIBRARY ALONE CHUNKS     ALONE and CHUNKS are those of ipytracer_counts_begin
 *
 * Without ALONE four threads make blocks at once. Exit status 0 if each counter was equal to the byte.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* NumPy's PyDataMem_Handler. */
struct handler {
	char name[127];
	uint8_t version;
	void *context;
	void *(*malloc)(void *, size_t);
	void *(*calloc)(void *, size_t, size_t);
	void *(*realloc)(void *, void *, size_t);
	void (*free)(void *, void *, size_t);
};

struct counts {              /* the beginning of the library's */
	uint64_t current, peak, lost;
};

static int (*begin)(uint32_t, uint32_t, uint32_t, void *);
static void (*take)(uint64_t *, uint64_t *, uint64_t *);
static int (*use)(int, int);
static void (*leave)(void);
static struct handler *ours;

#define CHECK(condition, a, b) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "line %d: " #condition ": %s %llu, %s %llu\n", __LINE__, #a, \
				(unsigned long long)(a), #b, (unsigned long long)(b)); \
			_exit(1); \
		} \
	} while (0)

#define BLOCKS 400           /* that live at once, of a thread */
#define LARGEST 300000       /* bytes */

/* NumPy's own allocator, from which blocks are lent. It knows what it has lent. */
static struct {
	void *at;
	size_t size;
} loans[BLOCKS];
static uint64_t lent;

static void *borrow(void *block, size_t size)
{
	int i = 0;
	while (loans[i].at)
		i++;
	loans[i].at = block;
	loans[i].size = size;
	lent += size;
	return block;
}

static void repay(void *block)
{
	int i = 0;
	while (loans[i].at != block)
		i++;
	loans[i].at = NULL;
	lent -= loans[i].size;
}

#define UNUSED __attribute__((unused))

static void *own_malloc(UNUSED void *context, size_t size)
{
	return borrow(malloc(size), size);
}

static void *own_calloc(UNUSED void *context, size_t items, size_t item)
{
	return borrow(calloc(items, item), items * item);
}

static void *own_realloc(UNUSED void *context, void *block, size_t size)
{
	repay(block);
	return borrow(realloc(block, size), size);
}

static void own_free(UNUSED void *context, void *block, UNUSED size_t size)
{
	repay(block);
	free(block);
}

static struct handler own = { "default", 1, NULL, own_malloc, own_calloc, own_realloc, own_free };

/* The life of a thread's blocks. */
struct life {
	uint64_t random, current, peak;
	struct block {
		unsigned char *at, pattern;
		size_t size;
	} blocks[BLOCKS];
};

static uint64_t draw(struct life *life, uint64_t below)
{
	life->random ^= life->random << 13;
	life->random ^= life->random >> 7;
	life->random ^= life->random << 17;
	return life->random % below;
}

static size_t draw_size(struct life *life)
{
	switch (draw(life, 32)) {
	case 0:
		return (32 << 10) - 40 + draw(life, 80); /* around the largest that carries its size */
	case 1:
		return (64 << 10) - 20 + draw(life, 40); /* around the smallest that is lent */
	case 2:
		return 1 + draw(life, LARGEST);
	case 3 ... 10:
		return 1 + draw(life, 40);
	default:
		return 1 + draw(life, 5000);
	}
}

static void fill(struct life *life, struct block *b)
{
	b->pattern = (unsigned char)draw(life, 256);
	memset(b->at, b->pattern, b->size); /* a kept size must not lie in it */
}

static void check_content(const struct block *b, size_t size, unsigned char pattern)
{
	CHECK(!size || (b->at[0] == pattern && !memcmp(b->at, b->at + 1, size - 1)), size, b->size);
}

static void make(struct life *life, struct block *b)
{
	int zero = draw(life, 2) == 0;
	b->size = draw_size(life);
	b->at = zero ? ours->calloc(NULL, b->size, 1) : ours->malloc(NULL, b->size);
	CHECK(b->at, b->size, zero);
	if (zero)
		check_content(b, b->size, 0);
	life->current += b->size;
	fill(life, b);
}

static void resize(struct life *life, struct block *b)
{
	size_t before = b->size;
	b->size = draw_size(life);
	b->at = ours->realloc(NULL, b->at, b->size);
	CHECK(b->at, before, b->size);
	check_content(b, before < b->size ? before : b->size, b->pattern);
	life->current += b->size - before;
	fill(life, b);
}

static void end(struct life *life, struct block *b)
{
	check_content(b, b->size, b->pattern);
	ours->free(NULL, b->at, b->size);
	life->current -= b->size;
	b->at = NULL;
}

static void step(struct life *life)
{
	struct block *b = &life->blocks[draw(life, BLOCKS)];

	if (!b->at)
		make(life, b);
	else if (draw(life, 2))
		end(life, b);
	else
		resize(life, b);
	if (life->current > life->peak)
		life->peak = life->current;
}

static void end_all(struct life *life)
{
	for (int i = 0; i < BLOCKS; i++)
		if (life->blocks[i].at)
			end(life, &life->blocks[i]);
}

/* compare compares the counters with a life, and lets a new peak begin. */
static void compare(struct life *life)
{
	uint64_t current, peak, lost;

	take(&current, &peak, &lost);
	CHECK(current == life->current, current, life->current);
	CHECK(peak == life->peak, peak, life->peak);
	CHECK(!lost, lost, current);
	life->peak = life->current;
}

static void live(struct life *life, int steps)
{
	for (int i = 0; i < steps; i++) {
		step(life);
		if (!draw(life, 100))
			compare(life);
	}
	compare(life);
}

/* check_others makes blocks by NumPy's own allocator, as code does that does not have ours: that they lack is known. */
static void check_others(struct life *life)
{
	uint64_t current, peak, lost;

	own.free(NULL, own.malloc(NULL, 100), 100);
	own.free(NULL, own.calloc(NULL, 100, 1), 100);
	take(&current, &peak, &lost);
	CHECK(lost == 2 && current == life->current, lost, current);
	compare(life);
}

/* live_in_page lives with a tracer's page: what is in the page and what is lent add up to the model's. */
static void live_in_page(struct life *life, int steps)
{
	int file = memfd_create("page", 0), status;
	struct counts *page;
	pid_t child;

	CHECK(file >= 0 && !ftruncate(file, sysconf(_SC_PAGESIZE)), file, 0);
	CHECK(use(file, 0), life->current, 0);
	page = mmap(NULL, sizeof *page, PROT_READ, MAP_SHARED, file, 0);
	CHECK(page != MAP_FAILED, file, 0);
	for (int i = 0; i < steps; i++) {
		step(life);
		CHECK(page->current + lent == life->current, page->current, life->current);
		CHECK(page->peak >= page->current && !page->lost, page->peak, page->lost);
	}
	CHECK(page->current && lent, page->current, lent);
	child = fork();
	if (!child) { /* it has no page: its blocks are all lent */
		uint64_t before = page->current;
		for (int i = 0; i < steps / 10; i++)
			step(life);
		end_all(life);
		CHECK(page->current == before && !lent, page->current, lent);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && !status, status, page->current);
	leave();
	CHECK(page->lost == 1, page->lost, 0);
	life->peak = life->current;
}

/* Threads at once. */

#define THREADS 4

static struct life lives[THREADS];
static int ended;

static void *live_beside(void *life)
{
	for (int i = 0; i < 30000; i++)
		step(life);
	__atomic_fetch_add(&ended, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void live_at_once(void)
{
	uint64_t current, peak, lost, total = 0, most = 0;
	pthread_t threads[THREADS];
	int status;

	for (int i = 0; i < THREADS; i++) {
		lives[i].random = 77 + i;
		CHECK(!pthread_create(&threads[i], NULL, live_beside, &lives[i]), i, 0);
	}
	while (__atomic_load_n(&ended, __ATOMIC_SEQ_CST) < THREADS) {
		pid_t child = fork();
		take(&current, &peak, &lost);
		CHECK(peak >= current && !lost, peak, lost);
		if (!child) { /* the other threads are not in it */
			void *block = ours->malloc(NULL, 100000);
			take(&total, &peak, &lost);
			CHECK(total == current + 100000, total, current);
			ours->free(NULL, block, 100000);
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && !status, status, 0);
	}
	for (int i = 0; i < THREADS; i++) {
		CHECK(!pthread_join(threads[i], NULL), i, 0);
		total += lives[i].current;
		most += lives[i].peak;
	}
	take(&current, &peak, &lost);
	CHECK(current == total && peak >= current && peak <= most && !lost, current, total);
	for (int i = 0; i < THREADS; i++)
		end_all(&lives[i]);
	take(&current, &peak, &lost);
	CHECK(!current && peak == total && !lost, current, peak);
}

int main(int argc, char **argv)
{
	void *library = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
	static struct life life = { .random = 5 };
	int alone;

	if (!library) {
		fprintf(stderr, "usage: counts_life LIBRARY ALONE CHUNKS\n%s\n", argc == 4 ? dlerror() : "");
		return 2;
	}
	alone = atoi(argv[2]);
	*(void **)&begin = dlsym(library, "ipytracer_counts_begin");
	*(void **)&take = dlsym(library, "ipytracer_counts_take");
	*(void **)&use = dlsym(library, "ipytracer_counts_use");
	*(void **)&leave = dlsym(library, "ipytracer_counts_leave");
	ours = ((struct handler * (*)(void)) dlsym(library, "ipytracer_counts_handler"))();
	CHECK(!begin(alone, atoi(argv[3]), 0, &own), alone, 0);
	live(&life, 60000);
	check_others(&life);
	if (alone) {
		end_all(&life); /* with large blocks from before, no page is taken */
		live_in_page(&life, 40000);
		live(&life, 20000);
	}
	end_all(&life);
	compare(&life);
	if (!alone)
		live_at_once();
	return 0;
}
