/*
 * truth: what this process really holds.
 *
 * Oracle for the tests, independent of everything the tracer reads. Loaded with ctypes: PyDLL keeps the GIL for the
 * whole call, CDLL gives it up. Nothing here calls malloc, stdio or anything else that may take memory: system calls,
 * static buffers that were written once when the library was loaded, and in take.c pthread_create (which maps the
 * stacks: they are part of what is marked). Linked with -nostdlib: `syscall` and the pthread functions come
 * unversioned from the libc that the interpreter brought, so one build serves older and newer systems.
 *
 * Three sources, three qualities:
 *
 *  VmData in /proc/self/status  mm->data_vm, a plain counter changed under the mmap lock: exact on every kernel.
 *  /proc/self/smaps             a walk of the page tables. It counts pages that are there, and touches no counter. It
 *                               is exact on every kernel as long as no other thread of the process faults or unmaps
 *                               during the walk (1-20 ms). The sum over all mappings equals smaps_rollup. Mapping by
 *                               mapping it also separates shmem from file, which smaps_rollup only does as Pss, that
 *                               is divided by the number of sharers.
 *  Rss* in /proc/self/status    the counters MM_ANONPAGES, MM_FILEPAGES, MM_SHMEMPAGES. They are summed over the CPUs
 *                               since Linux 6.16 (and stable kernels with "mm: fix the inaccurate memory statistics
 *                               issue for users"): exact, a few microseconds. Linux 6.2 to 6.15 leave out up to
 *                               batch x CPUs pages of each; before 6.2 every thread keeps up to 64 faults to itself.
 * Walk and counters must agree to the page, because both skip the same pages: the zero page and the huge zero page,
 * pages mapped by frame number (vvar, remap_pfn_range), hugetlb pages (they have their own count), swap entries
 * (MM_SWAPENTS). Both count vdso pages once touched, pages put in with vm_insert_page (BPF ring buffers: file), a
 * breakpoint's private copy of a text page (one page less of file, one more of anon), a huge page as 512 pages from its
 * first byte on, and pages under migration.
 * truth_mark() reads counters, walk, counters, and calls the mark settled when all three agree. Unsettled means that
 * another thread moved in between, or a kernel with approximate counters: then only the walk counts.
 */
#include "log.h"
#include "machine.h"
#include "text.h"

enum {
	MAX_SHMEM_DEVICES = 32,
	BUFFER = 32768,
	LINE = 192,
};

struct sizes {
	int64_t data, rss, anon, file, shmem;
};

struct log *log_;
static char buffer[BUFFER];
static int lock_;
static int lagging;	/* the counters are no truth */
static long warm_in;	/* the process that warm() ran in */
static uint64_t shmem_devices[MAX_SHMEM_DEVICES];
static int shmem_device_count;

/* Calls `each` with every line of a file, cut to LINE bytes. Uses the static buffer: hold the lock. */
static int lines(const char *path, void (*each)(const char *line, void *to), void *to)
{
	char line[LINE];
	size_t used = 0;
	long got;
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	while ((got = syscall(SYS_read, fd, buffer, BUFFER)) > 0) {
		for (long i = 0; i < got; i++) {
			if (buffer[i] != '\n') {
				if (used < LINE - 1)
					line[used++] = buffer[i];
				continue;
			}
			line[used] = 0;
			each(line, to);
			used = 0;
		}
	}
	sys_close(fd);
	return got < 0 ? -1 : 0;
}

/*
 * Has every page of this library and of the log mapped, so that no mark is the first to touch one and none counts
 * itself. Done at load and again in a forked child: its page tables leave file pages out. Reading through a system
 * call is safe where a page is not there.
 */
static void warm(void)
{
	extern char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));
	int fd = (int)syscall(SYS_memfd_create, "truth-warm", MFD_CLOEXEC);

	for (uintptr_t p = (uintptr_t)__ehdr_start; p < (uintptr_t)_end; p += 4096)
		syscall(SYS_pwrite64, fd, p, 1, 0);
	for (size_t i = 0; log_ && i < sizeof *log_; i += 4096)
		syscall(SYS_pwrite64, fd, (char *)log_ + i, 1, 0);
	sys_close(fd);
	warm_in = syscall(SYS_getpid);
}

static void take(void)
{
	while (__atomic_exchange_n(&lock_, 1, __ATOMIC_ACQUIRE))
		syscall(SYS_sched_yield);
}

static void give(void) { __atomic_store_n(&lock_, 0, __ATOMIC_RELEASE); }

/* ---- the two readings -------------------------------------------------------------------------------------------- */

static void status_line(const char *line, void *to)
{
	struct sizes *s = to;

	if (starts(line, "VmData:"))
		s->data = kilobytes(line);
	else if (starts(line, "RssAnon:"))
		s->anon = kilobytes(line);
	else if (starts(line, "RssFile:"))
		s->file = kilobytes(line);
	else if (starts(line, "RssShmem:"))
		s->shmem = kilobytes(line);
}

static void read_counters(struct sizes *s)
{
	*s = (struct sizes){ 0 };
	lines("/proc/self/status", status_line, s);
	s->rss = s->anon + s->file + s->shmem;
}

struct walk {
	struct sizes *sizes;
	int64_t rss;
	int shmem;
};

