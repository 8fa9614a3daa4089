/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.arrow: the memory that Arrow's memory pools hold. A pool is an object with virtual functions (Arrow 11 and newer,
 * cpp/src/arrow/memory_pool.h):
 *
 *   Status Allocate(int64_t size, int64_t alignment, uint8_t **out)
 *   Status Reallocate(int64_t old_size, int64_t new_size, int64_t alignment, uint8_t **pointer)
 *   void Free(uint8_t *buffer, int64_t size, int64_t alignment)
 *
 * Probes are in the functions of the pools that allocate memory themselves (package arrow): where the arguments are in
 * their registers, and for the first two also on every way out, once all their results are stored. These are the
 * block's address, and a Status: one pointer, NULL for success, at the address in the first argument, which is in front
 * of the pool. A free is seen before it happens, so no other call can have the address by then. For the same reason a
 * block that is resized leaves the table as the call begins, and is put back if the call fails. The meter then moves by
 * the difference, as the pool's own count does.
 *
 * Pools in front of others (proxies, capped and logging ones) have functions of their own without probes; the calls
 * that they pass on are seen. No function with probes calls another one with probes. So a thread has one call at a
 * time. If a call is still there as the next one begins, it has thrown an exception, or its thread has ended.
 *
 * A block of no bytes has no memory of its own (zero_size_area). A free names the size of the block. So the free of an
 * unknown block gives the exact number of bytes that the meter did not include.
 */
#ifndef IPYTRACER_ARROW_H
#define IPYTRACER_ARROW_H

#define STATUS_OUT_OF_MEMORY 1 /* cpp/src/arrow/status.h, StatusCode; the first byte of a Status::State */

/* Returns the record of the thread's call. It is kept for the thread's next call. */
static __always_inline struct pool_call *pool_call_of(__u32 slot)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct pool_call *c = bpf_map_lookup_elem(&pool_calls, &tid);

	if (c)
		return c;
	static const struct pool_call none;
	bpf_map_update_elem(&pool_calls, &tid, &none, BPF_NOEXIST);
	c = bpf_map_lookup_elem(&pool_calls, &tid);
	if (!c) {
		lose(LOSS_FULL + MISSING_ARROW);
		misses(slot, MISSING_ARROW, MISSING_UNKNOWN);
	}
	return c;
}

/* Handles the beginning of a function of a pool that allocates. Returns the call, NULL where it is not recorded. */
static __always_inline struct pool_call *pool_called(struct pt_regs *regs, __u32 slot)
{
	__u64 cookie = bpf_get_attach_cookie(regs);

	if (slot == NO_SLOT || !spend(regs, GROUP_ARROW, slot, cookie))
		return NULL;
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	struct pool_call *c = r ? pool_call_of(slot) : NULL;
	if (!c)
		return NULL;
	if (c->sp && c->before)
		misses(slot, MISSING_ARROW, c->before);
	c->sp = PT_REGS_SP(regs) + (cookie & 0xffff);
	c->status = STORED_AT(regs);
	c->address = 0;
	c->before = 0;
	c->unknown = 0;
	c->telling = 0;
	c->epoch = r->epoch[GROUP_ARROW];
	return c;
}

/* Takes a block out of the table. Returns its size, or SIZE_NOT_KNOWN. */
static __always_inline __s64 pool_block_out(__u32 slot, __u64 address, __u32 *telling)
{
	__u64 key = block_key(slot, address) | ARROW_KEY;
	struct process *p = process_at(slot);
	struct block *known = p ? block_at(&arrow_blocks, key) : NULL;

	if (!known || known->era < p->first_era)
		return SIZE_NOT_KNOWN;
	__s64 size = known->size;
	*telling = known->telling;
	drop_block(&arrow_blocks, key);
	return size;
}

/*
 * Puts the block after the move into the table, if there is one, and moves the meter. If the address has an old block,
 * because its free was missed, the move is from that block.
 */
__attribute__((noinline)) int pool_block_moves(struct block_move *m)
{
	struct process *p = m ? process_at(m->slot) : NULL;
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	if (m->after > 0) {
		__u64 key = block_key(m->slot, m->to) | ARROW_KEY;
		struct block fresh = { .size = m->after, .era = p->era, .telling = m->is };
		struct block *there = block_at(&arrow_blocks, key);

		if (there && there->era >= p->first_era) {
			if (!m->before)
				m->was = there->telling;
			m->before += there->size;
		}
		p->pools = 1;
		if (!put_block(&arrow_blocks, key, there, &fresh)) {
			lose(LOSS_FULL + MISSING_ARROW);
			unknown_of(r, UNKNOWN_ARROW, m->after);
			misses_of(r, MISSING_ARROW, m->after);
			m->after = 0;
		}
	}
	one_block_moves(p, r, m);
	return 0;
}

