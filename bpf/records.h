/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Records that are never lost.
 *
 * A record is written into the store first and sent on the ring second. User space sees by the ticket that one
 * is missing from the ring and fetches it from the store; it acknowledges tickets, and only then is a place in
 * the store used again. So a boundary is never lost: where the store is full, no cut happens.
 */
#ifndef IPYTRACER_RECORDS_H
#define IPYTRACER_RECORDS_H

/*
 * Places that are kept back when a boundary asks whether there is room: for its devices' records, and for CPUs that ask
 * at the same time. What a program can make without end has less of the store, so that a flood of it leaves cells and
 * processes theirs: experiments a half, statements three quarters. An end has some more places than beginnings: it is
 * worth nothing to know a beginning without its end.
 */
#define STORE_RESERVE	  256
#define STATEMENT_RESERVE (MAX_STORED / 4)
#define MARKER_RESERVE	  (MAX_STORED / 2)
#define END_RESERVE	  (MAX_STORED / 16) /* so many fewer for ends */

/* What a boundary is about, as far as room for it goes. */
static __always_inline __u32 refused_as(__u32 kind)
{
	switch (kind) {
	case BOUNDARY_STATEMENT_OPEN:
	case BOUNDARY_STATEMENT_CLOSE:
		return REFUSED_STATEMENT;
	case BOUNDARY_EXPERIMENT_BEGIN:
	case BOUNDARY_EXPERIMENT_END:
	case BOUNDARY_LINE:
	case BOUNDARY_ASKED:
		return REFUSED_MARKER;
	}
	return REFUSED_BOUNDARY;
}

/* How many places of the store must stay free behind a boundary. */
static __always_inline __u64 reserve_for(__u32 kind)
{
	switch (kind) {
	case BOUNDARY_STATEMENT_OPEN:
		return STATEMENT_RESERVE;
	case BOUNDARY_STATEMENT_CLOSE:
		return STATEMENT_RESERVE - END_RESERVE;
	case BOUNDARY_EXPERIMENT_BEGIN:
	case BOUNDARY_LINE:
	case BOUNDARY_ASKED:
		return MARKER_RESERVE;
	case BOUNDARY_EXPERIMENT_END:
		return MARKER_RESERVE - END_RESERVE;
	}
	return STORE_RESERVE;
}

/* Something of a root's found no room. The windows that are open are told by the root's next boundary. */
static __always_inline void refuse(struct root *r, __u32 what)
{
	what &= REFUSED - 1;
	fetch_add(&r->refused[what], 1);
	lose(what == REFUSED_STATEMENT	? LOSS_STATEMENT
	     : what == REFUSED_MARKER	? LOSS_MARKER
	     : what == REFUSED_BOUNDARY ? LOSS_BOUNDARY
					: LOSS_READING);
}

/* The same of what a process's root has to say of it. */
static __always_inline void refuse_reading(struct process *p)
{
	struct root *r = root_of(p);

	if (r)
		refuse(r, REFUSED_READING);
}

static __always_inline bool store_has_room(__u64 reserve)
{
	return *(volatile __u64 *)&next_ticket - *(volatile __u64 *)&acknowledged <= MAX_STORED - reserve;
}

static __always_inline struct boundary *new_record(__u64 *ticket, __u64 reserve)
{
	if (!store_has_room(reserve))
		return NULL;
	*ticket = fetch_add(&next_ticket, 1);
	__u32 place = *ticket & (MAX_STORED - 1);
	return bpf_map_lookup_elem(&store, &place);
}

/*
 * A wake-up costs more than everything else here, and nobody waits for a statement: its records are read with the
 * cell's, unless many have gathered. Statements and experiments leave half of the ring to what is in no store: cells'
 * sources, code and stacks. They are fetched from the store then.
 */
static __always_inline void send_record(struct boundary *b, __u64 ticket)
{
	bool quiet = b->kind == BOUNDARY_STATEMENT_OPEN || b->kind == BOUNDARY_STATEMENT_CLOSE ||
		     b->kind == RECORD_DEVICE;
	bool few = ticket - *(volatile __u64 *)&acknowledged < MAX_STORED / 4;

	bool many = refused_as(b->kind) < REFUSED_BOUNDARY &&
		    bpf_ringbuf_query(&boundaries, BPF_RB_AVAIL_DATA) > boundary_ring_size / 2;

	exchange(&b->ticket, ticket); /* last: a reader of the store believes a record with the right ticket */
	if (many) {
		lose(LOSS_BOUNDARY_RING);
		return;
	}
	if (bpf_ringbuf_output(&boundaries, b, sizeof(*b), quiet && few ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP))
		lose(LOSS_BOUNDARY_RING);
}

/*
 * How what stands in no store is sent: code and stacks. Nobody waits for them, so they are read with what comes next.
 * But a long cell has no boundary for seconds, and what has no room is lost: where much has gathered they wake up who
 * reads.
 */
static __always_inline __u64 wakes_if_many(void)
{
	bool many = bpf_ringbuf_query(&boundaries, BPF_RB_AVAIL_DATA) > boundary_ring_size / 8;

	return many ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

#endif
