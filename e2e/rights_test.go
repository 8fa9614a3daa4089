package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/process"
	"ipytracer/internal/hostile"
)

// secretCell is a program of root: no other user may read its file.
const secretCell = `from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell(history_length=0)
shell.history_manager.enabled = False
shell.run_cell("hidden_by_root = bytearray(32 << 20)", store_history=True)
print("ran as", __import__("os").geteuid())
`

// setuidPython returns a Python that runs as root for any user, and a program of root for it.
func setuidPython(t *testing.T) (interpreter, program string) {
	t.Helper()
	folder := hostile.Folder(t)
	real, err := filepath.EvalSymlinks(python())
	if err != nil {
		t.Fatal(err)
	}
	interpreter, program = filepath.Join(folder, filepath.Base(real)), filepath.Join(folder, "program.py")
	hostile.Copy(t, real, interpreter, 0o4755)
	if err := os.WriteFile(program, []byte(secretCell), 0o600); err != nil {
		t.Fatal(err)
	}
	return interpreter, program
}

// TestSetuidChild: a kernel starts a Python that runs as root. Only its memory is reported. For a Python of the same
// user the cells are reported, too.
func TestSetuidChild(t *testing.T) {
	together(t)
	interpreter, program := setuidPython(t)
	n := notebookOf(t, startServer(t))
	own := filepath.Join(t.TempDir(), "own.py")
	for _, err := range []error{os.WriteFile(own,
		[]byte(strings.ReplaceAll(secretCell, "hidden_by_root", "shown_by_nobody")), 0o644),
		os.Chmod(filepath.Dir(own), 0o755)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	tr := attach(t, n.pid)
	const runs = "import subprocess; print(subprocess.run([%q, %q], capture_output=True, text=True))"
	if got := n.run(fmt.Sprintf(runs, interpreter, program)); !strings.Contains(got, "ran as 0") {
		t.Fatalf("the program of root's shows %q", got)
	}
	if got := n.run(fmt.Sprintf(runs, python(), own)); !strings.Contains(got, fmt.Sprint("ran as ", nobody)) {
		t.Fatalf("the user's own shows %q", got)
	}
	r, text := tr.stop()
	if strings.Contains(string(text), "hidden_by_root") {
		t.Errorf("what ran as root is in the report: %+v", r.Windows)
	}
	if !strings.Contains(string(text), "shown_by_nobody") {
		t.Errorf("what ran as the user is not in the report: %q", r.Certificate.Problems)
	}
}

// TestServedKernelGainsRights: a kernel that executes a set-user-ID program has no session from then on, whichever
// process asks.
func TestServedKernelGainsRights(t *testing.T) {
	together(t)
	interpreter, _ := setuidPython(t)
	s := startServer(t)
	n := notebookOf(t, s)
	n.run("%load_ext ipytracer")
	n.starts()
	n.runsUntil("x = bytearray(64 << 20); del x", "need 64.0")
	session, ok := s.session(n.pid)
	if !ok {
		t.Fatal("no process traces")
	}
	kernel, err := process.FS{}.Identity(n.pid)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(fmt.Sprintf("import os; os.execv(%q, [%q, '-S', '-c', 'import time; time.sleep(600)'])",
		interpreter, interpreter))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.in.Write(append(text, '\n')); err != nil { // there is no answer
		t.Fatal(err)
	}
	until(t, "the session is over", func() bool { return process.FS{}.Same(session) != nil })
	if err := (process.FS{}).Same(kernel); err != nil {
		t.Fatalf("the kernel is gone, too: %v", err)
	}
	if status, err := (process.FS{}).Proc(n.pid).Status(); err != nil || status.EUID != 0 {
		t.Errorf("it is no set-user-ID program: %+v, %v", status, err)
	}
	for _, pid := range []int{n.pid, n.server} { // the server waits for the answer that the kernel does not give
		if err := unix.Kill(pid, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}
