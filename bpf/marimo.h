/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Cells of marimo. It compiles a cell to two code objects, the body and the last expression, with the file name
 * DIRECTORY/__marimo__cell_ID_.py. A function of its executor runs them: exec(cell.body, …) or await eval(cell.body,
 * …), and then eval(cell.last_expr, …), which is the constant None where the cell ends with a statement.
 *
 * - A cell opens at the call of PyEval_EvalCode with code of such a name, unless its function continues a cell: the
 * same frame is at a later instruction, where it runs the last expression.
 * - It closes where the last expression has returned, or a part has raised. A part that is awaited is over when its
 *   coroutine is freed, which the function does before its next instruction.
 * - Its text is the attribute `code` of the CellImpl among the function's variables: the one that is run. linecache has
 *   the same text, or a later one.
 *
 * Only processes with a command line of marimo's are looked at. Everything here is read from the target and may be
 * wrong. Source: marimo 0.24, _ast/compiler.py, _runtime/executor.
 */
#ifndef IPYTRACER_MARIMO_H
#define IPYTRACER_MARIMO_H

#define MARIMO_BEFORE "__marimo__cell_"
#define MARIMO_BEHIND "_.py"
#define MARIMO_CELL   "CellImpl" /* compared with its NUL, so as a whole */

struct marimo_name {
	__u64 end;
	__u32 size;
	__u32 found;
};

/* Compares the name from a place towards its beginning. */
static __always_inline long next_marimo_name(__u32 i, struct marimo_name *n)
{
	__u32 size = i + sizeof(MARIMO_BEFORE) + sizeof(MARIMO_BEHIND) - 1; /* an ID has at least one character */
	char text[16] = {};

	if (size > n->size || bpf_probe_read_user(text, sizeof(MARIMO_BEFORE) - 1, (void *)(n->end - size)))
		return 1;
	n->found = starts_with(text, MARIMO_BEFORE, sizeof(MARIMO_BEFORE) - 1);
	return n->found;
}
REPEATED(next_marimo_name, struct marimo_name *)

/* Reports whether a code object is of a cell of marimo, and stores its file name. */
static __noinline bool is_of_marimo(struct python *py, __u64 code, struct name *file)
{
	__u64 object = 0;
	char text[4] = {};

	if (!py || !file || READ(object, code + py->code_filename))
		return false;
	file->data = string_data(py, object, &file->kind, &file->size);
	if (!file->data || file->kind != 1 || file->size < sizeof(MARIMO_BEHIND) || file->size >= TEXT_SIZE)
		return false;
	struct marimo_name n = { .end = file->data + file->size, .size = file->size };
	if (bpf_probe_read_user(text, sizeof(text), (void *)(n.end - sizeof(text))) ||
	    !starts_with(text, MARIMO_BEHIND, sizeof(text)))
		return false;
	REPEAT(TEXT_SIZE, next_marimo_name, &n);
	return n.found;
}

/* The function that calls exec() or eval() now, the instruction that it has come to, and its coroutine or 0. */
struct marimo_runner {
	__u64 frame;
	__u64 at;
	__u64 coroutine;
};

static __noinline bool find_runner(struct python *py, struct marimo_runner *r)
{
	__u64 state = py ? thread_state(py) : 0, frame = 0;
	__u8 owner = 0;

	if (!py || !r || !state || READ(frame, state + py->thread_frame))
		return false;
	if (py->frame_kind == 1) {
		__u64 cframe = frame;
		frame = 0;
		READ(frame, cframe + py->cframe_current);
	}
	if (!frame || READ(r->at, frame + py->frame_instruction))
		return false;
	r->frame = frame;
	if (!py->frame_kind) {
		r->at = (__u32)r->at; /* f_lasti */
		READ(r->coroutine, frame + py->frame_generator);
	} else if (!READ(owner, frame + py->frame_owner) && owner == py->owner_generator) {
		r->coroutine = frame - py->generator_frame;
	}
	return true;
}

struct marimo_text {
	struct python *py;
	__u64 locals;
	__u64 cell; /* the CellImpl */
	__u64 text; /* its attribute code */
	struct attributes a;
};

static __always_inline long next_variable(__u32 i, struct marimo_text *m)
{
	__u64 object = 0, type = 0;

	if (READ(object, m->locals + 8 * i))
		return 1;
	object &= m->py->code_mask; /* references have the same tag bits */
	if (!object || READ(type, object + m->py->object_type) ||
	    !is_named(m->py, type, MARIMO_CELL, sizeof(MARIMO_CELL)))
		return 0;
	m->cell = object;
	return 1;
}
REPEATED(next_variable, struct marimo_text *)

