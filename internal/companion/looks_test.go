package companion

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/model"
)

// eyes is a looker with findings and a time of the test's choice.
type eyes struct {
	t       *testing.T
	hub     *Hub
	begun   []string // "vars 7", "audit 8"
	busy    bool     // another process's look is under way
	listed  []model.Variable
	audit   model.Audit
	advice  string
	writes  chan bool // nil, or what the writing of advice waits for
	why     string
	free    []model.Freeing
	pieces  [][]event.Piece
	still   []bool
	watched []event.Piece
	clock   time.Time
}

func newEyes(t *testing.T, b book) *eyes {
	e := &eyes{t: t, hub: newHub(b), clock: time.Unix(1000, 0)}
	e.hub.options.Words = Words{
		Shape:     func(v model.Variable) string { return v.DType },
		Title:     func(kind string) string { return "title of " + kind },
		Runs:      func(v *model.Verdict) string { return fmt.Sprint("runs ", v.Executions) },
		NotJudged: func(n *model.NotJudged) string { return "not " + n.Why },
		AllClear:  func(*model.Audit) string { return "all clear" },
	}
	e.hub.looks.now = func() time.Time { return e.clock }
	e.hub.Look(e)
	return e
}

func (e *eyes) begin(what string, pid int) bool {
	if e.busy {
		return false
	}
	e.busy = true
	e.begun = append(e.begun, fmt.Sprint(what, " ", pid))
	return true
}

func (e *eyes) FindVariables(pid int, watch []event.Piece) bool {
	e.watched = watch
	return e.begin("vars", pid)
}
func (e *eyes) FindHolders(pid int) bool { return e.begin("audit", pid) }
func (e *eyes) WhyNoAudit() string       { return e.why }

func (e *eyes) Named(*event.Variables) ([]model.Variable, model.Names) {
	return e.listed, model.Names{Unlisted: 3, Complete: true}
}

func (e *eyes) ToFree(*event.Looked) ([]model.Freeing, [][]event.Piece) { return e.free, e.pieces }

func (e *eyes) Audited(pid int, found []*event.Holders) *model.Audit {
	if len(found) != 1 || int(found[0].PID) != pid {
		e.t.Errorf("an audit of %d of %v", pid, found)
	}
	out := e.audit
	return &out
}

// finish ends the look that is under way, which took so long.
func (e *eyes) finish(pid int, took time.Duration) {
	e.busy = false
	e.hub.Looked(&event.Looked{
		PID: int32(pid), Took: event.Nanoseconds(100 * took), Cost: event.Nanoseconds(took),
		Variables: &event.Variables{PID: int32(pid)}, Still: e.still, Holders: []*event.Holders{{PID: int32(pid)}},
	})
	e.hub.Answer()
}

