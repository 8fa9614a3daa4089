/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The turns of a front end: the beginning and end of its request, or of the wait for one. */
#ifndef IPYTRACER_TURNS_H
#define IPYTRACER_TURNS_H

#define SIGINT	 2
#define SIGWINCH 28
#define SIG_IGN	 1

/* Returns the process's handler of SIGINT now. */
static __always_inline __u64 interrupt_handler(void)
{
	return word_at(FIELD(bpf_get_current_task(), task_struct, sighand) +
		       bpf_core_field_offset(struct sighand_struct, action[SIGINT - 1].sa.sa_handler));
}

/*
 * Whether a front end's request begins, or is over. A terminal's prompt gives SIGWINCH back before the typed input
 * runs, and takes it when it is there again; ipykernel stops ignoring SIGINT for each message, and ignores it again.
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

/* Ends the cells that are over on a thread at a turn of its front end. Returns false while a cell goes on there. */
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
		if (w->frame)
			return 0; /* marimo's cells do not end with a request */
		int state = !w->ended && w->coroutine ? coroutine_state(py, w) : 0;
		bool finished = w->ended || state & COROUTINE_FINISHED;
		if (!finished && (state & COROUTINE_EXECUTING || turn != TURN_OVER))
			return 0;
		bool last = t->depth == 1;
		if (turn == TURN_OVER)
			close_cell(t, slot, finished ? OUTCOME_OK : OUTCOME_ABANDONED);
		else if (last && p->request == (__u32)bpf_get_current_pid_tgid())
			return 0; /* ipykernel restores SIGINT behind an awaited cell's hooks; the request goes on */
		else
			cell_ends(t, slot);
		if (last)
			break;
	}
	return 1;
}

/*
 * PyOS_setsig(int signal, PyOS_sighandler_t handler), or with SIGNAL_PROMPT in the cookie PyOS_Readline(FILE *, FILE *,
 * const char *prompt): input() at a terminal, and so the prompt of IPython's --simple-prompt.
 */
SEC("uprobe")
int cell_signal(struct pt_regs *regs)
{
	__u64 cookie = bpf_get_attach_cookie(regs);
	__u32 slot = current_slot(), signal = PT_REGS_PARM1(regs), tid = (__u32)bpf_get_current_pid_tgid();
	bool prompt = cookie & SIGNAL_PROMPT;

	if (slot == NO_SLOT || !spend(regs, GROUP_SIGNAL, slot, cookie) ||
	    (!prompt && signal != SIGINT && signal != SIGWINCH))
		return 0;
	struct process *p = process_at(slot);
	struct python *py = python_at(slot);
	if (!p || !py || (prompt && !py->terminal))
		return 0;
	enum turn turn = prompt ? TURN_OVER : turn_of(signal, PT_REGS_PARM2(regs));
	if (turn == TURN_BEGIN)
		p->request = tid;
	if (turns(py, slot, turn) &&
	    turn == TURN_OVER) /* no cell goes on; typed input is handled until the next prompt */
		p->request = prompt ? tid : 0;
	return 0;
}

#endif
