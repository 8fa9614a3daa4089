package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ipytracer/model"
)

// shell is an IPython that runs cells one after another, as they are written to it.
type shell struct {
	t   *testing.T
	pid int
	in  *json.Encoder
	out *bufio.Reader
}

const shellProgram = `import sys, json
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
print("ready", flush=True)
for line in sys.stdin:
    shell.run_cell(json.loads(line), store_history=True)
    print("\ndone", flush=True)
`

func startShell(t *testing.T) *shell {
	t.Helper()
	cmd := exec.Command(python(), "-c", shellProgram)
	in, out := startPiped(t, cmd)
	s := &shell{t: t, pid: cmd.Process.Pid, in: json.NewEncoder(in), out: bufio.NewReader(out)}
	s.until("ready")
	return s
}

func (s *shell) until(word string) {
	s.t.Helper()
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.TrimSpace(line) == word {
			return
		}
	}
}

func (s *shell) run(cell ...string) {
	s.t.Helper()
	if err := s.in.Encode(strings.Join(cell, "\n")); err != nil {
		s.t.Fatal(err)
	}
	s.until("done")
}

// saysTimes waits until the tracer has printed a text a number of times.
func (tr *trace) saysTimes(words string, times int) {
	tr.t.Helper()
	end := time.Now().Add(patience)
	for tick := time.NewTicker(20 * time.Millisecond); strings.Count(tr.stderr.String(), words) < times; <-tick.C {
		if time.Now().After(end) {
			tr.t.Fatalf("it never said %q %d times: %s", words, times, tr.stderr.String())
		}
	}
}

// TestPause: a storm uses up a small budget, so NumPy's meter is paused. What the meter counted before, it counts
// afterwards. Arrays that were freed meanwhile are found to be gone, and new arrays are found. No window claims to be
// exact without being so. An audit of the recording finds the held memory, and the recording gives the same report. How
// long a pause lasts depends on the machine: of three sessions, one has to have arrays that were made in it.
func TestPause(t *testing.T) {
	require(t)
	for range 3 {
		if pausedSession(t) > 0 || t.Failed() {
			return
		}
	}
	t.Error("the pauses of three sessions were over before an array was made")
}

// pausedSession returns the bytes of arrays that were made in the pause of a session.
func pausedSession(t *testing.T) (unseen int64) {
	t.Helper()
	s := startShell(t)
	s.run("import numpy as np", "old = np.ones(3 << 20)")
	file := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, s.pid, "--budget", "2%", "--verbose", "--record", file)
	s.run("keep = np.ones(1 << 20)", "goes = [np.ones(1 << 17) for i in range(10)]") // 8 MiB, 10 MiB
	s.run("for i in range(700_000): np.ones(2000)")                                  // the storm
	tr.saysTimes("looked for arrays", 1)                                             // those from before the session
	// Unseen, if the pause lasts: -4, +16, +4 MiB.
	s.run("del goes[:4]", "made = np.ones(1 << 21)", "both = [np.ones(1 << 16) for i in range(8)]")
	tr.saysTimes("the account of arrays is settled", 1) // by the arrays that exist after the pause
	s.run("after = 1")                                  // 8 + 6 + 16 + 4 MiB
	s.run("del goes, made, both")                       // 8 MiB
	s.run("again = np.ones(1 << 20)")
	r, live := tr.stop()
	cells := topCells(r, s.pid)
	if len(cells) != 6 {
		t.Fatalf("%d cells", len(cells))
	}
	const mib = 1 << 20
	for i, want := range []struct {
		start, end float64 // MiB
		mark       string
	}{
		{0, 18, "exact"}, {18, 18, "least"}, {0, 0, "least"}, {34, 34, "bound"}, {34, 8, "bound"}, {8, 16, "bound"},
	} {
		f := cells[i].Meters["cpu.numpy"]
		mark, near := markOf(f), func(got int64, mebibytes float64) bool {
			d := float64(got) - mebibytes*mib
			return d > -64<<10 && d < 64<<10
		}
		if !near(f.Start, want.start) || !near(f.End, want.end) || mark != want.mark {
			t.Errorf("cell %d: %s, want %s, from %v to %v MiB", i+1, figureOf(f), want.mark, want.start, want.end)
		}
		if mark == "bound" && (*f.Bound <= 0 || *f.Bound > 1<<30) {
			t.Errorf("cell %d: a bound of %d", i+1, *f.Bound)
		}
	}
	unseen = checkFound(t, r)
	checkListed(t, file, unseen, madeBy(&cells[2]))
	for _, p := range r.Certificate.Meters {
		if p.Difference != 0 {
			t.Errorf("%s: kernel and change stream differ by %d", p.ID, p.Difference)
		}
	}
	replayed, err := exec.Command(binary, "report", "--format", "json", file).Output()
	if err != nil || !bytes.Equal(live, replayed) {
		t.Errorf("live and replayed reports differ (%v):\n%s", err, difference(live, replayed))
	}
	// old, from before the session, keep, from before the pause, and again.
	if held := heldByVariables(t, file); held < 40*mib || held > 40*mib+1<<16 {
		t.Errorf("variables hold %d bytes of arrays", held)
	}
	return unseen
}

