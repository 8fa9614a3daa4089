/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Finds the blocks of the driver that are PyTorch's, so that gpu.N.reserved falls when they are freed: PyTorch gives
 * cached memory back without a report (empty_cache).
 *
 * PyTorch's allocator is in a library of its own, libc10_cuda.so. A call of the driver is PyTorch's if it returns
 * there, or if it is made in a function of the runtime that returns there; so is the block that it allocates. Libraries
 * beside it (cuBLAS, cuDNN) call from their own files. Such blocks count in reserved from PyTorch's next report on the
 * thread on: an attempt that runs out of memory makes thousands, and gives them back unreported.
 *
 * The owner of all others is not known, as in a pool with another library's allocator, or with a PyTorch in one file:
 * those allocated on a thread since the last report are PyTorch's if reserved has risen by exactly their size in the
 * report.
 *
 * PyTorch's blocks have a batch with a number; the table has the rest of its bytes.
 */
#ifndef IPYTRACER_TORCH_BLOCKS_H
#define IPYTRACER_TORCH_BLOCKS_H

#define ALLOCATOR	"libc10_cuda."
#define ALLOCATOR_CHARS (sizeof(ALLOCATOR) - 1)

/* ---- calls ------------------------------------------------------------------------------------------------------ */

struct file_name {
	char text[ALLOCATOR_CHARS];
	__u32 padding;
};

static long name_of_area(struct task_struct *task, struct vm_area_struct *area, struct file_name *name)
{
	struct file *file = area->vm_file;

	if (file)
		bpf_probe_read_kernel(name->text, sizeof(name->text), file->f_path.dentry->d_name.name);
	return 0;
}

/* A search for the area of a process that has an address; `area` is 0 until it is found. */
struct area_search {
	__u64 site, node, area;
};

/* Goes down one node, as find_vma does (mm/mmap.c of 5.15). */
static __always_inline long search_area(__u32 i, struct area_search *s)
{
	__u64 area = s->node - node_offset;

	if (!s->node)
		return 1;
	if ((__u64)FIELD(area, vm_area_struct, vm_end) <= s->site) {
		s->node = FIELD(s->node, rb_node, rb_right);
	} else if ((__u64)FIELD(area, vm_area_struct, vm_start) <= s->site) {
		s->area = area;
		return 1;
	} else {
		s->node = FIELD(s->node, rb_node, rb_left);
	}
	return 0;
}
REPEATED(search_area, struct area_search *)

/* A red-black tree of the 65,530 areas that a process may have (vm.max_map_count) has at most 32 levels. */
#define AREA_LEVELS 40

/*
 * Reads the name of the file at a return address of the thread that runs, from the tree of the process's areas (until
 * kernel 6.0). That area stays, since the thread will return there; but it may not be found while another thread
 * changes the tree. Returns whether it was.
 */
static __noinline int name_in_tree(__u64 site, struct file_name *name)
{
	__u64 mm = FIELD(bpf_get_current_task(), task_struct, mm);
	struct area_search s = { .site = site, .node = word_at(mm + tree_offset) };

	REPEAT(AREA_LEVELS, search_area, &s);
	if (!name || !s.area || FIELD(s.area, vm_area_struct, vm_mm) != mm)
		return 0;
	__u64 file = FIELD(s.area, vm_area_struct, vm_file), entry = file ? FIELD(file, file, f_path.dentry) : 0;
	if (entry)
		bpf_probe_read_kernel(name->text, sizeof(name->text), (void *)FIELD(entry, dentry, d_name.name));
	return 1;
}

/*
 * Reports whether an address is in PyTorch's allocator. Where the kernel cannot find out now, it is asked again next
 * time.
 */
static __noinline int is_allocator(struct cuda_thread *t, __u64 site)
{
	struct file_name name = {};

	if (!t || !site)
		return 0;
	if (site == t->torch_site || site == t->other_site)
		return site == t->torch_site;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma)) { /* kernel 5.17 */
		if (bpf_find_vma(bpf_get_current_task_btf(), site, name_of_area, &name, 0))
			return 0;
	} else if (!name_in_tree(site, &name)) {
		return 0;
	}
	if (!starts_with(name.text, ALLOCATOR, ALLOCATOR_CHARS)) {
		t->other_site = site;
		return 0;
	}
	t->torch_site = site;
	return 1;
}

/*
 * Reports whether PyTorch's allocator, or the runtime for it, calls the function of the driver that is entered with sp.
 */
static __noinline int called_by_torch(struct pt_regs *regs)
{
	struct cuda_thread *t = cuda_thread(true);
	__u64 site = 0;

	if (!t || READ_CALLER(site, regs))
		return 0;
	if (is_allocator(t, site))
		return 1;
	return t->runtime && PT_REGS_SP(regs) < t->runtime_sp && is_allocator(t, t->runtime_site);
}

/* ---- batches ---------------------------------------------------------------------------------------------------- */

/* Adds a block to those that the thread has allocated since the last report. Returns the number of the batch. */
static __always_inline __u32 enters_batch(struct unreported *u, __s64 size)
{
	if (!u->batch)
		u->batch = fetch_add(&next_batch, 1);
	u->bytes += size;
	return u->batch;
}

/* Removes a freed block from its batch. Returns whether it was PyTorch's. */
static __noinline int leaves_batch(__u32 batch, __s64 difference)
{
	__s64 *left = bpf_map_lookup_elem(&torch_batches, &batch);

	if (!left)
		return 0;
	if (fetch_add(left, difference) + difference <= 0)
		bpf_map_delete_elem(&torch_batches, &batch);
	return 1;
}

/*
 * Makes the blocks of a batch PyTorch's from now on. Where there is no room, reserved does not fall when they are
 * freed.
 */
static __noinline int claim(struct root *r, __u32 batch, __s64 bytes)
{
	if (r && bpf_map_update_elem(&torch_batches, &batch, &bytes, BPF_ANY)) {
		lose(LOSS_OBJECT);
		misses_of(r, MISSING_CUDA, bytes);
	}
	return 0;
}

/* Claims the thread's blocks when PyTorch reports on it, for the first time or with a rise of reserved. */
static __always_inline void claim_blocks(struct root *r, struct cuda_thread *t, __s64 rise, bool first)
{
	if (!t)
		return;
	__s64 known = t->torch.bytes, others = t->others.bytes;
	if (known > 0)
		claim(r, t->torch.batch, known);
	rise -= known;
	if (others > 0 && (others == rise || (first && !known && others <= rise))) {
		claim(r, t->others.batch, others);
	} else if (others > 0 && t->last_size == rise) { /* other code allocated on this thread as well */
		struct cuda_object *o = bpf_map_lookup_elem(&cuda_objects, &t->last);
		if (o) {
			o->batch = fetch_add(&next_batch, 1);
			claim(r, o->batch, rise);
		}
	}
	static const struct unreported none;
	t->torch = t->others = none;
	t->last_size = 0;
}

#endif
