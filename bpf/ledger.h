/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The segment ledger.
 *
 * Time is cut into segments by boundaries, one sequence of segments for each root. Within a segment the ledger
 * keeps, for each process and meter, the value and the maximum (high) and nothing else, so an event costs the
 * same however many windows are open. A boundary takes every high, starts it again from the value at that
 * instant, and sends both. The peak of a window is the maximum over its segments: exact for any number of
 * nested and overlapping windows, because every window begins and ends at a boundary.
 *
 * Invariants: value and high change by atomics only; at a boundary high >= value; tree[m] is the sum of added[m] of the
 * root's processes once there has been more than one, with what forked.h adds to that of anonymous memory;
 * value[METER_RESIDENT] is only good after settle(), until then the resident total is the sum of its three parts; a
 * boundary without room in the store does not cut (its segment goes on) and is counted.
 */
#ifndef IPYTRACER_LEDGER_H
#define IPYTRACER_LEDGER_H

#define COUNTER_UNKNOWN (1ll << 62) /* of struct process, in a slot that was just opened */

/* Parts of process.sent: see sent_before(). The rest of the word is the segment's lowest bits. */
#define SENT_BITS    40
#define SENT_VALUE   ((1ull << SENT_BITS) - 1)
#define SENT_SEGMENT (~0ull >> SENT_BITS)
#define SENT_UNIT    512 /* bytes: every page is a multiple, and every block of PyTorch's on a GPU */
#define SENT_BYTE    1	 /* for meters that move by the bytes requested: up to 1 TiB */

#define fetch_add(p, v) __sync_fetch_and_add(p, v)
#define exchange(p, v)	__sync_lock_test_and_set(p, v)
/* Makes the verifier forget the value of a variable on the stack, so that it does not walk on once for each value. */
#define FORGET(what) fetch_add(&(what), 0)

static __always_inline void lose(__u32 reason)
{
	fetch_add(&losses[reason & (LOSSES - 1)], 1);
}

static __always_inline void raise(__s64 *high, __s64 value)
{
	__s64 seen = *(volatile __s64 *)high;

	for (int i = 0; i < 16; i++) {
		if (value <= seen)
			return;
		__s64 was = __sync_val_compare_and_swap(high, seen, value);
		if (was == seen)
			return;
		seen = was;
	}
}

/*
 * Raises a maximum to a value. Neither static nor inline: the verifier checks such a function once, and not at every
 * call.
 */
__attribute__((noinline)) int raise_to(__s64 *high, __s64 value)
{
	if (high)
		raise(high, value);
	return 0;
}

/*
 * Takes a maximum. The next one begins at the value of the same instant: where the value moves in between, it is tried
 * again, and all that was taken until then is from before that instant. So a change of a meter that moves by blocks is
 * on one side with its value and with the maximum.
 */
static __always_inline void take(__s64 *value, __s64 *high, __s64 *now, __s64 *highest)
{
	__s64 most = *(volatile __s64 *)value;

	for (int i = 0; i < 8; i++) {
		__s64 at = *(volatile __s64 *)value, was = exchange(high, at);
		most = most > at ? most : at;
		most = most > was ? most : was;
		*now = at;
		if (*(volatile __s64 *)value == at)
			break;
	}
	*highest = most;
}

__attribute__((noinline)) int take_high(__s64 *value, __s64 *high, __s64 *now, __s64 *highest)
{
	if (value && high && now && highest)
		take(value, high, now, highest);
	return 0;
}

static __always_inline __u32 space_hash(__u64 mm)
{
	return (mm >> 6 ^ mm >> 18) & (FILTER_SIZE - 1);
}

static __always_inline struct process *process_at(__u32 slot)
{
	return bpf_map_lookup_elem(&processes, &slot);
}

