package tracer

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/ledger"
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

// TestPricesConfirmed: a price is measured until two measurements agree, and the lower counts; one that was taken in a
// burst of other work does not stay. A cost that few machines have is a price like any other.
func TestPricesConfirmed(t *testing.T) {
	burst := ledger.Costs{Emulated: 1100, Stepped: 23_000}
	usual, same := ledger.Costs{Emulated: 520, Stepped: 11_000}, ledger.Costs{Emulated: 530, Stepped: 11_200}
	dear, dearer := ledger.Costs{Emulated: 5200, Stepped: 12_400}, ledger.Costs{Emulated: 12_000, Stepped: 40_000}
	noisy := ledger.Costs{Emulated: 480, Stepped: 9000, Noisy: true}
	for name, c := range map[string]struct {
		measured []ledger.Costs
		want     ledger.Costs
		dear     string
	}{
		"two agree":              {[]ledger.Costs{usual, same}, usual, ""},
		"the first in a burst":   {[]ledger.Costs{burst, usual, same}, usual, ""},
		"the second in a burst":  {[]ledger.Costs{usual, burst, same}, usual, ""},
		"the first without sure": {[]ledger.Costs{noisy, usual, same}, usual, ""},
		"dear traps":             {[]ledger.Costs{dear, dear}, dear, "5.20 µs"},
		"dear stepping":          {[]ledger.Costs{dearer, dearer}, dearer, "40.0 µs"},
		"never the same":         {[]ledger.Costs{noisy, noisy, noisy, noisy, noisy}, noisy, ""},
	} {
		k := &fakeKernel{}
		p := &prices{ledger: k, log: slog.New(slog.DiscardHandler), costs: ledger.UsualCosts}
		for i, m := range c.measured {
			if i > 0 && p.again.IsZero() {
				t.Errorf("%s: it is not measured again after %d times", name, i)
			}
			p.again = time.Time{}
			if err := p.take(measurement{costs: m}); err != nil {
				t.Fatal(err)
			}
		}
		if !p.again.IsZero() || p.costs != c.want {
			t.Errorf("%s: %+v, again at %v", name, p.costs, p.again)
		}
		if got := k.prices[ledger.GroupNumPy]; got.Emulated != c.want.Emulated+work[ledger.GroupNumPy] ||
			got.Stepped != c.want.Stepped+work[ledger.GroupNumPy] {
			t.Errorf("%s: the kernel's price is %+v", name, got)
		}
		used := p.mark([]event.ProbeUse{{Probe: "numpy"}, {Probe: "heap", Dear: "why"}})
		if !strings.Contains(used[0].Dear, c.dear) || (used[0].Dear == "") != (c.dear == "") ||
			used[0].DearMachine != (c.dear != "") || used[1].Dear != "why" || used[1].DearMachine {
			t.Errorf("%s: %+v", name, used)
		}
	}
}
