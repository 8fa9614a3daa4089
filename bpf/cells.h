/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Cells, statements and experiments, seen from outside.
 *
 *   open      Py_CompileStringObject(source, file, 257, flags with 0x600, …), file not "<unknown>": the one
 *             compile only IPython's CachingCompiler.ast_parse makes. The coroutine run_cell_async that asked
 *             for it is found by walking the Python frames. Where a build compiles otherwise the call
 * PySys_Audit("compile", …), and in the shell of IPython.embed() flags with 0x400: if run_cell_async itself has called
 * ast_parse. result
 * _PyGen_SetStopIterationValue(ExecutionResult), or a call that a build has in its place, once that coroutine is over.
 * What follows is display and hooks: inline figures are drawn there. Of awaited cells some Pythons (3.10 to 3.12, 3.15)
 * do not tell. close     the end of the front end's request: ipykernel ignores SIGINT again, a terminal's prompt takes
 * SIGWINCH, or is PyOS_Readline (--simple-prompt). Only where the request was seen to begin the same way, and on its
 * thread; cells of other threads, of programs that are no front end, and cells within cells end at their result, or at
 * the next PyOS_setsig that finds them over. A cell that is suspended when the request is over was abandoned. statement
 * PyEval_EvalCode of a code object with the cell's file name, up to the place on its way out that is passed with the
 * same stack pointer (package cpython finds it); when it returned a coroutine, up to the next statement or the cell's
 * end. marker    compile("", "<ipytracer:begin NAME>", "exec"), and end.
 *
 * There are only plain probes here, no return probes: those break programs that switch stacks (greenlet).
 */
#ifndef IPYTRACER_CELLS_H
#define IPYTRACER_CELLS_H

#define PY_FILE_INPUT	  257
#define DONT_IMPLY_DEDENT 0x200 /* PyCF_DONT_IMPLY_DEDENT */
#define ONLY_AST	  0x400 /* PyCF_ONLY_AST */

static __always_inline struct window *window_at(struct thread *t, __u32 i)
{
	if (i >= MAX_NESTING)
		return NULL;
	asm volatile("" : "+r"(i)); /* keep the bound below from being optimised away: the verifier wants to see it */
	return &t->windows[i & (MAX_NESTING - 1)];
}

static __always_inline struct window *innermost(struct thread *t)
{
	return t && t->depth ? window_at(t, t->depth - 1) : NULL;
}

/* Takes over what user space has found out of the thread that runs. */
static __noinline int take_over(__u32 tid)
{
	struct thread_key key = {
		.self = FIELD(bpf_get_current_task(), task_struct, thread.fsbase),
		.slot = current_slot(),
	};
	struct thread *t = bpf_map_lookup_elem(&found, &key);

	if (!t)
		return 0;
	if (bpf_map_update_elem(&threads, &tid, t, BPF_NOEXIST))
		lose(LOSS_THREAD);
	bpf_map_delete_elem(&found, &key);
	fetch_add(&found_threads, -1);
	return 1;
}

static __always_inline struct thread *current_thread(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct thread *t = bpf_map_lookup_elem(&threads, &tid);

	if (!t && found_threads && take_over(tid))
		t = bpf_map_lookup_elem(&threads, &tid);
	return t;
}

/* Ends the statement that runs in a window, if one does. The occasion is the caller's, which may draw another with it:
 * stack is scarce. */
static __always_inline void close_statement(struct window *w, struct occasion *why, __u32 outcome)
{
	if (!w->statement)
		return;
	w->statement = 0;
	w->awaiting = 0;
	why->kind = BOUNDARY_STATEMENT_CLOSE;
	why->outcome = outcome;
	draw_boundary(why);
}

#define TOLD (1 << 8) /* beside an outcome: it is IPython's own word, and final */

/*
 * How a cell has ended, and whether that is final: what IPython says, if its word is out. An exception in its result
 * is. That there is none says something only once the result has been returned: a KeyboardInterrupt in IPython's own
 * code leaves none. Of awaited cells the return is not always seen (see above), but where they await, IPython catches
 * all. error: see told_outcome().
 */
