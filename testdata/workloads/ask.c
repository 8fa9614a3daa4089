/*
 * Calls of malloc and of mmap with known sums, for memory.py. What was asked for and given back is counted here, by
 * this code alone. Linked with nothing: the calls reach whatever the process has.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { PAGE = 4096, SLOTS = 200, REGION = 64 };

extern void *malloc(size_t size);
extern void *calloc(size_t count, size_t size);
extern void *realloc(void *p, size_t size);
extern void *reallocarray(void *p, size_t count, size_t size);
extern void *memalign(size_t alignment, size_t size);
extern void *aligned_alloc(size_t alignment, size_t size);
extern int posix_memalign(void **p, size_t alignment, size_t size);
extern void *valloc(size_t size);
extern void free(void *p);
extern void *sbrk(intptr_t by);

struct sums {
	int64_t allocated;
	int64_t freed;
	int64_t count;
	int64_t failed; /* calls that should have worked, or should not */
};

static struct {
	void *p;
	int64_t size;
} slots[SLOTS];

static void gave(struct sums *s, int i, void *p, int64_t size)
{
	slots[i].p = p;
	slots[i].size = size;
	s->failed += !p;
	s->allocated += size;
	s->count++;
}

static void *into(size_t size)
{
	void *p = NULL;

	return posix_memalign(&p, 64, size) ? NULL : p;
}

static void make(struct sums *s, int i, unsigned how, size_t size)
{
	switch (how % 9) {
	case 0:
		gave(s, i, calloc(size, 3), size * 3);
		return;
	case 1:
		gave(s, i, realloc(NULL, size), size);
		return;
	case 2:
		gave(s, i, reallocarray(NULL, size, 2), size * 2);
		return;
	case 3:
		gave(s, i, memalign(128, size), size);
		return;
	case 4:
		gave(s, i, aligned_alloc(64, size), size);
		return;
	case 5:
		gave(s, i, into(size), size);
		return;
	case 6:
		gave(s, i, valloc(size), size);
		return;
	}
	gave(s, i, malloc(size), size);
}

static void change(struct sums *s, int i, unsigned how, size_t size)
{
	void *p = slots[i].p;

	/* A block that stays where and what it is has not changed. */
	if (size == (size_t)slots[i].size || (size + 100000) * 2 == (size_t)slots[i].size)
		size++;
	switch (how % 5) {
	case 0: /* too much: nothing happens */
		s->failed += realloc(p, PTRDIFF_MAX) != NULL;
		s->failed += reallocarray(p, SIZE_MAX / 2, 4) != NULL;
		return;
	case 1:
		s->freed += slots[i].size;
		gave(s, i, realloc(p, size), size);
		return;
	case 2:
		s->freed += slots[i].size;
		gave(s, i, reallocarray(p, size + 100000, 2), (size + 100000) * 2);
		return;
	}
	free(p);
	s->freed += slots[i].size;
	slots[i].p = NULL;
}

/* Random calls of every function; what is in the slots at the end stays. */
void ask_heap(struct sums *s, int64_t calls, uint32_t seed)
{
	for (int64_t n = 0; n < calls; n++) {
		seed = seed * 1664525 + 1013904223;
		int i = (seed >> 8) % SLOTS;
		size_t size = 1 + (seed >> 4) % (n % 50 ? 3000 : 400000);
		if (slots[i].p)
			change(s, i, seed >> 20, size);
		else
			make(s, i, seed >> 20, size);
	}
	free(NULL);
	s->failed += malloc(PTRDIFF_MAX) != NULL;
}

/* Frees all that is in the slots. */
void ask_no_heap(struct sums *s)
{
	for (int i = 0; i < SLOTS; i++) {
		if (slots[i].p)
			s->freed += slots[i].size;
		free(slots[i].p);
		slots[i].p = NULL;
	}
}

static uint8_t counted[REGION];

/* Pages from first on count from now on, or do not. */
static void set(struct sums *s, int first, int pages, int counts)
{
	for (int i = first; i < first + pages; i++) {
		s->freed += counted[i] ? PAGE : 0;
		counted[i] = counts;
		s->allocated += counts ? PAGE : 0;
	}
}

