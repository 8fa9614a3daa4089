/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The allocating code below Python: the native frames of the thread, at the event.
 *
 * Libraries have no frame pointers; the way from an instruction to its caller is in their .eh_frame, which is too much
 * for the kernel to read. But a program calls from few places. So the kernel keeps one rule for each place that was
 * ever on such a stack: the position of the frame's address (the CFA), of the return address (see machine.h), and of
 * the caller's frame pointer. The key is the return address, with the process's slot. User space supplies the rules on
 * demand: where one is missing, the top of the stack is copied and sent, with the registers; user space unwinds the
 * copy, which is of this very event, with the same rules, and hands in all that it used. The next call from there is
 * unwound here, frame by frame, exactly: 0.1 us each.
 *
 * While libraries are loaded or unloaded no rule is used, until user space has removed those that are no longer true. A
 * library that is loaded in place of another one has another mapping number, which is part of the stack's number.
 *
 * The number of a copy is a signature of the stack. While its answer is under way, the same chain of calls has the same
 * signature, and needs no other copy. The copies under way take three eighths of the ring at most; where none can be
 * sent, the stack is as far as the rules led, ends with NATIVE_MISSING, and is counted (LOSS_NATIVE).
 *
 * Where the interpreter is the caller, the Python frames are the rest. A thread without Python frames is unwound to its
 * start.
 */
#ifndef IPYTRACER_NATIVE_H
#define IPYTRACER_NATIVE_H

#define LEAF_RULE   (1ull << 63) /* in a rule's key: of the instruction itself, not of the call before it */
#define USER_LIMIT  (1ull << USER_BITS)
#define COPY_CHUNK  1024
#define MOST_COPIES (boundary_ring_size / 8 * 3 / sizeof(struct copy)) /* most copies that user space has not read */
#define MAX_STACK   (8 << 20) /* words that point at most so far up a stack are ignored: they point into it */

/* Reports whether the rules of a process are those of the code that it has now. */
static __always_inline bool rules_hold(__u32 slot)
{
	slot &= MAX_PROCESSES - 1;
	return *(volatile __u32 *)&code_checked[slot] == *(volatile __u32 *)&code_changes[slot] + 1;
}

static __always_inline long next_native_frame(__u32 i, struct walk **walk)
{
	struct walk *w = *walk;
	__u64 key = w->pc | (__u64)w->slot << SLOT_BIT | (i ? 0 : LEAF_RULE), pc = 0, bp = w->bp;

	w->native.end = NATIVE_UNKNOWN;
	if (w->pc >= USER_LIMIT)
		return 1;
	struct rule *r = rules_hold(w->slot) ? bpf_map_lookup_elem(&rules, &key) : NULL;
	if (!r) {
		w->native.end = NATIVE_MISSING;
		return 1;
	}
	w->native.number = mix(w->native.number, r->mapping);
	__u32 base = RULE_BASE(r);
	if (base <= RULE_OUTERMOST) {
		w->native.end = base == RULE_OUTERMOST ? NATIVE_OUTERMOST : NATIVE_UNKNOWN;
		return 1;
	}
	__u64 frame = (base == RULE_SP ? w->sp : bp) + (__s64)r->cfa_offset;
	if (base == RULE_BP_DEREF) {
		__u64 at = frame, saved = bp;
		if (READ(frame, at) || READ(bp, saved))
			return 1;
	}
	/* Frames must lead outwards. */
	if (!LEADS_OUT(frame, w->sp, !i) || READ_RETURN(pc, r, frame, w, !i) ||
	    (r->bp_offset && READ(bp, frame + (__s64)r->bp_offset)))
		return 1;
	w->sp = frame;
	w->bp = bp;
	w->pc = pc;
	if (!pc) {
		w->native.end = NATIVE_OUTERMOST;
		return 1;
	}
	if (w->native.python && pc - w->text < w->text_size) {
		w->native.end = NATIVE_PYTHON;
		return 1;
	}
	__u32 n = w->native.count;
	if (n >= MAX_NATIVE) {
		w->native.end = NATIVE_FULL;
		return 1;
	}
	w->native.pcs[n & (MAX_NATIVE - 1)] = pc;
	w->native.number = mix(w->native.number, pc);
	w->native.count = n + 1;
	return 0;
}
REPEATED(next_native_frame, struct walk **)

