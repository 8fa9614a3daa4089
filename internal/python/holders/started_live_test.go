package holders

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"ipytracer/event"
)

// TestStartedLive compares, on every build, the processes of objects with those that a script has started, and the
// method that ends them. Objects that only look like that have none.
func TestStartedLive(t *testing.T) {
	for _, p := range pythons() {
		t.Run(p.name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("starts Pythons")
			}
			proc := p.start(t, "started.py")
			survey, err := NewSurvey(context.Background(), proc.interp, processOf(t, proc.pid), unhurried)
			if err != nil {
				t.Fatal(err)
			}
			defer survey.Close()
			l, err := survey.List(context.Background(), unhurried)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]event.Variable{}
			for _, v := range l.Names {
				got[v.Name] = v
			}
			for name, want := range proc.started {
				v, there := got[name]
				slices.Sort(v.PIDs)
				slices.Sort(want.pids)
				if !there || v.EndedBy != want.by || !slices.Equal(v.PIDs, want.pids) {
					t.Errorf("%s has %v, ended by %q; want %+v", name, v.PIDs, v.EndedBy, want)
				}
			}
			if len(proc.started) < 7 {
				t.Errorf("only %d objects", len(proc.started))
			}
		})
	}
}

// startedBy is what a script says of an object: the method that ends its processes, and these.
type startedBy struct {
	by   event.EndMethod
	pids []int32
}

// UnmarshalJSON reads it.
func (s *startedBy) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&s.by, &s.pids})
}

func (p *process) starts(t testing.TB) (all map[string]startedBy) {
	t.Helper()
	line, err := p.reports.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the script did not report: %v", err)
	}
	if err := json.Unmarshal(line, &all); err != nil {
		t.Fatal(err)
	}
	return all
}
