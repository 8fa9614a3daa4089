// SPDX-License-Identifier: GPL-2.0
// A kernel module for scripts/kernels.sh: there is no zero page. A read of a page that is not there is handled as a
// write, so it makes a page of its own resident, as kernels do that forbid the zero page (mm_forbids_zeropage).
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/module.h>

// handle_mm_fault(vma, address, flags, regs)
static int at_fault(struct kprobe *probe, struct pt_regs *regs)
{
	struct vm_area_struct *vma = (struct vm_area_struct *)regs->di;

	if (vma_is_anonymous(vma) && (vma->vm_flags & VM_WRITE))
		regs->dx |= FAULT_FLAG_WRITE;
	return 0;
}

static struct kprobe probe = { .symbol_name = "handle_mm_fault", .pre_handler = at_fault };

static int __init begin(void)
{
	return register_kprobe(&probe);
}

module_init(begin);
MODULE_DESCRIPTION("no zero page");
MODULE_LICENSE("GPL");
