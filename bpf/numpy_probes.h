/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The probes that see the allocations and frees of arrays: see numpy.h. */
#ifndef IPYTRACER_NUMPY_PROBES_H
#define IPYTRACER_NUMPY_PROBES_H

SEC("uprobe")
int numpy_track(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	struct process *p = array_process(regs, slot, false, bpf_get_attach_cookie(regs), EIGHTHS);

	if (!p || (__u32)PT_REGS_PARM1(regs) != NUMPY_DOMAIN || !PT_REGS_PARM2(regs) || (__s64)PT_REGS_PARM3(regs) <= 0)
		return 0;
	__s64 size = PT_REGS_PARM3(regs);
	if (p->arrays == ARRAYS_SETTLING) {
		__u64 key = block_key(slot, PT_REGS_PARM2(regs));
		struct block *known = array_at(slot, key);
		if (size < LARGE_BLOCK || (known && known->size == size))
			return 0;
	}
	array_made(regs, slot, PT_REGS_PARM2(regs), size);
	return 0;
}

SEC("uprobe")
int numpy_untrack(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	struct process *p = array_process(regs, slot, false, bpf_get_attach_cookie(regs), EIGHTHS);

	if (p && p->arrays == ARRAYS_TRACKED && (__u32)PT_REGS_PARM1(regs) == NUMPY_DOMAIN && PT_REGS_PARM2(regs))
		array_gone(slot, PT_REGS_PARM2(regs), SIZE_NOT_KNOWN);
	return 0;
}

/*
 * A block that is seen at a place: its address, and its size or SIZE_NOT_KNOWN. It begins as NOTHING_TOLD: the verifier
 * of Linux 6.1 assumes that at_places() may leave it unchanged.
 */
struct array_told {
	__u64 address;
	__s64 size;
};
#define NOTHING_TOLD ((struct array_told){})

/* Returns a word of the stack. */
static __noinline __u64 stack_word(struct pt_regs *regs, __u32 place)
{
	__u64 word = 0;

	if (READ(word, PT_REGS_SP(regs) + 8 * (place & (PLACE_STACK - 1)))) {
		lose(LOSS_READ);
		misses(current_slot(), MISSING_NUMPY, MISSING_UNKNOWN);
	}
	return word;
}

/*
 * Reads the values at the places of a cookie: see enum array_place. Where there is a block, calloc has made sure that a
 * product does not overflow.
 */
static __noinline int at_places(struct pt_regs *regs, __u64 cookie, struct array_told *told)
{
	if (!told)
		return 0;
	REGISTERS_OF(regs, all);
	__u32 block = cookie & 0xff, size = cookie >> 8 & 0xff, times = cookie >> 16 & 0xff;
	told->address = block & PLACE_STACK ? stack_word(regs, block) : REGISTER(all, block);
	told->size = SIZE_NOT_KNOWN;
	if (size == PLACE_NONE)
		return 0;
	told->size = size & PLACE_STACK ? stack_word(regs, size) : REGISTER(all, size);
	if (times != PLACE_NONE)
		told->size *= times & PLACE_STACK ? stack_word(regs, times) : REGISTER(all, times);
	if (told->size < 0)
		told->size = SIZE_NOT_KNOWN;
	return 0;
}

/*
 * Reports whether a block that NumPy gets from a handler is one that the process has counted itself just now. Only the
 * thread that has Python's global interpreter lock is here.
 */
static __noinline bool has_counted(__u32 slot, __u64 address)
{
	struct process *p = process_at(slot);
	struct counts *c = p ? page_of(p, COUNTS_NUMPY) : NULL;

	return c && *(volatile __u64 *)&c->last == address;
}

/* Behind an allocation in NumPy's code. */
SEC("uprobe")
int numpy_made(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct array_told told = NOTHING_TOLD;

	if (!array_process(regs, slot, true, cookie, EIGHTHS))
		return 0;
	at_places(regs, cookie, &told);
	if (told.address && told.size >= LARGE_BLOCK &&
	    (told.size >= COUNTED_BELOW || !has_counted(slot, told.address)))
		array_made(regs, slot, told.address, told.size);
	return 0;
}

/*
 * Reports whether a block of this size, as seen at a place before a free, was never counted. Where the place has the
 * size of large blocks alone, it has another value for small ones: mostly an address.
 */
static __always_inline bool never_counted(__s64 size)
{
	return size != SIZE_NOT_KNOWN && (size < LARGE_BLOCK || size >= IMPLAUSIBLE);
}

/*
 * Before a free. Many small blocks pass: those for which NumPy's own cache has no room. Nothing is looked up for them,
 * unless frees were missed: the block that is known at the address may have gone.
 */
SEC("uprobe")
int numpy_freed(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	__u64 cookie = bpf_get_attach_cookie(regs);
	struct array_told told = NOTHING_TOLD;

	if (slot == NO_SLOT)
		return 0;
	at_places(regs, cookie, &told);
	bool small = never_counted(told.size);
	struct process *p = array_process(regs, slot, true, cookie, small ? SMALL_FREE : EIGHTHS);
	if (!p || !told.address || (small && p->arrays == ARRAYS_INSIDE && p->era == p->first_era))
		return 0;
	array_gone(slot, told.address, told.size);
	return 0;
}

