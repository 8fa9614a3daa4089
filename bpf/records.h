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
 * at the same time.
 */
#define STORE_RESERVE 256

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
 * cell's, unless many have gathered.
 */
static __always_inline void send_record(struct boundary *b, __u64 ticket)
{
	bool quiet = b->kind == BOUNDARY_STATEMENT_OPEN || b->kind == BOUNDARY_STATEMENT_CLOSE ||
		     b->kind == RECORD_DEVICE;
	bool few = ticket - *(volatile __u64 *)&acknowledged < MAX_STORED / 4;

	exchange(&b->ticket, ticket); /* last: a reader of the store believes a record with the right ticket */
	if (bpf_ringbuf_output(&boundaries, b, sizeof(*b), quiet && few ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP))
		lose(LOSS_BOUNDARY_RING);
}

#endif
