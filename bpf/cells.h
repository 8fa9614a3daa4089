/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Cells, statements and experiments, seen from outside.
 *
 * - A cell opens at Py_CompileStringObject(source, file, 257, flags with 0x600, …), file not "<unknown>". Only
 *   CachingCompiler.ast_parse of IPython makes such a compile. The coroutine run_cell_async that requested it is found
 *   by a walk up the Python frames. Where a build compiles otherwise, the cell opens at PySys_Audit("compile", …). In
 *   the shell of IPython.embed() the flags are with 0x400, and run_cell_async itself has called ast_parse.
 * - It has its result at _PyGen_SetStopIterationValue(ExecutionResult), or at a call that a build has in its place,
 *   once that coroutine is over. Display and hooks follow: inline figures are drawn there. Some Pythons (3.10 to 3.12,
 *   3.15) do not reach that place for awaited cells.
 * - It closes at the end of the front end's request: ipykernel ignores SIGINT again, or a terminal's prompt takes
 *   SIGWINCH, or the prompt is PyOS_Readline (--simple-prompt). That applies only if the request was seen to begin in
 *   the same way, and on its thread. Cells of other threads, of programs without a front end, and cells within cells
 *   close at their result, or at the next PyOS_setsig that finds them over. A cell that is suspended at the end of the
 *   request was abandoned.
 * - A statement is exec() of a code object with the cell's file name. It lasts from the call of PyEval_EvalCode to a
 *   place behind it that is passed with the same stack pointer (package cpython finds both). Or it is eval() of a code
 *   object that makes a coroutine, up to the next statement or the cell's end. Where a build's calls are not found, a
 *   statement is PyEval_EvalCode itself, up to a place on its way out.
 * - A marker is compile("", "<ipytracer:begin NAME>", "exec"), or the same with end. The companion has three more: it
 *   has opened a line to the tracer, it asks something there, or its own hooks begin, the last of all.
 *
 * There are only plain probes here, no return probes: those break programs that switch stacks (greenlet).
 */
#ifndef IPYTRACER_CELLS_H
#define IPYTRACER_CELLS_H

#define PY_FILE_INPUT	  257
#define DONT_IMPLY_DEDENT 0x200 /* PyCF_DONT_IMPLY_DEDENT */
#define ONLY_AST	  0x400 /* PyCF_ONLY_AST */

/* The characters of a str: their address, the bytes in one character, the bytes in all. */
struct name {
	__u64 data;
	__u32 kind;
	__u32 size;
};

#define EMBEDDED	 "InteractiveShellEmbed" /* compared with its NUL, so as a whole */
#define INPUTS_ELSEWHERE -2			 /* event.InputsElsewhere */

/*
 * Reports whether the self of a run_cell_async is the shell of IPython.embed(). That shell stores its cells in an In of
 * its own, and the code after its last cell is the program's. Up to Python 3.10 self has moved elsewhere, but there the
 * flags are enough.
 */
static __noinline bool is_embedded(struct python *py, __u64 locals)
{
	__u64 shell = 0, type = 0;

	if (!py || !locals || READ(shell, locals))
		return false;
	shell &= py->code_mask;
	if (!shell || READ(type, shell + py->object_type))
		return false;
	if (type == py->cell_type || is_named(py, type, "cell", sizeof("cell"))) { /* as in next_local */
		if (READ(shell, shell + py->var_size) || !shell || READ(type, shell + py->object_type))
			return false;
	}
	return is_named(py, type, EMBEDDED, sizeof(EMBEDDED));
}

/* Counts a cell's file name that could not be read. Statements are identified by it. */
static __noinline int nameless(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	lose(LOSS_READ);
	if (r)
		fetch_add(&r->refused[REFUSED_STATEMENT], 1);
	return 0;
}

/* Keeps the file name of a cell's code in its window, of which the name is zero. */
static __always_inline void keep_name(struct window *w, __u32 slot, struct name *name)
{
	w->file_size = name->size > FILE_SIZE ? FILE_SIZE : name->size;
	if (w->file_size && bpf_probe_read_user(w->file, AT_MOST(w->file_size, FILE_SIZE), (void *)name->data))
		nameless(slot);
}