static __noinline __u32 outcome_of(struct window *w, __u32 slot, __u32 otherwise, __u64 *error)
{
	if (!w)
		return otherwise;
	__u32 said = told_outcome(python_at(slot), w->result, error);
	bool returned = w->returned || (w->awaited && otherwise == OUTCOME_OK);
	if (said == OUTCOME_UNKNOWN || (said == OUTCOME_OK && !returned))
		return w->failed ? OUTCOME_ERROR : otherwise;
	return said | TOLD;
}

/* Not static, and neither is cell_ends: the verifier walks a static function at every call, and again for all that its
 * callers may have in their hands. With these that was half of its work at an attach. */
__attribute__((noinline)) int close_cell(struct thread *t, __u32 slot, __u32 outcome)
{
	if (!t)
		return 0;
	struct window *w = innermost(t);
	if (!w)
		return 0;
	__u32 how = outcome;
	__u64 error = 0;
	if (outcome != OUTCOME_MISSED && !w->ended)
		how = outcome_of(w, slot, outcome, &error);
	struct occasion why = { .slot = slot, .cell = w->cell, .inputs = -1 };
	close_statement(w, &why, w->failed ? OUTCOME_ERROR : outcome == OUTCOME_MISSED ? OUTCOME_OK : how & ~TOLD);
	why.kind = BOUNDARY_CELL_CLOSE;
	why.text = (void *)error;
	why.text_size = ERROR_NAME;
	why.outcome = how & ~TOLD;
	why.first_line = how & TOLD ? OUTCOME_TOLD : 0;
	t->depth--;
	draw_boundary(&why);
	if (!t->depth) {
		__u32 tid = (__u32)bpf_get_current_pid_tgid();
		bpf_map_delete_elem(&threads, &tid);
	}
	return 0;
}

/* A cell has its result. A function of its own, so that its stack is not below that of closing the cell. */
static __noinline int draw_result(struct window *w, __u32 slot)
{
	if (!w)
		return 0;
	__u64 error = 0;
	__u32 how = outcome_of(w, slot, OUTCOME_OK, &error);
	struct occasion why = { .slot = slot, .cell = w->cell, .inputs = -1 };
	close_statement(w, &why, how & ~TOLD);
	why.kind = BOUNDARY_CELL_RESULT;
	why.text = (void *)error;
	why.text_size = ERROR_NAME;
	why.outcome = how & ~TOLD;
	why.first_line = how & TOLD ? OUTCOME_TOLD : 0;
	w->ended = 1;
	draw_boundary(&why);
	return 0;
}

/*
 * A cell is over but for display and hooks, which follow where there is a front end that will say when they are over.
 * Cells within cells are over: what comes next is the outer one's. So are those of IPython.embed(): its next prompt may
 * come up long after the last one was left.
 */
__attribute__((noinline)) int cell_ends(struct thread *t, __u32 slot)
{
	struct window *w = innermost(t);
	struct process *p = process_at(slot);

	if (!w || !p || w->ended)
		return 0;
	if (t->depth > 1)
		return close_cell(t, slot, OUTCOME_OK);
	draw_result(w, slot);
	if (p->request != (__u32)bpf_get_current_pid_tgid() || w->embedded)
		close_cell(t, slot, OUTCOME_MISSED);
	return 0;
}

struct source_copy {
	__u64 from;
	__u64 cell;
	__s32 pid;
	__u32 done;
	__u32 kind;
	__u32 total;
};