/* A mapping's header line ("7f..-7f.. rw-s 00000000 00:01 1234 /memfd:x") or one of its fields ("Rss:   12 kB"). */
static void smaps_line(const char *line, void *to)
{
	struct walk *w = to;

	if (starts(line, "Rss:")) {
		w->rss = kilobytes(line);
		w->sizes->rss += w->rss;
	} else if (starts(line, "Anonymous:")) {
		int64_t anon = kilobytes(line);

		w->sizes->anon += anon;
		*(w->shmem ? &w->sizes->shmem : &w->sizes->file) += w->rss - anon;
	} else if (line[0] < 'A' || line[0] > 'Z') {
		uint64_t dev = device(skip_words(line, 3), 16);

		w->shmem = 0;
		for (int i = 0; i < shmem_device_count; i++)
			w->shmem |= dev == shmem_devices[i];
	}
}

static int read_walk(struct sizes *s)
{
	struct walk w = { .sizes = s };

	s->rss = s->anon = s->file = s->shmem = 0;
	return lines("/proc/self/smaps", smaps_line, &w);
}

/* ---- marks ------------------------------------------------------------------------------------------------------- */

static void put_mark(const char *label, int walk)
{
	struct sizes before, s, after;
	struct mark *m;
	uint32_t i, flags = 0;

	if (!log_)
		return;
	if (warm_in != syscall(SYS_getpid))
		warm();
	take();
	read_counters(&before);
	after = s = before;
	if (walk && read_walk(&s) == 0) {
		read_counters(&after);
		flags = BY_WALK;
		if (before.data == after.data && before.anon == s.anon && s.anon == after.anon && before.file == s.file &&
		    s.file == after.file && before.shmem == s.shmem && s.shmem == after.shmem)
			flags |= SETTLED;
	}
	give();
	i = __atomic_fetch_add(&log_->next, 1, __ATOMIC_RELAXED);
	if (i >= CAPACITY)
		return;
	m = &log_->marks[i];
	m->data = after.data;
	m->rss = s.rss;
	m->anon = s.anon;
	m->file = s.file;
	m->shmem = s.shmem;
	m->counted_before = before.rss;
	m->counted_after = after.rss;
	m->pid = (int32_t)syscall(SYS_getpid);
	m->tid = (int32_t)syscall(SYS_gettid);
	m->flags = flags;
	for (int k = 0; label && label[k] && k < LABEL - 1; k++)
		m->label[k] = label[k];
	m->ns = now();
	__atomic_store_n(&m->ready, 1, __ATOMIC_RELEASE);
}

void truth_mark(const char *label) { put_mark(label, 1); }

void truth_mark_fast(const char *label) { put_mark(label, lagging); }

int64_t truth_data(void)
{
	struct sizes s;

	take();
	read_counters(&s);
	give();
	return s.data;
}

/* out: anon, file, shmem in bytes, by walking the page tables. 0, or -1 when /proc cannot be read. */
int truth_rss(int64_t out[3])
{
	struct sizes s = { 0 };
	int failed;

	take();
	failed = read_walk(&s);
	give();
	out[0] = s.anon;
	out[1] = s.file;
	out[2] = s.shmem;
	return failed;
}

int64_t truth_resident(void)
{
	int64_t out[3];

	return truth_rss(out) ? -1 : out[0] + out[1] + out[2];
}

/* The same by the counters, to compare. */
int truth_counters(int64_t out[3])
{
	struct sizes s;

	take();
	read_counters(&s);
	give();
	out[0] = s.anon;
	out[1] = s.file;
	out[2] = s.shmem;
	return 0;
}

/*
 * Keeps the log in a file, shared with every process that opens the same one (an exec'd child, the driver that reads
 * along). An empty path: in memory shared with forked children only.
 */
int truth_open(const char *path)
{
	int flags = MAP_SHARED | MAP_POPULATE, fd = -1;
	struct log *l;

	if (path && path[0]) {
		fd = sys_open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof *l) < 0)
			return -1;
	} else {
		flags |= MAP_ANONYMOUS;
	}
	l = sys_mmap(sizeof *l, PROT_READ | PROT_WRITE, flags, fd);
	if (fd >= 0)
		sys_close(fd);
	if (l == MAP_FAILED)
		return -1;
	lagging = machine_behind() != 0;
	l->capacity = CAPACITY;
	l->mark_size = sizeof(struct mark);
	l->page = 4096;
	put(l->magic, "truth-1");
	log_ = l;
	warm();
	return 0;
}

static void mountinfo_line(const char *line, void *to)
{
	const char *s = line;

	(void)to;
	while (*s && !starts(s, " - "))
		s++;
	if ((starts(s, " - tmpfs ") || starts(s, " - devtmpfs ")) && shmem_device_count < MAX_SHMEM_DEVICES)
		shmem_devices[shmem_device_count++] = device(skip_words(line, 2), 10);
}

/* Shared anonymous memory, memfd and System V segments live on one hidden mount: its device comes from a memfd. */
__attribute__((constructor)) static void start(void)
{
	struct statx st;
	int fd = (int)syscall(SYS_memfd_create, "truth-probe", MFD_CLOEXEC);

	if (fd >= 0) {
		if (syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &st) == 0)
			shmem_devices[shmem_device_count++] = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
		sys_close(fd);
	}
	touch(buffer, BUFFER, 1024);
	lines("/proc/self/mountinfo", mountinfo_line, 0);
}