// TestLookAtVariables: a notebook gets a number, then that the look is under way, then the findings. All of these are
// of the present state, not of the state before the question.
func TestLookAtVariables(t *testing.T) {
	e := newEyes(t, book{})
	count := 4
	e.listed = []model.Variable{
		{Name: "small", Bytes: 10}, {Name: "x", Bytes: 1 << 20, Reaches: 2 << 20, DType: "float64", Execution: 3,
			ExecutionCount: &count, Line: 2, Stack: []model.Frame{{Function: "f"}}},
	}
	n := connect(t, e.hub, 7)
	n.packet()
	first := n.ask(`{"id": 1, "ask": "vars"}`)
	if !first.Looking || first.Look == 0 || first.WaitNS != 0 {
		t.Fatalf("%+v", first)
	}
	if again := n.ask(fmt.Sprintf(`{"id": 2, "ask": "vars", "look": %d}`, first.Look)); !again.Looking ||
		again.Look != first.Look {
		t.Fatalf("%+v", again)
	}
	later := n.ask(`{"id": 3, "ask": "vars"}`) // changes since the first began must be in it
	if !later.Looking || later.Look <= first.Look {
		t.Fatalf("%+v after %+v", later, first)
	}
	e.finish(7, time.Second)
	found := n.ask(fmt.Sprintf(`{"id": 4, "ask": "vars", "look": %d}`, first.Look))
	if found.Looking || len(found.Variables) != 2 || found.TookNS != 100e9 || found.Names["unlisted"] != 3.0 {
		t.Fatalf("%+v", found)
	}
	x := found.Variables[0]
	if x["name"] != "x" || x["bytes"] != float64(1<<20) || x["shaped"] != "float64" || x["where"] != "1 frames" ||
		x["line"] != 2.0 || x["execution_count"] != 4.0 {
		t.Errorf("%v", x)
	}
	if found.Variables[1]["where"] != "" {
		t.Errorf("%v", found.Variables[1])
	}
	if again := n.ask(fmt.Sprintf(`{"id": 5, "ask": "vars", "look": %d}`, later.Look)); !again.Looking {
		t.Errorf("what was found before is told as what was asked for later: %+v", again)
	}
	e.finish(7, time.Second)
	if found := n.ask(fmt.Sprintf(`{"id": 6, "ask": "vars", "look": %d}`, later.Look)); len(found.Variables) != 2 {
		t.Errorf("%+v", found)
	}
	if len(e.begun) != 2 {
		t.Errorf("looks: %v", e.begun)
	}
}

// TestCheckOfPromisedObjects: objects that a look promised to free are looked for, and the answer has those that have
// gone. Where nothing was promised, the answer has that.
func TestCheckOfPromisedObjects(t *testing.T) {
	e := newEyes(t, book{})
	e.free = []model.Freeing{{PID: 7, Type: "del x", Predicted: 400, Exact: true, Names: []string{"x"}},
		{PID: 7, Type: "%xdel _2", Predicted: 90, Device: 60, Names: []string{"Out[2]"}}}
	e.pieces = [][]event.Piece{{{Address: 1, Size: 300}, {Address: 2, Size: 100}}, {{Address: 3, Size: 1}}}
	n := connect(t, e.hub, 7)
	n.packet()
	if got := n.ask(`{"id": 1, "ask": "check"}`); got.Error == "" {
		t.Errorf("nothing was promised: %+v", got)
	}
	ask := func(what string) *answerOf {
		number := n.ask(fmt.Sprintf(`{"id": 2, "ask": %q}`, what)).Look
		e.finish(7, time.Second)
		return n.ask(fmt.Sprintf(`{"id": 3, "ask": %q, "look": %d}`, what, number))
	}
	if got := ask("vars"); len(got.ToFree) != 2 || got.ToFree[0]["type"] != "del x" ||
		got.ToFree[0]["predicted"] != 400.0 || got.ToFree[1]["predicted_device"] != 60.0 {
		t.Fatalf("%+v", got)
	}
	e.still = []bool{false, true, true}
	e.free = e.free[1:]
	e.pieces = e.pieces[1:]
	got := ask("check")
	if len(e.watched) != 3 || len(got.Checked) != 2 || got.Checked[0]["came_back"] != 300.0 ||
		got.Checked[1]["came_back"] != 0.0 || len(got.ToFree) != 1 {
		t.Errorf("watched %v, told %+v", e.watched, got)
	}
	e.still = []bool{false}
	if got := ask("check"); len(e.watched) != 1 || len(got.Checked) != 1 || got.Checked[0]["came_back"] != 90.0 ||
		got.Checked[0]["came_back_device"] != 60.0 {
		t.Errorf("what the check before promised: watched %v, told %+v", e.watched, got)
	}
	e.still = nil // a hostile or cut look
	if got := ask("check"); len(got.Checked) != 0 {
		t.Errorf("%+v", got)
	}
}

