/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The parts that depend on the processor: its registers, the numbers of its system calls, its address space, where a
 * call leaves its return address, and how pthread_self() follows from the thread pointer. No other header names a
 * register. The size of a page is the machine's: page_size in state.h.
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
/* Of a function that stores its result: the address that it is passed for that, and its own arguments behind it. */
#define STORED_AT(regs)	     PT_REGS_PARM1(regs)
#define STORED_PARM2(regs)   PT_REGS_PARM3(regs)
#define STORED_PARM3(regs)   PT_REGS_PARM4(regs)
#define STORED_PARM4(regs)   PT_REGS_PARM5(regs)
#define STORED_PARM5(regs)   PT_REGS_PARM6(regs)
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

#define THREAD_POINTER(task)	     FIELD(task, task_struct___machine, thread.fsbase)
#define THREAD_SELF(task, slot)	     THREAD_POINTER(task)
#define CURRENT_SELF(slot)	     THREAD_POINTER(bpf_get_current_task())
#define IS_SELF(py, id, pointer)     ((id) == (pointer))
#define SELF_OF_POINTER(py, pointer) (pointer)

/* Addresses of a process have at most so many bits (Documentation/arch/x86/x86_64/mm.rst). */
#define USER_BITS 47

/* Of the usual size of huge pages. */
#define HUGE_PAGE_SHIFT 21

/* Bytes of the return address: a function's return takes it off the stack. */
#define RETURN_ADDRESS 8

/* The return address where a function begins. */
#define READ_CALLER(to, regs) READ(to, (regs)->sp)
/* Four words. One of them is the return address of a function that has put at most three words on the stack. */
#define READ_CALLERS(words, regs) READ(words, (regs)->sp)
/* Keeps the register with the return address, where there is one. */
#define KEEP_LINK(regs)
/* An address of code, as it is read from the stack. */
#define CODE_ADDRESS(word) (word)

/* Unwinding: see native.h. The return address is right below the frame's address. */
#define RULE_BASE(r)			    ((r)->base)
#define READ_RETURN(pc, r, frame, w, inner) READ(pc, (frame)-8)
#define LEADS_OUT(frame, sp, inner)	    ((frame) > (sp))

/* Reports whether the eight bytes before an address end with a call: E8 rel32, or FF /2 with its possible operands. */
static __always_inline bool ends_with_call(__u64 bytes)
{
	if ((bytes >> 24 & 0xff) == 0xe8)
		return true;
	return (bytes >> 8 & 0x38ff) == 0x10ff || (bytes >> 16 & 0x38ff) == 0x10ff ||
	       (bytes >> 32 & 0x38ff) == 0x10ff || (bytes >> 40 & 0x38ff) == 0x10ff || (bytes >> 48 & 0x38ff) == 0x10ff;
}

/* What is still the same of a system call behind it, in the C library: its first argument. */
#define SYSCALL_MARK(regs) ((regs)->di)

/*
 * The registers by the processor's numbers, which are in cookies (machine.Place). Copied first: the verifier allows no
 * computed offset into the context.
 */
#define REGISTERS		16
#define REGISTERS_OF(regs, all) __u64 all[REGISTERS] = ALL_REGISTERS(regs)
#define REGISTER(all, n)	((all)[(n) & (REGISTERS - 1)])
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
#define NR_READ		 0
#define NR_PREAD64	 17
#define NR_MADVISE	 28
#define NR_RECVFROM	 45
#define NR_GETRANDOM	 318
#define NO_SYSCALL	 ((__u32)-1) /* in an exception, such as a page fault */

#define OPERAND_HEADER	  "operand_x86.h"
#define PAGETABLES_HEADER "pagetables_x86.h"

#elif defined(__TARGET_ARCH_arm64)