/* Status Allocate(this, size, alignment, out), behind the address of the Status */
SEC("uprobe")
int pool_allocating(struct pt_regs *regs)
{
	struct pool_call *c = pool_called(regs, current_slot());

	if (!c)
		return 0;
	c->size = STORED_PARM2(regs);
	c->at = STORED_PARM4(regs);
	return 0;
}

/* Status Reallocate(this, old_size, new_size, alignment, pointer), behind the address of the Status */
SEC("uprobe")
int pool_reallocating(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	struct pool_call *c = pool_called(regs, slot);
	__u64 address = 0;

	if (!c)
		return 0;
	c->size = STORED_PARM3(regs);
	c->at = STORED_PARM5(regs);
	if ((__s64)STORED_PARM2(regs) <= 0) /* there is no old block */
		return 0;
	if (READ(address, c->at)) {
		lose(LOSS_READ);
		misses(slot, MISSING_ARROW, STORED_PARM2(regs));
		return 0;
	}
	__u32 telling = TELL_BLOCK;
	__s64 size = pool_block_out(slot, address, &telling);
	if (size == SIZE_NOT_KNOWN) {
		c->unknown = STORED_PARM2(regs);
		return 0;
	}
	c->address = address;
	c->before = size;
	c->telling = telling;
	return 0;
}

/* Enters the block that a call returned, or none where none was requested. */
static __always_inline void pool_given(struct root *r, struct pool_call *c, struct block_move *m)
{
	__u32 telling = TELL_BLOCK;

	m->after = c->size;
	if (c->unknown > 0)
		unknown_of(r, UNKNOWN_ARROW, c->unknown);
	if (m->after > 0 && READ(m->to, c->at)) {
		lose(LOSS_READ);
		misses(m->slot, MISSING_ARROW, m->after);
		m->after = 0;
	}
	if (m->after > 0)
		telling = tells_block(m->slot, m->after, METER_ARROW);
	m->is = telling;
	if (!m->before)
		m->from = m->to;
	FORGET(m->after);
}

/* A place on every way out of these two; see statement_return for its cookie. */
SEC("uprobe")
int pool_returning(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs), state = 0;
	__u32 slot = current_slot(), tid = (__u32)bpf_get_current_pid_tgid();
	__u32 mask = cookie >> 24 & 0xffff, value = cookie >> 40 & 0xffff;

	if (slot == NO_SLOT || (FLAGS(regs) & mask) != value || !spend(regs, GROUP_ARROW, slot, cookie))
		return 0;
	struct pool_call *c = bpf_map_lookup_elem(&pool_calls, &tid);
	if (!c || !c->sp || PT_REGS_SP(regs) + (cookie & 0xffff) != c->sp)
		return 0;
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	c->sp = 0;
	if (!r || c->epoch != r->epoch[GROUP_ARROW])
		return 0;
	if (READ(state, c->status)) {
		lose(LOSS_READ);
		misses(slot, MISSING_ARROW, c->size + c->before);
		return 0;
	}
	/* A failed resize leaves the block as it was. */
	struct block_move m = {
		.from = c->address,
		.to = c->address,
		.before = c->before,
		.after = c->before,
		.slot = slot,
		.meter = METER_ARROW,
		.was = c->telling,
		.is = c->telling,
	};
	__u8 code = 0;
	__s64 walked = 0;
	if (!state) {
		pool_given(r, c, &m);
		walked = m.after;
	} else if (!READ(code, state) && code == STATUS_OUT_OF_MEMORY) {
		walked = c->size;
	}
	FORGET(walked);
	__u32 telling = state ? TELL_BLOCK : m.is;
	if (walked > SMALL_BLOCK)
		m.stack = stack_of_block(regs, slot, walked, telling);
	if (code == STATUS_OUT_OF_MEMORY)
		refused(slot, METER_ARROW, p->value[METER_ARROW], c->size, 0, m.stack);
	return pool_block_moves(&m);
}

/* void Free(this, buffer, size, alignment) */
SEC("uprobe")
int pool_freeing(struct pt_regs *regs)
{
	__u32 slot = current_slot(), telling = TELL_BLOCK;
	__s64 told = PT_REGS_PARM3(regs);

	if (slot == NO_SLOT || !spend(regs, GROUP_ARROW, slot, bpf_get_attach_cookie(regs)))
		return 0;
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	if (!r || told <= 0)
		return 0;
	__s64 size = pool_block_out(slot, PT_REGS_PARM2(regs), &telling);
	if (size == SIZE_NOT_KNOWN) {
		unknown_of(r, UNKNOWN_ARROW, told < IMPLAUSIBLE ? told : p->value[METER_MAPPED]);
		return 0;
	}
	struct block_move m = {
		.from = PT_REGS_PARM2(regs),
		.to = PT_REGS_PARM2(regs),
		.before = size,
		.slot = slot,
		.meter = METER_ARROW,
		.was = telling,
	};
	if (telling != TELL_NOT)
		m.flags = if_collected(slot);
	return pool_block_moves(&m);
}

#endif
