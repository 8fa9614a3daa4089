/* The time of the stand-ins. */
#ifndef STANDIN_CLOCK_H
#define STANDIN_CLOCK_H

#include <stdlib.h>
#include <time.h>

/* CLOCK_MONOTONIC in ns. */
static inline long long clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* A length of time in ns from the environment, 0 if it has none. */
static inline long clock_setting(const char *name)
{
	const char *text = getenv(name);

	return text ? atol(text) : 0;
}

#endif
