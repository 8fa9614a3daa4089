package attribution_test

import (
	"bytes"
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/report/text"
	"ipytracer/model"
	"ipytracer/report"
)

// madeUp are synthetic sessions, long enough that windows are archived.
var madeUp = map[string]func(emit func(event.Event)){
	"notebook": func(emit func(event.Event)) { attributiontest.Notebook(emit, 40, 10) },
	"open":     func(emit func(event.Event)) { attributiontest.LeftOpen(emit, 60, 120) },
	"crowd":    func(emit func(event.Event)) { attributiontest.Crowd(emit, 20, 60) },
	"anything": func(emit func(event.Event)) { attributiontest.Anything(emit, 1, 2500) },
	"whatever": func(emit func(event.Event)) { attributiontest.Anything(emit, 2, 1500) },
}

func printed(t *testing.T, print func(w *bytes.Buffer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := print(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func inJSON(t *testing.T, r *model.Report) string {
	t.Helper()
	return printed(t, func(w *bytes.Buffer) error { return report.JSON(w, r) })
}

func inCSV(t *testing.T, r *model.Report) string {
	t.Helper()
	return printed(t, func(w *bytes.Buffer) error { return report.CSV(w, r) })
}

func inText(t *testing.T, r *model.Report, full bool) string {
	t.Helper()
	return printed(t, func(w *bytes.Buffer) error { return text.Report(w, r, text.Options{Full: full}) })
}

// TestStreamedWindowsReuseMemory: windows that are made in the same memory, one after another, are printed as those
// that a caller may keep.
func TestStreamedWindowsReuseMemory(t *testing.T) {
	t.Parallel()
	for name, session := range madeUp {
		tracker := attribution.New()
		session(tracker.Add)
		whole := tracker.Report()
		if len(whole.Windows) < 50 {
			t.Errorf("%s: %d windows", name, len(whole.Windows))
		}
		for range 2 {
			if inJSON(t, tracker.Stream()) != inJSON(t, whole) {
				t.Errorf("%s: the JSON is another", name)
			}
			if inCSV(t, tracker.Stream()) != inCSV(t, whole) {
				t.Errorf("%s: the CSV is another", name)
			}
		}
		for _, full := range []bool{false, true} {
			if inText(t, tracker.Stream(), full) != inText(t, whole, full) {
				t.Errorf("%s: the text is another (full: %t)", name, full)
			}
			if inText(t, report.WithoutSource(tracker.Stream()), full) != inText(t, report.WithoutSource(whole), full) {
				t.Errorf("%s: the text without sources is another (full: %t)", name, full)
			}
		}
		if inJSON(t, report.WithoutSource(tracker.Stream())) != inJSON(t, report.WithoutSource(whole)) {
			t.Errorf("%s: the JSON without sources is another", name)
		}
	}
}

// TestReturnedWindowsStay: the kept parts of a report's windows stay as they were when others have been made in lent
// memory.
func TestReturnedWindowsStay(t *testing.T) {
	tracker := attribution.New()
	madeUp["notebook"](tracker.Add)
	r := tracker.Stream()
	var kept []model.Window
	for w := range r.Stream {
		r.Detail(w)
		kept = append(kept, *w)
		if len(kept) == 300 {
			break
		}
	}
	print := func() string { return inJSON(t, &model.Report{Windows: kept}) }
	before := print()
	inJSON(t, r)
	if print() != before {
		t.Error("windows that were kept are others now")
	}
}

// TestMemoryIsUsedAgain: neither a tracker nor an auditor keeps a boundary or a change that it was given.
func TestMemoryIsUsedAgain(t *testing.T) {
	for name, session := range madeUp {
		tracker, again := attribution.New(), attribution.New()
		auditor, auditedAgain := attribution.NewAuditor(), attribution.NewAuditor()
		session(func(e event.Event) {
			tracker.Add(e)
			auditor.Add(e)
			passing(e, again.Add)
			passing(e, auditedAgain.Add)
		})
		if inJSON(t, tracker.Report()) != inJSON(t, again.Report()) {
			t.Errorf("%s: the report is another", name)
		}
		audit := func(a *attribution.Auditor) string {
			return printed(t, func(w *bytes.Buffer) error { return report.AuditJSON(w, a.Audit(0)) })
		}
		if audit(auditor) != audit(auditedAgain) {
			t.Errorf("%s: the audit is another", name)
		}
	}
}

// passing hands an event on in memory that it overwrites afterwards.
func passing(e event.Event, add func(event.Event)) {
	switch e := e.(type) {
	case *event.Boundary:
		one := *e
		add(&one)
		for m := range one.Value {
			one.Value[m], one.High[m], one.Tree[m], one.TreeHigh[m] = 1<<40, 1<<41, 1<<42, 1<<43
		}
		one = event.Boundary{Kind: event.ProcessExit, File: "gone", Exception: "gone", Experiment: "gone",
			Command: "gone", Value: one.Value, High: one.High, Tree: one.Tree, TreeHigh: one.TreeHigh,
			Frees: event.Frees{Unknown: [event.UnknownKinds]uint64{1 << 30}}, Segment: 1 << 50}
	case *event.Change:
		one := *e
		add(&one)
		one = event.Change{Stream: 1 << 50, Segment: 1 << 50, Value: 1 << 50, Size: 1 << 50, Stack: 77}
	default:
		add(e)
	}
}
