package agent

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/cmd/tracer/internal/inventory"
	"ipytracer/tracer/host/process"
	"ipytracer/tracer/ledger"
)

// fakeProc is a /proc of made-up processes.
type fakeProc struct {
	t    *testing.T
	root string
}

func (p *fakeProc) has(pid int, exe string, started uint64) {
	p.t.Helper()
	dir := filepath.Join(p.root, fmt.Sprint(pid))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		p.t.Fatal(err)
	}
	stat := fmt.Sprintf("%d (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %d%s\n", pid, started, strings.Repeat(" 0", 30))
	if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o644); err != nil {
		p.t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(dir, "exe"))
	if err := os.Symlink(exe, filepath.Join(dir, "exe")); err != nil {
		p.t.Fatal(err)
	}
}

// TestBirths: a kernel that is executed is looked for at once and without a sweep; one that ends before it is found
// counts as missed, whether its end comes before the births are read or later. Another Python that ends does not.
func TestBirths(t *testing.T) {
	proc := &fakeProc{t, t.TempDir()}
	var born list
	kernels, missed, found := map[int]uint64{}, 0, []int(nil)
	s := &scout{fs: process.FS{Root: proc.root}, log: slog.New(slog.DiscardHandler), births: &born,
		missed: func() { missed++ }, found: func(p inventory.Python) { found = append(found, p.PID) },
		find: func(context.Context) (all []inventory.Python, err error) {
			for pid, started := range kernels {
				all = append(all, inventory.Python{PID: pid, IPython: "9.0",
					Identity: process.Identity{PID: pid, StartTicks: started}})
			}
			return all, nil
		}}
	now := time.Unix(1000, 0)
	pass := func(wantMissed int, want ...int) {
		t.Helper()
		now, missed, found = now.Add(time.Second), 0, nil
		s.pass(t.Context(), now)
		if missed != wantMissed || !slices.Equal(found, want) {
			t.Errorf("missed %d, found %v, want %d, %v", missed, found, wantMissed, want)
		}
	}
	const launcher = "python3\x00-m\x00ipykernel_launcher\x00-f\x00/x.json\x00"
	pass(0)
	born.add(20, 70, launcher)
	proc.has(20, "/usr/bin/python3.11", 70)
	kernels[20] = 70
	pass(0, 20)
	born.add(21, 71, launcher) // it has ended
	born.add(22, 72, "python3\x00-c\x00pass\x00")
	born.add(23, 73, "/usr/bin/python3\x00/usr/bin/ipython\x00--simple-prompt\x00")
	proc.has(23, "/usr/bin/python3.11", 74) // another process has its pid
	pass(2)
	pass(0)
	born.add(24, 75, launcher)
	proc.has(24, "/usr/bin/python3.11", 75)
	pass(0)
	proc.loses(24)
	pass(1)
	proc.loses(20) // it was found
	delete(kernels, 20)
	pass(0)
	proc.has(25, "/usr/bin/python3.11", 80) // a fork
	kernels[25] = 80
	pass(0)
	born.missed = 1
	pass(0, 25)
}

// list is made-up births.
type list struct {
	all    []ledger.Birth
	missed uint64
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

// TestScout: a kernel is handed on once; a Python that loads IPython later, a shell that executes one, and a pid that
// is another process's by now are found. Without a new Python nothing is looked into.
func TestScout(t *testing.T) {
	proc := &fakeProc{t, t.TempDir()}
	kernels := map[int]uint64{} // with IPython, by start
	var looks, found []int
	s := &scout{fs: process.FS{Root: proc.root}, log: slog.New(slog.DiscardHandler),
		find: func(context.Context) (all []inventory.Python, err error) {
			looks = append(looks, len(kernels))
			for pid, started := range kernels {
				all = append(all, inventory.Python{PID: pid, IPython: "9.0",
					Identity: process.Identity{PID: pid, StartTicks: started}})
			}
			return all, nil
		}, found: func(p inventory.Python) { found = append(found, p.PID) }}
	now := time.Unix(1000, 0)
	pass := func(after time.Duration, wantLook bool, want ...int) {
		t.Helper()
		now, looks, found = now.Add(after), nil, nil
		s.pass(t.Context(), now)
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
	s.forget(10) // it had no room
	pass(time.Second, false)
	pass(retryAfter, true, 10)
}
