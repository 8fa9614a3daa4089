//go:build cgo

package gpu

/*
#include <malloc.h>

// Of the C library's memory only NVML takes any. With one arena glibc never asks for the number of CPUs, for which it
// would open a file when many threads have come (arena_get2 in malloc/arena.c, glibc 2.36). A confined program has no
// right to open it.
__attribute__((constructor)) static void one_arena(void)
{
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1);
#endif
}
*/
import "C"
