package merge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"strings"
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/merge"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
	"ipytracer/report"
)

// machine is a machine with a session.
type machine struct {
	name, boot  string
	ahead, wall event.Nanoseconds // of the session's own times
	events      func(emit func(event.Event))
}

// each emits the session's events as the machine's clock has them.
func (m machine) each(emit func(event.Event)) {
	m.events(func(e event.Event) {
		switch x := e.(type) {
		case *event.Start:
			c := *x
			c.Host.Name, c.Host.BootID = m.name, m.boot
			c.Host.MonoNow += m.ahead
			c.Host.WallNow += m.wall
			e = &c
		case *event.Boundary:
			c := *x
			c.Time += m.ahead
			e = &c
		case *event.Change:
			c := *x
			c.Time += m.ahead
			e = &c
		case *event.Finish:
			c := *x
			c.Time += m.ahead
			e = &c
		}
		emit(e)
	})
}

func merged(t *testing.T, o merge.Options, all ...machine) (*model.Merge, []*model.Report, error) {
	t.Helper()
	s, err := merge.New(o, len(all))
	if err != nil {
		t.Fatal(err)
	}
	var reports []*model.Report
	for i, m := range all {
		in, tracker := s.Reader(), attribution.New()
		m.each(func(e event.Event) { in.Add(e); tracker.Add(e) })
		if err := s.Add(fmt.Sprintf("%d.arrows", i), in, tracker.Stream()); err != nil {
			return nil, nil, err
		}
		reports = append(reports, tracker.Report())
	}
	m := s.Merge()
	checkJSON(t, m, reports)
	return m, reports, nil
}

// checkJSON: the document follows its schema, and the reports in it are byte for byte those of `tracer report`.
func checkJSON(t *testing.T, m *model.Merge, reports []*model.Report) {
	t.Helper()
	data := reporttest.Merge(t, m, all(reports))
	var got struct{ Reports []json.RawMessage }
	if err := json.Unmarshal(data, &got); err != nil || len(got.Reports) != len(reports) {
		t.Fatalf("%d reports: %v", len(got.Reports), err)
	}
	for i, r := range reports {
		var want bytes.Buffer
		if err := report.JSON(&want, r); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Reports[i], bytes.TrimSpace(want.Bytes())) {
			t.Errorf("the report of %d is another one", i)
		}
	}
}