// TestAuditAnswer: the answer has verdicts with their words, the things that are not judged, and, of an audit without
// findings, the meaning of that.
func TestAuditAnswer(t *testing.T) {
	e := newEyes(t, book{})
	n := connect(t, e.hub, 7)
	n.packet()
	look := func() *answerOf {
		t.Helper()
		number := n.ask(`{"id": 1, "ask": "audit"}`).Look
		e.finish(7, time.Second)
		return n.ask(fmt.Sprintf(`{"id": 2, "ask": "audit", "look": %d}`, number))
	}
	e.audit = model.Audit{Least: 5, Cells: 6,
		NotJudged: []model.NotJudged{{Reason: "made-before", Why: "it was there"}}}
	a := look()
	if a.Audited == nil || a.Audited.AllClear != "all clear" || a.Audited.Least != 5 || a.Audited.Cells != 6 ||
		a.Audited.Complete || len(a.Audited.NotJudged) != 1 {
		t.Fatalf("%+v", a)
	}
	e.audit.Verdicts = []model.Verdict{{Kind: "rerun-growth", Bytes: 99, Count: 2, Executions: []int{3, 4},
		Evidence: "why", Advice: "try", Fix: "del x", Stack: []model.Frame{{Function: "f"}}}}
	e.audit.Complete = true
	a = look()
	if len(a.Verdicts) != 1 || a.Audited.AllClear != "" || !a.Audited.Complete {
		t.Fatalf("%+v", a)
	}
	v := a.Verdicts[0]
	if v["title"] != "title of rerun-growth" || v["bytes"] != 99.0 || v["evidence"] != "why" || v["fix"] != "del x" ||
		v["runs"] != "runs [3 4]" || v["where"] != "1 frames" {
		t.Errorf("%v", v)
	}
	e.why = "it is too late"
	if got := n.ask(`{"id": 9, "ask": "audit"}`); got.Error != "it is too late" {
		t.Errorf("%+v", got)
	}
}

// TestLooksAreLarge: an answer fits with any names and texts, and the line stays.
func TestLooksAreLarge(t *testing.T) {
	e := newEyes(t, book{})
	long := strings.Repeat("<\x01", 40_000)
	for range 400 {
		e.listed = append(e.listed, model.Variable{Name: long, Type: long, Also: []string{long, long},
			Stack: []model.Frame{{Function: long, File: long}}})
		e.audit.Verdicts = append(e.audit.Verdicts, model.Verdict{
			Holder: long, Evidence: long, Advice: long, Fix: long, Command: long, PIDs: make([]int, 1000),
			Executions: make([]int, 1000),
			Stack:      []model.Frame{{Function: long, File: long}, {Function: long}},
		})
		e.audit.NotJudged = append(e.audit.NotJudged, model.NotJudged{Why: long})
	}
	n := connect(t, e.hub, 7)
	n.packet()
	for _, what := range []string{"vars", "audit"} {
		number := n.ask(fmt.Sprintf(`{"id": 1, "ask": %q}`, what)).Look
		e.finish(7, time.Second)
		a := n.ask(fmt.Sprintf(`{"id": 2, "ask": %q, "look": %d}`, what, number))
		items := len(a.Variables) + len(a.Verdicts)
		for a.More {
			a = n.packet()
			items += len(a.Variables) + len(a.Verdicts)
		}
		if items == 0 || !a.Cut || a.Error != "" {
			t.Errorf("%s: %d items, cut %v, error %q", what, items, a.Cut, a.Error)
		}
	}
}

