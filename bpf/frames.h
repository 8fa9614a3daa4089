/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The allocating code: the Python frames of the thread, at the event.
 *
 * A stack is sent once: it has a number, a hash of the places that its frames execute, and changes carry the number. A
 * code object is sent once, too, with all data that turn an instruction into a line: it may be gone when user space
 * reads it. IPython frees a statement's code when it is over, and its address is reused at once. So a code object's
 * number is a hash of its address and its version, which no other has (Python 3.12). Before that, it is a hash of the
 * addresses of its file name, name and line table, its first line, and the line table's length and both ends.
 *
 * A code object's number takes three reads, its address none. So its number is remembered by its address, until it is
 * freed. A stack's number is remembered by the addresses of its code objects, and the number of code objects that the
 * process has freed: a code object lives as long as its frame, and where none was freed since a stack was seen, each of
 * its addresses still has the same code object. All of that applies only where a probe sees every free of a code
 * object.
 *
 * The walk ends at the statement that runs, if one does: its caller is IPython. All data are read from the target and
 * may be wrong; a walk takes MAX_FRAMES steps at most in any case.
 */
#ifndef IPYTRACER_FRAMES_H
#define IPYTRACER_FRAMES_H

/*
 * Reads a frame. Since Python 3.11 the frames of a thread lie one behind the other, callers first, so a stretch of them
 * is read at once. A frame far from it, such as one with which C code enters the interpreter, is read alone.
 */
static __always_inline bool read_frame(struct walk *w, struct python *py)
{
	__u64 within = w->frame - w->stretch, size = AT_MOST((__u64)py->frame_size, FRAME_BYTES);

	if (w->stretch && within <= w->reach && !(within & 7)) {
		w->frame_at = within / 8;
		return true;
	}
	/* Never below the frame's own page: a read that fails is expensive. */
	__u64 below = w->frame & (page_size - 1) & ~7ull;
	below = AT_MOST(below, FRAME_STRETCH);
	bool near = !w->stretch || w->stretch - w->frame < FAR_AWAY;
	if (py->frame_kind && near &&
	    !bpf_probe_read_user(w->frames_copy, AT_MOST(below + size, FRAME_STRETCH + FRAME_BYTES),
				 (void *)(w->frame - below))) {
		w->stretch = w->frame - below;
		w->reach = below;
		w->frame_at = below / 8;
		return true;
	}
	w->frame_at = STRETCH_WORDS - FRAME_BYTES / 8;
	return !bpf_probe_read_user(&w->frames_copy[STRETCH_WORDS - FRAME_BYTES / 8], size, (void *)w->frame);
}

/*
 * Returns the distance of an instruction from the first of its code object. Threads without a GIL have copies of the
 * instructions.
 */
static __always_inline __u64 instruction_at(struct walk *w, struct python *py, __u64 code)
{
	__u64 at = frame_word(w, py->frame_instruction), first = code + py->code_bytes, copies = 0;

	if (!py->frame_kind)
		return (__u64)(__s32)at;
	__u32 copy = py->code_copies ? frame_word(w, py->frame_copy) : 0;
	if (copy) { /* the first copy is the code object's own */
		READ(copies, code + py->code_copies);
		READ(first, copies + 8 + 8 * (__u64)copy);
	}
	return at - first;
}

static __always_inline long next_python_frame(__u32 i, struct walk **walk)
{
	struct walk *w = *walk;
	struct python *py = python_at(w->slot);

	if (!py || !w->frame)
		return 1;
	if (!read_frame(w, py))
		return 1;
	__u64 code = frame_word(w, py->frame_code) & py->code_mask;
	__u8 owner = py->frame_kind ? frame_word(w, py->frame_owner) : 0;
	__u64 at = instruction_at(w, py, code);
	w->frame = frame_word(w, py->frame_back);
	if (owner >= py->owner_skip) /* it has no Python code */
		return 0;
	__u32 n = w->stack.count;
	if (n >= MAX_FRAMES) {
		w->stack.more = 1;
		return 1;
	}
	struct frame *f = &w->stack.frames[n & (MAX_FRAMES - 1)];
	f->code = code; /* name_frame() puts its number here */
	f->at = at;
	w->path = mix(mix(w->path, code), at);
	w->stack.count = n + 1;
	return code == w->stop;
}
REPEATED(next_python_frame, struct walk **)

static __always_inline long name_frame(__u32 i, struct walk **walk)
{
	struct walk *w = *walk;

	if (i >= w->stack.count)
		return 1;
	struct frame *f = &w->stack.frames[i & (MAX_FRAMES - 1)];
	__u64 number = code_number(w, f->code);
	f->code = number;
	w->unreadable += !number;
	w->stack.number = mix(mix(w->stack.number, number), f->at);
	return 0;
}
REPEATED(name_frame, struct walk **)

/* Returns the number of the stack with these frames, if it is known by its path; else 0. */
static __always_inline __u64 known_path(struct walk *w)
{
	if (w->path == w->last_path)
		return w->last;
	__u64 *number = bpf_map_lookup_elem(&paths, &w->path);
	return number ? *number : 0;
}

