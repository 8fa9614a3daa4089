/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Programs that call others.
 *
 * The verifier walks a function once in each program that calls it. Long code that many programs reach is a program of
 * its own, which is walked once, and they call that program. This is a tail call, made by a function: the called
 * program replaces the function alone, and returns to the function's caller (emit_bpf_tail_call_indirect,
 * arch/…/net/bpf_jit_comp.c, Linux 5.10). It gets the caller's context, and returns nothing: the verifier takes the
 * value that the function below returns, 0, for the result. The called program begins with a stack of its own of 512
 * bytes, and its caller may have used less than 256 by then (check_max_stack_depth, kernel/bpf/verifier.c).
 */
#ifndef IPYTRACER_CALLS_H
#define IPYTRACER_CALLS_H

enum callee { SETTLE_ACCOUNT, CALLEES };

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, CALLEES);
	__type(key, __u32);
	__type(value, __u32);
} callees SEC(".maps");

/*
 * 0, but the verifier does not know that: where it knows the program that is called, the kernel patches the code of
 * each caller as the program is put in.
 */
__u32 first_callee;

static __noinline int call(void *ctx, __u32 which)
{
	bpf_tail_call(ctx, &callees, *(volatile __u32 *)&first_callee + which);
	return 0;
}

#endif