static __always_inline long copy_source(__u32 i, struct source_copy *c)
{
	struct source *s = bpf_ringbuf_reserve(&boundaries, sizeof(*s), 0);

	if (!s) {
		lose(LOSS_SOURCE);
		return 1;
	}
	__u32 left = c->total - c->done, size = left < SOURCE_CHUNK ? left : SOURCE_CHUNK;
	bool last = left <= SOURCE_CHUNK;
	long failed;
	if (c->kind) {
		failed = bpf_probe_read_user(s->text, AT_MOST(size, SOURCE_CHUNK), (void *)(c->from + c->done));
	} else {
		long n = bpf_probe_read_user_str(s->text, SOURCE_CHUNK, (void *)(c->from + c->done));
		failed = n <= 0;
		last = n < SOURCE_CHUNK;
		size = last ? n : SOURCE_CHUNK - 1; /* without the NUL that only says the chunk is full */
	}
	if (failed) {
		lose(LOSS_READ);
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
		return 1;
	}
	s->header.ticket = 0;
	s->header.kind = RECORD_SOURCE;
	s->header.cell = c->cell;
	s->header.pid = c->pid;
	s->offset = c->done;
	s->size = size;
	s->text_kind = c->kind;
	s->total = c->total;
	c->done += size;
	bpf_ringbuf_submit(s, 0);
	return last;
}
REPEATED(copy_source, struct source_copy *)

/* A chunk that most cells fit into. */
struct short_source {
	struct header header;
	__u32 offset;
	__u32 size;
	__u32 text_kind;
	__u32 total;
	__u8 text[SOURCE_SHORT];
};

static __always_inline void submit_short(struct short_source *s, struct source_copy *c, __u32 size)
{
	s->header.ticket = 0;
	s->header.kind = RECORD_SOURCE;
	s->header.cell = c->cell;
	s->header.pid = c->pid;
	s->offset = 0;
	s->size = size;
	s->text_kind = c->kind;
	s->total = c->total;
	bpf_ringbuf_submit(s, 0);
}

#define LONGEST_TYPED (1 << 28)

/* Sends the text of a cell as it was typed, if it is a str. */
static __noinline int send_typed(struct python *py, __u64 locals, __u64 cell, __s32 pid)
{
	__u64 text = 0; /* run_cell_async(self, raw_cell, …) */
	struct source_copy c = { .cell = cell, .pid = pid };
	__u64 type = 0, name = 0, length = 0;
	__u32 state = 0;
	char as[4] = {};

	if (!py || !locals || READ(text, locals + 8))
		return 0;
	text &= py->code_mask; /* the same bits are a reference's */
	if (!text || READ(type, text + py->object_type) || READ(name, type + py->type_name) ||
	    bpf_probe_read_user_str(as, sizeof(as), (void *)name) != sizeof(as) ||
	    !starts_with(as, "str", sizeof(as)) || READ(state, text + py->string_state) ||
	    READ(length, text + py->string_length))
		return 0;
	state >>= py->string_kind & 31;
	c.kind = state & 7;
	if (!(state & STRING_COMPACT) || (c.kind != 1 && c.kind != 2 && c.kind != 4) || !length)
		return 0;
	c.total = (length < LONGEST_TYPED ? length : LONGEST_TYPED) * c.kind;
	c.from = text + (state & STRING_ASCII ? py->ascii_data : py->compact_data);
	if (c.total > SOURCE_SHORT) {
		REPEAT(SOURCE_CHUNKS, copy_source, &c);
		return 0;
	}
	struct short_source *s = bpf_ringbuf_reserve(&boundaries, sizeof(*s), 0);
	if (!s) {
		lose(LOSS_SOURCE);
		return 0;
	}
	if (bpf_probe_read_user(s->text, AT_MOST(c.total, SOURCE_SHORT), (void *)c.from)) {
		lose(LOSS_READ);
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
		return 0;
	}
	submit_short(s, &c, c.total);
	return 0;
}

/* Sends the text of a cell as it is compiled: in one short record if it fits, as most do. */
static __noinline int send_compiled(__u64 from, __u64 cell, __s32 pid)
{
	struct source_copy c = { .from = from, .cell = cell, .pid = pid };
	struct short_source *s = bpf_ringbuf_reserve(&boundaries, sizeof(*s), 0);

	if (s) {
		long n = bpf_probe_read_user_str(s->text, SOURCE_SHORT, (void *)from);
		if (n > 0 && n < SOURCE_SHORT) {
			submit_short(s, &c, n);
			return 0;
		}
		bpf_ringbuf_discard(s, BPF_RB_NO_WAKEUP);
	}
	REPEAT(SOURCE_CHUNKS, copy_source, &c);
	return 0;
}