static __noinline bool send_native(struct walk *w)
{
	return w &&
	       send_once(&w->native.header, w, RECORD_NATIVE, w->native.number,
			 __builtin_offsetof(struct native, pcs) + (__u64)w->native.count * 8, sizeof(struct native));
}

/* Copies the stack: all of it, if it ends before STACK_COPY. Returns the bytes copied. */
static __always_inline __u32 copy_stack(struct copy *c, __u64 sp)
{
#pragma unroll
	for (__u32 done = 0; done < STACK_COPY; done += COPY_CHUNK) {
		__u64 at = sp + done;
		if (!bpf_probe_read_user(c->memory + done, COPY_CHUNK, (void *)at))
			continue;
		__u64 rest = -at & (page_size - 1); /* up to the missing page */
		if (rest >= COPY_CHUNK || bpf_probe_read_user(c->memory + done, AT_MOST(rest, COPY_CHUNK), (void *)at))
			rest = 0;
		return done + rest;
	}
	return STACK_COPY;
}

/* Handles one word of the stack. A possible return address goes into the signature, with its place. */
static __always_inline long scan_word(__u32 i, struct walk **walk)
{
	struct walk *w = *walk;

	if (!(i & (SCAN_WORDS - 1)) && READ(w->chunk, w->sp + (__u64)i * 8))
		return 1;
	__u64 word = CODE_ADDRESS(w->chunk[i & (SCAN_WORDS - 1)]), before = 0;
	if (word < page_size || word >= USER_LIMIT || word - w->sp < MAX_STACK || READ(before, word - 8) ||
	    !ends_with_call(before))
		return 0;
	w->signature = mix(mix(w->signature, word), i);
	return 0;
}
REPEATED(scan_word, struct walk **)

/*
 * Returns a number that stands for the whole chain of calls while rules are missing: a hash of every word in the
 * stack's top, as much as is copied, that follows a call instruction, and of its place. All return addresses are such
 * words, but for one that is in a register; two stacks with the same words in the same places, and the same register,
 * are of the same chain.
 */
static __noinline __u64 signature(struct walk *w, __u64 ip, __u64 bp)
{
	if (!w)
		return 0;
	w->signature = mix(mix(mix(w->seed, ~w->native.python), ip), bp - w->sp);
	w->signature = mix(w->signature, w->link);
	w->signature = mix(w->signature, code_changes[w->slot & (MAX_PROCESSES - 1)]);
	REPEAT(STACK_COPY / 8, scan_word, &w);
	return w->signature;
}

/* Requests an unwinding by user space. Returns the number that the stack will have; 0 if that is not possible now. */
__attribute__((noinline)) __u64 ask(struct walk *w, __u64 ip, __u64 sp, __u64 bp)
{
	if (!w)
		return 0;
	/* A scan costs some 60 us: scans stop soon if user space does not answer. */
	if (*(volatile __u64 *)&scans - *(volatile __u64 *)&scans_seen >= MAX_SCANS)
		return 0;
	fetch_add(&scans, 1);
	w->sp = sp;
	__u64 number = signature(w, ip, bp);
	__u32 one = 1;
	if (bpf_map_lookup_elem(&stacks, &number))
		return number;
	if (*(volatile __u64 *)&copies_sent - *(volatile __u64 *)&copies_read >= MOST_COPIES)
		return 0;
	if (bpf_map_update_elem(&stacks, &number, &one, BPF_NOEXIST))
		return bpf_map_lookup_elem(&stacks, &number) ? number : 0; /* another thread was faster */
	struct copy *c = bpf_ringbuf_reserve(&boundaries, sizeof(*c), 0);
	if (!c) {
		bpf_map_delete_elem(&stacks, &number);
		return 0;
	}
	fetch_add(&copies_sent, 1);
	c->header.ticket = 0;
	c->header.cell = 0;
	c->header.kind = RECORD_COPY;
	c->header.pid = w->pid;
	c->number = number;
	c->python = w->native.python;
	c->ip = ip;
	c->sp = sp;
	c->bp = bp;
	c->link = w->link;
	c->slot = w->slot;
	c->size = copy_stack(c, sp);
	bpf_ringbuf_submit(c, BPF_RB_FORCE_WAKEUP); /* until it is answered others may miss the rule, too */
	return number;
}

