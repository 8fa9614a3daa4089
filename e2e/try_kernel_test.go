package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTryProcesses: what a change saves in the children of the kernel is measured, at the instant of the highest
// moment of all together. The children write their memory and read none that is fresh: there are kernels without a zero
// page.
func TestTryProcesses(t *testing.T) {
	together(t)
	dir := nobodysFolder(t)
	cell := "import os\npids = []\nends = os.pipe()\nfor i in range(3):\n    pid = os.fork()\n    if pid == 0:\n" +
		"        held = b'x' * %d\n        os.write(ends[1], b'x')\n        os.read(ends[0], 0)\n" +
		"        import time\n        time.sleep(60)\n        os._exit(0)\n    pids.append(pid)\n" +
		"for pid in pids:\n    os.read(ends[0], 1)\nfor pid in pids:\n    os.kill(pid, 9)\n    os.waitpid(pid, 0)\n" +
		"del pid, pids, ends"
	const before, after = 40 << 20, 10 << 20
	path := notebookFile(t, dir, "a.ipynb", "a = 1", fmt.Sprintf(cell, before))
	with := notebookFile(t, dir, "b.ipynb", "a = 1", fmt.Sprintf(cell, after))
	r, status, errs := try(t, path, "--with", with, "-n", "1")
	if status != 0 {
		t.Fatalf("status %d\n%s", status, errs)
	}
	// Pages that a child shares with its parent count twice: the figure is not exact.
	const want, near = 3 * (before - after), 1 << 20
	s := r.Variants[0].Saved[0]
	if s.Meter != "cpu.resident" || s.Certain < want-near || s.Certain > want+near {
		t.Errorf("saved %+v, want %d", s, want)
	}
}

// TestTryForeignKernel: the program that starts the kernel is the user's. A process that it names and that is not the
// user's is not attached to; one that is gone is none; and nothing of the notebook has run.
func TestTryForeignKernel(t *testing.T) {
	together(t)
	dir := nobodysFolder(t)
	path := notebookFile(t, dir, "a.ipynb", "open('"+dir+"/ran', 'w')")
	with := notebookFile(t, dir, "b.ipynb", "open('"+dir+"/ran', 'w').close()")
	sleeper := exec.Command("sleep", "100")
	if err := sleeper.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sleeper.Process.Kill(); _ = sleeper.Wait() })
	for name, pid := range map[string]int{"init": 1, "root's": sleeper.Process.Pid, "none": 1 << 30} {
		fake := filepath.Join(dir, "python-"+name)
		script := fmt.Sprintf("#!/bin/sh\nread request\n"+
			`echo '{"event": "begin", "what": "kernel", "python": "3", "pid": %d}'`+"\nread line && touch %s/went-on\n",
			pid, dir)
		if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		r, status, errs := try(t, path, "--with", with, "-n", "1", "--python", fake)
		want := fmt.Sprintf("process %d, which was named as the kernel, is not the user's", pid)
		if name == "none" {
			want = fmt.Sprintf("there is no process %d", pid)
		}
		if status == 0 || r != nil || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %v\n%s", name, status, r, errs)
		}
	}
	for _, sign := range []string{"went-on", "ran"} {
		if _, err := os.Stat(filepath.Join(dir, sign)); err == nil {
			t.Errorf("%s is there", sign)
		}
	}
}