/* The characters of a str: where they are, how wide one is, how many bytes in all. */
struct name {
	__u64 data;
	__u32 kind;
	__u32 size;
};

#define EMBEDDED	 "InteractiveShellEmbed" /* with its NUL, it is compared whole */
#define INPUTS_ELSEWHERE -2			 /* event.InputsElsewhere */

/*
 * Is the self of a run_cell_async the shell of IPython.embed()? That stores its cells in an In of its own, and what
 * runs behind its last one is the program's. Up to Python 3.10 self has moved elsewhere, but there the flags tell.
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

/* A cell's file name could not be read, by which its statements are known. */
static __noinline int nameless(__u32 slot)
{
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;

	lose(LOSS_READ);
	if (r)
		fetch_add(&r->refused[REFUSED_STATEMENT], 1);
	return 0;
}

/* Opens the window of a cell. On its own, so that its stack is not below that of closing the one before. */
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
	w->embedded = running->embedded || is_embedded(py, running->locals);
	w->statement = 0;
	w->awaiting = 0;
	w->failed = 0;
	w->ended = 0;
	w->statements = 0;
	w->file_size = name->size > FILE_SIZE ? FILE_SIZE : name->size;
	__builtin_memset(w->file, 0, sizeof(w->file));
	if (w->file_size && bpf_probe_read_user(w->file, AT_MOST(w->file_size, FILE_SIZE), (void *)name->data))
		nameless(slot);
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
	draw_boundary(&why);
	struct process *p = process_at(slot);
	send_typed(py, running->locals, cell, p ? p->pid : 0);
	send_compiled(source, cell, p ? p->pid : 0);
	return 0;
}

/* The state of the thread that runs, made if it has none. */
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
 * What is open on a thread and has not called the cell that begins there ends here at the latest. The caller executes.
 * 0: none begins. A function of its own for the verifier.
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
		bool same = w->coroutine == running->coroutine; /* or another one, where the window's lay before */
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
		return 0; /* some compile that is none of a cell's own text */
	if (t && !close_others(t, py, slot, &running))
		return 0;
	t = own_thread();
	if (!t)
		return 0;
	return enter_cell(t, slot, &running, source, &name);
}

#define BEGIN "<ipytracer:begin "
#define END   "<ipytracer:end "

/*
 * What is compiled, by its file name: a marker, nothing of interest, or perhaps a cell. This and marker() are functions
 * of their own because a boundary below cell_compile, with close_cell between, leaves it little stack.
 */
enum compiled { COMPILED_OTHER, COMPILED_BEGIN, COMPILED_END, COMPILED_UNKNOWN };

static __noinline int compiled_as(__u64 data, __u32 kind, __u32 size)
{
	char head[20] = {};

	/* Marker names may be wide characters; then the prefix is, too. Narrow it to compare. */
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
	return size == 9 && starts_with(head, "<unknown>", 9) ? COMPILED_UNKNOWN : COMPILED_OTHER;
}

static __noinline int marker(__u32 slot, __u64 data, __u32 kind, __u32 size, bool begin)
{
	__u32 prefix = begin ? sizeof(BEGIN) - 1 : sizeof(END) - 1;
	struct occasion why = {
		.kind = begin ? BOUNDARY_EXPERIMENT_BEGIN : BOUNDARY_EXPERIMENT_END,
		.slot = slot,
		.text = (void *)(data + prefix * kind),
		.text_kind = kind,
		.inputs = -1,
		.text_size = size - prefix * kind,
	};
	if (why.text_size > NAME_SIZE) /* the same for both prefixes, so that an end finds its begin */
		why.text_size = NAME_SIZE;
	draw_boundary(&why);
	return 0;
}

