// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The kernel half of ipytracer: one translation unit.
 *
 *   kernel.h     the kernel's types
 *   machine.h    registers, system calls: all that depends on the processor
 *   wire*.h      records and map values shared with user space
 *   state.h      maps and globals
 *   read.h       kernel memory by address
 *   loops.h      loops of many steps
 *   copies.h     the programs at tracepoints, loaded more than once
 *   ledger.h     values, maxima, the change stream
 *   container.h  the memory of a process's container
 *   meters.h     the reading of resident
 *   mapped.h     the reading of mapped
 *   records.h    records that are never lost
 *   devices.h    the meters of GPUs
 *   counts.h     blocks that a process counts itself
 *   boundary.h   the cut between two segments
 *   cputime.h    the CPU time of a process
 *   places.h     the places where live blocks are looked up first
 *   forked.h     pages that processes share since a fork, by the page tables (pagetables_…)
 *   slots.h      the slot of a process in the ledger
 *   processes.h  fork, exec, exit
 *   calls.h      programs that call others
 *   budget.h     the overhead budget
 *   python.h     CPython's objects
 *   windows.h    the windows that are open on a thread, and their ends
 *   source.h     the text of cells
 *   cells.h      the beginnings of cells and experiments
 *   statements.h statements, and results
 *   turns.h      the beginning and end of a front end's request
 *   codes.h      code objects by number
 *   frames.h     Python stacks
 *   native.h     native stacks
 *   mappings.h   cpu.mapped, range by range
 *   operand_*.h  the memory that an instruction works on, by processor
 *   touched.h    cpu.resident, page by page
 *   modules.h    libraries that a process maps
 *   blocks.h     meters that move by blocks, and which blocks have records
 *   numpy*.h     cpu.numpy
 *   tensors.h    cpu.torch
 *   arrow.h      cpu.arrow
 *   cuda*.h      the CUDA driver's memory
 *   checkpoints.h one process suspends another's use of its GPUs
 *   libraries.h  loaded libraries, for user space to look at
 *   heaptold.h   malloc's large blocks, of a process that counts them itself
 *   heap.h       malloc's blocks
 *   torch.h      PyTorch's own totals
 *   torch_blocks.h  which of the driver's blocks are PyTorch's
 *   pages.h      requests that it do so
 *   control.h    requests of user space
 *
 * Needs the features of 5.15. Other code stands in for bpf_loop and bpf_find_vma (5.17) before they were there;
 * bpf_rdonly_cast and RSS counters per CPU (6.2) are for exact resident at little cost. docs/kernels.md lists the
 * kernels on which it has run.
 */
#include "kernel.h"
#include "machine.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "wire.h"
#include "wire_process.h"
#include "wire_blocks.h"
#include "wire_python.h"
#include "wire_cuda.h"
#include "wire_control.h"
#include "state.h"
#include "read.h"
#include "loops.h"
#include "copies.h"
#include "ledger.h"
#include "container.h"
#include "meters.h"
#include "mapped.h"
#include "records.h"
#include "devices.h"
#include "counts.h"
#include "boundary.h"
#include "cputime.h"
#include "places.h"
#include PAGETABLES_HEADER
#include "forked.h"
#include "slots.h"
#include "processes.h"
#include "calls.h"
#include "budget.h"
#include "python.h"
#include "results.h"
#include "windows.h"
#include "source.h"
#include "cells.h"
#include "marimo.h"
#include "statements.h"
#include "turns.h"
#include "codes.h"
#include "frames.h"
#include "native.h"
#include "mappings.h"
#include OPERAND_HEADER
#include "touched.h"
#include "modules.h"
#include "blocks.h"
#include "numpy.h"
#include "numpy_probes.h"
#include "tensors.h"
#include "arrow.h"
#include "heaptold.h"
#include "heap.h"
#include "torch_blocks.h"
#include "torch.h"
#include "cuda.h"
#include "cuda_virtual.h"
#include "cuda_arrays.h"
#include "cuda_contexts.h"
#include "cuda_pools.h"
#include "cuda_calls.h"
#include "checkpoints.h"
#include "libraries.h"
#include "pages.h"
#include "control.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* rss_stat(mm, member) */
SEC("raw_tp/rss_stat")
int resident(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 mm = ctx->args[0];
	__u32 member = ctx->args[1], slot = slot_of(mm);

	if (slot == NO_SLOT || ran_before(AT_RSS_STAT))
		return 0;
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	if (!r)
		return 0;
	if (member == MM_SWAPENTS) {
		p->swaps = 1; /* the next boundary counts them */
		return 0;
	}
	if (percpu_rss) {
		touched(p, slot, member, part_changed(p, r, slot, member) * page_size);
		return 0;
	}
	__u64 meter = meter_of(member);
	__s64 before = *(volatile __s64 *)&p->value[meter];
	held_changed(slot, member);
	__s64 moved = *(volatile __s64 *)&p->value[meter] - before;
	if (moved < 0)
		fetch_add(&p->touch_at[part_of(meter)], moved);
	touched(p, slot, member, moved);
	return 0;
}

