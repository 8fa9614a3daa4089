/* The log of marks as text. */
#include "log.h"

static char *put_field(char *to, const char *name, int64_t n)
{
	char digits[24];
	int i = 24;
	uint64_t u = n < 0 ? -(uint64_t)n : (uint64_t)n;

	do
		digits[--i] = '0' + u % 10;
	while (u /= 10);
	to = put(to, ", \"");
	to = put(to, name);
	to = put(to, "\": ");
	if (n < 0)
		*to++ = '-';
	while (i < 24)
		*to++ = digits[i++];
	return to;
}

/* Writes every mark as a line of JSON. Labels are taken as they are: quotes and backslashes become '?'. */
int truth_dump(const char *path)
{
	char line[640], *p;
	int fd = sys_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	for (uint32_t i = 0; log_ && i < log_->next && i < CAPACITY; i++) {
		struct mark *m = &log_->marks[i];

		if (!__atomic_load_n(&m->ready, __ATOMIC_ACQUIRE))
			continue;
		p = put(line, "{\"label\": \"");
		for (const char *s = m->label; *s; s++)
			*p++ = *s == '"' || *s == '\\' || (unsigned char)*s < ' ' ? '?' : *s;
		p = put(p, "\"");
		p = put_field(p, "ns", m->ns);
		p = put_field(p, "data", m->data);
		p = put_field(p, "rss", m->rss);
		p = put_field(p, "anon", m->anon);
		p = put_field(p, "file", m->file);
		p = put_field(p, "shmem", m->shmem);
		p = put_field(p, "pid", m->pid);
		p = put_field(p, "tid", m->tid);
		p = put(p, m->flags & BY_WALK ? ", \"walk\": true" : ", \"walk\": false");
		p = put(p, m->flags & SETTLED ? ", \"settled\": true}\n" : ", \"settled\": false}\n");
		if (syscall(SYS_write, fd, line, p - line) != p - line) {
			sys_close(fd);
			return -1;
		}
	}
	sys_close(fd);
	return 0;
}
