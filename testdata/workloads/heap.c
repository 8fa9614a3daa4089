/* Fills a heap of malloc's and frees parts of it, in the main thread ("main") or in another, which has an arena of its
 * own ("thread"); with other memory right in front of that arena, of which the kernel makes one mapping ("beside"). It
 * prints glibc's figures of it: bytes free, in use, mapped by themselves, resident. After a line on standard input it
 * trims, and prints the resident bytes again. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define COUNT 60000

static void *blocks[COUNT];

/* smaps counts pages; the counters of statm are behind by what each processor has not added yet. */
static unsigned long resident(void) /* without files */
{
	unsigned long kilobytes = 0;
	char text[256];
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	while (f && fgets(text, sizeof text, f))
		if (sscanf(text, "Anonymous: %lu", &kilobytes) == 1)
			break;
	if (!f || !kilobytes)
		exit(1);
	fclose(f);
	return kilobytes << 10;
}

static void put_before(char *arena)
{
	const size_t size = 1 << 20;

	/* as glibc maps the stacks of threads and heaps */
	if (mmap(arena - size, size, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED ||
	    mprotect(arena - size, size, PROT_READ | PROT_WRITE))
		exit(1);
	memset(arena - size, 3, size);
}

static void *fill(void *beside)
{
	if (beside)
		put_before((char *)((uintptr_t)malloc(24) & -(64ul << 20)));
	for (int i = 0; i < COUNT; i++) {
		size_t size = 40 + i % 2000;
		blocks[i] = malloc(size);
		memset(blocks[i], 1, size);
	}
	for (int i = 0; i < COUNT; i++)
		if (i % 5 != 0 && (i / 100) % 3 == 0 || i > COUNT - 3000) {
			free(blocks[i]);
			blocks[i] = NULL;
		}
	char *big = malloc(3 << 20);
	memset(big, 2, 3 << 20);
	blocks[0] = big;
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	static char out[4096];

	setvbuf(stdout, out, _IOFBF, sizeof out);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	if (argc > 1 && strcmp(argv[1], "main")) {
		pthread_create(&thread, NULL, fill, strcmp(argv[1], "beside") ? NULL : argv);
		pthread_join(thread, NULL);
	} else {
		fill(NULL);
	}
	struct mallinfo2 m = mallinfo2();
	printf("{\"free\": %zu, \"used\": %zu, \"mapped\": %zu, \"resident\": %lu}\n", m.fordblks, m.uordblks, m.hblkhd,
	       resident());
	fflush(stdout);
	getchar();
	malloc_trim(0);
	printf("{\"resident\": %lu}\n", resident());
	fflush(stdout);
	getchar();
	return 0;
}
