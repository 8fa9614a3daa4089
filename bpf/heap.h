/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * cpu.heap: the blocks that a process has from its allocator, by the bytes requested.
 *
 * Each function of the allocator (malloc and its relatives, of the C library or of a library that replaces it) is seen
 * twice: where its arguments are in their registers, and on every way out, where its result is (package memory). free
 * is seen once: its block leaves the table and the meter before another call can have the address. realloc takes its
 * block out of the table when it begins, and puts it back if it fails.
 *
 * Of nested calls the outermost counts, identified by the stack pointer, as in cuda.h: calloc may call malloc. A
 * function that ends by jumping to another one (reallocarray to realloc, realloc to malloc or free) has the same stack
 * pointer there: then the request to the other function counts.
 *
 * While the stacks of blocks are walked each block is streamed; else turning points only, as for the meters of pages. A
 * free of an unknown block (allocated before the attach) changes no value and is counted; glibc keeps the size before
 * the block, see numpy.h.
 */
#ifndef IPYTRACER_HEAP_H
#define IPYTRACER_HEAP_H

#define HEAP_GLIBC (1 << 24) /* in a cookie */

static __noinline int heap_gone(__u32 slot, __u64 address, __s64 size)
{
	struct block_move m = {
		.from = address,
		.before = size,
		.slot = slot,
		.meter = METER_HEAP,
		.flags = CHANGE_BLOCK,
		.was = tells_blocks(slot) ? TELL_BLOCK : TELL_NOT,
	};

	return block_moves(&m);
}

static __noinline int unknown_block(__u32 slot, __u64 address, __u32 glibc)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	if (!r)
		return 0;
	unknown_of(r, UNKNOWN_HEAP, glibc ? freed_at_most(p, address) : p->value[METER_MAPPED]);
	return 0;
}

/* Takes a block out of the table. Returns its size, or -1 if it is not known. */
static __always_inline __s64 block_out(__u32 slot, __u64 address)
{
	__u64 key = block_key(slot, address);
	__s64 *known = bpf_map_lookup_elem(&heap_blocks, &key);

	if (!known)
		return -1;
	__s64 size = *known;
	bpf_map_delete_elem(&heap_blocks, &key);
	return size;
}

static __always_inline void heap_freed(__u32 slot, __u64 address, __u32 glibc)
{
	__s64 size = address ? block_out(slot, address) : 0;

	if (size < 0)
		unknown_block(slot, address, glibc);
	else
		heap_gone(slot, address, size);
}

/* Records the block that a call returned. */
static __noinline int heap_made(struct heap_call *c, __u32 slot, __u64 address)
{
	if (!c)
		return 0;
	struct block_move m = {
		.from = c->address,
		.to = address,
		.after = c->size,
		.slot = slot,
		.meter = METER_HEAP,
		.flags = CHANGE_BLOCK,
	};
	__u64 key = block_key(slot, address);
	__s64 *stale = bpf_map_lookup_elem(&heap_blocks, &key), size = c->size;

	if (stale) /* its free was missed */
		heap_gone(slot, address, *stale);
	if (c->known)
		m.before = c->before;
	else
		m.from = address;
	if (bpf_map_update_elem(&heap_blocks, &key, &size, BPF_ANY)) {
		lose(LOSS_HEAP);
		unknown_block(slot, address, 0); /* from here on the meter does not include it */
		misses(slot, MISSING_HEAP, size);
		if (c->known)
			heap_gone(slot, c->address, c->before);
		return 0;
	}
	struct process *p = process_at(slot);
	if (p)
		p->heap = 1;
	if (tells_blocks(slot) && spend(NULL, GROUP_BLOCKS, slot, 0)) {
		__u64 from = start_watch();
		m.stack = walk_stack(slot);
		pay_for(GROUP_BLOCKS, slot, from);
	} else {
		m.was = m.is = TELL_NOT;
	}
	return block_moves(&m);
}

/* Handles a call that returned no block. */
static __noinline int heap_refused(struct heap_call *c, __u32 slot)
{
	if (!c || !c->known)
		return 0;
	if (!c->size) /* realloc(pointer, 0) frees; glibc, malloc/malloc.c */
		return heap_gone(slot, c->address, c->before);
	__u64 key = block_key(slot, c->address);
	__s64 size = c->before;
	if (bpf_map_update_elem(&heap_blocks, &key, &size, BPF_ANY)) {
		lose(LOSS_HEAP);
		misses(slot, MISSING_HEAP, size);
	}
	return 0;
}

static __always_inline int heap_returned(struct heap_call *c, __u32 slot, __u64 result)
{
	__u64 address = result;

	c->sp = 0;
	if (c->operation == HEAP_ALLOC_INTO) {
		address = 0;
		if (!(__u32)result && READ(address, c->address)) {
			lose(LOSS_READ);
			misses(slot, MISSING_HEAP, c->size);
		}
	}
	if (address)
		heap_made(c, slot, address);
	else
		heap_refused(c, slot);
	c->known = 0;
	return 0;
}