// TestLooksTakeTurns: a process that asks without end does not keep the others from their turns, and hears nothing of
// theirs.
func TestLooksTakeTurns(t *testing.T) {
	e := newEyes(t, book{})
	greedy, modest := connect(t, e.hub, 7), connect(t, e.hub, 8)
	greedy.packet()
	modest.packet()
	for id := range 50 {
		greedy.ask(fmt.Sprintf(`{"id": %d, "ask": "audit"}`, id))
	}
	number := modest.ask(`{"id": 1, "ask": "vars"}`).Look
	e.finish(7, time.Second)
	e.finish(7, time.Second)
	if want := []string{"audit 7", "audit 7", "vars 8"}; fmt.Sprint(e.begun) != fmt.Sprint(want) {
		t.Fatalf("%v, want %v", e.begun, want)
	}
	for _, other := range []string{"vars", "audit"} {
		if got := greedy.ask(fmt.Sprintf(`{"id": 99, "ask": %q, "look": %d}`, other, number)); other == "vars" &&
			got.Error == "" || len(got.Variables) > 0 {
			t.Errorf("%s by another's number: %+v", other, got)
		}
	}
	e.finish(8, time.Second)
	if got := modest.ask(fmt.Sprintf(`{"id": 2, "ask": "vars", "look": %d}`, number)); got.Looking || got.Error != "" {
		t.Errorf("%+v", got)
	}
}

// TestLooksShare: over an hour of questions all looks together take a tenth of the time, and the time that they may
// take at once.
func TestLooksShare(t *testing.T) {
	e := newEyes(t, book{})
	n := connect(t, e.hub, 7)
	n.packet()
	const each = 3 * time.Second
	began, looked, waited := e.clock, time.Duration(0), false
	for e.clock.Sub(began) < time.Hour {
		a := n.ask(`{"id": 1, "ask": "audit"}`)
		if a.Error != "" {
			t.Fatal(a.Error)
		}
		if e.busy {
			e.clock = e.clock.Add(each)
			looked += each
			e.finish(7, each)
		} else {
			waited = waited || a.WaitNS > 0
			e.clock = e.clock.Add(100 * time.Millisecond)
		}
	}
	if most := time.Hour/lookShare + lookBurst + 2*each; looked > most || looked < time.Hour/lookShare/2 || !waited {
		t.Errorf("looked for %v in an hour, at most %v; told to wait: %v", looked, most, waited)
	}
}

// TestLooksEnd: a process does not hear the findings about another that had its pid before. Findings without a look are
// dropped. A look that is refused because of another's is begun again later.
func TestLooksEnd(t *testing.T) {
	e := newEyes(t, book{})
	e.listed = []model.Variable{{Name: "secret"}}
	n := connect(t, e.hub, 7)
	n.packet()
	number := n.ask(`{"id": 1, "ask": "vars"}`).Look
	e.hub.Note(&event.Boundary{Kind: event.ProcessExit, PID: 7})
	e.finish(7, time.Second)
	e.hub.Looked(&event.Looked{PID: 7, Variables: &event.Variables{}})
	n = connect(t, e.hub, 7)
	n.packet()
	if got := n.ask(fmt.Sprintf(`{"id": 1, "ask": "vars", "look": %d}`, number)); got.Error == "" ||
		len(got.Variables) > 0 {
		t.Errorf("%+v", got)
	}
	e.busy = true // the session's own
	number = n.ask(`{"id": 2, "ask": "vars"}`).Look
	if len(e.begun) != 1 {
		t.Fatal(e.begun)
	}
	e.busy = false
	if got := n.ask(fmt.Sprintf(`{"id": 3, "ask": "vars", "look": %d}`, number)); !got.Looking || len(e.begun) != 2 {
		t.Errorf("%+v, %v", got, e.begun)
	}
	if got := n.ask(`{"id": 4, "ask": "vars", "look": -5}`); len(got.Variables) > 0 {
		t.Errorf("%+v", got)
	}
	if got := n.ask(`{"id": 4, "ask": "vars", "look": 99999}`); got.Error == "" {
		t.Errorf("%+v", got)
	}
	bare := newHub(book{})
	m := connect(t, bare, 7)
	m.packet()
	if got := m.ask(`{"id": 1, "ask": "vars"}`); got.Error == "" {
		t.Errorf("%+v", got)
	}
}
