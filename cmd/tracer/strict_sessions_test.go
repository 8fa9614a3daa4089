package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ipytracer/cmd/tracer/internal/console"
	"ipytracer/event"
	"ipytracer/event/recording"
	"ipytracer/internal/attributiontest"
)

// TestStrictSessions: reports and plans of recordings end as --strict demands, with one sentence.
func TestStrictSessions(t *testing.T) {
	tracer := buildTracer(t)
	whole, cut := recordedWith(t, &event.Finish{}, false), recordedWith(t, &event.Finish{}, true)
	unnamed := recordedWith(t,
		&event.Finish{
			Lost: []event.Loss{{Reason: event.LostNative, Count: 44}}, Unnamed: []string{"not every line is known"},
		}, false)
	lossy := recordedWith(t, &event.Finish{Lost: []event.Loss{{Reason: event.LostProcesses, Count: 1}}}, false)
	for _, c := range []struct {
		args   []string
		status int
		said   string
	}{
		{[]string{"report", whole, "--strict"}, 0, ""},
		{[]string{"report", whole, "--strict=all"}, 0, ""},
		{
			[]string{"report", unnamed, "--strict"}, 0, "tracer: --strict: every figure and window is exact; " +
				"who allocated was not judged, and is not known in full: ",
		},
		{[]string{"report", unnamed, "--strict=all"}, console.NotExact, "who allocated is not known in full"},
		{[]string{"report", lossy, "--strict"}, console.NotExact, "too many processes (1)"},
		{[]string{"report", cut, "--strict"}, console.NotExact, "the recording was cut"},
		{[]string{"report", cut}, 0, "the recording without finishing: it holds "},
		{[]string{"report", cut, "--strict=attribution"}, console.NotExact, "who allocated is not known in full"},
		{[]string{"report", whole, "--strict=much"}, console.WrongUsage, "figures, attribution or all"},
		{[]string{"plan", whole, "--strict"}, 0, ""},
		{[]string{"plan", unnamed, "--strict"}, 0, ""},
		{[]string{"plan", cut, "--strict"}, console.NotExact, "the plan has doubts"},
		{[]string{"plan", lossy, "--strict"}, console.NotExact, "the plan has doubts"},
		{[]string{"diff", whole, unnamed, "--fail-over", "1%"}, 0, ""},
	} {
		cmd := exec.Command(tracer, append(c.args, "-q")...)
		var said bytes.Buffer
		cmd.Stderr = &said
		out, _ := cmd.Output()
		if got := cmd.ProcessState.ExitCode(); got != c.status || !strings.Contains(said.String(), c.said) ||
			(c.said == "") != (said.Len() == 0) || strings.Count(said.String(), "\n") > 1 {
			t.Errorf("%v: status %d, want %d; %q, want %q", c.args, got, c.status, said.String(), c.said)
		}
		if cuts := strings.Contains(string(out), "the recording was cut"); cuts != (c.args[1] == cut) &&
			c.args[0] == "report" {
			t.Errorf("%v: a cut is said: %v", c.args, cuts)
		}
	}
}

// recordedWith returns a file with a recording of a session of three cells that finishes with f, whole or cut in the
// middle.
func recordedWith(t *testing.T, f *event.Finish, cut bool) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "session.arrows")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := recording.NewWriter(file, "test")
	if err != nil {
		t.Fatal(err)
	}
	var all []event.Event
	attributiontest.Notebook(func(e event.Event) { all = append(all, e) }, 3, 2)
	for _, e := range all {
		if last, ok := e.(*event.Finish); ok {
			if cut {
				continue
			}
			last.Lost, last.Unnamed = f.Lost, f.Unnamed
		}
		if err := w.Write(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}
