/* What /proc says, as numbers. */
#pragma once

#include <stdint.h>

static inline int starts(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return 0;
	return 1;
}

static inline int64_t kilobytes(const char *s)
{
	int64_t n = 0;

	while (*s && (*s < '0' || *s > '9'))
		s++;
	while (*s >= '0' && *s <= '9')
		n = n * 10 + (*s++ - '0');
	return n * 1024;
}

static inline const char *skip_words(const char *s, int n)
{
	while (n-- > 0) {
		while (*s && *s != ' ')
			s++;
		while (*s == ' ')
			s++;
	}
	return s;
}

static inline uint64_t number(const char **s, int base)
{
	uint64_t n = 0;

	for (;; (*s)++) {
		int c = **s, digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;

		if (digit >= base)
			return n;
		n = n * base + digit;
	}
}

/* "major:minor" in the given base, as one number. */
static inline uint64_t device(const char *s, int base)
{
	uint64_t major = number(&s, base);

	s++;
	return major << 32 | number(&s, base);
}
