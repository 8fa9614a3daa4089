/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Records that are never lost.
 *
 * A record is written into the store first and sent on the ring second. User space sees by the tickets that a record is
 * missing from the ring and fetches it from the store; it acknowledges tickets, and only then a place in the store is
 * used again. So a boundary is never lost: where the store is full, no cut happens.
 */
#ifndef IPYTRACER_RECORDS_H
#define IPYTRACER_RECORDS_H

/*
 * Places that are kept back when a boundary checks for room: for its devices' records, and for CPUs that check at the
 * same time. Kinds of boundaries that a program can cause without end have less of the store, so that a flood of them
 * leaves room for others: experiments a half, statements three quarters, cells some more. Ends have some more places
 * than beginnings: a beginning without its end is worthless.
 */
#define STORE_RESERVE	  256
#define CELL_RESERVE	  (STORE_RESERVE + 2 * END_RESERVE)
#define STATEMENT_RESERVE (MAX_STORED / 4)
#define MARKER_RESERVE	  (MAX_STORED / 2)
#define END_RESERVE	  (MAX_STORED / 16) /* ends have this many places more */

/* Returns the kind of a boundary, enum refused, if there is no room for it. */
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

/* Returns the number of places of the store that must stay free behind a boundary. */
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
	case BOUNDARY_CELL_OPEN:
		return CELL_RESERVE;
	case BOUNDARY_CELL_RESULT:
	case BOUNDARY_CELL_CLOSE:
		return CELL_RESERVE - END_RESERVE;
	}
	return STORE_RESERVE;
}

/* Counts a record of a root without room. The root's next boundary reports that to the open windows. */
static __always_inline void refuse(struct root *r, __u32 what)
{
	what &= REFUSED - 1;
	fetch_add(&r->refused[what], 1);
	lose(what == REFUSED_STATEMENT	? LOSS_STATEMENT
	     : what == REFUSED_MARKER	? LOSS_MARKER
	     : what == REFUSED_BOUNDARY ? LOSS_BOUNDARY
					: LOSS_READING);
}

/* Does the same for a reading of a process. */
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
 * Sends a record. A wake-up costs more than everything else here, and a statement is not urgent: its records are read
 * with the cell's, unless many have gathered. Statements and experiments leave half of the ring to records that are in
 * no store: cells' sources, code and stacks. Beyond that they are fetched from the store.
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
 * Returns the flag with which records in no store are sent: code and stacks. They are not urgent, so they are read with
 * the next record. But a long cell has no boundary for seconds, and records without room are lost: where many have
 * gathered they wake the reader up.
 */
static __always_inline __u64 wakes_if_many(void)
{
	bool many = bpf_ringbuf_query(&boundaries, BPF_RB_AVAIL_DATA) > boundary_ring_size / 8;

	return many ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

#endif