/* Py_CompileStringObject(const char *source, PyObject *file, int start, PyCompilerFlags *flags, int optimize) */
SEC("uprobe")
int cell_compile(struct pt_regs *regs)
{
	__u32 slot = current_slot(), flags = 0, kind = 0, size = 0;
	__u64 source = regs->di;

	if (slot == NO_SLOT || !spend(GROUP_CELL, slot) || (__u32)regs->dx != PY_FILE_INPUT)
		return 0;
	struct python *py = python_at(slot);
	if (!py)
		return 0;
	__u64 data = string_data(py, regs->si, &kind, &size);
	if (!data)
		return 0;
	int as = compiled_as(data, kind, size);
	if (as == COMPILED_BEGIN || as == COMPILED_END)
		return marker(slot, data, kind, size, as == COMPILED_BEGIN);
	if (regs->cx && READ(flags, regs->cx))
		return 0;
	if (!(flags & ONLY_AST) || as == COMPILED_UNKNOWN)
		return 0;
	/* The shell of IPython.embed() has the flags of the program around it. */
	bool flagged = flags & DONT_IMPLY_DEDENT;
	return open_cell(py, slot, source, (struct name){ data, kind, size }, flagged, !flagged);
}

/*
 * PySys_Audit("compile", "yO", const char *source, PyObject *file), at its call: where a build compiles without
 * Py_CompileStringObject. Neither start symbol nor flags are known there; the frames tell whether it is a cell's text.
 */
SEC("uprobe")
int cell_audit(struct pt_regs *regs)
{
	__u32 slot = current_slot(), kind = 0, size = 0;
	__u64 source = regs->dx;

	if (slot == NO_SLOT || !spend(GROUP_CELL, slot))
		return 0;
	struct python *py = python_at(slot);
	if (!py)
		return 0;
	__u64 data = string_data(py, regs->cx, &kind, &size);
	if (!data)
		return 0;
	int as = compiled_as(data, kind, size);
	if (as == COMPILED_BEGIN || as == COMPILED_END)
		return marker(slot, data, kind, size, as == COMPILED_BEGIN);
	if (as == COMPILED_UNKNOWN)
		return 0;
	return open_cell(py, slot, source, (struct name){ data, kind, size }, false, false);
}

/* Does a code object have the file name of a window's cell? Both names are padded with zeros to whole words. */
static __noinline bool same_file(struct python *py, struct window *w, __u64 code)
{
	__u64 file = 0, text[FILE_WORDS] = {};
	__u32 kind = 0, size = 0;

	if (!py || !w)
		return false;
	if (READ(file, code + py->code_filename))
		return false;
	__u64 data = string_data(py, file, &kind, &size);
	if (size > FILE_SIZE)
		size = FILE_SIZE;
	if (!data || size != w->file_size)
		return false;
	if (size && bpf_probe_read_user(text, AT_MOST(size, FILE_SIZE), (void *)data))
		return false;
	__u64 different = 0;
	for (int i = 0; i < FILE_WORDS; i++)
		different |= text[i] ^ w->file[i];
	return !different;
}

/* PyEval_EvalCode(PyObject *code, PyObject *globals, PyObject *locals) */
SEC("uprobe")
int statement_open(struct pt_regs *regs)
{
	__u32 slot = current_slot();

	if (slot == NO_SLOT || !spend(GROUP_STATEMENT, slot))
		return 0;
	struct window *w = innermost(current_thread());
	struct python *py = python_at(slot);
	if (!w || !py || w->ended)
		return 0;
	__u64 sp = regs->sp + py->pushed_eval, table = 0, code = regs->di;
	/* Inside a statement only its own end matters, unless its end was missed: then the stack has come back up. */
	if (w->statement && !w->awaiting && sp < w->statement)
		return 0;
	if (!same_file(py, w, code))
		return 0;
	struct occasion why = { .slot = slot, .cell = w->cell, .inputs = -1 };
	close_statement(w, &why, OUTCOME_OK);
	why.kind = BOUNDARY_STATEMENT_OPEN;
	why.outcome = OUTCOME_UNKNOWN;
	why.text_size = TEXT_SIZE;
	READ(why.first_line, code + py->code_first_line);
	if (!READ(table, code + py->code_line_table) && table) {
		__u64 length = 0;
		READ(length, table + py->var_size);
		why.text = (void *)(table + py->bytes_data);
		why.text_size = length > TEXT_SIZE ? TEXT_SIZE : length;
	}
	w->statement = sp;
	w->code = code;
	w->awaiting = 0;
	w->statements++;
	draw_boundary(&why);
	return 0;
}

