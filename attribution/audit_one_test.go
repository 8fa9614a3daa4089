package attribution

import (
	"reflect"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// so returns an Auditor that has taken in the notebook's events so far.
func (n *notebook) so() *Auditor {
	a := NewAuditor()
	for _, e := range n.events {
		a.Add(e)
	}
	return a
}

func saying(kind event.HolderKind, root string, addresses ...uint64) *event.Holders {
	e := &event.Holders{PID: main, Complete: true, Objects: 1000}
	for _, a := range addresses {
		e.Holders = append(e.Holders, event.Holder{Address: a, Kind: kind, Path: root, Root: root})
	}
	return e
}

// TestAuditOne: the audit of one process while it runs has the verdicts of the audit at the end, however often it was
// called before.
func TestAuditOne(t *testing.T) {
	n := newNotebook()
	var kept []uint64
	for range 4 {
		n.run("leaky", func() { kept = append(kept, n.take("leaky", 2, 3*mib)) })
	}
	shown := n.take("leaky", 2, 9*mib)
	n.run("last", func() {})
	holders := []*event.Holders{saying(event.HeldByVariable, "acc", kept...),
		saying(event.HeldByModule, "m.cache", shown)}
	a := n.so()
	var all []uint64
	for _, b := range a.Blocks(int(main)) {
		all = append(all, b.Address)
	}
	if !reflect.DeepEqual(all, append(kept, shown)) || a.Size() != 5 {
		t.Errorf("blocks %v, %d of them, want %v", all, a.Size(), append(kept, shown))
	}
	first, again := a.AuditOne(int(main), holders, int64(mib)), a.AuditOne(int(main), holders, int64(mib))
	reporttest.Audit(t, first)
	if !reflect.DeepEqual(first, again) {
		t.Error("the second time something else is said")
	}
	for _, e := range holders {
		a.Add(e)
	}
	if end := a.Audit(int64(mib)); !reflect.DeepEqual(first.Verdicts, end.Verdicts) || len(end.Verdicts) != 2 {
		t.Errorf("while it runs %+v, at the end %+v", first.Verdicts, end.Verdicts)
	}
	if other := a.AuditOne(int(main)+1, nil,
		int64(mib)); len(other.Verdicts)+len(other.Processes)+len(other.Held)+len(other.Live) > 0 {
		t.Errorf("of another process: %+v", other)
	}
}

// TestAuditOneForgets: holders found while the session ran are not kept for its end, when no holders are known.
func TestAuditOneForgets(t *testing.T) {
	n := newNotebook()
	var kept uint64
	n.run("shows", func() { kept = n.take("shows", 1, 3*mib) })
	a := n.so()
	only(t, a.AuditOne(int(main), []*event.Holders{saying(event.HeldByOutput, "Out[1]", kept)}, int64(mib)),
		model.HeldByOutput, 3*mib, 1)
	none(t, a.Audit(int64(mib)))
}

// TestAuditOneWhileACellRuns: the blocks that the asking cell allocated, and those that its calls hold, are no finding,
// and are reported as undecided.
func TestAuditOneWhileACellRuns(t *testing.T) {
	n := newNotebook()
	var before, own uint64
	n.run("before", func() { before = n.take("before", 1, 5*mib) })
	for range 2 {
		n.run("asks", func() { n.take("asks", 1, 2*mib) })
	}
	n.cells++
	cell := n.cells
	n.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Inputs, b.File = cell, n.inputs, "asks.py" })
	n.events = append(n.events, &event.CellSource{Cell: cell, PID: main, Text: "asks"})
	own = n.take("asks", 1, 2*mib)
	n.boundary(event.Asked, main)
	none(t, n.so().AuditOne(int(main), []*event.Holders{saying(event.HeldByNone, "", own),
		{PID: main, Complete: true, Holders: []event.Holder{
			{Address: before, Kind: event.HeldByThread, Function: "f", Path: "big", Root: "big", Running: true},
		}}}, int64(mib)))
	a := n.so().AuditOne(int(main), []*event.Holders{saying(event.HeldByThread, "big", before)}, int64(mib))
	only(t, a, model.HeldAfterWindow, 5*mib, 1) // the call of another thread
	if a.Complete || len(a.NotJudged) == 0 || a.NotJudged[0].Reason != model.CellRuns ||
		*a.NotJudged[0].Bytes != int64(2*mib) {
		t.Errorf("not judged: %+v", a.NotJudged)
	}
}
