/* libtruth_reader.so: the test's side of the truth. Takes the stand-ins' own lock, so that a cut is one instant. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "truth.h"

/* Not truth.c: loading it takes a slot for the loading process. */
#define EXPORT __attribute__((visibility("default")))

EXPORT struct truth *reader_open(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	void *p;

	if (fd < 0 || ftruncate(fd, sizeof(struct truth)) < 0)
		return NULL;
	p = mmap(NULL, sizeof(struct truth), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED ? NULL : p;
}

static void cut(struct gauge *gauge)
{
	gauge->peak = gauge->current;
}

/* Copies the slot of `pid` and begins a new segment in it: peak := current. 0: the process loaded no stand-in yet. */
EXPORT int reader_cut(struct truth *file, int pid, struct truth_process *out)
{
	uint32_t nobody = 0;
	int found = 0;

	while (!__atomic_compare_exchange_n(&file->lock, &nobody, (uint32_t)getpid(), 0, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		nobody = 0;
		usleep(10);
	}
	for (int i = 0; i < TRUTH_PROCESSES && !found; i++) {
		struct truth_process *p = &file->process[i];

		if (p->pid != pid)
			continue;
		found = 1;
		memcpy(out, p, sizeof *out);
		cut(&p->pinned);
		for (int d = 0; d < TRUTH_DEVICES; d++) {
			cut(&p->device[d].driver);
			cut(&p->device[d].active);
			cut(&p->device[d].reserved);
		}
	}
	__atomic_store_n(&file->lock, 0, __ATOMIC_RELEASE);
	return found;
}