static __always_inline long next_name(__u32 i, struct marimo_text *m)
{
	__u64 key = 0, at = m->a.entries + i * m->a.stride;
	__u32 kind = 0, size = 0;
	char name[4] = {};

	if (i >= m->a.count || READ(key, at))
		return 1;
	__u64 data = key ? string_data(m->py, key, &kind, &size) : 0;
	if (!data || size != sizeof(name) || bpf_probe_read_user(name, sizeof(name), (void *)data) ||
	    !starts_with(name, "code", sizeof(name)))
		return 0;
	READ(m->text, m->a.values ? m->a.values + 8 * i : at + 8);
	return 1;
}
REPEATED(next_name, struct marimo_text *)

#define MARIMO_VARIABLES 8 /* execute_cell_async(self, cell, glbls) */

/* Returns the str with the text of the cell that a function of marimo runs, 0 where it is not found. */
__attribute__((noinline)) __u64 marimo_text(__u32 slot, __u64 frame)
{
	struct python *py = python_at(slot);
	struct marimo_text m = { .py = py, .locals = frame };

	if (!py)
		return 0;
	m.locals += py->frame_locals;
	m.a.py = py;
	REPEAT(MARIMO_VARIABLES, next_variable, &m);
	if (!m.cell || !find_attributes(py, m.cell, &m.a))
		return 0;
	REPEAT(MAX_NAMES, next_name, &m);
	return m.text;
}

/* Opens the window of a cell. */
static __noinline int enter_marimo(struct thread *t, __u32 slot, struct marimo_runner *r, struct name *file)
{
	struct python *py = python_at(slot);

	if (!t || !py || !r || !file)
		return 0;
	struct window *outer = innermost(t), *w = window_at(t, t->depth);
	if (!w) {
		lose(LOSS_NESTING);
		return 0;
	}
	struct process *p = process_at(slot);
	if (!has_room_for(p ? root_of(p) : NULL, BOUNDARY_CELL_OPEN)) /* nor would there be for its end */
		return 0;
	__builtin_memset(w, 0, sizeof(*w));
	w->cell = fetch_add(&next_cell, 1);
	w->frame = r->frame;
	w->coroutine = r->coroutine;
	w->runner = code_of(py, r->coroutine);
	keep_name(w, slot, file);
	struct occasion why = {
		.kind = BOUNDARY_CELL_OPEN,
		.slot = slot,
		.cell = w->cell,
		.outer = outer ? outer->cell : 0,
		.text = (void *)file->data,
		.text_kind = file->kind,
		.text_size = file->size,
		.inputs = INPUTS_ELSEWHERE,
	};
	t->depth++;
	draw_window(&why);
	return 1;
}

/* Reports whether the function that runs a cell is still below the stack pointer, or suspended. */
static __noinline bool still_runs(struct python *py, struct window *w, __u64 sp)
{
	if (!py || !w)
		return false;
	if (w->coroutine)
		return !(coroutine_state(py, w) & COROUTINE_FINISHED);
	return w->statement && !w->awaiting && sp < w->statement;
}

enum marimo_part { PART_NONE, PART_FIRST, PART_LAST };

/* Closes the cells of a thread that are over without a sign of it. Returns the part that begins. */
__attribute__((noinline)) int marimo_part(struct thread *t, __u32 slot, struct marimo_runner *r, __u64 sp)
{
	struct python *py = python_at(slot);

	if (!t || !py || !r)
		return PART_FIRST;
	for (int i = 0; i < MAX_NESTING; i++) {
		struct window *w = innermost(t);
		if (!w || !w->frame)
			break;
		if (w->frame != r->frame) {
			if (still_runs(py, w, sp))
				break;
		} else if (!w->last && r->at > w->at && (!w->statement || w->awaiting)) {
			return PART_LAST;
		}
		bool last = t->depth == 1;
		close_cell(t, slot, OUTCOME_MISSED);
		if (last)
			break;
	}
	return PART_FIRST;
}

