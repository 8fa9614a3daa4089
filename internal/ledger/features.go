package ledger

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// Features are facts from the type information of a kernel. They do not follow from its version number: vendors
// backport, and RHEL 9 uses the number 5.14 for a kernel with the BPF of a much newer one.
type Features struct {
	Loop          bool // bpf_loop, upstream since 5.17; else bpf_for_each_map_elem makes the loops
	Growing       bool // hash tables may grow, upstream since 6.1; else all their entries are allocated at the load
	Cast          bool // bpf_rdonly_cast, upstream since 6.2; else a helper reads the kernel's memory
	ExactResident bool // RSS counters are per CPU, upstream since 6.2
	Preemptible   bool // threads can be preempted within a program at a tracepoint, upstream since 7.0
	// Missing are helpers that the programs call but the kernel lacks, such as "bpf_get_attach_cookie".
	Missing []string

	rssOffset  uint32 // of rss_stat in struct mm_struct, in bytes
	heldOffset uint32 // of rss_stat.count in struct task_struct, where RSS counters are not per CPU
	// of mm_struct.mm_rb and vm_area_struct.vm_rb, upstream until 6.0: the tree of areas, for want of bpf_find_vma
	treeOffset, nodeOffset uint32
	container              kernelContainerFields

	shared sharedPages
}

// InspectKernel reads the running kernel's BTF. It needs no privilege. The error matches ErrNotSupported.
func InspectKernel() (Features, error) {
	spec, err := loadKernel()
	if err != nil {
		return Features{}, fmt.Errorf("read the BPF object: %w", err)
	}
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		return Features{}, noBTF(err)
	}
	return inspect(kernel, spec)
}

func inspect(kernel *btf.Spec, spec *ebpf.CollectionSpec) (f Features, err error) {
	helpers, err := helpersOf(kernel)
	if err != nil {
		return f, err
	}
	f.Loop = helpers[uint64(asm.FnLoop)]
	f.findTree(kernel)
	f.Missing = missing(helpers, spec, f)
	var memory *btf.Struct
	f.Growing = kernel.TypeByName("bpf_mem_alloc", &memory) == nil // see allocatedTables
	var cast *btf.Func
	f.Cast = kernel.TypeByName("bpf_rdonly_cast", &cast) == nil
	f.Preemptible = preemptible(kernel)
	f.container = findContainer(kernel)
	f.shared = findSharedPages(kernel)
	return f, f.findCounters(kernel)
}

// preemptible reports whether SRCU guards tracepoints, instead of disabled preemption. The change that introduced this
// ("tracing: Guard __DECLARE_TRACE() use of __DO_TRACE_CALL() with SRCU-fast") also made the removal of a program wait
// for SRCU, by tp_transition_snapshot.srcu_gp of kernel/tracepoint.c. If that structure is not known, the kernel's
// version number decides.
func preemptible(kernel *btf.Spec) bool {
	var snapshot *btf.Struct
	if kernel.TypeByName("tp_transition_snapshot", &snapshot) != nil {
		major, _, _ := strings.Cut(KernelRelease(), ".")
		n, err := strconv.Atoi(major)
		return err == nil && n >= 7
	}
	_, _, ok := findMember(snapshot, "srcu_gp", 0)
	return ok
}

// err returns an error that names the missing helpers.
func (f Features) err() error {
	if len(f.Missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w: Linux %s has no %s; tracing needs Linux 5.15 or newer, and 6.2 or newer for all features",
		ErrNotSupported, KernelRelease(), strings.Join(f.Missing, ", "))
}

// helpersOf returns the numbers of the kernel's helpers.
func helpersOf(kernel *btf.Spec) (map[uint64]bool, error) {
	var helpers *btf.Enum
	if err := kernel.TypeByName("bpf_func_id", &helpers); err != nil {
		return nil, fmt.Errorf("%w: no bpf_func_id in its BTF: %v", ErrNotSupported, err)
	}
	has := map[uint64]bool{}
	for _, v := range helpers.Values {
		if strings.HasPrefix(v.Name, "BPF_FUNC_") {
			has[v.Value] = true
		}
	}
	return has, nil
}

