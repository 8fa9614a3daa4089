/*
 * A library with one function, FUNCTION, that takes memory as NumPy does. Two libraries that are built of it under two
 * names have the same layout.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int PyTraceMalloc_Track(unsigned domain, uintptr_t address, size_t size);

void *FUNCTION(size_t size, int depth)
{
	void *block;

	if (depth) {
		block = FUNCTION(size, depth - 1);
	} else {
		block = malloc(size);
		PyTraceMalloc_Track(389047, (uintptr_t)block, size); /* NPY_TRACE_DOMAIN */
	}
	__asm__ volatile("" ::: "memory");
	return block;
}