/*
 * Returns the number of the native stack in front of a Python stack; that of the Python stack itself where there is
 * nothing between.
 */
__attribute__((noinline)) __u64 native_stack(__u32 slot, __u64 python, __u64 ip, __u64 sp, __u64 bp)
{
	struct python *py = python_at(slot);
	struct process *p = process_at(slot);
	struct walk *w = walk_of((__u32)bpf_get_current_pid_tgid());

	if (!py || !p)
		return python;
	if (!w) {
		lose(LOSS_STACK);
		return python;
	}
	w->slot = slot;
	w->pid = p->pid;
	w->seed = walk_seed(p, slot);
	w->text = py->text;
	w->text_size = py->text_size;
	w->pc = ip;
	w->sp = sp;
	w->bp = bp;
	w->native.python = python;
	w->native.number = mix(w->seed, ~python);
	w->native.count = w->native.leaf = 0;
	/* The interpreter's own function that reports an allocation is not worth a frame. */
	if (ip - w->text >= w->text_size) {
		w->native.pcs[0] = ip;
		w->native.number = mix(w->native.number, ip);
		w->native.count = w->native.leaf = 1;
	}
	REPEAT(MAX_NATIVE + 2, next_native_frame, &w);
	if (w->native.end == NATIVE_MISSING) {
		__u64 number = ask(w, ip, sp, bp);
		if (number)
			return number;
		lose(LOSS_NATIVE);
	}
	if (!w->native.count && w->native.end == NATIVE_PYTHON)
		return python;
	__u64 number = w->native.number = mix(w->native.number, w->native.end);
	if (number == w->last_native || bpf_map_lookup_elem(&stacks, &number) || send_native(w))
		w->last_native = number;
	return number;
}

/*
 * Returns the number of the stack of the thread that runs, 0 where there is none. A probe group pays for it, and `more`
 * ns.
 */
static __always_inline __u64 stack_and(struct pt_regs *regs, __u32 slot, __u32 group, __u64 more)
{
	__u64 from = start_watch(), number = walk_stack(slot);
	struct python *py = python_at(slot);
	__u32 native = py ? py->native : 0;

	pay_for(group, slot, from ? from - more : 0);
	if (!native || (native == 1 && number) || is_shed(GROUP_NATIVE, slot))
		return number;
	from = start_watch();
	KEEP_LINK(regs);
	number = native_stack(slot, number, PT_REGS_IP(regs), PT_REGS_SP(regs), PT_REGS_FP(regs));
	pay_for(GROUP_NATIVE, slot, from);
	return number;
}

static __always_inline __u64 stack_of(struct pt_regs *regs, __u32 slot, __u32 group)
{
	return stack_and(regs, slot, group, 0);
}

/*
 * Does the same for a block of `size` bytes, where the budget allows it. Stacks are stepped down before the meter
 * itself: a figure is worth more than its lines, and the lines of large blocks more than those of small ones.
 */
static __always_inline __u64 stack_for(struct pt_regs *regs, __u32 slot, __s64 size)
{
	__u32 group = size < SMALL_STACK ? GROUP_SMALL_STACKS : GROUP_FRAMES;

	return is_shed(group, slot) ? 0 : stack_of(regs, slot, group);
}

/* Does the same for a block that is recorded in this way. For small ones the budget was checked before. */
static __always_inline __u64 stack_of_block(struct pt_regs *regs, __u32 slot, __s64 size, __u32 telling)
{
	__u32 group = size < SMALL_STACK ? GROUP_SMALL_STACKS : GROUP_FRAMES;

	if (telling == TELL_NOT || (telling == TELL_BLOCK && is_shed(group, slot)))
		return 0;
	return stack_and(regs, slot, group, TOLD_RECORDS);
}

static __always_inline __u64 stack_here(struct pt_regs *regs, __u32 slot)
{
	return stack_for(regs, slot, SMALL_STACK);
}

#endif
