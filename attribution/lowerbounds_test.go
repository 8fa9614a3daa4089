package attribution_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"ipytracer/attribution"
	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/model"
)

// watched is a process with a meter that is paused now and then: its blocks, and the blocks that the kernel half
// knows.
type watched struct {
	meter        event.Meter
	group        event.Group // that stops the meter
	random       *rand.Rand
	has, known   map[int]event.Bytes
	truth, value event.Bytes
	most, high   event.Bytes
	down, silent bool // silent: PyTorch has not reported its total since the meter is back
	finding      bool // a search for arrays runs
	frees        event.Frees
	made         int
	segment      uint64
	told, all    *attribution.Tracker // of the known blocks, and of all blocks
	names        []string
	line         int32 // of the statement that runs, or ran last
	running      bool  // a statement runs
	blind        bool  // the probes on statements are paused
	stale        bool  // the kernel half takes a statement for running that ended unseen
}

func (w *watched) raise() { w.most, w.high = max(w.most, w.truth), max(w.high, w.value) }

// boundary ends a segment, for both trackers.
func (w *watched) boundary(kind event.BoundaryKind, text string) { w.cut(kind, kind, text, 0) }

// cut ends a segment where the tracker of the known blocks and that of all blocks get different boundaries.
func (w *watched) cut(kind, really event.BoundaryKind, text string, group event.Group) {
	w.segment++
	b := event.Boundary{Number: w.segment, Time: event.Nanoseconds(w.segment * 1000), Kind: kind, PID: 7, TID: 7,
		Segment: w.segment - 1, Inputs: -1, Group: group, Frees: w.frees}
	b.Cell, b.Line, b.Outcome = 1, w.line, event.OutcomeOK
	b.Value[w.meter], b.High[w.meter], b.Tree[w.meter], b.TreeHigh[w.meter] = w.value, w.high, w.value, w.high
	if said := b.Text(); said != nil {
		*said = text
	}
	t := b
	t.Kind, t.Frees = really, event.Frees{}
	t.Value[w.meter], t.High[w.meter], t.Tree[w.meter], t.TreeHigh[w.meter] = w.truth, w.most, w.truth, w.most
	if kind == event.MeterShed || kind == event.MeterBack || kind == event.MeterSettled {
		t.Kind, t.Group = event.Asked, 0
	}
	w.told.Add(&b)
	w.all.Add(&t)
	w.most, w.high = w.truth, w.value
}

func (w *watched) total() {
	if w.meter.Facts().Kind == event.Total && !w.down {
		w.value, w.silent = w.truth, false
		w.raise()
	}
}

func (w *watched) make() {
	size := event.Bytes(1+w.random.IntN(100)) << 20
	w.made++
	w.has[w.made] = size
	w.truth += size
	if w.meter.Facts().Kind == event.Total {
		w.total()
	} else if !w.down {
		w.known[w.made] = size
		w.value += size
	}
	w.raise()
}

func (w *watched) free() {
	all := slices.Sorted(maps.Keys(w.has))
	if len(all) == 0 {
		return
	}
	which := all[w.random.IntN(len(all))]
	size := w.has[which]
	delete(w.has, which)
	w.truth -= size
	switch is := w.known[which] > 0; {
	case w.meter.Facts().Kind == event.Total:
		w.total()
	case w.down:
	case is:
		delete(w.known, which)
		w.value -= size
	default:
		kind := w.meter.Facts().Unknown[0]
		w.frees.Unknown[kind]++
		w.frees.Slack[kind] += size + event.Bytes(w.random.IntN(4096))
	}
}

// find takes in one block that a search found; it returns false where nothing is left to be found.
func (w *watched) find() bool {
	for _, which := range slices.Sorted(maps.Keys(w.has)) {
		if w.known[which] == 0 {
			w.known[which] = w.has[which]
			w.value += w.has[which]
			w.raise()
			return true
		}
	}
	for _, which := range slices.Sorted(maps.Keys(w.known)) {
		if w.has[which] == 0 {
			w.value -= w.known[which]
			delete(w.known, which)
			return true
		}
	}
	return false
}

// statement begins a statement, or ends the one that runs.
func (w *watched) statement() {
	kind := event.StatementClose
	if w.running = !w.running; w.running {
		if w.stale && !w.blind {
			w.stale = false
			w.cut(event.StatementClose, event.Asked, "", 0)
		}
		kind = event.StatementOpen
		w.line++
	}
	if w.blind {
		w.cut(event.Asked, kind, "", 0)
	} else {
		w.boundary(kind, "")
	}
}

// lookAway steps the probes on statements down, or puts them back.
func (w *watched) lookAway() {
	if w.blind = !w.blind; w.blind {
		w.stale = w.running
		w.cut(event.MeterShed, event.Asked, "", event.Statements)
		return
	}
	w.cut(event.MeterBack, event.Asked, "", event.Statements)
}