#define RESULT_RDI 8 /* of cpython.Register; the others are below */

/* The register of cpython.Register: where a site has the function's result. */
static __always_inline __u64 result_in(struct pt_regs *regs, __u32 which)
{
	/* Copied first: the verifier allows no computed offset into the context. 7: an exit that only returns NULL. */
	__u64 all[8] = { regs->ax, regs->bx, regs->bp, regs->r12, regs->r13, regs->r14, regs->r15, 0 };
	return all[which & 7];
}

/*
 * On every way out of PyEval_EvalCode there is one such place. The cookie says what it looks like there:
 * bits 0-15 bytes on the stack above the return address, 16-23 the register with the result, 24-39 a mask of
 * flags and 40-55 what they must be for this to be the way out (a conditional jump that is taken).
 */
SEC("uprobe")
int statement_return(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 slot = current_slot(), mask = cookie >> 24 & 0xffff, value = cookie >> 40 & 0xffff;

	if (slot == NO_SLOT || !spend(GROUP_STATEMENT, slot) || (regs->flags & mask) != value)
		return 0;
	struct window *w = innermost(current_thread());
	struct python *py = python_at(slot);
	if (!w || !py || !w->statement || w->awaiting || regs->sp + (cookie & 0xffff) != w->statement)
		return 0;
	__u64 result = result_in(regs, cookie >> 16 & 0xff);
	struct occasion why = { .slot = slot, .cell = w->cell, .inputs = -1 };
	if (!result) {
		w->failed = 1;
		close_statement(w, &why, OUTCOME_ERROR);
		return 0;
	}
	__u64 type = 0, name = 0;
	char text[10] = {};
	READ(type, result + py->object_type);
	READ(name, type + py->type_name);
	bpf_probe_read_user_str(text, sizeof(text), (void *)name);
	if (starts_with(text, "coroutine", 10))
		w->awaiting = w->awaited = 1;
	else
		close_statement(w, &why, OUTCOME_OK);
	return 0;
}

/* The window on a thread whose cell has this result: its place from 1; 0 for none. */
static __noinline __u32 window_with(struct thread *t, __u64 result)
{
	if (!t)
		return 0;
	for (__u32 i = 0; i < MAX_NESTING; i++) {
		struct window *w = window_at(t, i);
		if (w && i < t->depth && w->result == result)
			return i + 1;
	}
	return 0;
}

/*
 * _PyGen_SetStopIterationValue(PyObject *value): a coroutine driven from C is over and returned value. Where a build
 * has the function's body in its callers, the call in it that makes the exception: (PyObject *type, PyObject *value).
 * The cookie says which argument it is.
 */
SEC("uprobe")
int cell_result(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	__u64 which = bpf_get_attach_cookie(regs);
	__u64 both[2] = { regs->di, regs->si }; /* the verifier allows no computed offset into the context */

	if (slot == NO_SLOT || !spend(GROUP_RESULT, slot))
		return 0;
	__u64 result = both[which & 1];
	struct thread *t = current_thread();
	struct python *py = python_at(slot);
	if (!t || !py || !is_result(py, result))
		return 0;
	__u32 place = window_with(t, result);
	for (int i = 0; place && i < MAX_NESTING && t->depth > place; i++)
		close_cell(t, slot, OUTCOME_MISSED); /* cells within it of which no end was seen */
	struct window *w = innermost(t);
	if (!w || w->ended)
		return 0;
	/* Another cell's coroutine, given up long ago, may end here as well. */
	if (w->coroutine && !(coroutine_state(py, w) & COROUTINE_FINISHED))
		return 0;
	if (w->result && !place) {
		close_cell(t, slot, OUTCOME_MISSED); /* it is over, and this is another's */
		return 0;
	}
	w->result = result;
	w->returned = 1;
	cell_ends(t, slot);
	return 0;
}

