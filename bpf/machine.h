/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The parts that depend on the processor: its registers, the numbers of its system calls, and the bytes that a call
 * leaves on the stack. No other header names a register. The size of a page is the machine's: page_size in state.h.
 *
 * Arguments are PT_REGS_PARM1 to 6 of a function and PT_REGS_PARM1_SYSCALL to 5 of a system call, a function's result
 * is PT_REGS_RC, the stack's and the frame's pointers are PT_REGS_SP and PT_REGS_FP, and the instruction's is
 * PT_REGS_IP: names of libbpf's bpf_tracing.h.
 */
#ifndef IPYTRACER_MACHINE_H
#define IPYTRACER_MACHINE_H

#if defined(__TARGET_ARCH_x86)

/* arch/x86/include/asm/ptrace.h */
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8;
	unsigned long ax, cx, dx, si, di, orig_ax, ip, cs, flags, sp, ss;
};

#define __VMLINUX_H__ /* the registers have the kernel's names */
#include <bpf/bpf_tracing.h>

#ifndef PT_REGS_PARM6 /* libbpf 1.1 and before */
#define PT_REGS_PARM6(regs) ((regs)->r9)
#endif
#define SYSCALL_NUMBER(regs) ((regs)->orig_ax)
#define SYSCALL_RESULT(regs) ((regs)->ax)
#define FLAGS(regs)	     ((regs)->flags) /* of the processor, for ways out that are conditional jumps */

/*
 * The thread pointer of a task: its pthread_self(). The structure is the kernel's task_struct with the part that this
 * processor adds to it: relocation ignores three underscores and all that follows them.
 */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpadded"
struct task_struct___machine {
	struct {
		unsigned long fsbase;
	} thread;
} KERNEL_TYPE;
#pragma clang diagnostic pop

#define THREAD_POINTER(task) FIELD(task, task_struct___machine, thread.fsbase)

/* Bytes of the return address: a function's return takes it off the stack. */
#define RETURN_ADDRESS 8

/* The registers by the processor's numbers, which are in cookies (machine.Place). */
#define REGISTERS 16
#define ALL_REGISTERS(regs)                                                                                      \
	{                                                                                                        \
		(regs)->ax, (regs)->cx, (regs)->dx, (regs)->bx, (regs)->sp, (regs)->bp, (regs)->si, (regs)->di,  \
			(regs)->r8, (regs)->r9, (regs)->r10, (regs)->r11, (regs)->r12, (regs)->r13, (regs)->r14, \
			(regs)->r15                                                                              \
	}

/*
 * The numbers of isa.Result: where a result may be at the end of a function. The last one is 0, for an exit that
 * only returns NULL; RESULT_ARGUMENT is not among them.
 */
#define RESULT_REGISTERS(regs)                                                                            \
	{                                                                                                 \
		(regs)->ax, (regs)->bx, (regs)->bp, (regs)->r12, (regs)->r13, (regs)->r14, (regs)->r15, 0 \
	}
#define RESULT_ARGUMENT 8 /* the first argument of the function that is called there */

/* arch/x86/entry/syscalls/syscall_64.tbl */
#define NR_MMAP		 9
#define NR_MPROTECT	 10
#define NR_MUNMAP	 11
#define NR_BRK		 12
#define NR_MREMAP	 25
#define NR_PKEY_MPROTECT 329

#else
#error "no registers are known of this processor"
#endif

#endif