/*
 * Where NumPy gets a memory handler, in a capsule. A handler that is not its own allocates memory that does not pass
 * the places in NumPy. Source: Objects/capsule.c, PyCapsule.
 */
SEC("uprobe")
int numpy_handler(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	__u64 cookie = bpf_get_attach_cookie(regs), capsule, handler = 0;
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);
	struct array_told told = NOTHING_TOLD;

	at_places(regs, cookie | PLACE_NONE << 8, &told);
	capsule = told.address;
	if (!p || (!READ(handler, capsule + 16) && handler == PT_REGS_IP(regs) + ((__s64)cookie >> 16)))
		return 0;
	if (p->pages[COUNTS_NUMPY] && handler == p->handler)
		return 0;
	return arrays_pass(slot, FOREIGN_HANDLER);
}

/* Before a block is resized: it leaves the table, since another call may get its address before this one returns. */
SEC("uprobe")
int numpy_resizing(struct pt_regs *regs)
{
	__u32 slot = current_slot(), tid = (__u32)bpf_get_current_pid_tgid();
	__u64 cookie = bpf_get_attach_cookie(regs);

	struct array_told told = NOTHING_TOLD;

	if (!array_process(regs, slot, true, cookie, EIGHTHS))
		return 0;
	at_places(regs, cookie, &told);
	struct resize was = { .address = told.address, .size = told.size };
	if (was.address) {
		was.before = array_out(slot, was.address, &was.telling);
		if (was.before == SIZE_NOT_KNOWN)
			was.slack = array_bound(slot, was.address);
	}
	if (bpf_map_update_elem(&resizes, &tid, &was, BPF_ANY)) {
		lose(LOSS_BLOCK);
		array_unknown(slot, was.size);
		misses(slot, MISSING_NUMPY, was.size);
		if (was.before > 0)
			misses(slot, MISSING_NUMPY, was.before);
	}
	return 0;
}

/* Behind that: the result shows whether the block was resized. */
SEC("uprobe")
int numpy_resized(struct pt_regs *regs)
{
	__u32 slot = current_slot(), tid = (__u32)bpf_get_current_pid_tgid();
	__u64 cookie = bpf_get_attach_cookie(regs), address;
	struct array_told told = NOTHING_TOLD;
	struct resize *was = array_process(regs, slot, true, cookie, EIGHTHS) ? bpf_map_lookup_elem(&resizes, &tid)
									      : NULL;

	if (!was)
		return 0;
	at_places(regs, cookie, &told);
	address = told.address;
	struct resize r = *was;
	bpf_map_delete_elem(&resizes, &tid);
	bool known = r.address && r.before != SIZE_NOT_KNOWN;
	struct block_move m = {
		.from = r.address,
		.to = address,
		.slot = slot,
		.meter = METER_NUMPY,
		.was = r.telling,
		.is = tells_block(slot, r.size, METER_NUMPY),
	};
	if (!address) { /* refused: the block is unchanged */
		if (known && !array_in(&m, r.address, r.before, r.telling))
			m.before = r.before;
		block_moves(&m);
		return 0;
	}
	m.before = known && array_counts(r.before) ? r.before : 0;
	if (!known)
		m.from = address;
	if (r.slack)
		array_unknown(slot, r.slack);
	/* A block that has become small is kept: malloc's header may have it as still large. */
	if (array_in(&m, address, r.size, m.is) && array_counts(r.size)) {
		m.after = r.size;
		m.stack = stack_of_block(regs, slot, r.size, m.is);
	}
	block_moves(&m);
	return 0;
}

/*
 * Applies a finding about a block that has been in doubt since the probes were put back, or that is not known. Events
 * of it that the probes have seen since then take precedence.
 */
SEC("syscall")
int settle_array(struct finding *f)
{
	__u32 slot = f->slot;
	struct process *p = process_at(slot);
	__u64 key = block_key(slot, f->address);
	struct block *there = block_at(&blocks, key);
	struct block_move m = {
		.from = f->address, .to = f->address, .slot = slot, .meter = METER_NUMPY, .flags = CHANGE_FOUND
	};

	f->done = 0;
	if (!p)
		return 1;
	/* Of an unknown block below that, the process may have counted it itself. */
	if (p->pages[COUNTS_NUMPY] && !f->known && f->found < COUNTED_BELOW)
		return 0;
	read_counts(slot, COUNTS_NUMPY);
	if (!f->known) {
		if (there && (there->era >= p->first_era || (there->era == ERA_FREE && there->size == p->era)))
			return 0;
		f->done = array_in(&m, f->address, f->found, TELL_BLOCK);
		m.after = f->done ? f->found : 0;
		block_moves(&m);
		return 0;
	}
	__u64 era = there ? there->era : 0;
	if (!there || era < p->first_era || era >= p->era || there->size != f->known)
		return 0;
	if (__sync_val_compare_and_swap(&there->era, era, f->found == f->known ? p->era : ERA_GONE) != era)
		return 0;
	f->done = 1;
	m.was = m.is = there->telling;
	if (f->found && f->found != f->known && !array_in(&m, f->address, f->found, m.is))
		f->found = 0;
	m.before = f->known;
	m.after = f->found;
	block_moves(&m);
	return 0;
}

#endif
