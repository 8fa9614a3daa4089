package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/host/process"
)

const (
	// mostForHostile is how much more memory hostile files may take of a tracer, and hostileLimit what they cannot
	// exceed in this test.
	mostForHostile = 128 << 20
	hostileLimit   = 3 << 30
	// endsWithin is how long a tracer may take to end beside such files, on a busy machine; alone it takes a second.
	endsWithin = 30 * time.Second
)

// hostileNames are names under which every reader of files meets a library.
var hostileNames = []string{"python-x", "libc10.so", "libcudart.so.1", "libarrow.so.1",
	"_multiarray_umath.cpython-311-x86_64-linux-gnu.so"}

// writeHostile writes each kind of file under each name into folders of a folder, which everybody may read.
func writeHostile(t *testing.T, within string) (folder string) {
	t.Helper()
	folder = filepath.Join(within, "hostile")
	for _, attack := range elftest.Attacks() {
		kind := filepath.Join(folder, strings.ReplaceAll(attack.Name, " ", "-"))
		if err := os.MkdirAll(kind, 0o755); err != nil {
			t.Fatal(err)
		}
		attack.Write(t, kind, hostileNames...)
	}
	return folder
}

// mapsHostile is Python that maps the files below a folder as code, and keeps them.
const mapsHostile = `
import mmap, os
kept = []
for folder, _, names in sorted(os.walk(%q)):
    for name in sorted(names):
        with open(os.path.join(folder, name), "rb") as f:
            size = min(os.fstat(f.fileno()).st_size, 64 << 20)
            kept.append(mmap.mmap(f.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
`

// highest returns the most memory that a process and those that it has started have had, each at its own time.
func highest(t *testing.T, pid int) (bytes int64) {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), "\nVmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	if words := strings.Fields(line); len(words) > 0 {
		n, _ := strconv.ParseInt(words[0], 10, 64)
		bytes = n << 10
	}
	children, _ := process.FS{}.Children(pid)
	for _, child := range children {
		bytes += highest(t, child.PID)
	}
	return bytes
}

// joins moves a process into a control group.
func joins(t *testing.T, group string, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), fmt.Append(nil, pid), 0); err != nil {
		t.Fatal(err)
	}
}

// attachedBeside runs a cell of a known need in a process that maps a folder's files, "" for none, under a tracer with
// native stacks. It returns the tracer's memory at the most.
func attachedBeside(t *testing.T, folder string) int64 {
	t.Helper()
	before := ""
	if folder != "" {
		before = fmt.Sprintf(mapsHostile, folder)
	}
	s := startCells(t, nil, before, "x = bytearray(64 << 20)", "pass")
	tr := attach(t, s.cmd.Process.Pid, "--native")
	if _, err := s.in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	s.says("done!\n")
	most := highest(t, tr.cmd.Process.Pid)
	began := time.Now()
	r, _ := tr.stop()
	if took := time.Since(began); took > endsWithin*slowness() {
		t.Errorf("it took %v to end", took)
	}
	found := false
	for _, w := range r.Windows {
		m := w.Meters["cpu.resident"]
		found = found || m.Peak-m.Start >= 64<<20 && m.Peak-m.Start < 66<<20
	}
	if !found {
		t.Errorf("no window has the cell's need: %+v", r.Windows)
	}
	return most
}

// TestHostileFilesAttached: beside files that are made to take memory of whoever reads them, a session has little more
// than usual, its figures are right, and it ends when it is asked to.
func TestHostileFilesAttached(t *testing.T) {
	together(t)
	compareHighest(t, attachedBeside(t, ""), attachedBeside(t, writeHostile(t, t.TempDir())))
}

func compareHighest(t *testing.T, usual, most int64) {
	t.Helper()
	t.Logf("%d MiB, usually %d", most>>20, usual>>20)
	if most > usual+mostForHostile {
		t.Errorf("%d MiB, usually %d", most>>20, usual>>20)
	}
}

// TestHostileFilesServed: the same for sessions that a user has asked for, and the server ends in time, with a session
// that has just met such files.
func TestHostileFilesServed(t *testing.T) {
	together(t)
	group, home := memoryCgroup(t, hostileLimit), nobodysFolder(t)
	compareHighest(t, servedBeside(t, group, home, ""), servedBeside(t, group, home, writeHostile(t, home)))
}

// servedBeside runs a cell in a notebook that asks a server for its session, and maps a folder's files before, "" for
// none. It returns the memory of the server and its sessions at the most.
func servedBeside(t *testing.T, group, home, folder string) int64 {
	t.Helper()
	s := startServer(t)
	joins(t, group, s.cmd.Process.Pid)
	n := notebookIn(t, s, home)
	n.run("%load_ext ipytracer")
	if folder != "" {
		n.run(fmt.Sprintf(mapsHostile, folder))
	}
	n.starts()
	n.runsUntil("x = bytearray(64 << 20); del x", "need 64.0")
	most := highest(t, s.cmd.Process.Pid)
	began := time.Now()
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	err := <-s.ended
	if took := time.Since(began); err != nil || took > endsWithin*slowness() {
		t.Errorf("the server ended after %v: %v", took, err)
	}
	s.ended <- nil
	return most
}

// TestHostileFilesAgent: the same for an agent that follows kernels of another user with such files; the figures of
// others beside them are right.
func TestHostileFilesAgent(t *testing.T) {
	together(t)
	needModules(t, "ipykernel", "jupyter_client")
	group, home := memoryCgroup(t, hostileLimit), nobodysFolder(t)
	args := []string{"-c", "echo $$ > " + filepath.Join(group, "cgroup.procs") + " && exec \"$@\"", "sh",
		"unshare", "--pid", "--fork", "--mount-proc", "--kill-child", python(),
		filepath.Join(workloads, "run_agent_hostile.py"), binary, writeHostile(t, home)}
	out, err := exec.Command("sh", args...).CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !bytes.HasSuffix(out, []byte("all holds\n")) {
		t.Error(err)
	}
}