static int any(int first, int pages)
{
	int n = 0;

	for (int i = first; i < first + pages; i++)
		n += counted[i];
	return n;
}

/* mmap, munmap and mprotect of random parts of a region; growth and moves of a mapping; the heap's end. */
void ask_mapped(struct sums *s, int64_t calls, uint32_t seed)
{
	const int fixed = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	char *region = mmap(NULL, REGION * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	s->failed += region == MAP_FAILED;
	for (int i = 0; i < REGION; i++) /* an earlier call's region keeps what it has */
		counted[i] = 0;
	for (int64_t n = 0; n < calls; n++) {
		seed = seed * 1664525 + 1013904223;
		int first = (seed >> 8) % REGION, pages = 1 + (seed >> 16) % (REGION - first);
		char *at = region + first * PAGE;
		switch ((seed >> 24) % 6) {
		case 0: /* of as much of the same nothing is told */
			if (any(first, pages) == pages)
				break;
			s->failed += mmap(at, pages * PAGE, PROT_READ | PROT_WRITE, fixed, -1, 0) != at;
			set(s, first, pages, 1);
			break;
		case 1:
			s->failed += mmap(at, pages * PAGE, PROT_READ, fixed, -1, 0) != at;
			set(s, first, pages, 0);
			break;
		case 2:
			s->failed += munmap(at, pages * PAGE) != 0;
			s->failed += mmap(at, pages * PAGE, PROT_NONE, fixed, -1, 0) != at;
			set(s, first, pages, 0);
			break;
		case 3:
			s->failed += mprotect(at, pages * PAGE, PROT_READ) != 0;
			set(s, first, pages, 0);
			break;
		case 4:
			if (any(first, pages)) /* a part of which is writable already: not told */
				break;
			s->failed += mprotect(at, pages * PAGE, PROT_READ | PROT_WRITE) != 0;
			set(s, first, pages, 1);
			break;
		case 5: /* shared memory does not count */
			s->failed += mmap(at, pages * PAGE, PROT_READ | PROT_WRITE,
					  MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at;
			set(s, first, pages, 0);
			s->failed += mmap(at, pages * PAGE, PROT_NONE, fixed, -1, 0) != at;
			break;
		}
	}
	s->failed += mmap(region, SIZE_MAX / 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

/* A mapping that grows and moves, and shrinks; the heap's end up and down. What is left: 7 pages. */
void ask_moved(struct sums *s)
{
	char *p = mmap(NULL, 10 * PAGE - 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *wall = mmap(p + 10 * PAGE, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	s->allocated += 10 * PAGE;
	p = mremap(p, 10 * PAGE, 5000 * PAGE, MREMAP_MAYMOVE);
	s->freed += 10 * PAGE;
	s->allocated += 5000 * PAGE;
	s->failed += mremap(p, 5000 * PAGE, SIZE_MAX / 2, MREMAP_MAYMOVE) != MAP_FAILED;
	s->failed += mremap(p, 5000 * PAGE, 7 * PAGE, 0) != p;
	s->freed += 5000 * PAGE;
	s->allocated += 7 * PAGE;
	munmap(wall, PAGE);
	if (sbrk(5 * PAGE) == (void *)-1)
		s->failed++;
	s->failed += sbrk(-5 * PAGE) == (void *)-1;
	s->allocated += 5 * PAGE;
	s->freed += 5 * PAGE;
}

static void touch(volatile char *p, size_t size)
{
	for (size_t i = 0; i < size; i += PAGE)
		p[i] = 1;
}

/* Memory that is used and given back, which takes the kernel a while: for that time others may read, too. */
void ask_returned(struct sums *s, int64_t calls)
{
	const intptr_t size = 50 * PAGE;

	for (int64_t n = 0; n < calls; n++) {
		char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		touch(p, size);
		s->failed += munmap(p, size) != 0;
		p = sbrk(size);
		touch(p, size);
		s->failed += sbrk(-size) == (void *)-1;
		s->allocated += 2 * size;
		s->freed += 2 * size;
	}
}
