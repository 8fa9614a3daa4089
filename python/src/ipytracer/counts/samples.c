/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of small blocks: they are lent, so that the tracer's probes read who made them. That takes some microseconds,
 * so one SHARE of the time goes to it. What was not spent is saved, up to FULL. While at least ENOUGH is left, each
 * block from LEAST_SEEN bytes on is lent. Below that an interval grows: larger blocks are lent, and of smaller
 * ones some, with exponential gaps between them. So a block of n bytes is a sample with a probability of
 * 1 - exp(-n / interval), whatever was made before it, and stands for n divided by that.
 */
#include "counts.h"

#include <time.h>

#define LEAST_SEEN 1024u       /* bytes: NumPy keeps smaller blocks that are freed, without a probe in the way */
#define FULL       8000000     /* nanoseconds of credit */
#define ENOUGH     6000000
#define SHARE      100         /* the time that passes, for each nanosecond of credit */
#define MOST       50000       /* nanoseconds that one block costs: in a longer time other threads ran */
#define STEPS      20          /* doublings of the interval, from LEAST_SEEN on */

static int64_t credit;         /* nanoseconds */
static uint64_t counted_to;    /* the time until which credit has accrued */
static uint64_t random_state;
static unsigned int doublings; /* of the interval */

uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* draw returns a random number (xorshift64, G. Marsaglia, 2003), never 0. */
static uint64_t draw(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* gap returns bytes with an exponential distribution of some mean. */
static int64_t gap(double mean)
{
	uint64_t drawn = draw();
	int zeros = __builtin_clzll(drawn);
	double part = (double)(drawn << zeros >> 11) / (double)(UINT64_C(1) << 52); /* from 1 to 2 */
	double t = (part - 1) / (part + 1), square = t * t;
	/* The logarithm of part, by the series of artanh t, where t is at most 1/3. */
	double log = 2 * t * (1 + square * (1. / 3 + square * (1. / 5 + square * (1. / 7 + square * (1. / 9)))));

	return (int64_t)(mean * (0.69314718055994531 * (zeros + 1) - log)) + 1;
}

/* adjust sets the interval by the credit. A new gap begins: an exponential one does not depend on what was before. */
static void adjust(uint64_t now)
{
	size_t interval;

	credit += (int64_t)((now - counted_to) / SHARE);
	if (credit > FULL)
		credit = FULL;
	counted_to = now;
	doublings = 0;
	if (credit < ENOUGH) {
		int64_t step = (ENOUGH - credit) / (ENOUGH / STEPS) + 1;
		doublings = step < STEPS ? (unsigned int)step : STEPS;
	}
	interval = (size_t)LEAST_SEEN << doublings;
	hot.lend_from = interval < LEAST_LENT ? interval : LEAST_LENT;
	hot.until_sample = doublings ? gap((double)interval) : NEVER;
}

void begin_samples(void)
{
	counted_to = clock_now();
	if (!random_state)
		random_state = counted_to | 1;
	credit = FULL;
	adjust(counted_to);
}

void end_samples(size_t lend_from)
{
	hot.lend_from = lend_from;
	hot.until_sample = NEVER;
}

int is_sample(size_t size)
{
	if (size < LEAST_SEEN) {
		hot.until_sample = gap((double)((size_t)LEAST_SEEN << doublings));
		return 0;
	}
	hot.counts->sample = 1 + doublings;
	return 1;
}

void pay_for_sample(uint64_t since)
{
	uint64_t now = clock_now();
	int64_t cost = (int64_t)(now - since);

	credit -= 2 * (cost < MOST ? cost : MOST); /* the free costs as much */
	adjust(now);
}

/* ipytracer_counts_adjust takes in the time that has passed. The companion calls it as a cell begins. */
EXPORT void ipytracer_counts_adjust(void)
{
	if (hot.lend_from && hot.lend_from != NEVER_LENT)
		adjust(clock_now());
}
