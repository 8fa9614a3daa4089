/*
 * Helpers that take memory and mark at the top, in one call: nothing of Python runs between the mark and the free.
 * Each returns 0, or -1 when the system refused, and also marks LABEL/before ahead of its first step and LABEL/after
 * behind its last: the top minus before is what the helper took, to the page. Readings: see truth.c.
 */
#include "edges.h"

/* Maps, writes every page, marks at the top, holds it, gives it back. */
int spike_hold_ns(const char *label, size_t bytes, int64_t ns)
{
	EDGES(label);
	void *p = map(bytes);

	if (p == MAP_FAILED)
		return -1;
	touch(p, bytes, 4096);
	truth_mark(label);
	rest(ns);
	unmap(p, bytes);
	return 0;
}

int spike(const char *label, size_t bytes) { return spike_hold_ns(label, bytes, 0); }

/* As short as it gets: the fast mark, then gone. `times` in a row. */
int blip(const char *label, size_t bytes, int times)
{
	EDGES(label);
	while (times-- > 0) {
		void *p = map(bytes);

		if (p == MAP_FAILED)
			return -1;
		touch(p, bytes, 4096);
		truth_mark_fast(label);
		unmap(p, bytes);
	}
	return 0;
}

/* Stays: the caller frees it with drop(). Null when refused. */
void *keep(const char *label, size_t bytes)
{
	void *p;

	edge(label, "/before");
	p = map(bytes);
	if (p == MAP_FAILED)
		return 0;
	touch(p, bytes, 4096);
	truth_mark(label);
	return p;
}

void drop(void *p, size_t bytes) { unmap(p, bytes); }

/* Mapped, never written. */
int untouched(const char *label, size_t bytes)
{
	EDGES(label);
	void *p = map(bytes);

	if (p == MAP_FAILED)
		return -1;
	truth_mark(label);
	unmap(p, bytes);
	return 0;
}

/* Every page read, none written: all of them are the zero page, which is nobody's. */
int zero_page(const char *label, size_t bytes)
{
	EDGES(label);
	volatile char *p = map(bytes);
	int sum = 0;

	if (p == MAP_FAILED)
		return -1;
	for (size_t i = 0; i < bytes; i += 4096)
		sum += p[i];
	truth_mark(label);
	unmap((void *)p, bytes);
	return sum;
}

/* One system call maps and faults everything in. */
int populate(const char *label, size_t bytes)
{
	EDGES(label);
	void *p = sys_mmap(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);

	if (p == MAP_FAILED)
		return -1;
	truth_mark(label);
	unmap(p, bytes);
	return 0;
}

/* Grows a large block in steps by realloc, which moves it when it must. */
int mremap_growth(const char *label, size_t from, size_t to, size_t step)
{
	EDGES(label);
	void *p = map(from);

	if (p == MAP_FAILED)
		return -1;
	touch(p, from, 4096);
	while (from < to) {
		size_t size = from + step < to ? from + step : to;
		void *q = (void *)syscall(SYS_mremap, p, from, size, MREMAP_MAYMOVE);

		if (q == MAP_FAILED) {
			unmap(p, from);
			return -1;
		}
		p = q;
		touch((char *)p + from, size - from, 4096);
		from = size;
	}
	truth_mark(label);
	unmap(p, from);
	return 0;
}

/* Raises the program break in n steps, marks, lowers it in n steps; all of it `rounds` times. The break is back where
 * it was at the end, so the allocator never notices; keep the GIL so that no other Python thread moves it meanwhile. */
int brk_churn(const char *label, int rounds, int n, size_t size)
{
	EDGES(label);
	long base = syscall(SYS_brk, 0);

	for (int round = 0; round < rounds; round++) {
		for (int i = 1; i <= n; i++) {
			if (syscall(SYS_brk, base + i * size) < (long)(base + i * size)) {
				syscall(SYS_brk, base);
				return -1;
			}
			touch((char *)base + (i - 1) * size, size, 4096);
		}
		if (round == 0 || round == rounds - 1)
			truth_mark(label);
		for (int i = n - 1; i >= 0; i--)
			syscall(SYS_brk, base + i * size);
	}
	return 0;
}

