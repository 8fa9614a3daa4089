package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
	"ipytracer/model"
)

// TestLimit exceeds --limit. The request fails with MemoryError, at its line, the kernel lives, and the report has the
// requesting code and the size. Children have the limit, too, also earlier ones.
func TestLimit(t *testing.T) {
	together(t)
	onPythons(t, "run_limit.py", oldestAndNewest, checkLimit)
	if os.Getenv("TRACER_PYTHONS") != "all" {
		return
	}
	libraries := []string{"IPYTRACER_LIBRARIES=/usr/lib/python3/dist-packages"}
	t.Run("pbs311", func(t *testing.T) {
		root := filepath.Join(pythonsDir(), "pbs311")
		needTree(t, root)
		checkLimit(t, place{driver: "run_limit.py", python: filepath.Join(root, "bin/python3.11"), env: libraries})
	})
	t.Run("plain313", func(t *testing.T) {
		p := built(t, "builds", "plain313", "3.13")
		p.driver = "run_limit.py"
		checkLimit(t, p)
	})
}

// TestLimitOfScripts does the same in cells that a script runs, on builds that have no kernel: without the GIL, and
// with another C library and its malloc.
func TestLimitOfScripts(t *testing.T) {
	together(t)
	for _, name := range []string{"plain313t", "musl313"} {
		if name != "plain313t" && os.Getenv("TRACER_PYTHONS") != "all" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			p := built(t, "builds", name, "3.13")
			p.driver, p.env = "run_bare.py", []string{"IPYTRACER_NO_HISTORY=1"}
			w := startWorkload(t, p, []string{"beyond a limit", "goes on"})
			tr := attach(t, w.pid, "--limit", "2GiB") // without the GIL 1 GiB is mapped from the beginning
			w.run()
			r, data := tr.stop()
			cells := topCells(r, w.pid)
			// The first cell's Error may be missing: the next cell begins at once.
			if len(cells) != 2 || cells[0].Status != model.Error || cells[1].Status != model.OK {
				t.Fatalf("%s", data)
			}
			if name == "plain313t" {
				checkLimited(t, "a script", 2<<30, cells[0])
			} else if len(cells[0].Refused) > 0 { // then docs/limit.md is outdated
				t.Errorf("%+v", cells[0].Refused)
			}
		})
	}
}

// checkLimit runs cells beyond a limit on a Python: they fail, later cells run, and the report has the limit.
func checkLimit(t *testing.T, p place) {
	t.Helper()
	w := startWorkload(t, p, nil)
	tr := attach(t, w.pid, "--limit", "1GiB", "--budget", "off")
	results := w.run()[1:] // the first cell ran earlier
	r, data := tr.stop()
	if len(r.Processes) == 0 || r.Processes[0].SoftLimit == nil ||
		*r.Processes[0].SoftLimit != (model.SoftLimit{Bytes: 1 << 30, By: "session"}) {
		t.Errorf("the header does not have the limit: %+v", r.Processes)
	}
	cells := topCells(r, w.pid)
	if len(cells) != len(results) {
		t.Fatalf("%d cells, want %d: %s", len(cells), len(results), data)
	}
	for i, result := range results {
		cell, want := cells[i], model.OK
		if i < 3 {
			want = model.Error
			checkLimited(t, result.Name, 1<<30, cell)
			if !strings.Contains(result.Error, "MemoryError") {
				t.Errorf("%s: %q is no MemoryError", result.Name, result.Error)
			}
		}
		if cell.Status != want || result.Status != want {
			t.Errorf("%s: %s, and the kernel says %s; want %s: %+v", result.Name, cell.Status, result.Status, want,
				result)
		}
		if peak := cell.Meters["cpu.mapped"].Peak; peak > 1<<30 {
			t.Errorf("%s: %d bytes mapped", result.Name, peak)
		}
	}
}

// checkLimited checks that Linux refused memory to a cell, and that the report has the line that requested it.
func checkLimited(t *testing.T, name string, limit int64, cell model.Window) {
	t.Helper()
	i := -1
	for n, r := range cell.Refused {
		if r.Meter == "cpu.mapped" {
			i = n
		}
	}
	if i < 0 {
		t.Errorf("%s: nothing was refused: %+v", name, cell.Refused)
		return
	}
	r, line, least := cell.Refused[i], 2, int64(2<<30)
	switch name {
	case "without NumPy":
		line = 1
	case "grows":
		line, least = 3, 1<<20
	}
	if r.Asked < least || r.Asked > least+16<<20 || r.Limit != limit || r.Held > limit {
		t.Errorf("%s: %+v", name, r)
	}
	for _, f := range r.Stack {
		if f.Execution != 0 && f.Line == line {
			return
		}
	}
	t.Errorf("%s: line %d is not in %+v", name, line, r.Stack)
}

// sleeper starts, as a user, a Python that does nothing.
func sleeper(t *testing.T, user uint32) (pid int) {
	t.Helper()
	cmd := exec.Command(python(), "-c", "import sys; print(1, flush=True); sys.stdin.read()")
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
	_, out := startPiped(t, cmd)
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid
}

func rlimits(t *testing.T, pid int) process.Rlimits {
	t.Helper()
	limits, err := process.FS{}.Proc(pid).Rlimits()
	if err != nil {
		t.Fatal(err)
	}
	return limits
}