func all(reports []*model.Report) iter.Seq2[*model.Report, error] {
	return func(yield func(*model.Report, error) bool) {
		for _, r := range reports {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func anything(seed uint64) func(func(event.Event)) {
	return func(emit func(event.Event)) { attributiontest.Anything(emit, seed, 300) }
}

// TestFiguresOfReports: the figures of nodes and cells are those of their reports; cells come by need.
func TestFiguresOfReports(t *testing.T) {
	cells := 0
	for seed := range uint64(4) {
		m, reports, err := merged(t, merge.Options{WallError: -1}, machine{"a", "1", 0, 0, anything(seed)},
			machine{"b", "2", 5e9, 7e9, anything(seed + 100)}, machine{"a", "3", 0, 0, anything(seed + 200)})
		if err != nil {
			t.Fatal(err)
		}
		if m.Nodes[0].Name != "a (1)" || m.Nodes[1].Name != "b" || m.Nodes[2].Name != "a (2)" {
			t.Errorf("names %q, %q, %q", m.Nodes[0].Name, m.Nodes[1].Name, m.Nodes[2].Name)
		}
		for i, n := range m.Nodes {
			w := reports[i].Windows[0]
			if f, _ := w.Together("cpu.resident"); n.Highest == nil || !n.Highest.Figure.Equal(f) {
				t.Errorf("seed %d: node %d has %+v, its session %+v", seed, i, n.Highest, f)
			}
			if n.Cells == 0 || n.Complete != reports[i].Certificate.Complete {
				t.Errorf("seed %d: %+v", seed, n)
			}
		}
		need := int64(math.MaxInt64)
		for _, c := range m.Cells {
			for _, w := range reports[c.Node].Windows {
				if w.ID != c.Window {
					continue
				}
				f, _ := w.Together("cpu.resident")
				if cells++; !c.Figure.Equal(f) || c.Execution != w.Execution || c.Source != w.Source ||
					!reflect.DeepEqual(c.ExecutionCount, w.ExecutionCount) {
					t.Errorf("seed %d: %+v is not %+v", seed, c, f)
				}
			}
			if c.Figure.Need() > need {
				t.Errorf("seed %d: a cell of %d comes behind one of %d", seed, c.Figure.Need(), need)
			}
			need = c.Figure.Need()
		}
		if m.Together.Most != nil && *m.Together.Most < m.Together.Least {
			t.Errorf("seed %d: %+v", seed, m.Together)
		}
	}
	if cells < 100 {
		t.Errorf("only %d cells were compared", cells)
	}
}

// notebook is a session of which all figures are exact. Its process has a pid of its own.
func notebook(pid int32, marks ...func(*attributiontest.Session)) func(func(event.Event)) {
	return func(emit func(event.Event)) {
		s := attributiontest.New(func(e event.Event) {
			switch x := e.(type) {
			case *event.Start:
				c := *x
				c.Processes = append([]event.ProcessInfo(nil), c.Processes...)
				c.Processes[0].PID = pid
				e = &c
			case *event.Boundary:
				c := *x
				c.PID, c.TID = pid, pid
				e = &c
			}
			emit(e)
		}, 1)
		for _, mark := range marks {
			mark(s)
		}
		s.End()
	}
}

func at(ns event.Nanoseconds) func(*attributiontest.Session) {
	return func(s *attributiontest.Session) { s.Now = ns }
}

func mark(name string) func(*attributiontest.Session) {
	return func(s *attributiontest.Session) {
		s.Mark(event.ExperimentBegin, name)
		s.Mark(event.ExperimentEnd, name)
	}
}

// TestSameBoot: recordings of one boot lie on the timeline without error, whatever their wall clocks show. One process
// counts once.
func TestSameBoot(t *testing.T) {
	m, _, err := merged(t, merge.Options{WallError: -1}, machine{"n", "1", 0, 0, notebook(10)},
		machine{"n", "1", 3e9, 9e12, notebook(11)})
	if err != nil {
		t.Fatal(err)
	}
	for i, n := range m.Nodes {
		if n.Clock != 0 || n.ClockBy != model.ByReference || *n.EarliestStart != n.StartNS || *n.LatestEnd != n.EndNS ||
			n.StartNS != int64(i)*3e9 {
			t.Errorf("node %d: %+v", i, n)
		}
	}
	if m.Together.Most == nil || *m.Together.Most != 120<<20 || m.Together.Least != 120<<20 || len(m.Doubts) > 0 {
		t.Errorf("one after the other: %+v, %q", m.Together, m.Doubts)
	}
	one := machine{"n", "1", 0, 0, notebook(10)}
	_, _, err = merged(t, merge.Options{}, one, machine{"n", "1", 3e9, 3e9, notebook(10)})
	if err != nil {
		t.Errorf("a pid that is used again later: %v", err)
	}
	var same *merge.SameError
	_, _, err = merged(t, merge.Options{}, one, machine{"n", "1", 10, 10, notebook(10)})
	if !errors.As(err, &same) || same.PID != 10 || !strings.Contains(err.Error(), "0.arrows and 1.arrows") {
		t.Errorf("a process twice: %v", err)
	}
	for _, boot := range []string{"1", ""} {
		one.boot = boot
		if _, _, err = merged(t, merge.Options{}, one, one); !errors.As(err, &same) || same.PID != 0 {
			t.Errorf("a recording twice, boot %q: %v", boot, err)
		}
	}
}

// TestByMessages: markers of messages place a clock, whatever the wall clocks show.
func TestByMessages(t *testing.T) {
	const ahead = 77e9
	client := notebook(10, at(2e9), mark("submit@sent:x"), at(6e9), mark("result@got:y"))
	worker := notebook(10, at(3e9), mark("task@got:x@sent:y"), at(9e9))
	m, _, err := merged(t, merge.Options{WallError: -1}, machine{"client", "1", 0, 0, client},
		machine{"worker", "2", ahead, 3600e9, worker})
	if err != nil {
		t.Fatal(err)
	}
	n := m.Nodes[1]
	if n.ClockBy != model.ByMessages || n.Messages != 2 || len(m.Doubts) > 0 {
		t.Fatalf("%+v, %q", n, m.Doubts)
	}
	if low, high := *n.EarliestStart, *n.LatestStart; low > 0 || high < 0 || high-low > 5e9 ||
		n.StartNS < low || n.StartNS > high {
		t.Errorf("the worker began at 0, not from %d to %d, about %d", low, high, n.StartNS)
	}
	if *m.Together.Most != 240<<20 {
		t.Errorf("%+v", m.Together)
	}
	m, _, err = merged(t, merge.Options{WallError: -1}, machine{"client", "1", 0, 0, client},
		machine{"worker", "2", ahead, 3600e9, notebook(10, at(3e9), mark("task@got:x"), mark("@sent:y"), at(1e9),
			func(s *attributiontest.Session) { s.Now = 100e9 }, mark("x@sent:z"))},
		machine{"third", "3", 0, 0, notebook(10, mark("a@got:z"))})
	if err != nil || m.Nodes[2].EarliestStart != nil || m.Nodes[2].ClockBy != model.ByWallClock || len(m.Doubts) != 1 {
		t.Errorf("a message one way: %+v, %q, %v", m.Nodes[2], m.Doubts, err)
	}
	m, _, err = merged(t, merge.Options{WallError: 1e6}, machine{"a", "1", 0, 0, notebook(10)},
		machine{"b", "2", ahead, ahead, notebook(10)})
	if n := m.Nodes[1]; err != nil || n.ClockBy != model.ByClockError || *n.LatestStart-*n.EarliestStart < 2e6 ||
		*n.LatestStart-*n.EarliestStart > 3e6 {
		t.Errorf("%+v, %v", n, err)
	}
}

// TestContradictoryMessages: messages that cannot be are named in one sentence, and the wall clocks place the node.
func TestContradictoryMessages(t *testing.T) {
	client := notebook(10, at(2e9), mark("submit@sent:x"), at(3e9), mark("result@got:y"))
	worker := notebook(10, at(3e9), mark("task@got:x"), at(9e9), mark("task@sent:y"))
	m, _, err := merged(t, merge.Options{WallError: -1}, machine{"client", "1", 0, 0, client},
		machine{"worker", "2", 0, 5e9, worker})
	if err != nil || m.Nodes[1].ClockBy != model.ByWallClock || m.Nodes[1].StartNS != 5e9 || len(m.Doubts) != 2 ||
		!strings.HasPrefix(m.Doubts[0], "the messages between client and worker contradict each other") {
		t.Errorf("%+v, %q, %v", m.Nodes[1], m.Doubts, err)
	}
	if m.Together.Most == nil || *m.Together.Most != 240<<20 {
		t.Errorf("%+v", m.Together)
	}
}

// TestImpossibleTimesAreRefused: times and values that no machine has are refused, and never overflow.
func TestImpossibleTimesAreRefused(t *testing.T) {
	refused := 0
	for _, extreme := range []int64{math.MinInt64, -1, math.MaxInt64, math.MaxInt64 / 2, 1 << 60} {
		for field := range 5 {
			evil := func(emit func(event.Event)) {
				notebook(10, mark("a@sent:b"))(func(e event.Event) {
					switch x := e.(type) {
					case *event.Start:
						switch field {
						case 0:
							x.Host.MonoNow = event.Nanoseconds(extreme)
						case 1:
							x.Host.WallNow = event.Nanoseconds(extreme)
						}
					case *event.Boundary:
						switch field {
						case 2:
							x.Time = event.Nanoseconds(extreme)
						case 3:
							x.TreeHigh[event.Resident] = event.Bytes(extreme)
						case 4:
							x.Tree[event.Resident] = event.Bytes(extreme)
						}
					}
					emit(e)
				})
			}
			m, _, err := merged(t, merge.Options{WallError: 5}, machine{"a", "1", 0, 0, notebook(10, mark("b@got:b"))},
				machine{"b", "2", 0, 0, evil})
			if errors.Is(err, merge.ErrStrange) {
				refused++
			} else if err != nil || m.Together.Most != nil && *m.Together.Most < 0 || m.Together.Standing < 0 {
				t.Errorf("field %d is %d: %v", field, extreme, err)
			}
		}
	}
	if refused < 15 {
		t.Errorf("%d were refused", refused)
	}
	if _, err := merge.New(merge.Options{Meter: "gpu.0.driver"}, 2); err == nil {
		t.Error("a meter of a GPU is accepted")
	}
}

// TestSummaryIsBounded: a summary does not grow with its recording.
func TestSummaryIsBounded(t *testing.T) {
	s, err := merge.New(merge.Options{}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	in := s.Reader()
	b := &event.Boundary{Kind: event.CellOpen, PID: 1}
	before := testing.AllocsPerRun(1, func() {})
	grown := testing.AllocsPerRun(5, func() {
		for range 100_000 {
			b.Time++
			b.Tree[event.Resident], b.TreeHigh[event.Resident] = event.Bytes(b.Time), event.Bytes(b.Time)
			in.Add(b)
		}
	})
	if grown > before+2000 {
		t.Errorf("%.0f allocations for 100,000 boundaries", grown)
	}
}
