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
		loop    bool
		want    []string
	}{
		{nil, true, nil},
		{[]asm.BuiltinFunc{asm.FnLoop, asm.FnMapLookupPercpuElem}, false, nil}, // 5.15
		{[]asm.BuiltinFunc{asm.FnForEachMapElem}, true, nil},
		{[]asm.BuiltinFunc{asm.FnLoop, asm.FnForEachMapElem}, false, []string{"bpf_for_each_map_elem"}},
		{[]asm.BuiltinFunc{asm.FnGetAttachCookie}, true, []string{"bpf_get_attach_cookie"}},
	} {
		has := map[uint64]bool{}
		for id := range all {
			has[id] = !slices.Contains(c.without, asm.BuiltinFunc(id))
		}
		if got := missing(has, spec, c.loop); !slices.Equal(got, c.want) {
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

// TestOldLoops: the verifier accepts the programs with the loops of kernels before 5.17, and they count.
func TestOldLoops(t *testing.T) {
	rootsAreApart(t, Options{OldLoops: true})
}
