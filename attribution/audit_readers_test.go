package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// Blocks of Arrow's pools may be held by C++ objects alone. A block that no Python object leads to gets no verdict
// then, unless it grows, but is listed as not judged.
func TestInsideOfReaders(t *testing.T) {
	n := newNotebook()
	n.run("cell", func() {
		address := n.takeOf(event.Arrow, "cell", 1, 8*mib)
		defer n.hold(event.Holder{Address: address, Kind: event.HeldByNone})
	})
	a := n.audit(t)
	none(t, a)
	if len(a.NotJudged) != 1 || a.NotJudged[0].Meter != "cpu.arrow" || a.NotJudged[0].Bytes == nil ||
		*a.NotJudged[0].Bytes != int64(8*mib) || a.Complete {
		t.Errorf("%+v, complete: %v", a.NotJudged, a.Complete)
	}
	if len(a.Held) != 1 || a.Held[0].By != string(event.HeldByNone) {
		t.Errorf("%+v", a.Held)
	}
	n = newNotebook()
	var all []event.Holder
	for range 4 {
		n.run("grows", func() {
			all = append(all, event.Holder{Address: n.takeOf(event.Arrow, "grows", 1, 8*mib), Kind: event.HeldByNone})
		})
	}
	n.hold(all...)
	only(t, n.audit(t), model.RerunGrowth, 32*mib, 1, 2, 3, 4)
}
