package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/model"
)

// memoryCgroup makes a cgroup with a limit of its own, in the version (1 or 2) that has the memory controller here.
func memoryCgroup(t *testing.T, limit int64) string {
	t.Helper()
	name := fmt.Sprintf("ipytracer-%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid())
	for _, way := range []struct{ top, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
		{"/sys/fs/cgroup/unified", "memory.max"},
	} {
		dir := filepath.Join(way.top, name)
		_ = os.WriteFile(filepath.Join(way.top, "cgroup.subtree_control"), []byte("+memory"), 0)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		if os.WriteFile(filepath.Join(dir, way.limit), fmt.Append(nil, limit), 0) == nil {
			return dir
		}
	}
	t.Skip("no memory cgroup can be made here")
	return ""
}

// TestOutOfMemory: the report of a kernel that the OOM killer ended says so, with the exhausted limit, the cell and the
// line.
func TestOutOfMemory(t *testing.T) {
	together(t)
	const limit = 600 << 20
	dir := memoryCgroup(t, limit)
	pid, run := startCell(t, "x = []\nfor i in range(100):\n    x.append(bytearray(20 << 20))")
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, pid), 0); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "oom.arrows")
	tr := attach(t, pid, "--record", file)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	r, _ := tr.wait(0)
	p := r.Processes[0]
	if e := p.Ending; e == nil || !e.OutOfMemory || e.Signal != "SIGKILL" || e.ExitStatus != nil || e.Limit == nil ||
		e.At == nil {
		t.Fatalf("ending: %+v", e)
	}
	if l := p.Ending.Limit; l.Kind != "cgroup" || l.Bytes != limit || !strings.HasSuffix(l.Path, filepath.Base(dir)) ||
		p.Ending.Likely {
		t.Errorf("the limit: %+v, likely: %v", l, p.Ending.Likely)
	}
	if at := p.Ending.At; at.Execution != 1 || at.Line != 2 || p.Ending.Resident < limit/2 {
		t.Errorf("at %+v, with %d bytes", at, p.Ending.Resident)
	}
	if len(p.Limits) < 2 || p.Limits[0].Kind != "cgroup" || p.Limits[0].Highest < limit*99/100 {
		t.Errorf("limits: %+v", p.Limits)
	}
	if c := topCells(r, pid); len(c) != 1 || c[0].Status != model.Incomplete ||
		!strings.Contains(c[0].Note, "out of memory") {
		t.Errorf("cells: %+v", c)
	}
	for _, command := range []string{"report", "audit"} {
		out, err := exec.Command(binary, command, file).Output()
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(out, []byte("why it ended out of memory")); at < 0 || at > 200 ||
			!bytes.Contains(out, []byte("600.00 MiB of cgroup")) {
			t.Errorf("tracer %s:\n%s", command, out)
		}
	}
}

// TestOutOfMemoryOfAChild: a worker that the OOM killer ended is reported, too; the kernel goes on.
func TestOutOfMemoryOfAChild(t *testing.T) {
	together(t)
	dir := memoryCgroup(t, 400<<20)
	cell := fmt.Sprintf("import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'import os; "+
		"open(%q, \"w\").write(str(os.getpid())); x = b\"x\" * (1 << 30)'])",
		filepath.Join(dir, "cgroup.procs"))
	pid, run := startCell(t, cell)
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), fmt.Append(nil, pid), 0); err != nil {
		t.Fatal(err)
	}
	tr := attach(t, pid)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	r, _ := tr.wait(0)
	killed := 0
	for _, p := range r.Processes {
		if p.Ending != nil && p.Ending.OutOfMemory {
			killed++
			if p.PID == pid || p.Ending.Limit == nil || p.Ending.Limit.Bytes != 400<<20 {
				t.Errorf("%+v: %+v", p, p.Ending)
			}
		}
	}
	if killed != 1 || topCells(r, pid)[0].Status != model.OK {
		t.Errorf("%d processes ran out of memory: %+v", killed, r.Processes)
	}
}

// TestEndingsOfProcesses: other endings of processes than running out of memory.
func TestEndingsOfProcesses(t *testing.T) {
	together(t)
	_, r := tracedCell(t,
		"import os, subprocess, sys\nsubprocess.run(['sh', '-c', 'exit 3'])\n"+
			"subprocess.run(['sh', '-c', 'kill -SEGV $$'])\nos.kill(os.getpid(), 9)")
	status, signals := 0, map[string]int{}
	for _, p := range r.Processes {
		switch e := p.Ending; {
		case e == nil || e.OutOfMemory || e.Limit != nil:
			t.Errorf("pid %d: %+v", p.PID, e)
		case e.ExitStatus != nil:
			status = *e.ExitStatus
		default:
			signals[e.Signal]++
		}
	}
	if status != 3 || signals["SIGSEGV"] != 1 || signals["SIGKILL"] != 1 {
		t.Errorf("exit status %d, signals %v", status, signals)
	}
	if e := r.Processes[0].Ending; e.At == nil || e.At.Line != 4 {
		t.Errorf("it ended at %+v", e.At)
	}
}

// TestMemoryError: a cell that failed because of missing memory says so, with the type of its exception.
func TestMemoryError(t *testing.T) {
	together(t)
	pid, r := tracedCell(t, "x = 1\nb'x' * (1 << 46)")
	if c := topCells(r, pid); len(c) != 1 || c[0].Status != model.Error || c[0].Error != "MemoryError" {
		t.Errorf("cells: %+v", c)
	}
}
