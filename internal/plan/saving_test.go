package plan_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"ipytracer/model"
)

// made is a session in which the memory of each line is known at every moment: for each statement, in order, the memory
// at its highest.
type made struct {
	report  *model.Report
	moments []map[string]int64 // by "execution.line", in MiB
	base    int64
}

// peak returns the session's peak without some lines.
func (m *made) peak(without ...string) (highest int64) {
	for _, live := range m.moments {
		total := m.base
		for line, bytes := range live {
			if !slices.Contains(without, line) {
				total += bytes
			}
		}
		highest = max(highest, total)
	}
	return highest * mib
}

// fall returns by how much the peak would be lower without some lines.
func (m *made) fall(without ...string) int64 { return m.peak() - m.peak(without...) }

// session makes a session of some cells. Each statement allocates an array that stays, allocates one that is freed,
// frees an earlier one, or does nothing. As in a real session, a window lists a meter only if a block of it moved in
// it, a cell also if it is the highest so far.
func session(random *rand.Rand, cells, most int, statements bool) *made {
	m := &made{base: 100}
	live := map[string]int64{}
	r := &model.Report{Processes: []model.Process{{PID: 7, Python: "3.11"}},
		Meters:      []model.Meter{{ID: "cpu.resident"}, {ID: "cpu.mapped"}, {ID: "cpu.numpy"}},
		Certificate: model.Certificate{Complete: true, Attribution: model.Attribution{Complete: true}}}
	r.Windows = []model.Window{{ID: 1, Kind: model.Session, PID: 7, Status: model.OK}}
	total := func() (sum int64) {
		for _, bytes := range live {
			sum += bytes
		}
		return sum
	}
	top := int64(0)
	for c := range cells {
		count, source := c+1, ""
		before, start, peak := maps.Clone(live), total(), total()
		atPeak := maps.Clone(live)
		var all []model.Window
		lines := 1 + random.IntN(most)
		for i := range lines {
			line := fmt.Sprintf("%d.%d", count, i+1)
			source += line + "\n"
			was, wasTotal, high := maps.Clone(live), total(), total()
			stands := maps.Clone(live)
			switch what := random.IntN(10); {
			case what < 3: // stays
				live[line] = 20 + random.Int64N(100)
				stands, high = maps.Clone(live), total()
			case what < 7: // freed
				stands[line] = 20 + random.Int64N(300)
				high = wasTotal + stands[line]
			case what < 8 && len(live) > 0:
				delete(live, slices.Sorted(maps.Keys(live))[random.IntN(len(live))])
			}
			m.moments = append(m.moments, stands)
			if high > peak {
				peak, atPeak = high, stands
			}
			w := model.Window{ID: 1000*count + i + 1, Parent: 1000 * count, Kind: model.Statement, PID: 7, Line: i + 1,
				Status: model.OK, Meters: figures(wasTotal, high, total())}
			w.Allocations, w.Coverage = listed(was, stands, live, false)
			all = append(all, w)
		}
		w := model.Window{ID: 1000 * count, Parent: 1, Kind: model.Cell, PID: 7, Execution: count,
			ExecutionCount: &count, Source: source, Status: model.OK, Meters: figures(start, peak, total())}
		w.Allocations, w.Coverage = listed(before, atPeak, live, peak >= top)
		top = max(top, peak)
		r.Windows = append(r.Windows, w)
		if statements {
			r.Windows = append(r.Windows, all...)
		}
	}
	r.Windows[0].Meters = figures(0, top, total())
	m.report = r
	return m
}

func figures(start, peak, end int64) map[string]model.Figure {
	return map[string]model.Figure{"cpu.resident": exact(100+start, 100+peak, 100+end),
		"cpu.mapped": exact(100+start, 100+peak, 100+end), "cpu.numpy": exact(start, peak, end)}
}