// missing returns the helpers that the programs call but the kernel lacks. One of the two helpers for loops is enough.
// bpf_map_lookup_percpu_elem (5.19) is needed only if RSS counters are per CPU, bpf_find_vma (5.17) only if areas are
// not in a tree.
func missing(helpers map[uint64]bool, spec *ebpf.CollectionSpec, f Features) (names []string) {
	seen := map[asm.BuiltinFunc]bool{asm.FnLoop: true, asm.FnMapLookupPercpuElem: true,
		asm.FnForEachMapElem: f.Loop, asm.FnFindVma: f.treeOffset != 0,
		asm.FnGetFuncArg: true} // see resetPrograms
	for _, p := range spec.Programs {
		for i := range p.Instructions {
			ins := &p.Instructions[i]
			if !ins.IsBuiltinCall() {
				continue
			}
			if fn := asm.BuiltinFunc(ins.Constant); !seen[fn] {
				seen[fn] = true
				if !helpers[uint64(fn)] {
					names = append(names, helperName(fn))
				}
			}
		}
	}
	return names
}

// helperName returns the name of a helper in C and bpf-helpers(7): bpf_get_attach_cookie for FnGetAttachCookie.
func helperName(fn asm.BuiltinFunc) string {
	var name strings.Builder
	name.WriteString("bpf")
	for _, r := range strings.TrimPrefix(fn.String(), "Fn") {
		if unicode.IsUpper(r) {
			name.WriteByte('_')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}

// findCounters finds out how the kernel counts the resident pages of a process.
func (f *Features) findCounters(kernel *btf.Spec) error {
	var mm, task *btf.Struct
	if err := kernel.TypeByName("mm_struct", &mm); err != nil {
		return fmt.Errorf("%w: no mm_struct in its BTF: %v", ErrNotSupported, err)
	}
	offset, typ, ok := findMember(mm, "rss_stat", 0)
	if !ok {
		return fmt.Errorf("%w: no mm_struct.rss_stat", ErrNotSupported)
	}
	f.rssOffset = offset
	if _, f.ExactResident = btf.UnderlyingType(typ).(*btf.Array); f.ExactResident {
		return nil
	}
	if err := kernel.TypeByName("task_struct", &task); err != nil {
		return fmt.Errorf("%w: no task_struct in its BTF: %v", ErrNotSupported, err)
	}
	offset, typ, ok = findMember(task, "rss_stat", 0)
	if held, isStruct := btf.UnderlyingType(typ).(*btf.Struct); ok && isStruct {
		if count, _, ok := findMember(held, "count", 0); ok {
			f.heldOffset = offset + count
		}
	}
	return nil
}

// findTree finds the red-black tree of a process's memory areas, which newer kernels have replaced by a maple tree.
func (f *Features) findTree(kernel *btf.Spec) {
	var mm, area *btf.Struct
	if kernel.TypeByName("mm_struct", &mm) != nil || kernel.TypeByName("vm_area_struct", &area) != nil {
		return
	}
	root, _, hasRoot := findMember(mm, "mm_rb", 0)
	node, _, hasNode := findMember(area, "vm_rb", 0)
	if hasRoot && hasNode {
		f.treeOffset, f.nodeOffset = root, node
	}
}

// findMember searches for a field of a structure or union, also in its anonymous members, down to a depth of 8. The
// offset is in bytes.
func findMember(in btf.Type, name string, depth int) (offset uint32, typ btf.Type, ok bool) {
	var members []btf.Member
	switch t := btf.UnderlyingType(in).(type) {
	case *btf.Struct:
		members = t.Members
	case *btf.Union:
		members = t.Members
	}
	for _, m := range members {
		if m.Name == name {
			return m.Offset.Bytes(), m.Type, true
		}
		if m.Name == "" && depth < 8 {
			if o, t, found := findMember(m.Type, name, depth+1); found {
				return m.Offset.Bytes() + o, t, true
			}
		}
	}
	return 0, nil, false
}

// KernelRelease returns `uname -r`.
func KernelRelease() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}
