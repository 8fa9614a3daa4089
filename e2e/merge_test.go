package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// TestMergeKernels traces two kernels in two sessions at the same time. Merged, the reports of both are byte for byte
// those of their sessions, and lie on one timeline without error. With another boot and a wall clock that is off, a
// stated error of the clocks holds the truth.
func TestMergeKernels(t *testing.T) {
	together(t)
	w := startWorkload(t, place{driver: "run_kernels.py"}, nil)
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.arrows"), filepath.Join(dir, "second.arrows")
	a := attach(t, w.pid, "--budget", "off", "--record", first)
	b := attach(t, w.others[0], "--budget", "off", "--record", second)
	w.run()
	inA, dataA := a.stop()
	inB, dataB := b.stop()
	m, data := mergeOf(t, first, second)
	if !bytes.Contains(data, dataA) || !bytes.Contains(data, dataB) {
		t.Error("a report in the merged document is not byte for byte that of its session")
	}
	cells := 0
	for i, r := range []*model.Report{inA, inB} {
		n := m.Nodes[i]
		session, _ := r.Windows[0].Together("cpu.resident")
		if n.ClockBy != model.ByReference || *n.EarliestStart != n.StartNS || *n.LatestEnd != n.EndNS ||
			!n.Highest.Figure.Equal(session) {
			t.Errorf("%+v, whose session has %+v", n, session)
		}
		cells += n.Cells
	}
	if cells != len(m.Cells) || cells < 4 || m.Nodes[1].StartNS <= 0 {
		t.Errorf("%d cells, %d listed; the second session began at %d", cells, len(m.Cells), m.Nodes[1].StartNS)
	}
	checkTogether(t, m, inA, inB)
	const off = int64(time.Hour)
	moved := otherBoot(t, second, off)
	if without, _ := mergeOf(t, first, moved); without.Nodes[1].EarliestStart != nil || len(without.Doubts) == 0 {
		t.Errorf("nothing bounds the clock: %+v, %q", without.Nodes[1], without.Doubts)
	}
	bounded, data := mergeOf(t, first, moved, "--clock-error", fmt.Sprint(time.Duration(off)+time.Second))
	n, truth := bounded.Nodes[1], m.Nodes[1].StartNS-m.Nodes[0].StartNS
	zero := bounded.Nodes[0].StartNS
	low, high := *n.EarliestStart-zero, *n.LatestStart-zero
	if truth < low || truth > high || !bytes.Contains(data, dataA) {
		t.Errorf("began at %d, not from %d to %d", truth, low, high)
	}
	if bounded.Together.Least != m.Together.Least || *bounded.Together.Most < *m.Together.Most {
		t.Errorf("%+v with an uncertain clock, %+v with a certain one", bounded.Together, m.Together)
	}
}

// checkTogether checks that two kernels together had at least what each had at its highest, and at most the sum of both
// peaks.
func checkTogether(t *testing.T, m *model.Merge, a, b *model.Report) {
	t.Helper()
	ofA, _ := a.Windows[0].Together("cpu.resident")
	ofB, _ := b.Windows[0].Together("cpu.resident")
	x := m.Together
	isLeast := x.Least == max(ofA.Peak, ofB.Peak)
	isMost := x.Most != nil && *x.Most <= ofA.Peak+ofB.Peak && *x.Most >= x.Standing
	if !isLeast || !isMost || x.Standing < min(ofA.Peak, ofB.Peak) {
		t.Errorf("%+v of %d and %d", x, ofA.Peak, ofB.Peak)
	}
}

// mergeOf returns the merged recordings, and their JSON.
func mergeOf(t *testing.T, args ...string) (*model.Merge, []byte) {
	t.Helper()
	data := output(t, append([]string{"merge", "-q", "--format", "json"}, args...)...)
	if err := reporttest.CheckMerge(data); err != nil {
		t.Errorf("JSON of merged recordings does not follow its schema: %v", err)
	}
	m := new(model.Merge)
	if err := json.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return m, data
}

// otherBoot returns a recording as of another machine: its boot is another one, and its wall clock is off.
func otherBoot(t *testing.T, path string, off int64) string {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	source, err := recording.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	out, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	w, err := recording.NewWriter(out, "test")
	for err == nil {
		var e event.Event
		if e, err = source.Next(t.Context()); err != nil {
			break
		}
		if s, is := e.(*event.Start); is {
			s.Host.BootID = "another boot"
			s.Host.WallNow += event.Nanoseconds(off)
		}
		err = w.Write(e)
	}
	if !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return to
}

// marking marks, and client and worker send each other messages through two named pipes.
const (
	marking = `
import os, sys
def mark(kind, name):
    compile("", "<ipytracer:%s %s>" % (kind, name), "exec")
def instant(name):
    mark("begin", name)
    mark("end", name)
there, back = sys.argv[1:]
`
	client = marking + `
for i in range(20):
    instant("submit@sent:there-%d" % i)
    with open(there, "w") as f:
        f.write("x")
    with open(back) as f:
        f.read()
    instant("result@got:back-%d" % i)
`
	worker = marking + `
held = []
for i in range(20):
    with open(there) as f:
        f.read()
    name = "task@got:there-%d@sent:back-%d" % (i, i)
    mark("begin", name)
    held.append(bytearray(1 << 20))
    mark("end", name)
    with open(back, "w") as f:
        f.write("x")
`
)

// TestMergeMessages: two programs send each other messages, with markers. By these alone the second one, whose wall
// clock is off by an hour, is placed where it was.
func TestMergeMessages(t *testing.T) {
	together(t)
	dir := t.TempDir()
	for _, name := range []string{"there", "back"} {
		if out, err := exec.Command("mkfifo", filepath.Join(dir, name)).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	var files []string
	var running []*exec.Cmd
	for name, code := range map[string]string{"client": client, "worker": worker} {
		file := filepath.Join(dir, name+".arrows")
		cmd := exec.Command(binary, "run", "--quiet", "--budget", "off", "--record", file, "-o", file+".txt", "--",
			python(), "-c", code, filepath.Join(dir, "there"), filepath.Join(dir, "back"))
		cmd.Dir = dir
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		files, running = append(files, file), append(running, cmd)
	}
	for i, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%s: %v: %s", files[i], err, cmd.Stderr.(*bytes.Buffer).String())
		}
	}
	exact, _ := mergeOf(t, files...)
	m, _ := mergeOf(t, files[0], otherBoot(t, files[1], int64(time.Hour)))
	n, zero := m.Nodes[1], m.Nodes[0].StartNS
	truth := exact.Nodes[1].StartNS - exact.Nodes[0].StartNS
	if n.ClockBy != model.ByMessages || n.Messages != 40 || len(m.Doubts) > 0 {
		t.Fatalf("%+v, %q", n, m.Doubts)
	}
	if low, high := *n.EarliestStart-zero, *n.LatestStart-zero; truth < low || truth > high ||
		n.StartNS < *n.EarliestStart || n.StartNS > *n.LatestStart {
		t.Errorf("it began at %d, not from %d to %d", truth, low, high)
	}
	text := string(output(t, "merge", "-q", files[0], files[1]))
	if strings.Count(text, " none ") != 2 {
		t.Errorf("recordings of one boot:\n%s", text)
	}
}
