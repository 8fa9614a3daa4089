package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// manyCells runs cells one after another on request, and prints a line afterwards.
const manyCells = `
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
print("up", flush=True)
sys.stdin.readline()
for i in range(int(sys.argv[1])):
    shell.run_cell("a = " + repr("x" * 100 + str(i)), store_history=True)
print("done", flush=True)
sys.stdin.readline()
`

// TestNobodyReadsStandardError: unread live lines, more than a pipe holds, stop nothing: every cell is there, and
// nothing was lost.
func TestNobodyReadsStandardError(t *testing.T) {
	together(t)
	const cells = 1200
	target := exec.Command(python(), "-c", manyCells, fmt.Sprint(cells))
	in, out := startPiped(t, target)
	expectLine := func(want string) {
		t.Helper()
		got := make([]byte, len(want)+1)
		if _, err := io.ReadFull(out, got); err != nil || string(got) != want+"\n" {
			t.Fatalf("%q %v", got, err)
		}
	}
	expectLine("up")
	pid := target.Process.Pid
	unread, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()
	dir := t.TempDir()
	ready, result := filepath.Join(dir, "ready"), filepath.Join(dir, "report.json")
	cmd := exec.Command(binary, "attach", "--format", "json", "-o", result, "--ready-file", ready, fmt.Sprint(pid))
	cmd.Stderr, cmd.SysProcAttr = stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	until(t, "it has attached", func() bool { _, err := os.Stat(ready); return err == nil })
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	expectLine("done")
	end := os.Signal(syscall.SIGHUP)
	if signal.Ignored(end) { // as by nohup, which the tracer respects
		end = syscall.SIGTERM
	}
	if err := endsBy(t, cmd.Process, end, ended); err != nil {
		t.Fatal(err)
	}
	r := readReport(t, result)
	if n, c := len(topCells(r, pid)), r.Certificate; n != cells || !c.Complete {
		t.Errorf("%d of %d cells, lost %+v, complete %v: %v", n, cells, c.Lost, c.Complete, c.Problems)
	}
	said, err := io.ReadAll(unread)
	// Linux puts the end of a write into a page of the pipe only if all of it fits (fs/pipe.c): half of 64 KiB is full.
	if err != nil || len(said) < 32<<10 || !bytes.Contains(said, []byte("attached to")) {
		t.Errorf("%d bytes were said: %v", len(said), err)
	}
	if strings.Count(string(said), "\n") < 100 {
		t.Errorf("said: %.500s", said)
	}
}
