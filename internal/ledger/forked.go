package ledger

import (
	"fmt"
	"runtime"
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

// sharedPrograms walk page tables.
var sharedPrograms = []string{"discover_map", "user_faults", "kernel_faults", "locked"}

// findSharedPages examines a kernel. loop: it has bpf_loop. exactResident: its counters of pages are never late.
func findSharedPages(kernel *btf.Spec, loop, exactResident bool) (s sharedPages) {
	s.known = loop && exactResident && runtime.GOARCH == "amd64" &&
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

// configure sets the constants of the programs. Programs that cannot run do nothing. loop: they can call bpf_loop.
func (s sharedPages) configure(spec *ebpf.CollectionSpec, loop bool) (sharedPages, error) {
	s.known = s.known && loop
	for name, value := range map[string]any{"entire_offset": s.entireOffset, "large_flag": s.largeFlag} {
		if err := spec.Variables[name].Set(value); err != nil {
			return s, fmt.Errorf("set %s: %w", name, err)
		}
	}
	if s.known {
		return s, nil
	}
	spec.Maps["keeping"].MaxEntries, spec.Maps["endings"].MaxEntries = 1, 1
	for _, name := range sharedPrograms {
		spec.Programs[name].Instructions = asm.Instructions{asm.Mov.Imm(asm.R0, 1).WithSymbol(name), asm.Return()}
	}
	return s, nil
}

// learn lets the kernel half find out where the kernel's map of memory is. Where it does not, the sums of trees are
// lower bounds.
func (s *sharedPages) learn(objects *kernelObjects) error {
	if !s.known {
		return nil
	}
	code, err := objects.DiscoverMap.Run(&ebpf.RunOptions{})
	if err != nil {
		return classify("find the kernel's map of memory", err)
	}
	s.known = code == 0
	if err := objects.TreesExact.Set(flag(s.known)); err != nil {
		return fmt.Errorf("set trees_exact: %w", err)
	}
	return nil
}