/* Writes all of it, gives the pages back with the advice, writes the first half again. Marks LABEL (full), LABEL-given
 * (after the advice) and LABEL-half. MADV_DONTNEED drops the pages, MADV_FREE leaves them resident until someone needs
 * them. */
int advise(const char *label, size_t bytes, int advice, const char *given, const char *half)
{
	EDGES(label);
	void *p = map(bytes);

	if (p == MAP_FAILED)
		return -1;
	touch(p, bytes, 4096);
	truth_mark(label);
	syscall(SYS_madvise, p, bytes, advice);
	truth_mark(given);
	touch(p, bytes / 2, 4096);
	truth_mark(half);
	unmap(p, bytes);
	return 0;
}

/* Maps a file of holes, and reads it (shared, read-only) or, with `write`, maps it privately and writes it, which makes
 * its pages anonymous. */
int map_file(const char *label, const char *path, size_t bytes, int write)
{
	EDGES(label);
	int fd = sys_open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), sum = 0;
	volatile char *p;

	if (fd < 0 || syscall(SYS_ftruncate, fd, bytes) < 0)
		return -1;
	p = sys_mmap(bytes, write ? PROT_READ | PROT_WRITE : PROT_READ, write ? MAP_PRIVATE : MAP_SHARED, fd);
	sys_close(fd);
	if (p == MAP_FAILED)
		return -1;
	if (write)
		touch((void *)p, bytes, 4096);
	else
		for (size_t i = 0; i < bytes; i += 4096)
			sum += p[i];
	truth_mark(label);
	unmap((void *)p, bytes);
	syscall(SYS_unlinkat, AT_FDCWD, path, 0);
	return sum;
}

int map_shared(const char *label, size_t bytes)
{
	EDGES(label);
	int fd = (int)syscall(SYS_memfd_create, "truth", MFD_CLOEXEC);
	void *p;

	if (fd < 0 || syscall(SYS_ftruncate, fd, bytes) < 0)
		return -1;
	p = sys_mmap(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	sys_close(fd);
	if (p == MAP_FAILED)
		return -1;
	touch(p, bytes, 4096);
	truth_mark(label);
	unmap(p, bytes);
	return 0;
}

/* Reserved, made writable, written, made read-only: four states of one mapping, each with its mark. */
int prot_flip(const char *reserved, const char *writable, const char *written, const char *read_only, size_t bytes)
{
	EDGES(reserved);
	void *p = sys_mmap(bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	if (p == MAP_FAILED)
		return -1;
	truth_mark(reserved);
	syscall(SYS_mprotect, p, bytes, PROT_READ | PROT_WRITE);
	truth_mark(writable);
	touch(p, bytes, 4096);
	truth_mark(written);
	syscall(SYS_mprotect, p, bytes, PROT_READ);
	truth_mark(read_only);
	unmap(p, bytes);
	return 0;
}

/* Puts a new mapping over a full one, and cuts the middle half out of it. There is no munmap for the first, and two
 * mappings remain of the second. */
int replace_and_punch(const char *full, const char *replaced, const char *punched, size_t bytes)
{
	EDGES(full);
	char *p = map(bytes);

	if (p == MAP_FAILED)
		return -1;
	touch(p, bytes, 4096);
	truth_mark(full);
	syscall(SYS_mmap, p, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	touch(p, bytes / 2, 4096);
	truth_mark(replaced);
	unmap(p + bytes / 4, bytes / 2);
	truth_mark(punched);
	unmap(p, bytes / 4);
	unmap(p + bytes / 4 * 3, bytes / 4);
	return 0;
}

/* A mapping nobody can have. 0 when it was refused, as it must be. */
int refused(const char *label)
{
	EDGES(label);
	void *p = map((size_t)1 << 62);

	truth_mark(label);
	return p == MAP_FAILED ? 0 : -1;
}

/* One byte in every two MiB, with huge pages asked for. */
int thp(const char *label, size_t bytes)
{
	EDGES(label);
	const size_t huge = 2 << 20;
	char *p = map(bytes + huge), *q;

	if (p == MAP_FAILED)
		return -1;
	q = (char *)(((uintptr_t)p + huge - 1) / huge * huge);
	syscall(SYS_madvise, q, bytes, MADV_HUGEPAGE);
	touch(q, bytes, huge);
	truth_mark(label);
	unmap(p, bytes + huge);
	return 0;
}
