/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of large blocks, and of lent ones. */
#include "counts.h"
#include "table.h"

#include <sched.h>

#define LENT ((size_t)1 << (8 * sizeof(size_t) - 1))

static struct table sizes;
int locked;

extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));
extern int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) __attribute__((weak));

void lock(int *held)
{
	while (__atomic_exchange_n(held, 1, __ATOMIC_ACQUIRE))
		sched_yield();
}

int at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
	if (__register_atfork)
		return __register_atfork(before, in_parent, in_child, NULL) == 0;
	return pthread_atfork && pthread_atfork(before, in_parent, in_child) == 0;
}

static void (*after_fork)(void);

static void before_fork(void)
{
	lock_blocks();
}

static void in_parent(void)
{
	unlock_blocks();
}

static void in_child(void)
{
	unlock_blocks();
	after_fork();
}

int prepare_records(void (*forked)(void))
{
	after_fork = forked;
	/* The lock is held across a fork, so that the child has a whole table and a lock that it can open. */
	return at_fork(before_fork, in_parent, in_child);
}

int record(const void *block, size_t size, int lent)
{
	size_t before;
	int kept;

	lock_blocks();
	kept = put_entry(&sizes, block, size | (lent ? LENT : 0), &before);
	hot.large += kept && !lent && size >= LEAST_LENT;
	unlock_blocks();
	return kept;
}

size_t take_record(const void *block, int *lent)
{
	size_t size = UNKNOWN, word;

	lock_blocks();
	word = take_entry(&sizes, block);
	if (word != NO_WORD) {
		size = word & ~LENT;
		*lent = (word & LENT) != 0;
		hot.large -= !*lent && size >= LEAST_LENT;
	}
	unlock_blocks();
	return size;
}
