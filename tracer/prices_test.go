package tracer

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ipytracer/tracer/ledger"
)

// TestPricesAfterFailure: a measurement that fails keeps the earlier costs, logs that, and is repeated a few times.
func TestPricesAfterFailure(t *testing.T) {
	var said bytes.Buffer
	p := &prices{ledger: &fakeKernel{}, log: slog.New(slog.NewTextHandler(&said, nil)), costs: ledger.UsualCosts}
	failed := measurement{err: errors.New("no room")}
	take := func(m measurement) {
		t.Helper()
		p.again = time.Time{}
		if err := p.take(m); err != nil {
			t.Fatal(err)
		}
	}
	if take(failed); p.again.IsZero() || p.costs != ledger.UsualCosts ||
		!strings.Contains(said.String(), "assuming a usual one") {
		t.Errorf("the first fails: again at %v, %+v, %s", p.again, p.costs, said.String())
	}
	measured := ledger.Costs{Emulated: 700, Stepped: 8000, Noisy: true}
	take(measurement{costs: measured})
	said.Reset()
	if take(failed); p.again.IsZero() || p.costs != measured || strings.Contains(said.String(), "usual") ||
		!strings.Contains(said.String(), "keeping") {
		t.Errorf("a later one fails: again at %v, %+v, %s", p.again, p.costs, said.String())
	}
	for range measuredMost {
		take(failed)
	}
	if !p.again.IsZero() {
		t.Error("it is tried again and again")
	}
}