// softLimit returns the limit of memory that a process may map, without the mark in its last bits; -1 without a limit.
func softLimit(t *testing.T, pid int) int64 {
	t.Helper()
	limits := rlimits(t, pid)
	if limits.Data.Hard != process.NoLimit {
		t.Fatalf("the hard limit has changed: %+v", limits)
	}
	if limits.Data.Soft == process.NoLimit {
		return -1
	}
	return limits.Data.Soft &^ 4095
}

// tracerSays runs the tracer and returns all of its output.
func tracerSays(t *testing.T, status int, args ...string) string {
	t.Helper()
	out, err := exec.Command(binary, args...).CombinedOutput()
	if got := exitStatus(t, err); got != status {
		t.Fatalf("tracer %s: status %d, want %d: %s", strings.Join(args, " "), got, status, out)
	}
	return string(out)
}

// TestLimitIsPutBack: a limit ends with the session, however that ends, also for another user's process. If no process
// could remove it, the remaining limit is reported, and `tracer limit PID off` clears it.
func TestLimitIsPutBack(t *testing.T) {
	together(t)
	for name, user := range map[string]uint32{"root": 0, "another user": 65534} {
		t.Run(name, func(t *testing.T) {
			pid := sleeper(t, user)
			number := strconv.Itoa(pid)
			tr := attach(t, pid, "--limit", "1GiB")
			if got := softLimit(t, pid); got != 1<<30 {
				t.Errorf("the limit is %d", got)
			}
			tr.stop()
			if got := softLimit(t, pid); got != -1 {
				t.Errorf("after the session the limit is %d", got)
			}
			tracerSays(t, 0, "limit", number, "3GiB")
			tr = attach(t, pid, "--limit", "2GiB")
			killTracer(t, tr, false)
			until(t, "the guard puts back what was before", func() bool { return softLimit(t, pid) == 3<<30 })
			tracerSays(t, 0, "limit", number, "off")
			tr = attach(t, pid, "--limit", "2GiB")
			killTracer(t, tr, true)
			if got := softLimit(t, pid); got != 2<<30 {
				t.Errorf("with the guard dead the limit is %d", got)
			}
			if got := tracerSays(t, 0, "limit", number); !strings.Contains(got, "was killed") ||
				!strings.Contains(got, "2.00 GiB") {
				t.Errorf("what was left is not said: %s", got)
			}
			tr = attach(t, pid)
			r, _ := tr.stop()
			if l := r.Processes[0].SoftLimit; l == nil || *l != (model.SoftLimit{Bytes: 2 << 30, By: "left"}) {
				t.Errorf("the report says %+v", l)
			}
			if !strings.Contains(tr.stderr.String(), "tracer limit "+number+" off") {
				t.Errorf("nobody says what to do: %s", tr.stderr.String())
			}
			tracerSays(t, 0, "limit", number, "off")
			if got := softLimit(t, pid); got != -1 {
				t.Errorf("after off the limit is %d", got)
			}
		})
	}
}

// killTracer kills the tracer with SIGKILL, and before it the guard of its limits.
func killTracer(t *testing.T, tr *trace, guard bool) {
	t.Helper()
	guardian := started(t, tr.cmd.Process.Pid, limit.GuardCommand)
	st, err := process.FS{}.Proc(guardian.PID).Status()
	if err != nil || st.CapsHeld != 0 {
		t.Errorf("the guard holds %v, %v", st.CapsHeld, err)
	}
	if guard {
		if err := syscall.Kill(guardian.PID, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	_ = tr.cmd.Process.Kill()
	<-tr.ended
}

// TestLimitOnRun: the command has the limit before its first instruction.
func TestLimitOnRun(t *testing.T) {
	together(t)
	got := tracerSays(t, 7, "run", "--quiet", "--limit", "600MiB", "-o", os.DevNull, "--", python(), "-c",
		"import sys\ntry: bytearray(1 << 30)\nexcept MemoryError: sys.exit(7)")
	if strings.Contains(got, "tracer:") {
		t.Error(got)
	}
}

// TestLimitsThatCannotBe: impossible limits end with one sentence and the right status, and leave the process as it
// was.
func TestLimitsThatCannotBe(t *testing.T) {
	together(t)
	pid := sleeper(t, 0)
	number := strconv.Itoa(pid)
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{2, "must be a size such as", []string{"attach", "--limit", "many", number}},
		{2, "must be at least 1MiB", []string{"attach", "--limit", "0", number}},
		{2, "mapped", []string{"attach", "--limit", "1MiB", number}},
		{2, "mapped", []string{"limit", number, "1MiB"}},
		{2, "must be a size such as", []string{"limit", number, "1 bushel"}},
		{2, "no process", []string{"limit", "4194304", "1GiB"}},
		{2, "not a process id", []string{"limit", "kernel", "1GiB"}},
	} {
		got := tracerSays(t, c.status, c.args...)
		if !strings.Contains(got, c.says) || strings.Count(got, "\n") != 1 {
			t.Errorf("%v: %q", c.args, got)
		}
	}
	if got := softLimit(t, pid); got != -1 {
		t.Errorf("the limit is %d", got)
	}
}