/* arch/arm64/include/asm/ptrace.h. A context is a struct pt_regs, which begins in the same way. */
struct user_pt_regs {
	unsigned long regs[31];
	unsigned long sp, pc, pstate;
};
struct pt_regs {
	unsigned long regs[31];
	unsigned long sp, pc, pstate;
};

#define __VMLINUX_H__
#include <bpf/bpf_tracing.h>

#ifndef PT_REGS_PARM6 /* libbpf 1.1 and before */
#define PT_REGS_PARM6(r) ((r)->regs[5])
#endif
/* Of a function that stores its result: the address has a register of its own (AAPCS64, section 6.9). */
#define STORED_AT(r)	((r)->regs[8])
#define STORED_PARM2(r) PT_REGS_PARM2(r)
#define STORED_PARM3(r) PT_REGS_PARM3(r)
#define STORED_PARM4(r) PT_REGS_PARM4(r)
#define STORED_PARM5(r) PT_REGS_PARM5(r)
/*
 * The registers at the entry of a system call: x0 still is its first argument where its memory changes. (libbpf reads
 * another copy of x0, which only system calls have.)
 */
#undef PT_REGS_PARM1_SYSCALL
#define PT_REGS_PARM1_SYSCALL(r) ((r)->regs[0])

/* The rest of the kernel's pt_regs, and of task_struct: relocation ignores three underscores and all behind them. */
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpadded"
struct pt_regs___machine {
	int syscallno; /* -1 in an exception that is no system call */
} KERNEL_TYPE;
struct task_struct___machine {
	struct {
		struct {
			unsigned long tp_value;
		} uw;
	} thread;
} KERNEL_TYPE;
#pragma clang diagnostic pop

#define SYSCALL_NUMBER(r)    ((__u32)INT_FIELD((__u64)(r), pt_regs___machine, syscallno))
#define SYSCALL_RESULT(r)    ((r)->regs[0])
#define FLAGS(r)	     ((r)->pstate >> 28) /* V, C, Z and N from bit 0 on */

/*
 * The thread pointer of a task, as of its last switch. pthread_self() is below it, by the size of the C library's
 * struct pthread: by the same number of bytes in all threads of a process, which is learned from the first one that is
 * found among the interpreter's. Threads' structures are at least a stack apart.
 */
#define THREAD_POINTER(task) FIELD(task, task_struct___machine, thread.uw.tp_value)
#define MOST_BELOW	     8192

/* Reports whether the thread with this pthread_self() is the one with this thread pointer. */
#define IS_SELF(py, id, pointer)                                  \
	({                                                        \
		__u64 below_ = (pointer) - (id);                  \
		if (!(py)->below_pointer && below_ <= MOST_BELOW) \
			(py)->below_pointer = below_;             \
		below_ == (py)->below_pointer;                    \
	})
/* Returns pthread_self(), or what equals none if it is not known yet. */
#define SELF_OF_POINTER(py, pointer) ((pointer) - (py)->below_pointer)
#define THREAD_SELF(task, slot)                                                          \
	({                                                                               \
		__u32 of_ = (slot);                                                      \
		struct python *py_ = bpf_map_lookup_elem(&pythons, &of_);                \
		py_ ? SELF_OF_POINTER(py_, THREAD_POINTER(task)) : THREAD_POINTER(task); \
	})
/* The same for the thread that runs; if need be it is learned. */
#define CURRENT_SELF(slot)                                 \
	({                                                 \
		struct python *learns_ = python_at(slot);  \
		if (learns_ && !learns_->below_pointer)    \
			thread_state(learns_);             \
		THREAD_SELF(bpf_get_current_task(), slot); \
	})

/* Addresses of a process have at most so many bits, unless it asks for more (Documentation/arch/arm64/memory.rst). */
#define USER_BITS	   48

/* Of the usual size of huge pages: those that one entry of a table of tables maps. */
#define HUGE_PAGE_SHIFT	   (page_size == 4096 ? 21 : page_size == 16384 ? 25 : 29)

