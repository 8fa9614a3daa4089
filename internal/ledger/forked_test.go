package ledger

import (
	"fmt"
	"os"
	"testing"
	"time"

	"ipytracer/event"
)

// TestForked: a child copies the pages of its parent that it writes to, which its tree then has. A tree never has more
// than its processes do, nor less than any of them adds: whatever the child does.
func TestForked(t *testing.T) {
	l := load(t, Options{SharedPages: true})
	if !l.Capabilities().Copies {
		t.Skip("this kernel does not let copies be counted")
	}
	in, lines := attachedProgram(t, l, "forked")
	const pages, others = 1024, 64 // others: of its stack, and of the C library
	for _, c := range []struct {
		does                                string
		copies, mostCopies, adds, mostAdded int // pages: copies counted, and what it adds to its tree
	}{
		{"writes", pages / 2, pages/2 + others, pages / 2, pages/2 + others},
		{"writes in vain", 0, 20*pages + others, 0, pages + others}, // an attempt is taken for a copy
		{"forks", pages, pages + 3*others, pages / 2, pages/2 + others},
		{"gives back", 0, others, 0, others},
		{"does nothing", 0, others, 0, others},
	} {
		fmt.Fprintln(in, c.does)
		if !lines.Scan() || lines.Text() != "did it" {
			t.Fatalf("the program said %q", lines.Text())
		}
		child, tree := forkedChild(t, l)
		copied, size := child.Value[event.Copied], int64(os.Getpagesize())
		added := child.Added[event.ResidentAnon]
		t.Logf("%s: %d pages copied, %d added", c.does, copied/size, added/size)
		if copied < int64(c.copies)*size || copied > int64(c.mostCopies)*size {
			t.Errorf("a child that %s has copied %d pages", c.does, copied/size)
		}
		if added < int64(c.adds)*size || added > int64(c.mostAdded)*size || added > child.Value[event.ResidentAnon] {
			t.Errorf("a child that %s adds %d pages to its tree", c.does, added/size)
		}
		if tree.Tree[event.ResidentAnon] < added {
			t.Errorf("a tree has %d, its child adds %d", tree.Tree[event.ResidentAnon], added)
		}
		fmt.Fprintln(in, "end")
		if !lines.Scan() || lines.Text() != "ended" {
			t.Fatalf("the program said %q", lines.Text())
		}
	}
}

// forkedChild returns the process that its parent has forked, of two that live.
func forkedChild(t *testing.T, l *Ledger) (child kernelProcess, tree kernelRoot) {
	t.Helper()
	if err := l.Stream.Poll(time.Unix(1, 0), &collected{}); err != nil { // reading the records makes room
		t.Fatal(err)
	}
	if err := l.objects.Roots.Lookup(uint32(0), &tree); err != nil {
		t.Fatal(err)
	}
	alive := 0
	for slot := range l.objects.Processes.MaxEntries() {
		var p kernelProcess
		if err := l.objects.Processes.Lookup(slot, &p); err != nil {
			t.Fatal(err)
		}
		if p.Active == 0 {
			continue
		}
		if alive++; p.Inherited[event.Mapped] > 0 {
			child = p
		}
	}
	if alive != 2 || child.Active == 0 {
		t.Fatalf("%d processes", alive)
	}
	return child, tree
}