/* Returns the record of the thread's call. It is kept for the thread's next call. */
static __always_inline struct heap_call *heap_call_of(__u32 tid, __u32 slot)
{
	struct heap_call *c = bpf_map_lookup_elem(&heap_calls, &tid);
	if (c)
		return c;
	static const struct heap_call none;
	bpf_map_update_elem(&heap_calls, &tid, &none, BPF_NOEXIST);
	c = bpf_map_lookup_elem(&heap_calls, &tid);
	if (!c) {
		lose(LOSS_HEAP);
		misses(slot, MISSING_HEAP, MISSING_UNKNOWN);
	}
	return c;
}

/* Stores the request of a call. */
static __always_inline void asked(struct heap_call *c, struct pt_regs *regs, __u32 operation)
{
	c->operation = operation;
	c->address = PT_REGS_PARM1(regs);
	switch (operation) {
	case HEAP_ALLOC:
		c->size = PT_REGS_PARM1(regs);
		break;
	case HEAP_ALLOC_ARRAY:
		c->size = PT_REGS_PARM1(regs) * PT_REGS_PARM2(regs);
		break;
	case HEAP_ALLOC_INTO:
		c->size = PT_REGS_PARM3(regs);
		break;
	case HEAP_RESIZE_ARRAY:
		c->size = PT_REGS_PARM2(regs) * PT_REGS_PARM3(regs);
		break;
	default:
		c->size = PT_REGS_PARM2(regs);
	}
}

SEC("uprobe")
int heap_enter(struct pt_regs *regs)
{
	__u32 slot = current_slot(), tid = (__u32)bpf_get_current_pid_tgid();
	__u64 cookie = bpf_get_attach_cookie(regs), sp = PT_REGS_SP(regs) + (cookie >> 8 & 0xffff);
	__u32 operation = cookie & 0xff, glibc = !!(cookie & HEAP_GLIBC);

	if (slot == NO_SLOT || !spend(regs, GROUP_HEAP, slot, 0))
		return 0;
	struct heap_call *c = heap_call_of(tid, slot);
	if (!c || (c->sp && sp < c->sp))
		return 0;
	/* Reached from a realloc by a jump? */
	bool handed_on = c->sp == sp && c->known;
	bool resizes = operation == HEAP_RESIZE || operation == HEAP_RESIZE_ARRAY;
	if (handed_on && operation == HEAP_FREE && c->address == PT_REGS_PARM1(regs)) {
		heap_gone(slot, c->address, c->before);
		c->sp = 0;
		c->known = 0;
		return 0;
	}
	if (operation == HEAP_FREE) {
		heap_freed(slot, PT_REGS_PARM1(regs), glibc);
		return 0;
	}
	bool again = handed_on && resizes && c->address == PT_REGS_PARM1(regs);
	if (c->sp != sp || !again)
		c->known = 0;
	c->sp = sp;
	asked(c, regs, operation);
	if (!resizes || again || !c->address)
		return 0;
	c->before = block_out(slot, c->address);
	c->known = c->before >= 0;
	if (!c->known) /* if the call fails, this count is needless, and still an upper bound */
		unknown_block(slot, c->address, glibc);
	return 0;
}

/*
 * A place on every way out of one of these functions; see statement_return for its cookie. Also the function to which a
 * process tells blocks that it counts itself, with HEAP_TELLS in place of a register.
 */
SEC("uprobe")
int heap_leave(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 slot = current_slot(), tid = (__u32)bpf_get_current_pid_tgid(), where = cookie >> 16 & 0xff;
	__u32 mask = cookie >> 24 & 0xffff, value = cookie >> 40 & 0xffff;

	if (slot == NO_SLOT || (FLAGS(regs) & mask) != value)
		return 0;
	if (where == HEAP_TELLS)
		return heap_told(regs, slot);
	struct heap_call *c = bpf_map_lookup_elem(&heap_calls, &tid);
	if (!c || !c->sp || PT_REGS_SP(regs) + (cookie & 0xffff) != c->sp)
		return 0;
	return heap_returned(c, slot, where == RESULT_ARGUMENT ? PT_REGS_PARM1(regs) : result_in(regs, where));
}

/*
 * Does the same for a function of which not all ways out are known. An allocator throws nothing, and switches no
 * stacks.
 */
SEC("uretprobe")
int heap_leave_late(struct pt_regs *regs)
{
	__u32 slot = current_slot(), tid = (__u32)bpf_get_current_pid_tgid();
	struct heap_call *c = slot == NO_SLOT ? NULL : bpf_map_lookup_elem(&heap_calls, &tid);

	/* The return address is off the stack by now. */
	if (!c || !c->sp || PT_REGS_SP(regs) != c->sp + RETURN_ADDRESS)
		return 0;
	return heap_returned(c, slot, PT_REGS_RC(regs));
}

#endif
