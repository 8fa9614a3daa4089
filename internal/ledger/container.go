package ledger

import (
	"math"
	"os"

	"github.com/cilium/ebpf/btf"

	"ipytracer/event"
)

// findContainer finds the fields on the way from a process to the counters of its memory cgroup. It returns the zero
// value for a kernel without one of them, such as one without CONFIG_MEMCG.
func findContainer(kernel *btf.Spec) (f kernelContainerFields) {
	at, ok := memoryState(kernel)
	if !ok || offsetOf(kernel, "mem_cgroup", "css") != 0 {
		return f
	}
	f.Known, f.State = 1, at
	for field, of := range map[*uint32][2]string{
		&f.Owner:     {"mm_struct", "owner"},
		&f.Groups:    {"task_struct", "cgroups"},
		&f.Counter:   {"mem_cgroup", "memory"},
		&f.Usage:     {"page_counter", "usage"},
		&f.Watermark: {"page_counter", "watermark"},
		&f.Max:       {"page_counter", "max"},
		&f.Parent:    {"page_counter", "parent"},
		&f.Group:     {"cgroup_subsys_state", "cgroup"},
		&f.Node:      {"cgroup", "kn"},
		&f.Number:    {"kernfs_node", "id"},
	} {
		offset := offsetOf(kernel, of[0], of[1])
		if offset < 0 {
			return kernelContainerFields{}
		}
		*field = uint32(offset)
	}
	return f
}

// memoryState returns the offset of the pointer to a memory cgroup in struct css_set. ok is false if there is none.
func memoryState(kernel *btf.Spec) (offset uint32, ok bool) {
	const pointer = 8
	var controllers *btf.Enum
	states := offsetOf(kernel, "css_set", "subsys")
	if states < 0 || kernel.TypeByName("cgroup_subsys_id", &controllers) != nil {
		return 0, false
	}
	for _, c := range controllers.Values {
		if c.Name == "memory_cgrp_id" {
			return uint32(states) + pointer*uint32(c.Value), true
		}
	}
	return 0, false
}

// offsetOf returns the offset of a field of a kernel's structure, in bytes; -1 if there is none.
func offsetOf(kernel *btf.Spec, structure, field string) int64 {
	var s *btf.Struct
	if kernel.TypeByName(structure, &s) != nil {
		return -1
	}
	offset, _, ok := findMember(s, field, 0)
	if !ok {
		return -1
	}
	return int64(offset)
}

// decodeContainer decodes the memory of a container. A limit that no machine can reach is none.
func decodeContainer(b *kernelBoundary) event.Container {
	c := &b.Container
	if c.Number == 0 {
		return event.Container{}
	}
	page := int64(os.Getpagesize())
	size := func(pages int64) event.Bytes { return event.Bytes(min(max(pages, 0), math.MaxInt64/4/page) * page) }
	out := event.Container{Number: c.Number, Usage: size(c.Usage), Highest: size(c.Highest), Seen: size(c.Seen)}
	if c.Limit < uint64(math.MaxInt64/page) { // PAGE_COUNTER_MAX
		out.Limit = size(int64(c.Limit))
	}
	return out
}
