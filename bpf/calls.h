/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Programs that call others.
 *
 * The verifier walks a function once in each program that calls it. What is long and reached from many is a program of
 * its own, which is walked once, and they call that. It is a tail call, made by a function: this takes the place of the
 * function alone, and the program that is called returns to who called the function (emit_bpf_tail_call_indirect,
 * arch/…/net/bpf_jit_comp.c, Linux 5.10). It gets the caller's context, and gives back nothing: the verifier takes
 * what the function below returns, which is 0, for the result. What is called begins with a stack of its own of 512
 * bytes, and whoever calls may have used less than 256 by then (check_max_stack_depth, kernel/bpf/verifier.c).
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

/* 0, but the verifier does not know: where it knows which program it is, the kernel patches the code of each caller as
 * that one is put in. */
__u32 first_callee;

static __noinline int call(void *ctx, __u32 which)
{
	bpf_tail_call(ctx, &callees, *(volatile __u32 *)&first_callee + which);
	return 0;
}

#endif
