package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// niceValues returns the nice values of a process's threads, and how many threads have each.
func niceValues(t *testing.T, pid int) map[int]int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]int{}
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			t.Fatal(err)
		}
		if has, err := unix.Getpriority(unix.PRIO_PROCESS, tid); err == nil { // else it has ended
			found[20-has]++
		}
	}
	return found
}

// TestLookHasPriority: all threads of a tracer run before others while it looks at the objects at the end, and at no
// other time.
func TestLookHasPriority(t *testing.T) {
	together(t)
	usual, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		t.Fatal(err)
	}
	usual = 20 - usual
	raised := max(usual-15, -20)
	n := startNotebook(t, nil)
	ready := filepath.Join(t.TempDir(), "ready")
	report, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer report.Close()
	// it holds less than a report has, so the tracer lives until that is read
	if _, err := unix.FcntlInt(out.Fd(), unix.F_SETPIPE_SZ, os.Getpagesize()); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "attach", "--format", "json", "--ready-file", ready, fmt.Sprint(n.pid))
	cmd.Stdout = out
	said := startReady(t, cmd, ready)
	out.Close()
	n.runs("rows = [{'i': i} for i in range(300_000)]")
	only := func(nice int) bool {
		found := niceValues(t, cmd.Process.Pid)
		return len(found) == 1 && found[nice] > 3
	}
	if !only(usual) {
		t.Errorf("while it traces: threads by nice values %v, want %d", niceValues(t, cmd.Process.Pid), usual)
	}
	if err := cmd.Process.Signal(unix.SIGINT); err != nil {
		t.Fatal(err)
	}
	until(t, "it looks with priority", func() bool { return only(raised) })
	until(t, "the look is over, and so is the priority", func() bool { return only(usual) })
	text, err := io.ReadAll(report)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if !strings.Contains(string(text), `"rows"`) {
		t.Errorf("no variable in the report: %.500s", text)
	}
}
