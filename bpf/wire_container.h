/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Shared with user space: the memory of a process's container. */
#ifndef IPYTRACER_WIRE_CONTAINER_H
#define IPYTRACER_WIRE_CONTAINER_H

/* A memory cgroup at an instant, in pages. */
struct container {
	__u64 number; /* of its folder (inode); 0: nothing is known */
	__s64 usage;
	__s64 highest; /* so far: memory.peak, or memory.max_usage_in_bytes */
	__u64 limit;   /* as large as can be: none */
	__s64 seen;    /* the highest usage at which the process gave memory back, since its last boundary; 0: none */
	__s64 local;   /* the highest since memory.peak was last written to, whoever did so */
	__u32 resets;  /* how often that was, plus 1; 0: not known, or somebody writes to it now */
	__u32 watched; /* how many descriptors have been written to, and are open: 0, 1, or 2 for more */
};

/* Writes to memory.peak of cgroups with the same hash. */
struct resets {
	__u64 begun;
	__u64 done;
};

#define RESET_BITS 10 /* of the hash */

/* The container of a process at its last boundary: addresses of struct mem_cgroup and struct page_counter. */
struct contained {
	__u64 state;
	__u64 counter;
	__s64 seen;
};

/* Offsets of the kernel's fields on the way from an mm to its memory cgroup, in bytes. */
struct container_fields {
	__u32 known;	 /* this kernel has them all */
	__u32 owner;	 /* mm_struct.owner */
	__u32 groups;	 /* task_struct.cgroups */
	__u32 state;	 /* css_set.subsys[memory_cgrp_id], which begins struct mem_cgroup */
	__u32 counter;	 /* mem_cgroup.memory; the next four are of struct page_counter, in pages */
	__u32 usage;	 /* page_counter.usage */
	__u32 watermark; /* page_counter.watermark */
	__u32 max;	 /* page_counter.max */
	__u32 parent;	 /* page_counter.parent */
	__u32 group;	 /* cgroup_subsys_state.cgroup */
	__u32 node;	 /* cgroup.kn */
	__u32 number;	 /* kernfs_node.id */
	__u32 peaks; /* mem_cgroup.memory_peaks; 0: memory.peak cannot be written to (before 6.12), or one is missing */
	__u32 local; /* page_counter.local_watermark */
	__u32 file;  /* kernfs_open_file.kn */
	__u32 folder; /* kernfs_node.__parent, or parent before 6.15 */
};

#endif