/* Opens the window of a cell. A separate function, so that its stack is not below that of closing the cell before. */
static __noinline int enter_cell(struct thread *t, __u32 slot, struct running *running, __u64 source, struct name *name)
{
	struct python *py = python_at(slot);

	if (!t || !py || !running || !name)
		return 0;
	struct window *outer = innermost(t);
	struct window *w = window_at(t, t->depth);
	if (!w) {
		lose(LOSS_NESTING);
		return 0;
	}
	w->cell = fetch_add(&next_cell, 1);
	w->coroutine = running->coroutine;
	w->runner = code_of(py, running->coroutine);
	w->result = result_of(py, running->locals);
	w->returned = 0;
	w->awaited = 0;
	w->frame = 0;
	w->embedded = running->embedded || is_embedded(py, running->locals);
	w->statement = 0;
	w->awaiting = 0;
	w->failed = 0;
	w->ended = 0;
	w->statements = 0;
	__builtin_memset(w->file, 0, sizeof(w->file));
	keep_name(w, slot, name);
	struct occasion why = {
		.kind = BOUNDARY_CELL_OPEN,
		.slot = slot,
		.cell = w->cell,
		.outer = outer ? outer->cell : 0,
		.text = (void *)name->data,
		.text_kind = name->kind,
		.text_size = name->size,
		.inputs = -1,
	};
	if (w->embedded)
		why.inputs = INPUTS_ELSEWHERE;
	else if (py->inputs && READ(why.inputs, py->inputs + py->var_size))
		why.inputs = -1;
	t->depth++;
	__u64 cell = w->cell;
	draw_window(&why);
	struct process *p = process_at(slot);
	__u64 typed = 0; /* run_cell_async(self, raw_cell, …) */
	if (running->locals && !READ(typed, running->locals + 8))
		send_typed(slot, typed & py->code_mask, cell, p ? p->pid : 0); /* references have the same tag bits */
	send_compiled(source, cell, p ? p->pid : 0);
	return 0;
}

/* Returns the state of the thread that runs. Makes one if it has none. */
static __always_inline struct thread *own_thread(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);

	if (!t) {
		static const struct thread none;
		bpf_map_update_elem(&threads, &tid, &none, BPF_NOEXIST);
		t = bpf_map_lookup_elem(&threads, &tid);
	}
	if (!t)
		lose(LOSS_THREAD);
	return t;
}

/*
 * Closes the cells that are open on a thread and have not called the cell that begins there. The caller of the new cell
 * executes. Returns 0 if no cell begins. A function of its own for the verifier.
 */
__attribute__((noinline)) int close_others(struct thread *t, struct python *py, __u32 slot, struct running *running)
{
	if (!t || !py || !running)
		return 0;
	for (int i = 0; i < MAX_NESTING; i++) {
		struct window *w = innermost(t);
		if (!w || (!w->ended && !w->coroutine))
			break;
		int state = w->ended ? COROUTINE_FINISHED : coroutine_state(py, w);
		bool same = w->coroutine == running->coroutine; /* or another coroutine at the same address */
		if (same && running->between && !(state & COROUTINE_FINISHED))
			return 0; /* the cell's own code called IPython's compiler: no new run_cell, no new cell */
		if (!same && state & COROUTINE_EXECUTING)
			break;
		bool last = t->depth == 1;
		close_cell(t, slot, OUTCOME_MISSED);
		if (last)
			break;
	}
	return 1;
}

static __always_inline int open_cell(struct python *py, __u32 slot, __u64 source, struct name name, bool flagged,
				     bool embedded)
{
	struct thread *t = current_thread();
	struct running running = { .embedded = embedded };

	running_cell(py, &running);
	if (!flagged && (!running.coroutine || running.between))
		return 0; /* a compile of other text than a cell's own */
	if (t && !close_others(t, py, slot, &running))
		return 0;
	t = own_thread();
	if (!t)
		return 0;
	return enter_cell(t, slot, &running, source, &name);
}

#define BEGIN "<ipytracer:begin "
#define END   "<ipytracer:end "
#define LINE  "<ipytracer:line "
#define ASK   "<ipytracer:ask>"
#define CELL  "<ipytracer:cell>"

/*
 * The kind of the compiled text, by its file name: a marker, nothing of interest, or perhaps a cell. This and marked()
 * are functions of their own because a boundary below cell_compile, with close_cell between, leaves it little stack.
 */
enum compiled {
	COMPILED_NOTHING,
	COMPILED_OTHER,
	COMPILED_UNKNOWN,
	COMPILED_CELL,
	COMPILED_ASK,
	COMPILED_BEGIN, /* this one and those behind it have a text */
	COMPILED_END,
	COMPILED_LINE,
};