/* PyEval_EvalCode is called in a process of marimo. Returns 1 if a part of a cell begins. */
static __always_inline int marimo_begins(__u32 slot, __u64 code, __u64 sp)
{
	struct python *py = python_at(slot);
	struct name file = {};
	struct marimo_runner r = {};
	__u64 size = 0;

	if (!py || !is_of_marimo(py, code, &file) || !find_runner(py, &r))
		return 0;
	int part = marimo_part(current_thread(), slot, &r, sp);
	struct thread *t = own_thread();
	if (!t)
		return 1;
	if (part == PART_FIRST) {
		if (!enter_marimo(t, slot, &r, &file))
			return 1;
		struct process *p = process_at(slot);
		struct window *opened = innermost(t);
		__u64 text = marimo_text(slot, r.frame);
		if (text && opened)
			send_typed(slot, text & py->code_mask, opened->cell, p ? p->pid : 0);
	}
	struct window *w = innermost(t);
	if (!w)
		return 1;
	w->at = r.at;
	w->last = part == PART_LAST;
	bool bare = py->instance_kind >= INSTANCE_TWO_WORDS && !READ(size, code + py->var_size) && size <= py->marimo;
	open_statement(w, slot, code, sp, bare ? STATEMENT_IS_BARE : 0);
	return 1;
}

/* Returns how the exception that is on its way ends a cell. Notes the address of its type's name, if that is known. */
static __noinline __u32 raised(struct python *py, struct window *w)
{
	__u64 state = py ? thread_state(py) : 0, type = 0, name = 0;
	char text[24] = {};

	if (!py || !w || !py->thread_raised || !state || READ(type, state + py->thread_raised) || !type)
		return OUTCOME_ERROR;
	if (py->instance_kind != INSTANCE_TWO_WORDS && READ(type, type + py->object_type)) /* not the type itself */
		return OUTCOME_ERROR;
	if (READ(name, type + py->type_name) || bpf_probe_read_user_str(text, sizeof(text), (void *)name) < 0)
		return OUTCOME_ERROR;
	if (starts_with(text, "MarimoStopError", sizeof("MarimoStopError"))) /* mo.stop(): no error */
		return OUTCOME_OK;
	w->error = name;
	return starts_with(text, "MarimoInterrupt", sizeof("MarimoInterrupt")) ||
			       starts_with(text, "KeyboardInterrupt", sizeof("KeyboardInterrupt")) ||
			       starts_with(text, "CancelledError", sizeof("CancelledError"))
		       ? OUTCOME_INTERRUPTED
		       : OUTCOME_ERROR;
}

/* Ends the first part of a cell. A function of its own, so that its stack is not below that of closing the cell. */
static __noinline int first_part_over(struct window *w, __u32 slot)
{
	if (!w)
		return 0;
	struct occasion why = { .slot = slot, .cell = w->cell, .inputs = -1 };
	close_statement(w, &why, OUTCOME_OK);
	return 0;
}

/* Ends a part of the innermost cell, and the cell with its last part or where an exception leaves it. */
static __always_inline int marimo_part_over(struct thread *t, __u32 slot, __u32 failed)
{
	struct python *py = python_at(slot);
	struct window *w = innermost(t);

	if (!t || !py || !w)
		return 0;
	if (!failed && !w->last)
		return first_part_over(w, slot);
	return close_cell(t, slot, failed ? raised(py, w) : OUTCOME_OK);
}

/* A part of a cell has returned to exec() or eval(). result: NULL after an exception. */
static __always_inline int marimo_returned(__u32 slot, __u64 result)
{
	struct python *py = python_at(slot);
	struct thread *t = current_thread();
	struct window *w = innermost(t);
	__u64 type = 0;

	if (!t || !py || !w)
		return 0;
	if (result && !READ(type, result + py->object_type) && is_named(py, type, "coroutine", sizeof("coroutine"))) {
		w->awaiting = w->awaited = 1;
		w->awaited_one = result;
		return 0;
	}
	return marimo_part_over(t, slot, !result);
}

/* A generator or a coroutine is freed in a process of marimo: perhaps the one that the innermost cell awaits. */
static __always_inline int coroutine_freed(__u32 slot, __u64 coroutine)
{
	struct python *py = python_at(slot);
	struct thread *t = current_thread();
	struct window *w = innermost(t);
	__u64 exception = 0, state = 0;

	if (!py || !w || !w->frame || !w->awaiting || w->awaited_one != coroutine)
		return 0;
	state = thread_state(py);
	if (py->thread_raised && state)
		READ(exception, state + py->thread_raised);
	return marimo_part_over(t, slot, !!exception);
}

#endif
