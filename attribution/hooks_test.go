package attribution

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/attributiontest"
	"ipytracer/internal/words"
	"ipytracer/model"
)

func (s *script) result(cell uint64, o event.Outcome) {
	s.boundary(event.CellResult, main, func(b *event.Boundary) { b.Cell, b.Outcome = cell, o })
}

// figured returns a session with a failing cell: 60 for its code and 200 for its figure.
func figured() *script {
	s := newScript()
	s.openCell(1, true)
	s.boundary(event.StatementOpen, main, func(b *event.Boundary) { b.Cell, b.Line = 1, 1 })
	s.to(main, 60)
	s.result(1, event.OutcomeError)
	s.to(main, 200)
	s.to(main, 70)
	return s
}

func TestHooksAreTheCells(t *testing.T) {
	s := figured()
	s.closeCell(1, event.OutcomeOK) // the outcome of the hooks decides nothing
	s.to(main, 90)
	s.boundary(event.Detached, main)
	r := s.run(t)
	cell, statement, hooks := nth(t, r, model.Cell, 0), nth(t, r, model.Statement, 0), nth(t, r, model.Statement, 1)
	expect(t, "cell", resident(cell), [3]int64{50, 200, 70})
	expect(t, "its statement", resident(statement), [3]int64{50, 60, 60})
	expect(t, "its hooks", resident(hooks), [3]int64{60, 200, 70})
	expect(t, "statuses", []string{cell.Status, statement.Status, hooks.Status},
		[]string{model.Error, model.Error, model.OK})
	expect(t, "the row", []any{hooks.Name, hooks.Line, hooks.Parent}, []any{model.Hooks, 0, cell.ID})
	expect(t, "ends", hooks.StartNS+hooks.DurationNS, cell.StartNS+cell.DurationNS)
	expect(t, "between", []any{len(r.Between), r.Between[1].Meters["cpu.resident"].Peak}, []any{2, int64(90)})
	expect(t, "note", cell.Note, "")
}

// TestNobodySaysWhenHooksAreOver: a cell with hooks of unknown end ended at its result, whatever is seen next.
func TestNobodySaysWhenHooksAreOver(t *testing.T) {
	for name, next := range map[string]func(*script){
		"the next cell": func(s *script) {
			s.closeCell(1, event.OutcomeMissed)
			s.openCell(2, true)
			s.closeCell(2, event.OutcomeOK)
		},
		"exit":     func(s *script) { s.boundary(event.ProcessExit, main) },
		"exec":     func(s *script) { s.boundary(event.ProcessExec, main) },
		"detached": func(s *script) { s.boundary(event.Detached, main) },
		"cut":      func(*script) {},
	} {
		t.Run(name, func(t *testing.T) {
			s := figured()
			next(s)
			r := s.run(t)
			cell := nth(t, r, model.Cell, 0)
			expect(t, "cell", resident(cell), [3]int64{50, 60, 60})
			expect(t, "status", []string{cell.Status, cell.Note}, []string{model.Error, words.NoHooksEnd.String()})
			for _, w := range r.Windows {
				if w.Name == model.Hooks && w.Parent == cell.ID {
					t.Errorf("a row of hooks: %+v", w)
				}
			}
			if after := r.Between[1]; after.After != cell.ID || after.StartNS != cell.StartNS+cell.DurationNS {
				t.Errorf("between: %+v", after)
			}
			expect(t, "complete", r.Certificate.Complete, true)
			if name != "exec" && name != "cut" { // an exec and undelivered records end it otherwise
				expect(t, "between", r.Between[1].Meters["cpu.resident"].Peak, int64(200))
			}
		})
	}
}

// TestOverlappingHooks: another thread's cell still runs when a cell has ended at its result, so there is no time
// between.
func TestOverlappingHooks(t *testing.T) {
	s := figured()
	s.openCell(2, true)
	s.closeCell(1, event.OutcomeMissed)
	s.to(main, 300)
	s.closeCell(2, event.OutcomeOK)
	r := s.run(t)
	expect(t, "cells", []any{resident(nth(t, r, model.Cell, 0)), resident(nth(t, r, model.Cell, 1))},
		[]any{[3]int64{50, 60, 60}, [3]int64{70, 300, 300}})
	expect(t, "between", len(r.Between), 2)
}