/* Returns the state that a thread's walks use. */
static __always_inline struct walk *walk_of(__u32 tid)
{
	struct walk *w = bpf_map_lookup_elem(&walks, &tid);
	if (w)
		return w;
	static const struct walk none;
	bpf_map_update_elem(&walks, &tid, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&walks, &tid);
}

/* Sends a stack of either kind, if it is new: size bytes of it, at most `most`. Returns false if there was no room. */
static __always_inline bool send_once(struct header *h, struct walk *w, __u32 kind, __u64 number, __u64 size,
				      __u64 most)
{
	__u32 one = 1;

	if (bpf_map_update_elem(&stacks, &number, &one, BPF_NOEXIST)) {
		if (bpf_map_lookup_elem(&stacks, &number)) /* another thread was faster */
			return true;
		lose(LOSS_STACK);
		return false;
	}
	h->ticket = 0;
	h->cell = 0;
	h->kind = kind;
	h->pid = w->pid;
	if (bpf_ringbuf_output(&boundaries, h, AT_MOST(size, most), wakes_if_many())) {
		bpf_map_delete_elem(&stacks, &number);
		lose(LOSS_STACK);
		return false;
	}
	return true;
}

static __noinline bool send_stack(struct walk *w)
{
	return w && send_once(&w->stack.header, w, RECORD_STACK, w->stack.number,
			      __builtin_offsetof(struct stack, frames) + (__u64)w->stack.count * sizeof(struct frame),
			      sizeof(struct stack));
}

/* Returns the number of the Python stack of the thread that runs; 0 where there is none. */
__attribute__((noinline)) __u64 walk_stack(__u32 slot)
{
	struct python *py = python_at(slot);
	struct process *p = process_at(slot);

	if (!py || !p || !py->frame_size)
		return 0;
	struct walk *w = walk_of((__u32)bpf_get_current_pid_tgid());
	if (!w) {
		lose(LOSS_STACK);
		return 0;
	}
	__u64 self = SELF_OF_POINTER(py, THREAD_POINTER(bpf_get_current_task())), id = 0;
	if (w->slot != slot || !w->thread || READ(id, w->thread + py->thread_id) || id != self) {
		/*
		 * The state of a thread without Python is not searched for each time. The thread has a state when a new
		 * one is at the front of the list, or the one there has been given to a thread. Where several states
		 * wait to be given, it is found later.
		 */
		__u64 first = 0, first_id = 0;
		if (!READ(first, interpreter_of(py) + py->threads_head) && first)
			READ(first_id, first + py->thread_id);
		if (w->slot == slot && first && first == w->first_thread && first_id == w->first_id &&
		    ++w->missed % LOOK_AGAIN)
			return 0;
		w->slot = slot;
		w->missed = 0;
		w->thread = thread_state(py);
		w->first_thread = w->thread ? 0 : first;
		w->first_id = first_id;
	}
	if (!w->thread || READ(w->frame, w->thread + py->thread_frame))
		return 0;
	if (py->frame_kind == 1) {
		__u64 cframe = w->frame;
		w->frame = 0;
		READ(w->frame, cframe + py->cframe_current);
	}
	struct window *running = innermost(current_thread());
	w->stop = running && running->statement ? running->code : 0;
	w->pid = p->pid;
	w->seed = walk_seed(p, slot);
	w->stack.number = w->seed;
	w->stack.count = 0;
	w->stack.more = 0;
	w->stretch = 0;
	w->unreadable = 0;
	w->path = mix(w->seed, *(volatile __u32 *)&code_frees[slot & (MAX_PROCESSES - 1)]);
	REPEAT(MAX_FRAMES + 16, next_python_frame, &w);
	if (!w->stack.count)
		return 0;
	w->path |= 1; /* 0 is none */
	__u64 number = py->code_frees ? known_path(w) : 0;
	if (!number) {
		REPEAT(MAX_FRAMES, name_frame, &w);
		number = w->stack.number;
		bool sent = number == w->last || bpf_map_lookup_elem(&stacks, &number) || send_stack(w);
		if (!sent || w->unreadable || !py->code_frees) {
			w->last_path = 0;
			return number;
		}
		bpf_map_update_elem(&paths, &w->path, &number, BPF_ANY);
	}
	w->last_path = w->path;
	w->last = number;
	return number;
}

/* Forgets a code object that is freed: its address may no longer identify it. */
SEC("uprobe")
int code_freed(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	struct process *p = slot == NO_SLOT ? NULL : process_at(slot);

	if (!p)
		return 0;
	__u64 key = mix(walk_seed(p, slot), PT_REGS_PARM1(regs));
	if (bpf_map_lookup_elem(&code_numbers, &key)) /* most were never on a stack: no lock is taken for them */
		bpf_map_delete_elem(&code_numbers, &key);
	fetch_add(&code_frees[slot & (MAX_PROCESSES - 1)], 1);
	spend(regs, GROUP_CODE, slot, bpf_get_attach_cookie(regs));
	return 0;
}

/* Reports whether the stacks of a process are walked at all. */
static __always_inline bool walks_stacks(__u32 slot)
{
	struct python *py = python_at(slot);
	return py && py->frame_size;
}

#endif