/* mmap_lock_released(mm, …). Read locks count as well: munmap releases the lock as a reader. */
SEC("raw_tp/mmap_lock_released")
int mapped(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 mm = ctx->args[0];
	__u32 slot = slot_of(mm);

	if (slot == NO_SLOT || ran_before(AT_MMAP_LOCK_RELEASED))
		return 0;
	struct process *p = process_at(slot);
	struct root *r = p ? root_of(p) : NULL;
	if (!r)
		return 0;
	__s64 change = mapped_changed(p, r, mm, true);
	if (change)
		range_changed(slot, change);
	if (is_due(r))
		look_at_credit(slot);
	watch_code(p, slot, mm);
	return 0;
}

/* Does nothing: measures the cost of a hit of a probe. */
SEC("uprobe")
int calibrate(struct pt_regs *regs)
{
	return 0;
}

/* Does the same for a probe on a function's return. */
SEC("uretprobe")
int calibrate_return(struct pt_regs *regs)
{
	return 0;
}

/* Types that no map or argument has reach Go only if a variable has them. */
const struct change *export_change __attribute__((unused));
const struct finding *export_finding __attribute__((unused));
const struct foresight *export_foresight __attribute__((unused));
const enum foreign *export_foreign __attribute__((unused));
const struct trial *export_trial __attribute__((unused));
const struct source *export_source __attribute__((unused));
const struct code *export_code __attribute__((unused));
const struct copy *export_copy __attribute__((unused));
const enum imports *export_imports __attribute__((unused));
const enum no_era *export_no_era __attribute__((unused));
const enum rule_base *export_rule_base __attribute__((unused));
const enum native_end *export_native_end __attribute__((unused));
const enum boundary_kind *export_boundary_kind __attribute__((unused));
const enum outcome *export_outcome __attribute__((unused));
const enum meter *export_meter __attribute__((unused));
const enum group *export_group __attribute__((unused));
const enum site *export_site __attribute__((unused));
const enum loss *export_loss __attribute__((unused));
const enum device_meter *export_device_meter __attribute__((unused));
const enum change_flag *export_change_flag __attribute__((unused));
const enum cuda_operation *export_cuda_operation __attribute__((unused));
const enum cuda_mover *export_cuda_mover __attribute__((unused));
const struct counts *export_counts __attribute__((unused));
const enum heap_state *export_heap_state __attribute__((unused));
const enum own_counts *export_own_counts __attribute__((unused));
const enum heap_operation *export_heap_operation __attribute__((unused));
const enum arrays *export_arrays __attribute__((unused));
const enum array_place *export_array_place __attribute__((unused));
const enum place_key *export_place_key __attribute__((unused));
const enum operation *export_operation __attribute__((unused));
const enum callee *export_callee __attribute__((unused));
