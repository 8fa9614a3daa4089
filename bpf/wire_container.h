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
};

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
};

#endif