// TestMissedIsAsIfItHadEnded compares, for random cells, the reports of cells with a missed end and of cells that
// closed at their result.
func TestMissedIsAsIfItHadEnded(t *testing.T) {
	t.Parallel()
	for seed := range attributiontest.Seeds(50) {
		reports := [2]*model.Report{}
		for missed := range 2 {
			rng := rand.New(rand.NewPCG(seed, 7))
			s := newBlocks()
			churn := func() {
				for range rng.IntN(12) {
					if len(s.address) > 0 && rng.IntN(3) == 0 {
						s.give(s.address[rng.IntN(len(s.address))])
					} else {
						s.take(1+rng.Uint64N(4), 1+event.Bytes(rng.IntN(1000)))
					}
				}
			}
			for stack := range uint64(4) {
				s.events = append(s.events, &event.Stack{Number: stack + 1, PID: main,
					Frames: []event.Frame{{Function: fmt.Sprint("f", stack), File: "f.py", Line: 1}}})
			}
			s.delay = func() bool { return rng.IntN(8) == 0 }
			for cell := range uint64(4) {
				churn()
				s.cut(event.CellOpen, cell+1)
				churn()
				s.cut([]event.BoundaryKind{event.CellClose, event.CellResult}[missed], cell+1)
				churn()
				s.cut([]event.BoundaryKind{event.StatementClose, event.CellClose}[missed], cell+1)
				for _, e := range s.events[max(0, len(s.events)-50):] {
					if b, ok := e.(*event.Boundary); ok && b.Number == s.number {
						b.Outcome = event.OutcomeMissed
					}
				}
			}
			reports[missed] = s.run(t)
		}
		equalButIDs(t, seed, reports[0], reports[1])
	}
}

func equalButIDs(t *testing.T, seed uint64, want, got *model.Report) {
	t.Helper()
	if len(want.Windows) != len(got.Windows) || len(want.Between) != len(got.Between) {
		t.Fatalf("seed %d: %d and %d windows, %d and %d between", seed, len(want.Windows), len(got.Windows),
			len(want.Between), len(got.Between))
	}
	for i := range want.Windows {
		w, g := want.Windows[i], got.Windows[i]
		w.ID, g.ID, w.Parent, g.Parent, w.CPUNS, g.CPUNS = 0, 0, 0, 0, 0, 0
		if g.Kind == model.Cell && g.Note != words.NoHooksEnd.String() {
			t.Errorf("seed %d: %+v", seed, g)
		}
		g.Note = ""
		if !reflect.DeepEqual(w, g) {
			t.Fatalf("seed %d, window %d:\nwant %+v\n got %+v", seed, i, w, g)
		}
	}
	for i := range want.Between {
		w, g := want.Between[i], got.Between[i]
		w.After, g.After, w.Before, g.Before = 0, 0, 0, 0
		if !reflect.DeepEqual(w, g) {
			t.Fatalf("seed %d, between %d:\nwant %+v\n got %+v", seed, i, w, g)
		}
	}
}

// TestCellThatRanAlready: the facts that user space found out about a cell are reported, and no cell is taken for a
// silent one.
func TestCellThatRanAlready(t *testing.T) {
	for name, c := range map[string]struct {
		inputs int64
		count  *int
	}{"stored": {1, new(int)}, "not stored": {-1, nil}} {
		s := newScript()
		s.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Late, b.Inputs = 1, true, c.inputs })
		s.to(main, 80)
		s.result(1, event.OutcomeOK)
		s.closeCell(1, event.OutcomeOK)
		s.openCell(2, true)
		s.closeCell(2, event.OutcomeOK)
		s.boundary(event.CellOpen, main, func(b *event.Boundary) { b.Cell, b.Late, b.Inputs = 3, true, -1 })
		s.closeCell(3, event.OutcomeMissed)
		r := s.run(t)
		first, second, missed := nth(t, r, model.Cell, 0), nth(t, r, model.Cell, 1), nth(t, r, model.Cell, 2)
		expect(t, name, []any{first.ExecutionCount, first.Silent, first.Note, first.Status, resident(first)},
			[]any{c.count, false, words.Late.String(), model.OK, [3]int64{50, 80, 80}})
		expect(t, name+", the next", []any{*second.ExecutionCount, second.Note}, []any{1, ""})
		expect(t, name+", its end missed", []string{missed.Status, missed.Note},
			[]string{model.Incomplete, words.Late.String() + "; its end was not seen"})
		expect(t, name+", complete", r.Certificate.Complete, false)
	}
}
