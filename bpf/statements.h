/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Statements of a cell, and results: the code that runs a cell has returned. */
#ifndef IPYTRACER_STATEMENTS_H
#define IPYTRACER_STATEMENTS_H

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

#define CO_COROUTINE 0x80 /* in co_flags */

/* Reports whether a code object runs a coroutine, which IPython awaits. */
static __always_inline bool is_coroutine(struct python *py, __u64 code)
{
	__u32 flags = 0;

	return !READ(flags, code + py->code_flags) && flags & CO_COROUTINE;
}

/*
 * PyEval_EvalCode(PyObject *code, PyObject *globals, PyObject *locals): where it begins, or is called. Bits 0-15 of the
 * cookie are the bytes that it has put on the stack there. Bit 16 (STATEMENT_AWAITS) means a call by eval(): only
 * coroutines are statements there, and a return is not their end.
 */
SEC("uprobe")
int statement_open(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 slot = current_slot();

	if (slot == NO_SLOT || !spend(regs, GROUP_STATEMENT, slot, cookie))
		return 0;
	struct window *w = innermost(current_thread());
	struct python *py = python_at(slot);
	if (!w || !py || w->ended)
		return 0;
	__u64 sp = PT_REGS_SP(regs) + (cookie & 0xffff), table = 0, code = PT_REGS_PARM1(regs);
	bool awaits = cookie & STATEMENT_AWAITS;
	/* Inside a statement only its own end matters, unless its end was missed: then the stack has come back up. */
	if (w->statement && !w->awaiting && sp < w->statement)
		return 0;
	if ((awaits && !is_coroutine(py, code)) || !same_file(py, w, code))
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
	w->awaiting = awaits;
	w->awaited |= awaits;
	w->statements++;
	draw_window(&why);
	return 0;
}

/* Returns the function's result at a site, from the register of cpython.Register. */
static __always_inline __u64 result_in(struct pt_regs *regs, __u32 which)
{
	/* Copied first: the verifier allows no computed offset into the context. 7: an exit that only returns NULL. */
	__u64 all[8] = RESULT_REGISTERS(regs);
	return all[which & 7];
}

/*
 * A place on every way out of PyEval_EvalCode, or behind exec()'s call of it. The cookie describes the place: bits 0-15
 * bytes on the stack above the return address, 16-23 the register with the result, 24-39 a mask of flags and 40-55
 * their values if this is the way out (a conditional jump that is taken).
 */
SEC("uprobe")
int statement_return(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 slot = current_slot(), mask = cookie >> 24 & 0xffff, value = cookie >> 40 & 0xffff;

	if (slot == NO_SLOT || !spend(regs, GROUP_STATEMENT, slot, cookie) || (FLAGS(regs) & mask) != value)
		return 0;
	struct window *w = innermost(current_thread());
	struct python *py = python_at(slot);
	if (!w || !py || !w->statement || w->awaiting || PT_REGS_SP(regs) + (cookie & 0xffff) != w->statement)
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

/* Returns the window on a thread for the cell with this result: its place from 1; 0 for none. */
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
 * The cookie is the number of the argument.
 */
SEC("uprobe")
int cell_result(struct pt_regs *regs)
{
	__u32 slot = current_slot();
	__u64 which = bpf_get_attach_cookie(regs);
	__u64 both[2] = { PT_REGS_PARM1(regs),
			  PT_REGS_PARM2(regs) }; /* the verifier allows no computed offset into the context */

	if (slot == NO_SLOT || !spend(regs, GROUP_RESULT, slot, which))
		return 0;
	__u64 result = both[which & 1];
	struct thread *t = current_thread();
	struct python *py = python_at(slot);
	if (!t || !py || !is_result(py, result))
		return 0;
	__u32 place = window_with(t, result);
	for (int i = 0; place && i < MAX_NESTING && t->depth > place; i++)
		close_cell(t, slot, OUTCOME_MISSED); /* cells within it with unseen ends */
	struct window *w = innermost(t);
	if (!w || w->ended)
		return 0;
	/* Another cell's coroutine, abandoned long ago, may end here as well. */
	if (w->coroutine && !(coroutine_state(py, w) & COROUTINE_FINISHED))
		return 0;
	if (w->result && !place) {
		close_cell(t, slot, OUTCOME_MISSED); /* the cell is over, and the result is another one's */
		return 0;
	}
	w->result = result;
	w->returned = 1;
	cell_ends(t, slot);
	return 0;
}

#endif
