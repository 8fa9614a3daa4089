// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Only delays. Programs at the tracepoints of the tracer's own, in front of them if they are attached first: threads
 * that end, fork or execute a program wait there until the clock is at a multiple of a time, and so meet behind it, in
 * the tracer's programs. A part of the events of memory waits likewise, for less.
 *
 * Needs bpf_for_each_map_elem (Linux 5.13).
 */
#include <linux/types.h>
#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define NAMES	   4
#define MOST_LOOKS (1 << 20) /* at the clock; takes tens of milliseconds, in case it stands still */

/* Threads whose names begin with one of these wait: the first eight bytes of a name, and which bits of them count. */
const volatile __u64 name[NAMES];
const volatile __u64 mask[NAMES];
const volatile __u64 meeting = 200000;	   /* ns: threads that end, fork or execute meet at multiples of it */
const volatile __u64 short_meeting = 5000; /* ns: those whose memory moves */
const volatile __u32 one_of = 16;	   /* events of memory waits; a power of two */

__u64 waits; /* of threads that ended, forked or executed */

/* Of which only the number of entries matters. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_LOOKS);
	__type(key, __u32);
	__type(value, __u64);
} looks SEC(".maps");

static long look(void *map, const __u32 *i, const void *value, const __u64 *until)
{
	return bpf_ktime_get_ns() >= *until;
}

static __always_inline bool is_ours(void)
{
	__u64 comm[2] = {};

	bpf_get_current_comm(comm, sizeof(comm));
	for (int i = 0; i < NAMES; i++)
		if (mask[i] && (comm[0] & mask[i]) == name[i])
			return true;
	return false;
}

static __always_inline int meet(__u64 every)
{
	__u64 until = (bpf_ktime_get_ns() / every + 1) * every;

	bpf_for_each_map_elem(&looks, look, &until, 0);
	return 0;
}

static __always_inline int meet_at_an_end(void)
{
	if (!is_ours())
		return 0;
	__sync_fetch_and_add(&waits, 1);
	return meet(meeting);
}

static __always_inline int meet_at_times(void)
{
	return (bpf_get_prandom_u32() & (one_of - 1)) == 0 && is_ours() ? meet(short_meeting) : 0;
}

SEC("raw_tp/sched_process_fork")
int at_fork(void *ctx)
{
	return meet_at_an_end();
}

SEC("raw_tp/sched_process_exec")
int at_exec(void *ctx)
{
	return meet_at_an_end();
}

SEC("raw_tp/sched_process_exit")
int at_exit(void *ctx)
{
	return meet_at_an_end();
}

SEC("raw_tp/rss_stat")
int at_rss(void *ctx)
{
	return meet_at_times();
}

SEC("raw_tp/mmap_lock_released")
int at_lock(void *ctx)
{
	return meet_at_times();
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
