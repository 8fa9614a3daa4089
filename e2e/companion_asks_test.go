package e2e

import (
	"fmt"
	"ipytracer/model"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestCompanionLastIsACell: cells that ask about cells are not themselves the subject of the question, also where the
// tracer hides sources.
func TestCompanionLastIsACell(t *testing.T) {
	together(t)
	for _, flags := range [][]string{nil, {"--no-source"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			env, _ := companionAt(t, "/")
			n := startNotebook(t, env)
			attach(t, n.pid, flags...)
			n.loads()
			n.showsAt("import ipytracer; big = b'x' * (48 << 20); del big", "need 48.")
			for _, asks := range []string{"%tracer table", "%tracer last", "%tracer lines", "ipytracer.last()",
				"%tracer", "print(ipytracer.last().execution)"} {
				if got := n.run(asks); strings.Contains(got, "did not answer") {
					t.Fatalf("%q shows %q", asks, got)
				}
				if got := n.run("%tracer last"); !strings.Contains(got, "need 48.") {
					t.Errorf("behind %q the last cell is %q", asks, got)
				}
				if got := n.run("print(ipytracer.last().meters['cpu.resident'].need >> 20)"); !strings.Contains(got,
					"48") {
					t.Errorf("behind %q it needed %q MiB", asks, got)
				}
			}
			if got := n.run("%tracer table"); !regexp.MustCompile(`without \d+ cells that only ask`).MatchString(got) ||
				strings.Contains(got, "%tracer last") {
				t.Errorf("the table: %q", got)
			}
			n.showsAt("small = b'x' * (24 << 20); del small", "need 24.")
			if got := n.run("%tracer last"); !strings.Contains(got, "need 24.") {
				t.Errorf("behind another cell it is %q", got)
			}
		})
	}
}

var missing = regexp.MustCompile(`the tracer did not answer within 0\.2 s; ` +
	`figures of (?:\d+ cells from )?In\[(\d+)\] to In\[(\d+)\] are missing here, the report has them`)

// waitsOfUsers sets the companion's waits to those that users have.
const waitsOfUsers = "import ipytracer._line, ipytracer._shell; " +
	"ipytracer._line.ASKED_FOR, ipytracer._shell.AFTER_CELL = 0.2, 0.15"

// TestCompanionSilentTracer: a tracer does not answer for 20 cells. The notebook is informed when that begins. Once the
// tracer answers again, the notebook is informed once which cells have no figures. Later cells have theirs, and the
// report has those of all.
func TestCompanionSilentTracer(t *testing.T) {
	together(t)
	n, tr, _ := tracedNotebook(t)
	n.showsAt("x = bytearray(64 << 20); del x", "need 64.")
	n.run(waitsOfUsers)
	first := n.number() + 1 // of the cells without an answer
	tr.pause()
	var shown strings.Builder
	for i := range 20 {
		shown.WriteString(n.run(fmt.Sprintf("y = b'x' * (%d << 20); del y", 8+i)))
	}
	if strings.Count(shown.String(), "have no figures here until it does") != 1 ||
		strings.Contains(shown.String(), "missing here") {
		t.Errorf("meanwhile it says %q", shown.String())
	}
	if got := n.run("%tracer"); !strings.Contains(got, "it has not answered in time since In[") {
		t.Errorf("%%tracer shows %q", got)
	}
	if got := n.run("%tracer last"); !strings.Contains(got, "did not answer within 0.2 s") {
		t.Errorf("%%tracer last shows %q", got)
	}
	_ = tr.cmd.Process.Signal(syscall.SIGCONT)
	shown.Reset()
	shown.WriteString(n.run("ipytracer._shell.AFTER_CELL = 60.0")) // however busy the machine is
	behind := 1                                                    // cells that ran before the tracer caught up
	until(t, "it says what is missing", func() bool {
		behind++
		shown.WriteString(n.run("pass"))
		return strings.Contains(shown.String(), "missing here")
	})
	for range 3 {
		shown.WriteString(n.run("pass"))
	}
	said := missing.FindAllStringSubmatch(shown.String(), -1)
	if len(said) != 1 {
		t.Fatalf("it says %q", shown.String())
	}
	if got := n.run("z = b'x' * (96 << 20); del z"); !strings.Contains(got, "need 96.") ||
		strings.Contains(got, "answer") {
		t.Errorf("behind that a cell shows %q", got)
	}
	r, _ := tr.stop()
	from, _ := strconv.Atoi(said[0][1])
	to, _ := strconv.Atoi(said[0][2])
	// The figures of the last three cells are shown late: of the 20 these are two at most, for another cell has run.
	if from > first || to < first+17 || to-from > 20+behind {
		t.Errorf("of 20 cells from In[%d], and of %d until it had caught up, %d are missing: %q", first, behind,
			to-from+1, said[0][0])
	}
	for count := from; count <= to; count++ {
		if !slices.ContainsFunc(r.Windows, func(w model.Window) bool {
			return w.Kind == "cell" && w.ExecutionCount != nil && *w.ExecutionCount == count
		}) {
			t.Errorf("the report has no In[%d]", count)
		}
	}
}

// number runs a cell to find its In[N], and returns N.
func (n *notebook) number() int {
	n.t.Helper()
	shown := n.run("print('number', get_ipython().execution_count)")
	said := regexp.MustCompile(`number (\d+)`).FindStringSubmatch(shown)
	if len(said) != 2 {
		n.t.Fatalf("no number of a cell: %q", shown)
	}
	number, _ := strconv.Atoi(said[1])
	return number
}
