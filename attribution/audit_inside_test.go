package attribution

import (
	"testing"

	"ipytracer/event"
	"ipytracer/model"
)

// Objects of C++ alone may have what Arrow's pools handed out: what no object leads to is no verdict then, unless it
// grows, and is not passed over.
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
