/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Reading CPython's objects in the target's memory: strings, coroutines, the frames of the running thread. Offsets come
 * from struct python. All data are read from the target: they may have any value, and may change meanwhile.
 */
#ifndef IPYTRACER_PYTHON_H
#define IPYTRACER_PYTHON_H

#define READ(to, from) bpf_probe_read_user(&(to), sizeof(to), (void *)(from))

static __always_inline struct python *python_at(__u32 slot)
{
	struct python *py = bpf_map_lookup_elem(&pythons, &slot);
	return py && py->ready ? py : NULL;
}

/* Returns the address of the main interpreter state. A program that starts has one before user space looks again. */
static __always_inline __u64 interpreter_of(struct python *py)
{
	if (!py->interpreter && py->runtime)
		READ(py->interpreter, py->runtime);
	return py->interpreter;
}

/* Returns CHANGE_COLLECTED if the garbage collector runs just now. It holds the GIL, so the free is its own. */
static __always_inline __u32 if_collected(__u32 slot)
{
	struct python *py = python_at(slot);
	__u32 collecting = 0;

	if (!py || !py->interp_collecting || READ(collecting, py->interpreter + py->interp_collecting))
		return 0;
	return collecting ? CHANGE_COLLECTED : 0;
}

/* Bits of the state word of a str, from the bits of the character width on. */
#define STRING_COMPACT 8
#define STRING_ASCII   16

/* Returns the address of a str's characters, and stores the bytes in one character and in all. */
static __always_inline __u64 string_data(struct python *py, __u64 object, __u32 *kind, __u32 *size)
{
	__u32 state = 0;
	__u64 length = 0;

	if (!object || READ(state, object + py->string_state) || READ(length, object + py->string_length))
		return 0;
	state >>= py->string_kind & 31;
	*kind = state & 7;
	__u64 bytes = length * *kind;
	*size = bytes > TEXT_SIZE ? TEXT_SIZE : bytes;
	return object + (state & STRING_ASCII ? py->ascii_data : py->compact_data);
}

/* Returns the code object that a coroutine runs; 0: none. */
__attribute__((noinline)) __u64 code_of(struct python *py, __u64 coroutine)
{
	__u64 frame = 0, code = 0;

	if (!py || !coroutine)
		return 0;
	if (py->state_kind == 2)
		frame = coroutine + py->generator_frame;
	else if (READ(frame, coroutine + py->generator_frame) || !frame)
		return 0;
	READ(code, frame + py->frame_code);
	return code & py->code_mask;
}

/*
 * Whether a cell's coroutine is over, and whether it executes now. Addresses are reused: a coroutine that runs other
 * code than the cell's is not the cell's. One of another cell is recognised only by that cell's begin.
 */
enum coroutine_state { COROUTINE_FINISHED = 1, COROUTINE_EXECUTING = 2 };

__attribute__((noinline)) int coroutine_state(struct python *py, struct window *w)
{
	__u64 frame = 0, top = 1;
	__s8 state = 0;

	if (!py || !w)
		return 0;
	if (py->state_kind != 2) {
		if (READ(frame, w->coroutine + py->generator_frame))
			return 0;
		if (!frame)
			return COROUTINE_FINISHED;
	}
	if (w->runner && code_of(py, w->coroutine) != w->runner)
		return COROUTINE_FINISHED;
	if (py->state_kind == 2) {
		if (READ(state, w->coroutine + py->generator_state))
			return 0;
	} else {
		READ(state, frame + py->frame_state);
	}
	if (py->state_kind)
		return (state >= py->state_finished ? COROUTINE_FINISHED : 0) |
		       (state == py->state_executing ? COROUTINE_EXECUTING : 0);
	READ(top, frame + py->frame_stack_top);
	return (!state && !top ? COROUTINE_FINISHED : 0) | (state == 1 ? COROUTINE_EXECUTING : 0);
}

struct thread_search {
	struct python *py;
	__u64 state;
	__u64 wanted;
};

static __always_inline long next_thread(__u32 i, struct thread_search *s)
{
	__u64 id = 0;

	if (!s->state || READ(id, s->state + s->py->thread_id)) {
		s->state = 0;
		return 1;
	}
	if (IS_SELF(s->py, id, s->wanted))
		return 1;
	__u64 next = 0;
	READ(next, s->state + s->py->thread_next);
	s->state = next;
	return 0;
}
REPEATED(next_thread, struct thread_search *)

/* Returns the PyThreadState of the thread that runs: its thread_id is pthread_self(). */
static __always_inline __u64 thread_state(struct python *py)
{
	struct thread_search s = {
		.py = py,
		.state = py->main_thread,
		.wanted = THREAD_POINTER(bpf_get_current_task()),
	};
	__u64 id = 0;

	if (s.state && !READ(id, s.state + py->thread_id) && IS_SELF(py, id, s.wanted))
		return s.state;
	s.state = 0;
	if (READ(s.state, interpreter_of(py) + py->threads_head))
		return 0;
	REPEAT(256, next_thread, &s);
	return s.state;
}

struct frame_search {
	struct python *py;
	__u64 frame;
	__u64 coroutine;
	__u64 locals;
	__u32 between;
	__u32 padding;
};

static __always_inline long next_frame(__u32 i, struct frame_search *s)
{
	struct python *py = s->py;
	__u64 frame = s->frame, code = 0, name = 0, back = 0;
	char text[16] = {};
	__u8 owner = 0;
	__u32 kind = 0, size = 0;

	if (!frame || READ(back, frame + py->frame_back))
		return 1;
	s->frame = back;
	if (py->frame_kind)
		READ(owner, frame + py->frame_owner);
	if (owner >= py->owner_skip || READ(code, frame + py->frame_code) ||
	    READ(name, (code & py->code_mask) + py->code_name))
		return 0;
	__u64 data = string_data(py, name, &kind, &size);
	if (data && size == 9 && !bpf_probe_read_user(text, 9, (void *)data) && starts_with(text, "ast_parse", 9))
		return 0;
	if (!data || size != 14 || bpf_probe_read_user(text, 14, (void *)data) ||
	    !starts_with(text, "run_cell_async", 14)) {
		s->between++;
		return 0;
	}
	if (!py->frame_kind)
		READ(s->coroutine, frame + py->frame_generator);
	else if (owner == py->owner_generator)
		s->coroutine = frame - py->generator_frame;
	s->locals = frame + py->frame_locals;
	return 1;
}
REPEATED(next_frame, struct frame_search *)

/*
 * A cell that runs: its coroutine, or 0, and the address of the variables of run_cell_async. between: the functions
 * between that and the compiler, IPython's ast_parse aside. There are none where the cell begins, as run_cell_async
 * itself has its text compiled once. embedded: its shell is that of IPython.embed(), as far as the flags show.
 */
struct running {
	__u64 coroutine;
	__u64 locals;
	__u32 between;
	__u32 embedded;
};

/* Finds the innermost run_cell_async coroutine on this thread's Python stack. */
static __noinline int running_cell(struct python *py, struct running *out)
{
	if (!py || !out)
		return 0;
	struct frame_search s = { .py = py };
	__u64 state = thread_state(py);

	if (!state || READ(s.frame, state + py->thread_frame))
		return 0;
	if (py->frame_kind == 1) {
		__u64 cframe = s.frame;
		s.frame = 0;
		READ(s.frame, cframe + py->cframe_current);
	}
	REPEAT(12, next_frame, &s);
	out->coroutine = s.coroutine;
	out->between = s.between;
	out->locals = s.locals;
	return 0;
}

#endif
