package ledger

import (
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

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
	f.findResets(kernel)
	return f
}

// findResets finds the fields for writes to memory.peak. It leaves them 0 if one of them is missing.
func (f *kernelContainerFields) findResets(kernel *btf.Spec) {
	folder := offsetOf(kernel, "kernfs_node", "__parent")
	if folder < 0 {
		folder = offsetOf(kernel, "kernfs_node", "parent")
	}
	peaks, local := offsetOf(kernel, "mem_cgroup", "memory_peaks"), offsetOf(kernel, "page_counter", "local_watermark")
	file := offsetOf(kernel, "kernfs_open_file", "kn")
	var writes *btf.Func
	if min(folder, local, file) < 0 || peaks <= 0 || kernel.TypeByName(peakWrites, &writes) != nil {
		return
	}
	f.Peaks, f.Local, f.File, f.Folder = uint32(peaks), uint32(local), uint32(file), uint32(folder)
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
	out := event.Container{Number: c.Number, Usage: size(c.Usage), Highest: size(c.Highest), Seen: size(c.Seen),
		Local: size(c.Local), Resets: c.Resets}
	if c.Limit < uint64(math.MaxInt64/page) { // PAGE_COUNTER_MAX
		out.Limit = size(int64(c.Limit))
	}
	return out
}

// peakWrites is the kernel's function for a write to memory.peak (Linux 6.12).
const peakWrites = "memory_peak_write"

// resetPrograms count the writes to memory.peak of all cgroups, each of which lets Linux's second highest value begin
// again (bpf/container.h). Without them, that value proves nothing about a stretch of time.
type resetPrograms struct {
	because error // why they are not attached
	links   []link.Link
}

// configure empties the programs if they cannot serve: the kernel lacks the function, or refuses programs at it.
func (r *resetPrograms) configure(spec *ebpf.CollectionSpec, at kernelContainerFields, kernel *btf.Cache) {
	r.because = fmt.Errorf("%w: memory.peak cannot be written to", ErrNotSupported)
	if at.Known != 0 && at.Peaks != 0 {
		r.because = tryAtFunction(kernel)
	}
	if r.because == nil {
		return
	}
	for _, name := range []string{"reset_begins", "reset_ends"} {
		p := spec.Programs[name]
		p.Type, p.AttachType, p.AttachTo = ebpf.RawTracepoint, ebpf.AttachNone, ""
		p.Instructions = asm.Instructions{asm.Mov.Imm(asm.R0, 0).WithSymbol(name), asm.Return()}
	}
}

// tryAtFunction loads an empty program for the function.
func tryAtFunction(kernel *btf.Cache) error {
	const name = "trial"
	c, err := ebpf.NewCollectionWithOptions(&ebpf.CollectionSpec{Programs: map[string]*ebpf.ProgramSpec{name: {
		Name: name, Type: ebpf.Tracing, AttachType: ebpf.AttachTraceFEntry, AttachTo: peakWrites,
		License: "Dual BSD/GPL", Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	}}}, ebpf.CollectionOptions{Cache: kernel})
	if err != nil {
		return err
	}
	c.Close()
	return nil
}

// attach attaches the programs. It is no error if the kernel cannot attach programs to its functions.
func (r *resetPrograms) attach(objects *kernelObjects) error {
	if r.because != nil {
		return nil
	}
	for _, p := range []*ebpf.Program{objects.ResetBegins, objects.ResetEnds} {
		tracing, err := link.AttachTracing(link.TracingOptions{Program: p})
		if err != nil {
			r.because = fmt.Errorf("see writes to memory.peak: %w", err)
			return r.close()
		}
		r.links = append(r.links, tracing)
	}
	return objects.ResetsAreSeen.Set(uint32(1))
}

func (r *resetPrograms) close() error {
	var errs []error
	for _, l := range r.links {
		errs = append(errs, l.Close())
	}
	r.links = nil
	return errors.Join(errs...)
}