static __always_inline __u32 slot_of(__u64 mm)
{
	__u64 first = *(volatile __u64 *)&first_space;

	if ((first & ~(__u64)(FIRST_SLOTS - 1)) == mm)
		return first & (FIRST_SLOTS - 1);
	if (!space_filter[space_hash(mm)])
		return NO_SLOT;
	__u32 *slot = bpf_map_lookup_elem(&spaces, &mm);
	return slot ? *slot : NO_SLOT;
}

static __always_inline struct root *root_of(struct process *p)
{
	__u32 root = p->root;
	return bpf_map_lookup_elem(&roots, &root);
}

/*
 * Returns the number of a change. It is taken before the change is made: a boundary between the two then counts the
 * change, and the proof of its windows waits for it.
 */
static __always_inline __u64 next_change(struct root *r)
{
	return fetch_add(&r->stream, 1) + 1;
}

/*
 * Reports whether a process is in no segment but this one. Maxima kept before the call were then kept in this segment.
 */
static __always_inline bool in_segment(struct process *p, __u64 segment)
{
	return !*(volatile __u32 *)&p->cutting && *(volatile __u64 *)&p->segment == segment;
}

/*
 * Returns the most boundaries that have been drawn since a segment was looked up. One that is being drawn counts. It is
 * read first: where it has ended, its segment has ended, too.
 */
static __always_inline __u32 passed(struct process *p, __u64 segment)
{
	__u64 one = *(volatile __u32 *)&p->cutting != 0;
	__u64 all = *(volatile __u64 *)&p->segment - segment;

	if (!(one | all))
		return 0;
	if (one & (all != 0)) { /* is it still that one? */
		one = *(volatile __u32 *)&p->cutting != 0;
		all = *(volatile __u64 *)&p->segment - segment;
	}
	all += one;
	return all < PASSED_MOST ? all : PASSED_MOST;
}

static __always_inline void send_change(struct process *p, struct root *r, __u64 number, __u64 segment, __u32 meter,
					__s64 value, __s64 size, __u64 address, __u64 stack)
{
	struct change *c = bpf_ringbuf_reserve(&changes, sizeof(*c), 0);

	if (!c) {
		lose(LOSS_CHANGE_RING);
		return;
	}
	c->stream = number;
	c->segment = segment;
	c->time = bpf_ktime_get_ns();
	c->address = address;
	c->stack = stack;
	c->value = value;
	c->size = size;
	c->root = p->root;
	c->pid = p->pid;
	c->tid = (__u32)bpf_get_current_pid_tgid();
	/* A change while the maxima are taken belongs to either side; so does one after its segment was looked up. */
	c->meter = meter | passed(p, segment) * CHANGE_PASSED;
	bpf_ringbuf_submit(c, BPF_RB_NO_WAKEUP);
	/* Check the fill level now and then; send a nudge every so often while it is over a quarter. */
	if ((number & 127) == 0 && bpf_ringbuf_query(&changes, BPF_RB_AVAIL_DATA) > change_ring_size / 4) {
		struct header h = { .kind = RECORD_NUDGE };
		bpf_ringbuf_output(&boundaries, &h, sizeof(h), BPF_RB_FORCE_WAKEUP);
	}
}

/* Counts `size` more bytes by which a root's meters may be off from now on. */
static __always_inline void misses_of(struct root *r, __u32 what, __s64 size)
{
	if (size == MISSING_UNKNOWN || size < 0 || size > MISSING_MOST)
		__sync_fetch_and_or(&r->missing[what], MISSING_UNKNOWN);
	else
		fetch_add(&r->missing[what], size);
}

static __always_inline void misses(__u32 slot, __u32 what, __s64 size)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (r)
		misses_of(r, what, size);
}

/* Counts a free or growth of memory in a root's process if its allocation was not seen: at most `slack` bytes. */
static __always_inline void unknown_of(struct root *r, __u32 what, __s64 slack)
{
	fetch_add(&r->unknown[what], 1);
	if (slack)
		fetch_add(&r->slack[what], slack);
}

#endif
