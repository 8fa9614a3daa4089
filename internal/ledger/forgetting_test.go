package ledger

import (
	"testing"

	"github.com/cilium/ebpf"
)

// TestForgetStacks: the tables of stacks and code have nothing left, however much was in them.
func TestForgetStacks(t *testing.T) {
	l := load(t, Options{})
	o := l.Processes.objects
	for i := range uint64(3 * atOnce) {
		for _, m := range []*ebpf.Map{o.Codes, o.Stacks} {
			if err := m.Put(i, uint32(1)); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range []*ebpf.Map{o.CodeNumbers, o.Paths} {
			if err := m.Put(i, i); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 { // also where there is nothing
		if err := l.Processes.ForgetStacks(); err != nil {
			t.Fatal(err)
		}
		for _, m := range []*ebpf.Map{o.Codes, o.Stacks, o.CodeNumbers, o.Paths} {
			var next uint64
			if err := m.NextKey(nil, &next); err == nil {
				t.Errorf("%v has %d", m, next)
			}
		}
	}
}
