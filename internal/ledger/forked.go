package ledger

import (
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
)

// sharedPages is what the programs about pages that processes share since a fork (bpf/forked.h) need to know of a
// kernel.
type sharedPages struct {
	known        bool   // they can serve
	entireOffset uint32 // of folio._entire_mapcount, in bytes
	largeFlag    uint64 // in page.flags, of a large folio
}

// sharedPrograms see page faults and walk page tables.
var sharedPrograms = []string{"discover_map", "user_faults", "kernel_faults"}

// findSharedPages examines a kernel: it has the tracepoints, and the members of structures by which its page tables and
// the counts of maps of its pages are found.
func findSharedPages(kernel *btf.Spec) (s sharedPages) {
	s.known = hasTracepoint(kernel, "page_fault_user") && hasTracepoint(kernel, "page_fault_kernel") &&
		hasMembers(kernel, "page", "compound_head", "mapping", "_mapcount") && hasMembers(kernel, "mm_struct", "pgd") &&
		hasMembers(kernel, "task_struct", "stack", "stack_vm_area") && hasMembers(kernel, "vm_struct", "pages")
	var page, folio *btf.Struct
	if !s.known || kernel.TypeByName("page", &page) != nil {
		return s
	}
	if kernel.TypeByName("folio", &folio) == nil {
		s.entireOffset, _, _ = findMember(folio, "_entire_mapcount", 0)
	}
	if count, _, found := findMember(page, "compound_mapcount", 0); found && s.entireOffset == 0 {
		s.entireOffset = page.Size + count // in the second page
	}
	var flags *btf.Enum
	if kernel.TypeByName("pageflags", &flags) == nil {
		for _, f := range flags.Values {
			if f.Name == "PG_head" && f.Value < 64 {
				s.largeFlag = 1 << f.Value
			}
		}
	}
	return s
}

// hasTracepoint reports whether a kernel has a tracepoint: its BTF has a type for each.
func hasTracepoint(kernel *btf.Spec, name string) bool {
	var t *btf.Typedef
	return kernel.TypeByName("btf_trace_"+name, &t) == nil
}

func hasMembers(kernel *btf.Spec, name string, members ...string) bool {
	var s *btf.Struct
	if kernel.TypeByName(name, &s) != nil {
		return false
	}
	return !slices.ContainsFunc(members, func(member string) bool {
		_, _, found := findMember(s, member, 0)
		return !found
	})
}

// configure empties the programs if they cannot serve.
func (s sharedPages) configure(spec *ebpf.CollectionSpec) {
	if s.known {
		return
	}
	for _, name := range sharedPrograms {
		spec.Programs[name].Instructions = asm.Instructions{asm.Mov.Imm(asm.R0, 1).WithSymbol(name), asm.Return()}
	}
}

// learn lets the kernel half find out where the kernel's map of memory is. Where it does not, copies are not counted.
func (s *sharedPages) learn(objects *kernelObjects) error {
	if !s.known {
		return nil
	}
	code, err := objects.DiscoverMap.Run(&ebpf.RunOptions{})
	if err != nil {
		return classify("find the kernel's map of memory", err)
	}
	s.known = code == 0
	return nil
}
