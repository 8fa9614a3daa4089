package agent

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// fakeProc is a /proc of made-up processes.
type fakeProc struct {
	t    *testing.T
	root string
}

func (p *fakeProc) has(pid int, exe string, started uint64) {
	p.t.Helper()
	p.weighs(pid, exe, started, 0)
}

// weighs also has so many resident pages.
func (p *fakeProc) weighs(pid int, exe string, started, pages uint64) {
	p.t.Helper()
	dir := filepath.Join(p.root, fmt.Sprint(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	stat := fmt.Sprintf("%d (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 %d%s\n", pid, started, pages,
		strings.Repeat(" 0", 28))
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644); err != nil {
		p.t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(dir, "exe"))
	if err := os.Symlink(exe, filepath.Join(dir, "exe")); err != nil {
		p.t.Fatal(err)
	}
}

const launcher = "python3\x00-m\x00ipykernel_launcher\x00-f\x00/x.json\x00"

// nursery is a scout that learns of births, with what it has found.
type nursery struct {
	*testing.T
	scout   *scout
	proc    *fakeProc
	born    list
	kernels map[int]uint64 // with IPython, by start
	now     time.Time
	missed  int
	looks   int
	found   []int
}

func newNursery(t *testing.T) *nursery {
	n := &nursery{T: t, proc: &fakeProc{t, t.TempDir()}, kernels: map[int]uint64{}, now: time.Unix(1000, 0)}
	n.scout = &scout{
		fs: process.FS{Root: n.proc.root}, log: slog.New(slog.DiscardHandler), births: &n.born,
		missed: func() { n.missed++ }, found: func(p inventory.Python) { n.found = append(n.found, p.PID) },
		holder: func(int) (inventory.Holder, error) { return inventory.Holder{}, nil },
	}
	n.scout.look = func(all ...inventory.Candidate) {
		n.looks += len(all)
		answer(n.scout, n.kernels, all)
	}
	n.pass(0)
	return n
}

// answer delivers findings about processes: those among the kernels have IPython.
func answer(s *scout, kernels map[int]uint64, all []inventory.Candidate) {
	for _, c := range all {
		f := inventory.Finding{Candidate: c}
		if started, is := kernels[c.PID]; is {
			f.Python = &inventory.Python{
				PID: c.PID, IPython: "9.0", Identity: process.Identity{PID: c.PID, StartTicks: started},
			}
		}
		s.deliver(f)
	}
}

// pass lets a second go by and the scout look, and compares what that has given.
func (n *nursery) pass(missed int, found ...int) {
	n.Helper()
	n.now, n.missed, n.found = n.now.Add(time.Second), 0, nil
	n.scout.pass(n.now)
	n.scout.takeFindings(n.now)
	if n.missed != missed || !slices.Equal(n.found, found) {
		n.Errorf("missed %d, found %v, want %d, %v", n.missed, n.found, missed, found)
	}
}

// TestExecutedKernelIsLookedAtAtOnce: a kernel that is executed is looked at at once and without a sweep; one that ends
// before it is found counts as missed, whether its end comes before the births are read or later. Another Python that
// ends does not.
func TestExecutedKernelIsLookedAtAtOnce(t *testing.T) {
	n := newNursery(t)
	n.born.add(20, 70, launcher)
	n.proc.has(20, "/usr/bin/python3.11", 70)
	n.kernels[20] = 70
	n.pass(0, 20)
	n.born.add(21, 71, launcher) // it has ended
	n.born.add(22, 72, "python3\x00-c\x00pass\x00")
	n.born.add(23, 73, "/usr/bin/python3\x00/usr/bin/ipython\x00--simple-prompt\x00")
	n.proc.has(23, "/usr/bin/python3.11", 74) // another process has its pid
	n.pass(2)
	n.pass(0)
	n.born.add(24, 75, launcher)
	n.proc.has(24, "/usr/bin/python3.11", 75)
	n.pass(0)
	due := n.scout.due(n.now, time.Minute)
	if looks := n.looks; due.After(n.now.Add(briefest)) || looks == 0 {
		t.Errorf("a kernel that has not mapped its interpreter is looked at again at %v", due)
	}
	n.proc.loses(24)
	n.pass(1)
	n.proc.loses(20) // it was found
	delete(n.kernels, 20)
	n.pass(0)
	n.proc.has(25, "/usr/bin/python3.11", 80) // a birth that was missed
	n.kernels[25] = 80
	n.pass(0)
	n.born.missed = 1
	n.pass(0, 25)
}

// TestYoungPythonsAreNotLookedInto: a Python that has just been executed or forked is not looked into, and never if it
// ends soon. The fork of a kernel that ends is no kernel that was missed. Nothing is due before the next sweep where no
// Python waits.
func TestYoungPythonsAreNotLookedInto(t *testing.T) {
	n := newNursery(t)
	sweep := n.scout.lastSweep.Add(sweepEvery)
	if at := n.scout.due(n.now, time.Second); !at.Equal(sweep) {
		t.Errorf("without a Python the next pass is at %v, not %v", at, sweep)
	}
	n.born.fork(26, 77, launcher) // it has ended
	n.born.add(27, 78, "python3\x00-c\x00pass\x00")
	n.proc.has(27, "/usr/bin/python3.11", 78)
	n.pass(0)
	if at := n.scout.due(n.now, 5*time.Second); !at.Equal(n.now.Add(birthRest)) {
		t.Errorf("births of which nobody tells are read at %v", at)
	}
	if at := n.scout.due(n.now.Add(birthRest), 5*time.Second); !at.Equal(n.now.Add(infancy)) {
		t.Errorf("infants are looked into at %v", at)
	}
	n.proc.loses(27)
	if n.pass(0); n.looks > 0 {
		t.Errorf("Pythons that have ended were looked into %d times", n.looks)
	}
	n.born.fork(28, 79, launcher)
	n.proc.has(28, "/usr/bin/python3.11", 79)
	n.kernels[28] = 79
	n.pass(0)
	n.pass(0, 28)
	if at := n.scout.due(n.now, time.Second); !at.Equal(sweep) {
		t.Errorf("with all found the next pass is at %v, not %v", at, sweep)
	}
}

// list is made-up births.
type list struct {
	all    []ledger.Birth
	missed uint64
}

func (l *list) fork(pid int, started uint64, arguments string) {
	l.all = append(l.all, ledger.Birth{PID: pid, Started: started, Forked: true, Arguments: []byte(arguments)})
}

func (l *list) add(pid int, started uint64, arguments string) {
	l.all = append(l.all, ledger.Birth{PID: pid, Started: started, Arguments: []byte(arguments)})
}

func (l *list) Next() (all []ledger.Birth, missed uint64, err error) {
	all, missed = l.all, l.missed
	l.all, l.missed = nil, 0
	return all, missed, nil
}

func (p *fakeProc) loses(pid int) { _ = os.RemoveAll(filepath.Join(p.root, fmt.Sprint(pid))) }

// TestKernelsAreHandedOnOnce: a kernel is handed on once; a Python that loads IPython later, a shell that executes one,
// and a pid that is another process's by now are found. Without a new Python nothing is looked into.
func TestKernelsAreHandedOnOnce(t *testing.T) {
	proc := &fakeProc{t, t.TempDir()}
	kernels := map[int]uint64{} // with IPython, by start
	var looks, found []int
	s := &scout{fs: process.FS{Root: proc.root}, log: slog.New(slog.DiscardHandler),
		holder: func(int) (inventory.Holder, error) { return inventory.Holder{}, nil },
		found:  func(p inventory.Python) { found = append(found, p.PID) }}
	s.look = func(all ...inventory.Candidate) {
		looks = append(looks, len(all))
		answer(s, kernels, all)
	}
	now := time.Unix(1000, 0)
	pass := func(after time.Duration, wantLook bool, want ...int) {
		t.Helper()
		now, looks, found = now.Add(after), nil, nil
		s.pass(now)
		s.takeFindings(now)
		slices.Sort(found)
		if (len(looks) > 0) != wantLook || !slices.Equal(found, want) {
			t.Errorf("looked %v, found %v, want %v, %v", len(looks) > 0, found, wantLook, want)
		}
	}
	proc.has(1, "/sbin/init", 1)
	pass(0, false)
	proc.has(10, "/usr/bin/python3.11", 50)
	kernels[10] = 50
	pass(time.Second, true, 10)
	pass(time.Second, false)
	proc.has(11, "/usr/bin/python3.11", 60) // loads IPython later
	proc.has(12, "/bin/sh", 61)             // executes a Python later
	pass(time.Second, true)
	pass(100*time.Millisecond, false)
	kernels[11] = 60
	pass(2*time.Second, true, 11)
	proc.has(12, "/usr/bin/python3.13", 61)
	kernels[12] = 61
	pass(10*time.Second, true, 12)
	proc.loses(10)
	delete(kernels, 10)
	pass(time.Second, false)
	proc.has(10, "/usr/bin/python3.12", 90)
	kernels[10] = 90
	pass(time.Second, true, 10)
	s.retryLater(10) // it had no room
	pass(time.Second, false)
	pass(retryAfter, true, 10)
}

// TestLateIPython: a script that has been looked into many times without IPython is looked into again once it has grown
// as much as IPython takes, and not at each sweep while it grows.
func TestLateIPython(t *testing.T) {
	proc, looks := &fakeProc{t, t.TempDir()}, 0
	s := &scout{fs: process.FS{Root: proc.root}, log: slog.New(slog.DiscardHandler), births: &list{},
		holder: func(int) (inventory.Holder, error) { return inventory.Holder{}, nil }}
	s.look = func(all ...inventory.Candidate) {
		looks += len(all)
		answer(s, nil, all)
	}
	const exe, pages = "/usr/bin/python3.11", leastIPython / 4096
	now := time.Unix(1000, 0)
	for range 20 { // until looks are far apart
		proc.weighs(10, exe, 50, pages)
		now = now.Add(latest)
		s.pass(now)
		s.takeFindings(now)
	}
	for i, c := range []struct {
		pages uint64
		looks int
	}{
		{pages, 0}, {pages + 10, 0}, {2 * pages, 1}, {2*pages + 10, 0}, {30 * pages, 1}, {31 * pages, 0},
	} {
		proc.weighs(10, exe, 50, c.pages*4096/uint64(os.Getpagesize()))
		looks, now = 0, now.Add(sweepEvery)
		s.takeFindings(now)
		if s.pass(now); looks != c.looks {
			t.Errorf("step %d: %d looks, want %d", i, looks, c.looks)
		}
	}
}

// TestCutLooks: a process that a look took too long at is looked at again later and later, and a kernel that comes
// meanwhile is found.
func TestCutLooks(t *testing.T) {
	n := newNursery(t)
	n.scout.look = func(all ...inventory.Candidate) {
		for _, c := range all {
			if n.looks++; c.PID == 40 {
				n.scout.deliver(inventory.Finding{Candidate: c, Cut: true})
				continue
			}
			answer(n.scout, n.kernels, []inventory.Candidate{c})
		}
	}
	n.proc.has(40, "/usr/bin/python-x", 90)
	n.born.add(40, 90, launcher)
	n.pass(0)
	n.proc.has(41, "/usr/bin/python3.11", 91)
	n.kernels[41] = 91
	n.born.add(41, 91, launcher)
	n.pass(0, 41)
	for range 120 {
		n.pass(0)
	}
	if n.looks < 5 || n.looks > 8 {
		t.Errorf("%d looks in two minutes", n.looks)
	}
}

// TestYoungPythons: a Python that has grown by what IPython takes is looked at within seconds of its birth, though the
// next look would be later.
func TestYoungPythons(t *testing.T) {
	n := newNursery(t)
	n.born.add(50, 95, "python3\x00script.py\x00")
	pages := uint64(leastIPython / os.Getpagesize())
	n.proc.weighs(50, "/usr/bin/python3.11", 95, pages)
	for range 6 {
		n.pass(0)
	}
	looks := n.looks
	n.kernels[50] = 95
	n.proc.weighs(50, "/usr/bin/python3.11", 95, 3*pages)
	if n.pass(0, 50); n.looks != looks+1 {
		t.Errorf("%d looks, then %d", looks, n.looks)
	}
}
