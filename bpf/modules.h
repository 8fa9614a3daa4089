/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The libraries that a process maps: those that user space looks for, and NumPy's extension module.
 *
 * A probe is on a file: the kernel puts it in as a process maps the file. So user space looks for the NumPy that a
 * process would import, places the probes of numpy.h in its file ahead of time, and declares that here
 * (foresee_modules). Then these see the first array, and the probes on PyTraceMalloc_Track are not needed. But the
 * process may import another NumPy. Its module is recognised by the name of its file, as in user space, when its code
 * is mapped: in mmap, on the thread that imports it, before an instruction of it can run. From then on the blocks of
 * the process do not pass the probes. If the probes on PyTraceMalloc_Track are in place, they stay; else windows are
 * marked, until user space has put those back.
 *
 * A file is known by its inode in the kernel, which lives for as long as user space has the file open.
 */
#ifndef IPYTRACER_MODULES_H
#define IPYTRACER_MODULES_H

#define MODULE_NAME  "_multiarray_umath." /* package numpy: IsModule */
#define MODULE_CHARS (sizeof(MODULE_NAME) - 1)

/* Notes that blocks of a process do not pass the probes in NumPy from now on. */
__attribute__((noinline)) int arrays_pass(__u32 slot, __u32 what)
{
	struct process *p = process_at(slot);

	if (!p)
		return 0;
	__sync_fetch_and_or(&p->foreign, what);
	leave_counts(p, COUNTS_NUMPY);
	tree_follows(p, METER_NUMPY);
	if (p->arrays == ARRAYS_SETTLING)
		p->arrays = ARRAYS_TRACKED;
	if (p->arrays != ARRAYS_INSIDE)
		return 0;
	p->arrays = ARRAYS_LEAVING;
	struct occasion why = {
		.kind = BOUNDARY_METER_SHED,
		.slot = slot,
		.group = GROUP_NUMPY,
		.foreign = what,
		.inputs = -1,
	};
	draw_boundary(&why);
	return 0;
}

/* Returns the open file behind a descriptor of a task, 0 for none. */
static __always_inline __u64 open_file(__u64 task, __u64 number)
{
	__u64 table = FIELD(FIELD(task, task_struct, files), files_struct, fdt);

	if (!table || number >= (__u32)INT_FIELD(table, fdtable, max_fds))
		return 0;
	return word_at(FIELD(table, fdtable, fd) + number * sizeof(__u64));
}

/*
 * Reports whether user space looks for a file of this name when libraries are loaded (packages cuda, numpy):
 * libcuda.so, libcudart, libc10.so, libarrow.so, _multiarray_umath, ld-linux, ld-2.
 */
static __always_inline bool is_looked_for(const char *name)
{
	return starts_with(name, "libcuda", 7) || starts_with(name, "libc10.", 7) ||
	       starts_with(name, "libarrow.", 9) || starts_with(name, "_multiar", 8) || starts_with(name, "ld-", 3);
}

static __always_inline __u32 imports_of(const char *name)
{
	if (starts_with(name, "_multiar", 8))
		return IMPORTS_NUMPY;
	if (starts_with(name, "libarrow.", 9))
		return IMPORTS_ARROW;
	return starts_with(name, "libc10.", 7) ? IMPORTS_TORCH : starts_with(name, "libcuda.", 8) ? IMPORTS_CUDA : 0;
}

static __always_inline bool is_foreseen(struct process *p, __u64 inode)
{
	bool known = !p->modules[0]; /* no module has been foreseen */

	for (int m = 0; m < MAX_MODULES; m++)
		known |= p->modules[m] == inode;
	return known;
}

/*
 * Handles a growth of the code pages of the process that runs, which still holds its mmap lock. Mostly its dynamic
 * linker maps a library: mmap(…, fd, …). Any other mapping, or one with an unreadable name, may be of a library that is
 * looked for.
 */
static __noinline int code_mapped(__u32 slot)
{
	struct process *p = process_at(slot);
	__u64 task = bpf_get_current_task(), file = 0;
	char name[MODULE_CHARS] = {};

	if (!p)
		return 0;
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());
	if (FIELD(task, task_struct, mm) == p->mm && SYSCALL_NUMBER(regs) == NR_MMAP &&
	    !(PT_REGS_PARM4_SYSCALL(regs) & MAP_ANONYMOUS))
		file = open_file(task, (__u32)PT_REGS_PARM5_SYSCALL(regs));
	__u64 entry = file ? FIELD(file, file, f_path.dentry) : 0, text = entry ? FIELD(entry, dentry, d_name.name) : 0;
	if (text && !bpf_probe_read_kernel(name, sizeof(name), (void *)text) && !is_looked_for(name))
		return 0;
	*(volatile __u32 *)&p->loads = 1;
	if (text)
		__sync_fetch_and_or(&p->imports, imports_of(name));
	if (text && starts_with(name, MODULE_NAME, MODULE_CHARS) && !is_foreseen(p, FIELD(file, file, f_inode)))
		arrays_pass(slot, FOREIGN_MODULE);
	return 0;
}

/* Called at each release of a process's mmap lock. */
static __always_inline void watch_code(struct process *p, __u32 slot, __u64 mm)
{
	__u64 code = FIELD(mm, mm_struct, exec_vm), before = p->code_pages;

	if (code == before)
		return;
	p->code_pages = code;
	if (code > before)
		code_mapped(slot);
}

/*
 * Declares the files in which user space has probes, for a process with blocks that are counted by the probes on
 * PyTraceMalloc_Track, or by none yet. A module that the process maps from now on and that is not among them is
 * foreign; user space finds out about earlier ones behind this call.
 */
SEC("syscall")
int foresee_modules(struct foresight *f)
{
	struct foresight all = *f; /* the verifier allows no computed offset into the context */
	__u64 task = bpf_get_current_task();
	struct process *p = process_at(all.slot);

	if (!p)
		return 1;
	for (int m = 0; m < MAX_MODULES; m++) {
		__u64 file = all.files[m] < 0 ? 0 : open_file(task, all.files[m]);
		p->modules[m] = file ? FIELD(file, file, f_inode) : 0;
	}
	__sync_fetch_and_and(&p->foreign, ~(__u32)FOREIGN_MODULE);
	return 0;
}

#endif
