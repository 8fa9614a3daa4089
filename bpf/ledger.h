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
 * root's processes once there has been more than one; value[METER_RESIDENT] is only good after settle(), until then the
 * resident total is the sum of its three parts; a boundary without room in the store does not cut (its segment goes on)
 * and is counted.
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

static __always_inline __s64 resident_of(struct process *p)
{
	return *(volatile __s64 *)&p->value[METER_ANON] + *(volatile __s64 *)&p->value[METER_FILE] +
	       *(volatile __s64 *)&p->value[METER_SHMEM];
}

/*
 * Returns the bytes that a process is to add to its tree now: memory that it shares with its parent since the fork
 * counts once, with the parent. A process that is being closed adds nothing. There are no branches: the verifier would
 * walk the code behind for each.
 */
static __always_inline __s64 adds(struct process *p, __u64 meter)
{
	__s64 other = (__s64)(meter ^ METER_RESIDENT);

	asm volatile("" : "+r"(other));
	__s64 sums = (other - 1) >> 63; /* all bits for resident, none for another */
	__s64 own = (resident_of(p) & sums) | (*(volatile __s64 *)&p->value[meter] & ~sums);
	own -= *(volatile __s64 *)&p->inherited[meter];
	own &= -(__s64) * (volatile __u32 *)&p->active;
	return own & ~(own >> 63);
}

#define FOLLOWS 3 /* attempts: where other CPUs are faster each time, they have seen the latest values */

/*
 * Moves a tree's sum after a process's meter. `added` is the process's part of the tree's sum: every CPU that changes
 * it moves the sum by as much. So the sum is that of all `added`, and does not drift, whatever other CPUs do meanwhile.
 * The meter is read again behind the change: of two CPUs that move it at once, the later one leaves the result of both
 * there. Neither static nor inline: the verifier checks it once, and not at every call.
 */
__attribute__((noinline)) int tree_follows(struct process *p, __u32 number)
{
	__u64 meter = AT_MOST(number, METERS - 1);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || !*(volatile __u32 *)&r->shared)
		return 0;
	for (int i = 0; i < FOLLOWS; i++) {
		__s64 was = *(volatile __s64 *)&p->added[meter], now = adds(p, meter);
		if (now == was)
			break;
		if (__sync_val_compare_and_swap(&p->added[meter], was, now) != was)
			continue;
		raise_to(&r->tree_high[meter], fetch_add(&r->tree[meter], now - was) + now - was);
	}
	return 0;
}

/*
 * Reports whether a value as high has been sent in a segment. If not, notes that it will be. Segment and value are one
 * word: a note of a segment that is over never replaces one of the next segment, which happened when two CPUs wrote a
 * pair at once.
 */
static __always_inline bool sent_before(__u64 *sent, __u64 segment, __u64 value, __u64 unit)
{
	__u64 was = *(volatile __u64 *)sent, now = segment << SENT_BITS | value / unit;

	if (value % unit || value / unit >> SENT_BITS)
		return false; /* it cannot be compared with others: sent, and not noted */
	if (was >> SENT_BITS == now >> SENT_BITS && was >= now)
		return true;
	/* Where another CPU is faster, too much is sent, never too little. */
	__sync_val_compare_and_swap(sent, was, now);
	return false;
}

/* Returns the number of the change to send for a value from which a meter falls, 0 where it need not be sent. */
__attribute__((noinline)) __u64 unless_sent(struct process *p, __u64 segment, __u32 number, __s64 from, __u32 unit)
{
	__u64 meter = AT_MOST(number, METERS - 1);
	struct root *r = p ? root_of(p) : NULL;

	if (!r || (sent_before(&p->sent[meter], segment, from, unit) && in_segment(p, segment)))
		return 0;
	return next_change(r);
}

/*
 * Keeps the value from which a meter is about to fall: only now is that value a maximum that must be kept. While a
 * meter rises nothing needs to be done for its maximum: the next fall or boundary sees the highest value. It is kept
 * before the value changes: a boundary in between finds either the value or the maximum. Meters that move page by page
 * are streamed only here, and only if the value is the highest of the segment so far: nothing else can be a window's
 * peak. While a boundary is being drawn all values are streamed: one side has had higher ones, the other not. Returns
 * the number of the change to send, or 0.
 */
static __always_inline __u64 falls(struct process *p, __u64 segment, __u32 meter, __s64 from, __u32 unit)
{
	raise_to(&p->high[meter], from);
	return unless_sent(p, segment, meter, from, unit);
}

/* Sends the value from which a meter was to fall, whether or not it fell: the meter had that value. */
__attribute__((noinline)) int fell(struct process *p, __u64 number, __u64 segment, __u32 meter, __s64 from)
{
	struct root *r = p && number ? root_of(p) : NULL;

	if (r)
		send_change(p, r, number, segment, meter, from, 0, 0, 0);
	return 0;
}

/* Moves a meter by a difference and returns the new value. The caller streams every such change. */
static __always_inline __s64 move(struct process *p, struct root *r, __u32 meter, __s64 difference)
{
	__s64 value = fetch_add(&p->value[meter], difference) + difference;

	raise_to(&p->high[meter], value);
	if (*(volatile __u32 *)&r->shared)
		tree_follows(p, meter);
	return value;
}

/*
 * Updates a process's maxima and its resident total from its values. Like the other functions that are neither static
 * nor inline it takes numbers only: the verifier then looks at it once and not at every call.
 */
__attribute__((noinline)) int settle(__u32 slot)
{
	struct process *p = process_at(slot);

	if (!p)
		return 0;
	p->value[METER_RESIDENT] = resident_of(p);
	for (int m = 0; m < METERS; m++)
		raise_to(&p->high[m], p->value[m]);
	return 0;
}

#endif
