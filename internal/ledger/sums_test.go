package ledger

import (
	"fmt"
	"testing"
	"time"

	"ipytracer/event"
)

// TestTreeIsItsSum: a tree equals the sum of its processes' parts once nothing changes any more, without a boundary
// that would correct it, after processes began and ended on one CPU while another process allocated on other CPUs.
func TestTreeIsItsSum(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
	}{{"", Options{}}, {"all copies do all", Options{copies: mostCopies, alike: true}}} {
		t.Run(c.name, func(t *testing.T) {
			l := load(t, c.options)
			if !l.Capabilities().ExactResident {
				t.Skip("this kernel has one counter for all CPUs")
			}
			in, lines := attachedProgram(t, l, "sums", "10")
			fmt.Fprintln(in, "go")
			for round := range 100 {
				fmt.Fprintln(in, "round")
				if !lines.Scan() || lines.Text() != "still" {
					t.Fatalf("the program said %q", lines.Text())
				}
				if err := l.Stream.Poll(time.Unix(1, 0), &collected{}); err != nil { // reading the records makes room
					t.Fatal(err)
				}
				treeIsItsSum(t, l, round)
			}
		})
	}
}

func treeIsItsSum(t *testing.T, l *Ledger, round int) {
	t.Helper()
	var tree kernelRoot
	if err := l.objects.Roots.Lookup(uint32(0), &tree); err != nil {
		t.Fatal(err)
	}
	sum, alive := make([]int64, len(tree.Tree)), 0
	for slot := range l.objects.Processes.MaxEntries() {
		var p kernelProcess
		if err := l.objects.Processes.Lookup(slot, &p); err != nil {
			t.Fatal(err)
		}
		if p.Active == 0 {
			continue
		}
		alive++
		p.Value[event.Resident] = p.Value[event.ResidentAnon] + p.Value[event.ResidentFile] +
			p.Value[event.ResidentShmem]
		for m, value := range p.Value {
			sum[m] += max(value-p.Inherited[m], 0)
		}
	}
	if alive != 2 || tree.Shared == 0 {
		t.Errorf("round %d: %d processes, shared %d", round, alive, tree.Shared)
	}
	for m, want := range sum {
		if tree.Tree[m] != want {
			t.Errorf("round %d: %v of the tree is %d bytes, its processes add %d, difference %+d", round,
				event.Meter(m), tree.Tree[m], want, tree.Tree[m]-want)
		}
	}
}
