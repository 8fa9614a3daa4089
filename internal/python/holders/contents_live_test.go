package holders

import (
	"context"
	"encoding/json"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"ipytracer/event"
)

// TestContentsLive compares, on every build, the facts about elements with those that a script knows.
func TestContentsLive(t *testing.T) {
	for _, p := range pythons() {
		t.Run(p.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("starts Pythons")
			}
			checkContents(t, p.start(t, "contents.py"))
		})
	}
}

// TestContentsOfTensors is the same with PyTorch, for the CPU.
func TestContentsOfTensors(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Pythons")
	}
	if exec.Command("/usr/bin/python3.11", "-c", "import torch").Run() != nil {
		t.Skip("no PyTorch")
	}
	checkContents(t, pythons()[0].start(t, "contents.py", "torch"))
}

func checkContents(t *testing.T, proc *process) {
	t.Helper()
	names := contentsOf(t, proc)
	if builds := pythons(); proc.name == builds[0].name && len(proc.facts) < 50 {
		t.Errorf("only %d arrays", len(proc.facts))
	}
	for name, facts := range proc.facts {
		got, there := names[name]
		if !there {
			t.Errorf("%s is not listed", name)
			continue
		}
		if got != nil && facts != nil {
			slices.Sort(got.SameAs)
			sameNumbers(&got.Min, facts.Min)
			sameNumbers(&got.Max, facts.Max)
		}
		if !reflect.DeepEqual(got, facts) {
			t.Errorf("%s:\n got %+v\nwant %+v", name, got, facts)
		}
	}
}

// contents reads the facts of the script, nil for an array that has none.
func (p *process) contents(t testing.TB) map[string]*event.Contents {
	t.Helper()
	line, err := p.reports.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the script did not report: %v", err)
	}
	want := map[string]*event.Contents{}
	if err := json.Unmarshal(line, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

// sameNumbers takes the wanted digits where they are of the same number.
func sameNumbers(got *string, want string) {
	x, err := strconv.ParseFloat(*got, 64)
	y, other := strconv.ParseFloat(want, 64)
	if _, exact := strconv.ParseInt(want, 10, 64); exact != nil && err == nil && other == nil && x == y && y < 1<<62 {
		*got = want
	}
}

// contentsOf lists a process with the facts about elements, by name; of columns by frame.column.
func contentsOf(t *testing.T, proc *process) map[string]*event.Contents {
	t.Helper()
	survey, err := NewSurvey(context.Background(), proc.interp, processOf(t, proc.pid), unhurried)
	if err != nil {
		t.Fatal(err)
	}
	defer survey.Close()
	began := time.Now()
	limits := unhurried
	limits.Contents = true
	l, err := survey.List(context.Background(), limits)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d names in %v", len(l.Names), time.Since(began).Round(time.Millisecond))
	names := map[string]*event.Contents{}
	for _, n := range l.Names {
		names[n.Name] = n.Contents
		for _, c := range n.Columns {
			names[n.Name+"."+c.Name] = c.Contents
		}
	}
	return names
}
