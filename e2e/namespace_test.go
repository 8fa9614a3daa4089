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

	"ipytracer/model"
)

// TestNamespaces attaches to an IPython in its own mount and pid namespaces, in a chroot, as in a container. A chroot
// with this machine's files is a chroot all the same.
func TestNamespaces(t *testing.T) {
	together(t)
	t.Run("here", func(t *testing.T) { checkNamespaces(t, "/") })
	t.Run("trixie", func(t *testing.T) {
		root := filepath.Join(pythonsDir(), "trixie")
		needTree(t, root)
		checkNamespaces(t, root)
	})
}

func checkNamespaces(t *testing.T, root string) {
	t.Helper()
	const interpreter = "/usr/bin/python3"
	ready := filepath.Join(t.TempDir(), "ready")
	if err := os.WriteFile(ready, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cell := "import numpy as np, sys\na = np.empty(3 << 20, dtype='u1')\ndel a\nprint('cell has run', flush=True)"
	script := fmt.Sprintf("import os, sys; print('pid', os.getpid(), flush=True); sys.stdin.readline(); "+
		"import IPython; IPython.start_ipython(argv=['--no-banner', '--colors=NoColor', '--quick', '-c', %q])", cell)
	inside := fmt.Sprintf("mount -t proc proc %[1]s/proc && exec chroot %[1]s %s -c \"$0\"", root, interpreter)
	if root == "/" {
		inside = fmt.Sprintf("mount -t proc proc /proc && exec chroot / %s -c \"$0\"", interpreter)
	}
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--propagation", "private", "sh", "-c", inside, script)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), "HOME=/root", "TERM=dumb")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	until(t, "the target is up", func() bool { return strings.Contains(out.String(), "pid ") })
	if !strings.Contains(out.String(), "pid 1\n") {
		t.Fatalf("not in a pid namespace of its own: %s", out.String())
	}
	pid := pythonBelow(t, cmd.Process.Pid)
	tr := attach(t, pid)
	if _, err := in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	r, _ := tr.wait(0)
	cells := topCells(r, pid)
	if len(cells) != 1 || cells[0].Status != model.OK {
		t.Fatalf("cells: %+v\n%s", cells, out.String())
	}
	if f := cells[0].Meters["cpu.numpy"]; f.Peak < 3<<20 || f.Peak > 3<<20+1<<20 || !f.Exact {
		t.Errorf("numpy: %+v", f)
	}
}

// pythonBelow returns the python process among the children of a process, by its pid in this namespace.
func pythonBelow(t *testing.T, pid int) int {
	t.Helper()
	for range 8 {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
		if err != nil || len(bytes.TrimSpace(data)) == 0 {
			return pid
		}
		next, err := strconv.Atoi(strings.Fields(string(data))[0])
		if err != nil {
			t.Fatal(err)
		}
		pid = next
	}
	return pid
}
