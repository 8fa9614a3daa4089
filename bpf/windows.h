/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The windows that are open on a thread: cells within cells, the statement that runs, their ends. */
#ifndef IPYTRACER_WINDOWS_H
#define IPYTRACER_WINDOWS_H

static __always_inline struct window *window_at(struct thread *t, __u32 i)
{
	if (i >= MAX_NESTING)
		return NULL;
	asm volatile("" : "+r"(i)); /* keep the bound below from being optimised away: the verifier must see it */
	return &t->windows[i & (MAX_NESTING - 1)];
}

static __always_inline struct window *innermost(struct thread *t)
{
	return t && t->depth ? window_at(t, t->depth - 1) : NULL;
}

/* Takes over the state that user space has found out about the thread that runs. */
static __noinline int take_over(__u32 tid)
{
	struct thread_key key = { .slot = current_slot() };

	key.self = CURRENT_SELF(key.slot);
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

/*
 * Ends the statement that runs in a window, if one does. The caller passes the occasion, and may draw another boundary
 * with it: stack is scarce.
 */
static __always_inline void close_statement(struct window *w, struct occasion *why, __u32 outcome)
{
	if (!w->statement)
		return;
	w->statement = 0;
	w->awaiting = 0;
	why->kind = BOUNDARY_STATEMENT_CLOSE;
	why->outcome = outcome;
	draw_window(why);
}

/*
 * Reports whether a code object has the file name of a window's cell. Both names are padded with zeros to whole words.
 */
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

enum statement_kind {
	STATEMENT_IS_AWAITED = 1, /* a coroutine, up to the next statement or the cell's end */
	STATEMENT_IS_BARE = 2,	  /* it has no window */
};

/* Begins a statement of a window, with the stack pointer there, and ends the one before. */
__attribute__((noinline)) int open_statement(struct window *w, __u32 slot, __u64 code, __u64 sp, __u32 kind)
{
	struct python *py = python_at(slot);
	__u64 table = 0;

	if (!w || !py)
		return 0;
	struct occasion why = { .slot = slot, .cell = w->cell, .inputs = -1 };
	close_statement(w, &why, OUTCOME_OK);
	w->statement = sp;
	w->code = code;
	w->awaiting = kind & STATEMENT_IS_AWAITED;
	w->awaited |= w->awaiting;
	w->statements++;
	if (kind & STATEMENT_IS_BARE)
		return 0;
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
	draw_window(&why);
	return 0;
}

#define TOLD (1 << 8) /* beside an outcome: it is from IPython itself, and final */

/*
 * Returns how a cell has ended, and whether that is final: IPython's own outcome, if it is available. An exception in
 * the cell's result is final. The absence of one is final only once the result has been returned: a KeyboardInterrupt
 * in IPython's own code leaves none. The return of awaited cells is not always seen (see above), but where they await,
 * IPython catches all exceptions. error: see told_outcome().
 */
static __noinline __u32 outcome_of(struct window *w, __u32 slot, __u32 otherwise, __u64 *error)
{
	if (!w)
		return otherwise;
	__u32 said = told_outcome(slot, w->result, error);
	bool returned = w->returned || (w->awaited && otherwise == OUTCOME_OK);
	if (said == OUTCOME_UNKNOWN || (said == OUTCOME_OK && !returned))
		return w->failed ? OUTCOME_ERROR : otherwise;
	return said | TOLD;
}

/*
 * Closes the innermost cell. Not static, and neither is cell_ends: the verifier walks a static function at every call,
 * and again for all values that its callers may pass. With these that was half of its work at an attach.
 */
__attribute__((noinline)) int close_cell(struct thread *t, __u32 slot, __u32 outcome)
{
	if (!t)
		return 0;
	struct window *w = innermost(t);
	if (!w)
		return 0;
	__u32 how = outcome;
	__u64 error = 0;
	if (w->frame) {
		how |= TOLD;
		error = w->error;
	} else if (outcome != OUTCOME_MISSED && !w->ended) {
		how = outcome_of(w, slot, outcome, &error);
	}
	struct occasion why = { .slot = slot, .cell = w->cell, .inputs = -1 };
	close_statement(w, &why, w->failed ? OUTCOME_ERROR : outcome == OUTCOME_MISSED ? OUTCOME_OK : how & ~TOLD);
	why.kind = BOUNDARY_CELL_CLOSE;
	why.text = (void *)error;
	why.text_size = ERROR_NAME;
	why.outcome = how & ~TOLD;
	why.told = how & TOLD ? OUTCOME_TOLD : 0;
	t->depth--;
	draw_window(&why);
	if (!t->depth) {
		__u32 tid = (__u32)bpf_get_current_pid_tgid();
		bpf_map_delete_elem(&threads, &tid);
	}
	return 0;
}

/*
 * Draws the boundary of a cell that has its result. A function of its own, so that its stack is not below that of
 * closing the cell.
 */
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
	why.told = how & TOLD ? OUTCOME_TOLD : 0;
	w->ended = 1;
	draw_window(&why);
	return 0;
}

/*
 * Ends a cell, but for display and hooks. These follow where a front end will show when they are over. Cells within
 * cells close here: the next events belong to the outer one. So do those of IPython.embed(): its next prompt may come
 * up long after the last one was left.
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

#endif
