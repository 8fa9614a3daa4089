package tracee

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"ipytracer/internal/host/process"
	"ipytracer/internal/ledger"
)

// vforks is a run of testdata/vforks.c: a process with a vfork child that has not executed a program yet.
type vforks struct {
	root, parent, child int
	gate                io.WriteCloser
	in                  io.WriteCloser // of the cat that the child executes
	out                 *bufio.Reader
	adoption            Tree
	kernel              *ledger.Ledger
}

func buildVforks(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "vforks")
	if out, err := exec.Command("cc", "-O1", "-Wall", "-Werror", "-o", path,
		"testdata/vforks.c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

func startVforks(t *testing.T, l *ledger.Ledger, path string, depth int) *vforks {
	t.Helper()
	v := &vforks{kernel: l}
	cmd := exec.Command(path, fmt.Sprint(depth))
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	gate, open, err3 := os.Pipe()
	end, live, err4 := os.Pipe()
	cmd.ExtraFiles = []*os.File{gate, end}
	if err := errors.Join(err1, err2, err3, err4, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	_, _ = gate.Close(), end.Close()
	t.Cleanup(func() { _, _, _, _ = in.Close(), open.Close(), live.Close(), cmd.Wait() })
	v.root, v.gate, v.in, v.out = cmd.Process.Pid, open, in, bufio.NewReader(out)
	if _, err := fmt.Fscanln(v.out, &v.child, &v.parent); err != nil {
		t.Fatal(err)
	}
	v.adoption = Tree{
		Scan:    func() ([]process.Identity, error) { return process.FS{}.Descendants(v.root) },
		Kernel:  &v.kernel.Processes,
		Stat:    func(pid int) (process.Stat, error) { return process.FS{}.Proc(pid).Stat() },
		Refused: func(pid int, err error) { t.Errorf("pid %d: %v", pid, err) }, Take: time.Hour,
	}
	return v
}

// execute lets the child execute cat, and waits until that runs.
func (v *vforks) execute(t *testing.T) {
	t.Helper()
	_, err1 := io.WriteString(v.gate, "x")
	v.says(t, err1, "runs")
}

// says lets the child's cat repeat a line.
func (v *vforks) says(t *testing.T, err error, line string) {
	t.Helper()
	_, err1 := io.WriteString(v.in, line+"\n")
	got, err2 := v.out.ReadString('\n')
	if err := errors.Join(err, err1, err2); err != nil || got != line+"\n" {
		t.Fatalf("%q, want %q: %v", got, line, err)
	}
}

// end lets the child end without a program, and waits until its parent has seen that.
func (v *vforks) end(t *testing.T) {
	t.Helper()
	err := v.gate.Close()
	got, err2 := v.out.ReadString('\n')
	if err := errors.Join(err, err2); err != nil || got != "ended\n" {
		t.Fatalf("%q: %v", got, err)
	}
}

// TestVforkDuringTheAttach: a vfork child has its parent's memory until it executes a program. It never takes the
// parent's place in the ledger, whichever of the two is found first, and has its own once it runs a program, at any
// time.
func TestVforkDuringTheAttach(t *testing.T) {
	execute, end := (*vforks).execute, (*vforks).end
	l, path, root := loadLedger(t), buildVforks(t), uint32(0)
	for name, c := range map[string]struct {
		depth                   int
		reversed                bool // children are found before their parents, as after a wrap of pids
		looked, attached, after func(*vforks, *testing.T)
		ended                   bool
	}{
		"waits":                                  {},
		"executes behind it":                     {after: execute},
		"executes before the target is traced":   {looked: execute},
		"executes as soon as the target is":      {attached: execute},
		"ends behind it":                         {after: end, ended: true},
		"ends before the target is traced":       {looked: end, ended: true},
		"ends as soon as the target is":          {attached: end, ended: true},
		"of a child":                             {depth: 1, after: execute},
		"of a child, found first":                {depth: 1, reversed: true, after: execute},
		"of a child, found first, executes then": {depth: 1, reversed: true, looked: execute},
		"of a grandchild, found first":           {depth: 2, reversed: true, attached: execute},
	} {
		t.Run(name, func(t *testing.T) {
			v := startVforks(t, l, path, c.depth)
			root++
			at := func(what func(*vforks, *testing.T)) {
				if what != nil {
					what(v, t)
				}
			}
			if scan := v.adoption.Scan; c.reversed {
				v.adoption.Scan = func() ([]process.Identity, error) {
					all, err := scan()
					slices.Reverse(all)
					return all, err
				}
			}
			if _, err := v.adoption.pass(root, time.Time{}); err != nil {
				t.Fatal(err)
			}
			at(c.looked)
			slot, err := v.kernel.Processes.AttachProcess(root, v.root, 0)
			if err != nil {
				t.Fatal(err)
			}
			at(c.attached)
			if settled, err := v.adoption.rescan(root); !settled || err != nil {
				t.Errorf("settled %v: %v", settled, err)
			}
			at(c.after)
			v.check(t, slot, c.depth, c.ended)
		})
	}
}

// check compares the slots of the processes with the programs that they execute.
func (v *vforks) check(t *testing.T, root uint32, depth int, ended bool) {
	t.Helper()
	if slot, err := v.kernel.Processes.Slot(v.root); err != nil || slot != root {
		t.Errorf("the target has slot %d, %v; at its attach it had %d", slot, err, root)
	}
	parents, err := v.kernel.Processes.Slot(v.parent)
	if err != nil || (parents == root) != (depth == 0) {
		t.Errorf("the parent has slot %d, the target %d: %v", parents, root, err)
	}
	slot, err := v.kernel.Processes.Slot(v.child)
	exe, _ := process.FS{}.Proc(v.child).ExeName()
	switch {
	case ended:
		if !errors.Is(err, ledger.ErrNoProcess) {
			t.Errorf("a child that has ended: slot %d, %v", slot, err)
		}
	case filepath.Base(exe) == "vforks":
		if !errors.Is(err, ledger.ErrFull) { // a member without a slot
			t.Errorf("a child with its parent's memory: slot %d, %v", slot, err)
		}
	case err != nil || slot == parents || slot == root:
		t.Errorf("a child that executes %s has slot %d, its parent %d, the target %d: %v", exe, slot, parents, root,
			err)
	}
}
