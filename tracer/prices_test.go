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
	"ipytracer/tracer/internal/budget"
)

// TestPricesAfterFailure: a measurement that fails keeps the earlier costs, logs that, and is repeated a few times.
func TestPricesAfterFailure(t *testing.T) {
	var said bytes.Buffer
	p := &budget.Prices{Ledger: &fakeKernel{}, Log: slog.New(slog.NewTextHandler(&said, nil)), Costs: ledger.UsualCosts}
	failed := budget.Measurement{Err: errors.New("no room")}
	take := func(m budget.Measurement) {
		t.Helper()
		p.Again = time.Time{}
		if err := p.Take(m); err != nil {
			t.Fatal(err)
		}
	}
	if take(failed); p.Again.IsZero() || p.Costs != ledger.UsualCosts ||
		!strings.Contains(said.String(), "assuming a usual one") {
		t.Errorf("the first fails: again at %v, %+v, %s", p.Again, p.Costs, said.String())
	}
	measured := ledger.Costs{Emulated: 700, Stepped: 8000, Noisy: true}
	take(budget.Measurement{Costs: measured})
	said.Reset()
	if take(failed); p.Again.IsZero() || p.Costs != measured || strings.Contains(said.String(), "usual") ||
		!strings.Contains(said.String(), "keeping") {
		t.Errorf("a later one fails: again at %v, %+v, %s", p.Again, p.Costs, said.String())
	}
	for range budget.MeasuredMost {
		take(failed)
	}
	if !p.Again.IsZero() {
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
		p := &budget.Prices{Ledger: k, Log: slog.New(slog.DiscardHandler), Costs: ledger.UsualCosts}
		for i, m := range c.measured {
			if i > 0 && p.Again.IsZero() {
				t.Errorf("%s: it is not measured again after %d times", name, i)
			}
			p.Again = time.Time{}
			if err := p.Take(budget.Measurement{Costs: m}); err != nil {
				t.Fatal(err)
			}
		}
		if !p.Again.IsZero() || p.Costs != c.want {
			t.Errorf("%s: %+v, again at %v", name, p.Costs, p.Again)
		}
		if got := k.prices[ledger.GroupNumPy]; got.Emulated != c.want.Emulated+budget.Work[ledger.GroupNumPy] ||
			got.Stepped != c.want.Stepped+budget.Work[ledger.GroupNumPy] {
			t.Errorf("%s: the kernel's price is %+v", name, got)
		}
		used := p.Mark([]event.ProbeUse{{Probe: "numpy"}, {Probe: "heap", Dear: "why"}})
		if !strings.Contains(used[0].Dear, c.dear) || (used[0].Dear == "") != (c.dear == "") ||
			used[0].DearMachine != (c.dear != "") || used[1].Dear != "why" || used[1].DearMachine {
			t.Errorf("%s: %+v", name, used)
		}
	}
}
