package attribution

import (
	"encoding/json"
	"fmt"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
)

// TestTrackerWithAuditEqualsBothAlone: after any events, a Tracker with an audit reports what a Tracker alone and an
// Auditor alone report, byte for byte, at each time and at the end.
func TestTrackerWithAuditEqualsBothAlone(t *testing.T) {
	t.Parallel()
	verdicts, live := 0, 0
	for seed := range attributiontest.Seeds(30) {
		alone, auditor := New(), NewAuditor()
		both, findings := NewAudited()
		cut, _ := NewAudited() // its audit ends midway
		steps := 0
		add := func(e event.Event) {
			for _, one := range []func(event.Event){alone.Add, auditor.Add, both.Add, cut.Add} {
				one(e)
			}
		}
		attributiontest.Anything(func(e event.Event) {
			if _, is := e.(*event.Finish); is {
				add(heldBlocks(auditor))
			}
			add(e)
			if steps++; steps == 400 {
				cut.EndAudit()
			}
			if steps%300 == 0 {
				alone.Flush()
				cut.Flush()
				one := auditor.AuditOne(int(attributiontest.Kernel), nil, 1)
				live += len(one.Live)
				expectSame(t, seed, "audit of a process", one, findings.AuditOne(int(attributiontest.Kernel), nil, 1))
				expectSame(t, seed, "blocks", auditor.Blocks(int(attributiontest.Kernel)),
					findings.Blocks(int(attributiontest.Kernel)))
			}
		}, seed, 800)
		want := alone.Report()
		expectSame(t, seed, "report", want, both.Report())
		expectSame(t, seed, "report without the audit that ended", want, cut.Report())
		audit := auditor.Audit(1)
		verdicts += len(audit.Verdicts)
		expectSame(t, seed, "audit", audit, findings.Audit(1))
	}
	if verdicts < 20 || live < 100 {
		t.Errorf("%d verdicts and %d live blocks: this test shows nothing", verdicts, live)
	}
}

// heldBlocks returns the last look of a process, in which a variable holds every other block.
func heldBlocks(auditor *Auditor) *event.Holders {
	e := &event.Holders{PID: attributiontest.Kernel, Complete: true, Objects: 1000}
	for i, b := range auditor.Blocks(int(attributiontest.Kernel)) {
		if i%2 == 0 {
			e.Holders = append(e.Holders, event.Holder{
				Address: b.Address, Kind: event.HeldByVariable, Path: "x", Root: "x", Type: "numpy.ndarray",
			})
		}
	}
	return e
}

func expectSame(t *testing.T, seed uint64, what string, want, got any) {
	t.Helper()
	a, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, fmt.Sprint("seed ", seed, ": ", what), string(b), string(a))
}
