/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the process does: decided at its first call of malloc, when it has one thread.
 *
 * The tracer has put IPYTRACER_HEAP=PAGE,LIBRARY in front of the environment: the descriptors of its page and of the
 * file of this library, which is in LD_PRELOAD. Both are closed, and the variables removed, so that programs that this
 * one executes are not changed.
 */
#include "heap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define VARIABLE "IPYTRACER_HEAP="
#define PRELOAD  "LD_PRELOAD="
#define OURS     "/proc/self/fd/"
#define PAGES    "anon_inode:bpf-map"
#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

extern char __libc_single_threaded __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern char **environ __attribute__((weak));

static struct state undecided, passing = { PASS };
static const char several;

struct state *state = &undecided;
struct counts *counts;
const char *single = &several;
uint32_t chunks, counted;

static size_t page_size;

static int begins_with(const char *text, const char *with)
{
	while (*with)
		if (*text++ != *with++)
			return 0;
	return 1;
}

static int number(const char **text)
{
	int n = 0;

	if (**text < '0' || **text > '9')
		return -1;
	for (; **text >= '0' && **text <= '9' && n < 100000; (*text)++)
		n = 10 * n + (**text - '0');
	return n;
}

/* The descriptors in the variable; -1: none. */
struct given {
	int page;
	int library;
};

/* find_given reads the variable where the kernel has it: the C library may not have the environment yet. */
static struct given find_given(void)
{
	char text[64];
	const char *at = text + sizeof VARIABLE - 1;
	int file = open("/proc/self/environ", O_RDONLY | O_CLOEXEC);
	struct given given, none = { -1, -1 };
	ssize_t n;

	if (file < 0)
		return none;
	n = read(file, text, sizeof text - 1);
	close(file);
	text[n > 0 ? n : 0] = 0;
	if (!begins_with(text, VARIABLE))
		return none;
	given.page = number(&at);
	if (*at++ != ',')
		return none;
	given.library = number(&at);
	return *at || given.page < 0 || given.library < 0 ? none : given;
}

/* is_page reports whether a descriptor is of a page: another process may have left us the variable. */
static int is_page(int descriptor)
{
	char name[40] = OURS, to[20];
	char *at = name + sizeof OURS - 1;

	for (int unit = 100000; unit; unit /= 10)
		if (descriptor >= unit || unit == 1)
			*at++ = (char)('0' + descriptor / unit % 10);
	return readlink(name, to, sizeof to) == sizeof PAGES - 1 && begins_with(to, PAGES);
}

/* is_chunked reports whether the usable size of a block stands before it. */
static int is_chunked(void)
{
	int agrees = 1;

	for (size_t size = 1; size < LARGE; size = 3 * size + 8) {
		void *block = next.malloc(size);
		if (!block)
			return 0;
		size_t head = ((const size_t *)block)[-1];
		agrees = agrees && !(head & 2) && (head & ~(size_t)7) - sizeof head == next.malloc_usable_size(block);
		next.free(block);
	}
	return agrees;
}

/* count begins counting in a page. It returns 0 where that is not possible. */
static int count(struct counts *page)
{
	struct state *wiped = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (wiped == MAP_FAILED)
		return 0;
	if (madvise(wiped, page_size, MADV_WIPEONFORK)) {
		munmap(wiped, page_size);
		return 0;
	}
	if (&__libc_single_threaded)
		single = &__libc_single_threaded;
	chunks = is_chunked();
	counts = page;
	counted = 1;
	page->state = HEAP_COUNTED;
	wiped->mode = COUNTS;
	state = wiped;
	return 1;
}

/* offered maps the page of the tracer's, and returns NULL if it is not for this process. */
static struct counts *offered(struct given given)
{
	struct counts *page;

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	if (given.page < 0 || !is_page(given.page))
		return NULL;
	page = mmap(NULL, page_size, PROT_READ | PROT_WRITE, MAP_SHARED, given.page, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (page->state != HEAP_OFFERED || page->pid != (uint32_t)getpid()) {
		munmap(page, page_size);
		return NULL;
	}
	close(given.page);
	close(given.library);
	return page;
}

void begin(void)
{
	struct counts *page = counts;
	int own;

	state = &passing;
	if (page) {        /* a forked child: its parent has the page */
		counts = NULL;
		munmap(page, page_size);
		return;
	}
	own = find_next() && gnu_get_libc_version;
	page = offered(find_given());
	if (page && (!own || !count(page))) {
		page->state = HEAP_REFUSED;
		munmap(page, page_size);
	}
}

/* without returns a list of libraries without this one, which is its first. */
static char *without(char *libraries)
{
	if (!begins_with(libraries, OURS))
		return libraries;
	while (*libraries && *libraries != ':' && *libraries != ' ')
		libraries++;
	return *libraries ? libraries + 1 : libraries;
}

/* The environment is the program's from here on, in which the tracer's variables are not. */
__attribute__((constructor)) static void tidy(void)
{
	char **to = environ;

	mode();
	if (!&environ || !environ)
		return;
	for (char **from = environ; *from; from++) {
		char *value = *from + sizeof PRELOAD - 1;
		if (begins_with(*from, VARIABLE))
			continue;
		if (begins_with(*from, PRELOAD)) {
			char *rest = without(value);
			if (!*rest)
				continue;
			while ((*value++ = *rest++))
				;
		}
		*to++ = *from;
	}
	*to = NULL;
}
