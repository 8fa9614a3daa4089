package ledger

import (
	"slices"
	"testing"

	"github.com/cilium/ebpf/asm"
)

// TestMissingHelpers: the helpers that the programs call are required, and of the two for loops only one.
func TestMissingHelpers(t *testing.T) {
	spec, err := loadKernel()
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint64]bool{}
	for id := range uint64(300) {
		all[id] = true
	}
	for _, c := range []struct {
		without []asm.BuiltinFunc
		has     Features
		want    []string
	}{
		{nil, Features{Loop: true}, nil},
		{[]asm.BuiltinFunc{asm.FnLoop, asm.FnMapLookupPercpuElem, asm.FnFindVma}, Features{treeOffset: 8}, nil}, // 5.15
		{[]asm.BuiltinFunc{asm.FnFindVma}, Features{Loop: true}, []string{"bpf_find_vma"}},
		{[]asm.BuiltinFunc{asm.FnForEachMapElem}, Features{Loop: true}, nil},
		{[]asm.BuiltinFunc{asm.FnLoop, asm.FnForEachMapElem}, Features{}, []string{"bpf_for_each_map_elem"}},
		{[]asm.BuiltinFunc{asm.FnGetAttachCookie}, Features{Loop: true}, []string{"bpf_get_attach_cookie"}},
	} {
		has := map[uint64]bool{}
		for id := range all {
			has[id] = !slices.Contains(c.without, asm.BuiltinFunc(id))
		}
		if got := missing(has, spec, c.has); !slices.Equal(got, c.want) {
			t.Errorf("without %v: %v, want %v", c.without, got, c.want)
		}
	}
}

// TestInspectKernel: the running kernel's type information is enough, or the error is the reason for Load's failure.
func TestInspectKernel(t *testing.T) {
	f, err := InspectKernel()
	if err != nil {
		t.Skip(err) // no BTF: nothing can be traced, and Load's tests cover that
	}
	l := load(t, Options{})
	if len(f.Missing) > 0 || f.ExactResident != l.Capabilities().ExactResident {
		t.Errorf("%+v, loaded: %+v", f, l.Capabilities())
	}
}

// TestOldKernel: the verifier accepts the programs with the loops of kernels before 5.17 and the
// tables of those before 6.1, and they count.
func TestOldKernel(t *testing.T) {
	rootsAreApart(t, Options{OldKernel: true})
}
