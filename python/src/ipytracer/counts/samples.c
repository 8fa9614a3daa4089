/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of small blocks: they are lent, so that the tracer's probes read who made them. That takes some microseconds,
 * so one SHARE of the time goes to it. What was not spent is saved, up to FULL. While at least ENOUGH is left, each
 * block is lent that is not smaller than the least. Below that an interval grows: larger blocks are lent, and of
 * smaller ones some, with exponential gaps between them. So a block of n bytes is a sample with a probability of
 * 1 - exp(-n / interval), whatever was made before it, and stands for n divided by that.
 */
#include "counts.h"

#include <time.h>

#define FINEST     1024u       /* bytes: the interval, before it doubles */
#define FULL       8000000     /* nanoseconds of credit */
#define ENOUGH     6000000
#define SHARE      100         /* the time that passes, for each nanosecond of credit */
#define MOST       50000       /* nanoseconds that one block costs: in a longer time other threads ran */
#define STEPS      20          /* doublings of the interval, from FINEST on */

uint64_t clock_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* draw returns a random number (xorshift64, G. Marsaglia, 2003), never 0. */
static uint64_t draw(struct samples *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

/* gap returns bytes with an exponential distribution of some mean. */
static int64_t gap(struct samples *s, double mean)
{
	uint64_t drawn = draw(s);
	int zeros = __builtin_clzll(drawn);
	double part = (double)(drawn << zeros >> 11) / (double)(UINT64_C(1) << 52); /* from 1 to 2 */
	double t = (part - 1) / (part + 1), square = t * t;
	/* The logarithm of part, by the series of artanh t, where t is at most 1/3. */
	double log = 2 * t * (1 + square * (1. / 3 + square * (1. / 5 + square * (1. / 7 + square * (1. / 9)))));

	return (int64_t)(mean * (0.69314718055994531 * (zeros + 1) - log)) + 1;
}

/* adjust sets the interval by the credit. A new gap begins: an exponential one does not depend on what was before. */
static void adjust(struct samples *s, uint64_t now)
{
	size_t interval;

	s->credit += (int64_t)((now - s->counted_to) / SHARE);
	if (s->credit > FULL)
		s->credit = FULL;
	s->counted_to = now;
	s->doublings = 0;
	if (s->credit < ENOUGH) {
		int64_t step = (ENOUGH - s->credit) / (ENOUGH / STEPS) + 1;
		s->doublings = step < STEPS ? (uint32_t)step : STEPS;
	}
	interval = (size_t)FINEST << s->doublings;
	s->lend_from = !s->doublings ? s->least : interval < LEAST_LENT ? interval : LEAST_LENT;
	s->until = s->doublings ? gap(s, (double)interval) : NEVER;
}

void begin_samples(struct samples *s)
{
	s->counted_to = clock_now();
	if (!s->random)
		s->random = s->counted_to | 1;
	s->credit = FULL;
	adjust(s, s->counted_to);
}

void end_samples(struct samples *s, size_t lend_from)
{
	s->lend_from = lend_from;
	s->until = NEVER;
}

int is_sample(struct samples *s, size_t size, uint64_t *note)
{
	if (size < s->least) {
		s->until = gap(s, (double)((size_t)FINEST << s->doublings));
		return 0;
	}
	*note = 1 + s->doublings;
	return 1;
}

void pay_for_sample(struct samples *s, uint64_t since)
{
	uint64_t now = clock_now();
	int64_t cost = (int64_t)(now - since);

	s->credit -= 2 * (cost < MOST ? cost : MOST); /* the free costs as much */
	adjust(s, now);
}

void adjust_samples(struct samples *s)
{
	adjust(s, clock_now());
}

/* ipytracer_counts_adjust takes in the time that has passed. The companion calls it as a cell begins. */
EXPORT void ipytracer_counts_adjust(void)
{
	if (hot.samples.lend_from && hot.samples.lend_from != NEVER_LENT)
		adjust_samples(&hot.samples);
}