/* The return address is in x30, unless a function puts it on the stack. */
#define RETURN_ADDRESS	   0
#define READ_CALLER(to, r) ((to) = CODE_ADDRESS((r)->regs[30]), 0)
#define READ_CALLERS(words, r)                        \
	({                                            \
		long missing_ = READ(words, (r)->sp); \
		(words)[3] = (r)->regs[30];           \
		missing_;                             \
	})
#define KEEP_LINK(r)                                                              \
	({                                                                        \
		struct walk *keeps_ = walk_of((__u32)bpf_get_current_pid_tgid()); \
		if (keeps_)                                                       \
			keeps_->link = (r)->regs[30];                             \
	})
/* Pointer authentication and tags use the bits above. */
#define CODE_ADDRESS(word) ((word) & ((1ull << USER_BITS) - 1))

/*
 * Unwinding: see native.h. Bits 8-31 of a rule's base are where the return address was put: the number of words below
 * the frame's address. 0: it is still in x30, which can only be so where the walk begins.
 */
#define RULE_BASE(r)	   ((r)->base & 0xff)
#define READ_RETURN(pc, r, frame, w, inner)                                    \
	({                                                                     \
		__u64 below_ = (r)->base >> 8, missing_ = !below_ && !(inner); \
		if (below_)                                                    \
			missing_ = READ(pc, (frame)-8 * below_);               \
		else                                                           \
			(pc) = (w)->link;                                      \
		(pc) = CODE_ADDRESS(pc);                                       \
		missing_;                                                      \
	})
#define LEADS_OUT(frame, sp, inner) ((frame) > (sp) || ((inner) && (frame) == (sp)))

/* Reports whether the eight bytes before an address end with a call: bl, blr, and blraa and its like. */
static __always_inline bool ends_with_call(__u64 bytes)
{
	__u32 last = bytes >> 32;

	return (last & 0xfc000000) == 0x94000000 || (last & 0xfffffc1f) == 0xd63f0000 ||
	       (last & 0xfefff800) == 0xd63f0800;
}

/*
 * What is still the same of a system call behind it, in the C library: the other arguments of mremap, and the stack
 * pointer. The result is where the first argument was.
 */
#define SYSCALL_MARK(r)		    ((r)->sp ^ (r)->regs[1] ^ (r)->regs[2] << 20)

/* The registers by the processor's numbers; 31 is sp. They are read from the context, as memory of the kernel. */
#define REGISTERS		    32
#define REGISTERS_OF(r, all)	    struct pt_regs *(all) = (r)
#define REGISTER(all, n)                                                                                     \
	({                                                                                                   \
		__u64 value_ = 0;                                                                            \
		bpf_probe_read_kernel(&value_, sizeof(value_), (void *)(all) + 8 * ((n) & (REGISTERS - 1))); \
		value_;                                                                                      \
	})

/* As above, and as isa.Result. */
#define RESULT_REGISTERS(r)                                                                              \
	{                                                                                                \
		(r)->regs[0], (r)->regs[19], (r)->regs[20], (r)->regs[21], (r)->regs[22], (r)->regs[23], \
			(r)->regs[24], 0                                                                 \
	}
#define RESULT_ARGUMENT	 8

/* include/uapi/asm-generic/unistd.h */
#define NR_BRK		 214
#define NR_MUNMAP	 215
#define NR_MREMAP	 216
#define NR_MMAP		 222
#define NR_MPROTECT	 226
#define NR_PKEY_MPROTECT 288
#define NR_READ		 63
#define NR_PREAD64	 67
#define NR_MADVISE	 233
#define NR_RECVFROM	 207
#define NR_GETRANDOM	 278
#define NO_SYSCALL	 ((__u32)-1) /* in an exception, such as a page fault */

#define OPERAND_HEADER	  "operand_arm64.h"
#define PAGETABLES_HEADER "pagetables_arm64.h"

#else
#error "no registers are known of this processor"
#endif

#endif