// listed returns the allocations and the coverage that a window lists.
func listed(before, atPeak, after map[string]int64, stood bool) ([]model.Allocation, map[string]model.Coverage) {
	if !stood && maps.Equal(before, after) && maps.Equal(before, atPeak) {
		return nil, nil
	}
	all := maps.Clone(before)
	maps.Copy(all, atPeak)
	maps.Copy(all, after)
	var out []model.Allocation
	for line := range all {
		var execution, number int
		if _, err := fmt.Sscanf(line, "%d.%d", &execution, &number); err != nil {
			panic(err)
		}
		for _, meter := range []string{"cpu.numpy", "cpu.mapped"} {
			a := by(meter, execution, number, atPeak[line])
			a.Allocated = (max(atPeak[line], after[line]) - before[line]) * mib
			a.Net = (after[line] - before[line]) * mib
			a.Freed = a.Allocated - a.Net
			out = append(out, a)
		}
	}
	return out, map[string]model.Coverage{"cpu.numpy": {}, "cpu.mapped": {}}
}

func nameOf(l *model.PlanLine) string { return fmt.Sprintf("%d.%d", l.Execution, l.Line) }

// check compares a plan with the truth: the bytes that each line saves, and that no three lines save more than the
// named ones.
func (m *made) check(t *testing.T, of string) {
	t.Helper()
	_, d := make1(m.report)
	if d.Need != m.peak() {
		t.Fatalf("%s: need %d MiB, want %d", of, d.Need/mib, m.peak()/mib)
	}
	for i := range d.Lines {
		l := &d.Lines[i]
		want := m.fall(nameOf(l))
		if l.Fall != want || l.Then == nil || l.Then.Peak != d.Need-want {
			t.Errorf("%s: without %s %d MiB lower, then %+v; want %d", of, nameOf(l), l.Fall/mib, l.Then, want/mib)
		}
	}
	best := int64(0)
	lines := map[string]bool{}
	for _, live := range m.moments {
		for line := range live {
			lines[line] = true
		}
	}
	names := slices.Sorted(maps.Keys(lines))
	for i, a := range names {
		for k, b := range names[i:] {
			for _, c := range names[i+k:] {
				best = max(best, m.fall(a, b, c))
			}
		}
	}
	worth := max(mib, d.Need/100)
	if d.Together == nil {
		if best >= 3*worth { // each of three may be worth too little
			t.Errorf("%s: nothing together, but three lines save %d MiB", of, best/mib)
		}
		return
	}
	var out []string
	for i := range d.Together.Lines {
		out = append(out, nameOf(&d.Together.Lines[i]))
	}
	if want := m.fall(out...); d.Together.Fall != want || d.Together.Peak != d.Need-want || d.Together.Then == nil ||
		d.Together.Then.Peak != d.Together.Peak {
		t.Errorf("%s: without %v %+v, want %d MiB lower", of, out, d.Together, want/mib)
	}
	if best >= d.Together.Fall+2*worth {
		t.Errorf("%s: without %v %d MiB lower, but three lines save %d", of, out, d.Together.Fall/mib, best/mib)
	}
}

// TestSavings makes sessions in which the result of leaving out any lines is known: every figure of a plan is the
// truth.
func TestSavings(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 27))
		session(random, 2+random.IntN(8), 4, true).check(t, fmt.Sprintf("seed %d", seed))
		session(random, 2+random.IntN(12), 1, false).check(t, fmt.Sprintf("seed %d, cells only", seed))
	}
}

// TestSavingsOfManyCells checks that an array that stands in more cells than are looked at is subtracted from each of
// them.
func TestSavingsOfManyCells(t *testing.T) {
	cells := join(cell(1, "a = load()", exact(100, 400, 400), exact(100, 400, 400)))
	cells[0].Allocations = []model.Allocation{by("cpu.numpy", 1, 1, 300)}
	cells[0].Allocations[0].Allocated, cells[0].Allocations[0].Net = 300*mib, 300*mib
	cells[1].Allocations = cells[0].Allocations
	for i := range 60 { // their other memory is of no line
		one := cell(i+2, "work(a)", exact(400, 460+int64(i%7), 400), exact(400, 460+int64(i%7), 400))
		if i < 7 { // the highest so far
			one[0].Allocations = []model.Allocation{by("cpu.numpy", 1, 1, 300)}
		}
		cells = append(cells, one...)
	}
	_, d := make1(notebook(466, cells...))
	if len(d.Lines) != 1 || d.Lines[0].Fall != 300*mib || d.Lines[0].Then == nil || d.Lines[0].Then.Peak != 166*mib {
		t.Fatalf("lines %+v", d.Lines)
	}
	if s := d.Together; s == nil || s.Fall != 300*mib || s.Then == nil || s.Then.Peak != 166*mib {
		t.Errorf("together %+v", s)
	}
}
