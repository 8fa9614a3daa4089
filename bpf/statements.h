/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Statements of a cell, and results: the code that runs a cell has returned. */
#ifndef IPYTRACER_STATEMENTS_H
#define IPYTRACER_STATEMENTS_H

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
	__u64 sp = PT_REGS_SP(regs) + (cookie & 0xffff), code = PT_REGS_PARM1(regs);
	struct python *py = python_at(slot);
	if (py && py->marimo && marimo_begins(slot, code, sp))
		return 0;
	struct window *w = innermost(current_thread());
	if (!w || !py || w->ended || w->frame)
		return 0;
	bool awaits = cookie & STATEMENT_AWAITS;
	/* Inside a statement only its own end matters, unless its end was missed: then the stack has come back up. */
	if (w->statement && !w->awaiting && sp < w->statement)
		return 0;
	if ((awaits && !is_coroutine(py, code)) || !same_file(py, w, code))
		return 0;
	return open_statement(w, slot, code, sp, awaits ? STATEMENT_IS_AWAITED : 0);
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
 * their values if this is the way out (a conditional jump that is taken). Or with COROUTINE_FREED in the cookie the
 * function that frees a coroutine.
 */
SEC("uprobe")
int statement_return(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 slot = current_slot(), mask = cookie >> 24 & 0xffff, value = cookie >> 40 & 0xffff;

	bool freed = cookie & COROUTINE_FREED;
	if (slot == NO_SLOT || !spend(regs, freed ? GROUP_RESULT : GROUP_STATEMENT, slot, cookie) ||
	    (FLAGS(regs) & mask) != value)
		return 0;
	if (freed)
		return coroutine_freed(slot, PT_REGS_PARM1(regs));
	struct window *w = innermost(current_thread());
	struct python *py = python_at(slot);
	if (!w || !py || !w->statement || w->awaiting || PT_REGS_SP(regs) + (cookie & 0xffff) != w->statement)
		return 0;
	__u64 result = result_in(regs, cookie >> 16 & 0xff);
	if (w->frame)
		return marimo_returned(slot, result);
	struct occasion why = { .slot = slot, .cell = w->cell, .inputs = -1 };
	if (!result) {
		w->failed = 1;
		close_statement(w, &why, OUTCOME_ERROR);
		return 0;
	}
	__u64 type = 0;
	READ(type, result + py->object_type);
	if (is_named(py, type, "coroutine", sizeof("coroutine")))
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