static __noinline int compiled_as(__u64 data, __u32 kind, __u32 size)
{
	char head[20] = {};

	/* Marker names may have wide characters; then the prefix has, too. Narrow it to compare. */
	for (int i = 0; i < 18; i++) {
		char c = 0;
		if (i * kind >= size)
			break;
		READ(c, data + i * kind);
		head[i] = c;
		if (head[0] != '<')
			break;
	}
	if (starts_with(head, BEGIN, sizeof(BEGIN) - 1))
		return COMPILED_BEGIN;
	if (starts_with(head, END, sizeof(END) - 1))
		return COMPILED_END;
	if (starts_with(head, LINE, sizeof(LINE) - 1))
		return COMPILED_LINE;
	if (starts_with(head, ASK, sizeof(ASK))) /* with its NUL: nothing follows */
		return COMPILED_ASK;
	if (starts_with(head, CELL, sizeof(CELL)))
		return COMPILED_CELL;
	return size == 9 && starts_with(head, "<unknown>", 9) ? COMPILED_UNKNOWN : COMPILED_OTHER;
}

static __noinline int marked(__u32 slot, __u64 data, __u32 kind, __u32 size, __u32 as)
{
	__u32 prefix = as == COMPILED_BEGIN ? sizeof(BEGIN) - 1
		       : as == COMPILED_END ? sizeof(END) - 1
					    : sizeof(LINE) - 1;
	struct occasion why = {
		.kind = as == COMPILED_BEGIN ? BOUNDARY_EXPERIMENT_BEGIN
			: as == COMPILED_END ? BOUNDARY_EXPERIMENT_END
			: as == COMPILED_ASK ? BOUNDARY_ASKED
					     : BOUNDARY_LINE,
		.slot = slot,
		.inputs = -1,
	};
	if (as >= COMPILED_BEGIN) {
		why.text = (void *)(data + prefix * kind);
		why.text_kind = kind;
		why.text_size = size - prefix * kind;
		if (why.text_size > NAME_SIZE) /* the same for all prefixes, so that an end finds its begin */
			why.text_size = NAME_SIZE;
	}
	draw_window(&why);
	return 0;
}

/*
 * Closes the cell for which the companion reports the end of display and hooks: its own hooks come last, and their
 * memory is not the cell's. A cell cannot end in this way while its code still runs.
 */
static __noinline int hooks_over(__u32 slot)
{
	struct thread *t = current_thread();
	struct python *py = python_at(slot);
	struct window *w = innermost(t);

	if (!t || !py || !w)
		return 0;
	int state = !w->ended && w->coroutine ? coroutine_state(py, w) : 0;
	if (w->ended || state & COROUTINE_FINISHED)
		close_cell(t, slot, OUTCOME_OK);
	return 0;
}

/*
 * Returns the kind of code that is compiled, by the name of its file. COMPILED_NOTHING: nothing is left to do. It is no
 * name, or a marker that has been carried out.
 */
static __always_inline int compiled_by(__u32 slot, struct python *py, __u64 file, struct name *n)
{
	n->data = string_data(py, file, &n->kind, &n->size);
	if (!n->data)
		return COMPILED_NOTHING;
	int as = compiled_as(n->data, n->kind, n->size);
	if (as < COMPILED_CELL)
		return as;
	if (as == COMPILED_CELL)
		hooks_over(slot);
	else
		marked(slot, n->data, n->kind, n->size, as);
	return COMPILED_NOTHING;
}

/*
 * Py_CompileStringObject(const char *source, PyObject *file, int start, PyCompilerFlags *flags, int optimize), or with
 * COMPILE_AUDITED in the cookie PySys_Audit("compile", "yO", const char *source, PyObject *file), at its call: where a
 * build compiles without that function. Neither start symbol nor flags are known there; the frames show whether it is a
 * cell's text.
 */
SEC("uprobe")
int cell_compile(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 slot = current_slot(), flags = ONLY_AST;
	__u32 audited = cookie & COMPILE_AUDITED;
	/* The verifier allows no computed offset into the context. */
	__u64 files[2] = { PT_REGS_PARM2(regs), PT_REGS_PARM4(regs) },
	      sources[2] = { PT_REGS_PARM1(regs), PT_REGS_PARM3(regs) };
	struct name name = {};

	if (slot == NO_SLOT || !spend(regs, GROUP_CELL, slot, cookie) ||
	    (!audited && (__u32)PT_REGS_PARM3(regs) != PY_FILE_INPUT))
		return 0;
	struct python *py = python_at(slot);
	if (!py)
		return 0;
	int as = compiled_by(slot, py, files[audited], &name);
	if (as == COMPILED_NOTHING || as == COMPILED_UNKNOWN)
		return 0;
	if (!audited && PT_REGS_PARM4(regs) && READ(flags, PT_REGS_PARM4(regs)))
		return 0;
	if (!(flags & ONLY_AST))
		return 0;
	/* The shell of IPython.embed() has the flags of the program around it. */
	bool flagged = flags & DONT_IMPLY_DEDENT;
	return open_cell(py, slot, sources[audited], name, flagged, !flagged && !audited);
}

#endif