// checkListed checks that 20 MiB are listed, as found later or as seen, and that exported stacks name what was found
// later.
func checkListed(t *testing.T, recording string, unseen, seen int64) {
	t.Helper()
	if made := unseen + seen; made < 20<<20 || made > 20<<20+1<<16 {
		t.Errorf("%d bytes are listed, of which %d were found later, of 20 MiB", made, unseen)
	}
	if text, err := exec.Command(binary, "report", "--format", "allocations-csv", recording).Output(); err != nil ||
		bytes.Contains(text, []byte("(found later: made between")) != (unseen > 0) {
		t.Errorf("the stacks do not say what was found later (%v):\n%s", err, text)
	}
}

// madeBy returns the bytes of arrays that a window lists as its own.
func madeBy(w *model.Window) (bytes int64) {
	for _, a := range w.Allocations {
		if a.Meter == "cpu.numpy" && (len(a.Stack) == 0 || !strings.HasPrefix(a.Stack[0].Function, "(found later")) {
			bytes += a.Allocated
		}
	}
	return bytes
}

// markOf returns the mark for the certainty of a figure.
func markOf(f model.Figure) string {
	switch {
	case f.Exact:
		return "exact"
	case f.Bound == nil:
		return "least"
	}
	return "bound"
}

// checkFound checks that no window lists as its own the arrays that a search found and that may be older. It returns
// the bytes that sessions list in this way.
func checkFound(t *testing.T, r *model.Report) (made int64) {
	t.Helper()
	for i := range r.Windows {
		w := &r.Windows[i]
		for _, a := range w.Allocations {
			if len(a.Stack) == 0 || !strings.HasPrefix(a.Stack[0].Function, "(found later: made") {
				continue
			}
			if w.Kind == model.Session {
				made += a.Allocated
			} else if a.Allocated != 0 && strings.Contains(a.Stack[0].Function, " between ") &&
				w.Kind != model.Experiment {
				t.Errorf("%s %d allocated %d bytes: %s", w.Kind, w.ID, a.Allocated, a.Stack[0].Function)
			}
		}
	}
	return made
}

// heldByVariables returns the bytes of arrays that variables hold at the end, by an audit of a recording.
func heldByVariables(t *testing.T, recording string) (held int64) {
	t.Helper()
	audited, err := exec.Command(binary, "audit", "--format", "json", recording).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range readAudit(t, audited).Held {
		if h.Meter == "cpu.numpy" && h.By == "variable" {
			held += h.Bytes
		}
	}
	return held
}

func figureOf(f model.Figure) string {
	text, _ := json.Marshal(f)
	return fmt.Sprint(string(text))
}