#define SIGINT	 2
#define SIGWINCH 28
#define SIG_IGN	 1

/* What the process does with SIGINT now. */
static __always_inline __u64 interrupt_handler(void)
{
	return word_at(FIELD(bpf_get_current_task(), task_struct, sighand) +
		       bpf_core_field_offset(struct sighand_struct, action[SIGINT - 1].sa.sa_handler));
}

/*
 * Does a front end's request begin, or is it over? A terminal's prompt gives SIGWINCH back before what was typed runs,
 * and takes it when it is there again; ipykernel stops ignoring SIGINT for each message, and ignores it again.
 */
enum turn { TURN_NONE, TURN_BEGIN, TURN_OVER };

static __always_inline enum turn turn_of(__u32 signal, __u64 handler)
{
	if (signal == SIGWINCH)
		return handler ? TURN_OVER : TURN_BEGIN;
	if (handler == SIG_IGN)
		return TURN_OVER;
	return interrupt_handler() == SIG_IGN ? TURN_BEGIN : TURN_NONE;
}

/* Ends what is over on a thread at a turn of its front end's. False while a cell goes on there. */
static __always_inline int turns(struct python *py, __u32 slot, enum turn turn)
{
	struct process *p = process_at(slot);
	struct thread *t = current_thread();

	if (!py || !p)
		return 0;
	for (int i = 0; t && i < MAX_NESTING; i++) {
		struct window *w = innermost(t);
		if (!w)
			break;
		int state = !w->ended && w->coroutine ? coroutine_state(py, w) : 0;
		bool finished = w->ended || state & COROUTINE_FINISHED;
		if (!finished && (state & COROUTINE_EXECUTING || turn != TURN_OVER))
			return 0;
		bool last = t->depth == 1;
		if (turn == TURN_OVER)
			close_cell(t, slot, finished ? OUTCOME_OK : OUTCOME_ABANDONED);
		else if (last && p->request == (__u32)bpf_get_current_pid_tgid())
			return 0; /* ipykernel has SIGINT back behind an awaited cell's hooks; the request goes on */
		else
			cell_ends(t, slot);
		if (last)
			break;
	}
	return 1;
}

/* PyOS_setsig(int signal, PyOS_sighandler_t handler) */
SEC("uprobe")
int cell_signal(struct pt_regs *regs)
{
	__u32 slot = current_slot(), signal = regs->di;

	if (slot == NO_SLOT || !spend(GROUP_SIGNAL, slot) || (signal != SIGINT && signal != SIGWINCH))
		return 0;
	struct process *p = process_at(slot);
	struct python *py = python_at(slot);
	if (!p || !py)
		return 0;
	enum turn turn = turn_of(signal, regs->si);
	if (turn == TURN_BEGIN)
		p->request = (__u32)bpf_get_current_pid_tgid();
	if (turns(py, slot, turn) && turn == TURN_OVER)
		p->request = 0; /* nothing of a cell goes on */
	return 0;
}

/* PyOS_Readline(FILE *, FILE *, const char *prompt): input() at a terminal, and so the prompt of IPython's
 * --simple-prompt. */
SEC("uprobe")
int cell_prompt(struct pt_regs *regs)
{
	__u32 slot = current_slot();

	if (slot == NO_SLOT || !spend(GROUP_SIGNAL, slot))
		return 0;
	struct process *p = process_at(slot);
	struct python *py = python_at(slot);
	if (p && py && py->terminal && turns(py, slot, TURN_OVER))
		p->request = (__u32)bpf_get_current_pid_tgid(); /* what is typed is answered up to the next prompt */
	return 0;
}

#endif