func (w *watched) step() {
	switch w.random.IntN(17) {
	case 13, 14, 15:
		w.statement()
	case 16:
		if w.random.IntN(3) == 0 {
			w.lookAway()
		}
	case 0, 1, 2, 3:
		w.make()
	case 4, 5, 6:
		w.free()
	case 7, 8:
		name := fmt.Sprint("e", w.segment)
		w.names = append(w.names, name)
		w.boundary(event.ExperimentBegin, name)
	case 9:
		if n := len(w.names); n > 0 {
			i := w.random.IntN(n)
			w.boundary(event.ExperimentEnd, w.names[i])
			w.names = slices.Delete(w.names, i, i+1)
		}
	case 10:
		if w.random.IntN(3) > 0 {
			return
		}
		if w.down = !w.down; w.down {
			w.finding = false
			w.cut(event.MeterShed, event.MeterShed, "", w.group)
			return
		}
		w.finding = w.meter == event.NumPy
		w.cut(event.MeterBack, event.MeterBack, "", w.group)
	default:
		for range w.random.IntN(4) {
			if w.finding && !w.find() {
				w.finding = false
				w.boundary(event.MeterSettled, "")
			}
		}
	}
}

// TestLeastIsLeast: where a meter was paused in a window, its peak, its need and the memory it had only for a
// while are at least the reported bounds, whatever came and went unseen, and whatever was found late.
func TestLeastIsLeast(t *testing.T) {
	for _, of := range []struct {
		meter event.Meter
		group event.Group
	}{
		{event.NumPy, event.ArrayProbes}, {event.Torch, event.TorchCPU},
		{event.OfDevice(0, event.Active), event.TorchTotals},
	} {
		t.Run(of.meter.String(), func(t *testing.T) {
			t.Parallel()
			var bounds leastBounds
			for seed := range attributiontest.Seeds(300) {
				w := &watched{
					meter: of.meter, group: of.group, random: rand.New(rand.NewPCG(seed, 3)),
					has: map[int]event.Bytes{}, known: map[int]event.Bytes{},
					told: attribution.New(), all: attribution.New(),
				}
				start := &event.Start{Processes: []event.ProcessInfo{{PID: 7, Python: "3.11.2", Inputs: -1}}}
				w.told.Add(start)
				w.all.Add(start)
				w.boundary(event.Attached, "")
				w.boundary(event.CellOpen, "cell")
				for range 200 {
					w.step()
				}
				w.boundary(event.CellClose, "")
				w.boundary(event.Detached, "")
				bounds.compare(t, seed, of.meter, w.told.Report(), w.all.Report())
			}
			if bounds.all < 1000 || bounds.needs < bounds.all/4 {
				t.Errorf("%d bounds, %d of them of more than nothing", bounds.all, bounds.needs)
			}
			if bounds.short < 50 {
				t.Errorf("%d statements ended when nobody looked", bounds.short)
			}
			t.Logf("%d bounds, %d of them of more than nothing; %d statements ended when nobody looked", bounds.all,
				bounds.needs, bounds.short)
		})
	}
}

// leastBounds counts lower bounds: all, those of more than 0, those of statements that ended unseen.
type leastBounds struct{ all, needs, short int }

// compare checks the windows of a session in which a meter was paused against those of the same session without.
func (n *leastBounds) compare(t *testing.T, seed uint64, m event.Meter, told, all *model.Report) {
	really := map[string]model.Window{}
	for _, one := range all.Windows {
		really[windowKey(one)] = one
	}
	for i := range told.Windows {
		one := told.Windows[i]
		other, known := really[windowKey(one)]
		if !known {
			t.Fatalf("seed %d: there was no window %+v", seed, one)
		}
		least, truth := one.Meters[m.String()], other.Meters[m.String()]
		if least.Exact || least.Bound != nil {
			if m.Facts().Kind == event.Total &&
				(least.Start != truth.Start || least.Peak != truth.Peak || least.End != truth.End) {
				t.Errorf("seed %d, window %d: %+v, but it was %+v", seed, i, least, truth)
			}
			continue
		}
		n.all++
		if one.Kind == model.Statement && one.Status == model.Incomplete {
			n.short++
		}
		if least.Need() > 0 {
			n.needs++
		}
		checkLeast(t, fmt.Sprintf("seed %d, window %d", seed, i), least, truth)
		if tree, ok := told.Windows[i].Tree[m.String()]; ok {
			checkLeast(t, fmt.Sprintf("seed %d, window %d, tree", seed, i), tree, truth)
		}
	}
	life, truth := told.Processes[0].Meters[m.String()], all.Processes[0].Meters[m.String()]
	if !life.Exact && life.Bound == nil {
		checkLeast(t, fmt.Sprintf("seed %d, process", seed), life, truth)
	}
}

// windowKey identifies a window in two reports of one session.
func windowKey(w model.Window) string { return fmt.Sprint(w.Kind, w.Name, w.Line) }

func checkLeast(t *testing.T, what string, least, truth model.Figure) {
	t.Helper()
	if least.Peak > truth.Peak || least.Need() > truth.Need() || least.Peaked > truth.Peaked {
		t.Errorf("%s: at least %+v, but it was %+v", what, least, truth)
	}
	if least.Start < 0 || least.End < 0 || least.Peak < max(least.Start, least.End) ||
		least.Consumed != least.End-least.Start || least.Peaked != least.Peak-max(least.Start, least.End) {
		t.Errorf("%s: %+v does not agree with itself", what, least)
	}
}
