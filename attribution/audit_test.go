package attribution

import (
	"strings"
	"testing"

	"ipytracer/attribution/internal/audit"
	"ipytracer/event"
	"ipytracer/model"
)

const mib = event.Bytes(1 << 20)

// A cell that leaves memory behind in each run grows, whichever object holds it; the line is that of the block.
func TestRerunGrowth(t *testing.T) {
	n := newNotebook()
	for range 4 {
		n.run("leaky", func() {
			n.take("leaky", 2, 3*mib)
			n.give(n.take("leaky", 3, 50*mib))
		})
		n.run("other", func() {})
	}
	v := only(t, n.audit(t), model.RerunGrowth, 12*mib, 1, 3, 5, 7)
	if v.Growth == nil || *v.Growth != (model.Growth{Runs: 4, Slope: int64(3 * mib), Low: int64(3 * mib),
		High: int64(3 * mib)}) {
		t.Errorf("growth %+v", v.Growth)
	}
	if len(v.Stack) != 2 || v.Stack[1].Line != 2 || v.Stack[1].Execution != 7 || v.Stack[0].Function != "helper" {
		t.Errorf("stack %+v", v.Stack)
	}
}

// Memory that is kept for a while, within a bound, is not growth; neither is memory that the next run replaces.
func TestBoundedIsNoGrowth(t *testing.T) {
	for _, keeps := range []int{1, 2, 4} {
		n := newNotebook()
		var kept []uint64
		for range 7 {
			n.run("bounded", func() {
				kept = append(kept, n.take("bounded", 1, 4*mib))
				if len(kept) > keeps {
					n.give(kept[0])
					kept = kept[1:]
				}
			})
		}
		none(t, n.audit(t))
	}
	n := newNotebook() // freed in the end
	var all []uint64
	for range 5 {
		n.run("collect", func() { all = append(all, n.take("collect", 1, 4*mib)) })
	}
	n.run("clear", func() { n.give(all...) })
	none(t, n.audit(t))
}

// Mapped memory that a few runs took and kept, ever less of it, is normal for allocators; the same in each of four runs
// is growth.
func TestMappedGrowth(t *testing.T) {
	for _, c := range []struct {
		sizes []event.Bytes
		grows bool
	}{{[]event.Bytes{14, 10, 3}, false}, {[]event.Bytes{7, 7, 7}, false}, {[]event.Bytes{90, 8, 2, 1},
		false}, {[]event.Bytes{7, 1, 5, 2, 4}, false}, {[]event.Bytes{7, 7, 7, 7}, true},
		{[]event.Bytes{8, 7, 6, 7, 8}, true}} {
		n := newNotebook()
		sum := event.Bytes(0)
		for _, size := range c.sizes {
			n.run("maps", func() {
				n.next += 1 << 32
				n.move(event.Change{Meter: event.Mapped, Size: size * mib, Address: n.next, Block: true})
			})
			sum += size * mib
		}
		if a := n.audit(t); !c.grows {
			none(t, a)
		} else if len(a.Verdicts) != 1 || a.Verdicts[0].Kind != model.RerunGrowth || a.Verdicts[0].Bytes != int64(sum) {
			t.Errorf("%v: %+v", c.sizes, a.Verdicts)
		}
	}
}

// A cell that allocates the same anew in each run does not grow, though an allocator spreads the objects of the last
// run over memory that each of the runs mapped. The numbers are the arenas of each run, after each run; the first ones
// are from a real cell that allocates 300,000 strings.
func TestMappedGrowthInArenas(t *testing.T) {
	for name, c := range map[string]struct {
		after [][]int
		grows bool
	}{
		"as many behind each run":  {[][]int{{14}, {5, 9}, {4, 4, 6}, {3, 3, 3, 5}, {2, 3, 3, 3, 3}}, false},
		"now more and now less":    {[][]int{{14}, {5, 8}, {4, 4, 7}, {3, 3, 3, 4}, {2, 3, 3, 3, 3}}, false},
		"the first run found room": {[][]int{{4}, {4, 10}, {3, 5, 6}, {3, 3, 3, 5}, {2, 3, 3, 3, 3}}, false},
		"four runs":                {[][]int{{14}, {7, 7}, {5, 5, 4}, {3, 4, 3, 4}}, false},
		"up to a bound": {[][]int{{4}, {4, 4}, {4, 4, 4}, {3, 3, 3, 3}, {3, 3, 2, 2, 2}, {2, 2, 2, 2, 2, 2},
			{2, 2, 2, 2, 2, 1, 1}}, false},
		"more behind each run":      {[][]int{{5}, {5, 5}, {5, 5, 5}, {5, 5, 5, 5}}, true},
		"more, and some given back": {[][]int{{14}, {6, 13}, {6, 6, 12}, {6, 6, 5, 13}, {6, 6, 5, 6, 7}}, true},
	} {
		for _, elsewhere := range []bool{false, true} { // the next run unmaps, or another cell before it
			n := newNotebook()
			number, arenas := uint64(1<<60), make([][]event.Change, len(c.after))
			n.events = append(n.events, &event.Stack{Number: number, PID: main,
				Frames: []event.Frame{{Function: "<module>", File: "maps.py", Line: 2}}})
			giveBack := func(after []int) {
				for run, kept := range after {
					for ; len(arenas[run]) > kept; arenas[run] = arenas[run][1:] {
						gone := arenas[run][0]
						gone.Size, gone.Stack = -gone.Size, 0
						n.move(gone)
					}
				}
			}
			for run, after := range c.after {
				if elsewhere {
					n.run("clears", func() { giveBack(after) })
				}
				n.run("maps", func() {
					giveBack(after)
					for len(arenas[run]) < after[run] {
						n.next += 1 << 32
						a := event.Change{Meter: event.Mapped, Size: mib, Address: n.next, Block: true, Stack: number}
						arenas[run] = append(arenas[run], a)
						n.move(a)
					}
				})
			}
			a := n.audit(t)
			if grows := len(a.Verdicts) == 1 && a.Verdicts[0].Kind == model.RerunGrowth; grows != c.grows || !grows &&
				len(a.Verdicts) > 0 {
				t.Errorf("%s, elsewhere %v: %+v", name, elsewhere, a.Verdicts)
			}
		}
	}
}

// A leak in only some of the runs is found once there are enough of them.
func TestGrowthNowAndThen(t *testing.T) {
	n := newNotebook()
	left := event.Bytes(0)
	for i := range 40 {
		n.run("sometimes", func() {
			if i%3 != 1 {
				n.take("sometimes", 1, mib)
				left += mib
			}
		})
	}
	a := n.audit(t)
	if len(a.Verdicts) != 1 || a.Verdicts[0].Kind != model.RerunGrowth || a.Verdicts[0].Bytes != int64(left) {
		t.Errorf("%+v", a.Verdicts)
	}
}

// The holder of a block decides the verdict.
func TestHolderDecidesTheVerdict(t *testing.T) {
	for _, c := range []struct {
		kind event.HolderKind
		path string
		want string
		says string
	}{
		{event.HeldByVariable, "x", "", ""},
		{event.HeldByOutput, "Out[1]", model.HeldByOutput, "Out[1]"},
		{event.HeldByTraceback, "local 'batch' of step", model.HeldByTraceback, "local 'batch' of step"},
		{event.HeldByModule, "lib._cache['k']", model.HeldAfterWindow, "lib._cache['k']"},
		{event.HeldByThread, "local 'a' of work", model.HeldAfterWindow, "local 'a' of work"},
		{event.HeldByCycle, "", model.HeldAfterWindow, "garbage collector"},
		{event.HeldByNone, "", model.HeldAfterWindow, "no Python object"},
	} {
		for _, meter := range []event.Meter{event.NumPy, event.Torch} {
			n := newNotebook()
			n.run("cell", func() {
				address := n.takeOf(meter, "cell", 1, 8*mib)
				defer n.hold(event.Holder{Address: address, Kind: c.kind, Path: c.path, Type: "numpy.ndarray",
					References: 1})
			})
			a := n.audit(t)
			if c.want == "" {
				none(t, a)
			} else if v := only(t, a, c.want, 8*mib, 1); !strings.Contains(v.Evidence, c.says) {
				t.Errorf("%s: %q does not say %q", c.want, v.Evidence, c.says)
			}
			if len(a.Held) != 1 || a.Held[0].By != string(c.kind) || a.Held[0].Bytes != int64(8*mib) ||
				a.Held[0].Meter != meter.String() || !a.Complete {
				t.Errorf("held %+v, complete %v", a.Held, a.Complete)
			}
		}
	}
}

// A holder that is not certain is reported as such.
func TestUncertainHolderIsReportedAsSuch(t *testing.T) {
	n := newNotebook()
	n.run("cell", func() {
		address := n.take("cell", 1, 8*mib)
		defer n.hold(event.Holder{Address: address, Kind: event.HeldByModule, Path: "lib.cache.<odd>", Probable: true})
	})
	if v := only(t, n.audit(t), model.HeldAfterWindow, 8*mib, 1); !v.Probable ||
		!strings.Contains(v.Evidence, "probably") {
		t.Errorf("%+v", v)
	}
}

// A block without a holder is a leak only if each object was searched, and it is not memory that libraries keep.
func TestNobodyHoldsIt(t *testing.T) {
	n := newNotebook()
	n.run("cell", func() {
		address := n.take("cell", 1, 8*mib)
		defer func() {
			n.events = append(n.events, &event.Holders{PID: main,
				Holders: []event.Holder{{Address: address, Kind: event.HeldByNone}}})
		}()
	})
	a := n.audit(t)
	none(t, a)
	if a.Complete {
		t.Error("not every object was looked at, and the audit is complete")
	}
	n = newNotebook() // cuBLAS's workspace, on two GPUs of which one is a Hopper
	n.run("cell", func() {
		first := n.takeOf(event.OfDevice(0, event.Active), "cell", 1, 4096*2<<10+16*8<<10)
		second := n.takeOf(event.OfDevice(1, event.Active), "cell", 1, 32<<20)
		defer n.hold(event.Holder{Address: first, Kind: event.HeldByNone},
			event.Holder{Address: second, Kind: event.HeldByNone})
	})
	none(t, n.audit(t))
}

// All blocks of one holder are one verdict, whichever lines allocated them; blocks of unnamed holders get one for each
// line.
func TestOneVerdictForEachHolder(t *testing.T) {
	n := newNotebook()
	var all []uint64
	n.run("makes", func() {
		for line := 1; line <= 4; line++ {
			all = append(all, n.take("makes", line, mib))
		}
	})
	n.run("shows", func() {})
	n.hold(
		event.Holder{Address: all[0], Kind: event.HeldByOutput, Output: 2, Path: "Out[2]['a']", Root: "Out"},
		event.Holder{Address: all[1], Kind: event.HeldByOutput, Output: 2, Path: "Out[2]['b']", Root: "Out"},
		event.Holder{Address: all[2], Kind: event.HeldByModule, Path: "lib.cache['k']", Root: "lib"},
		event.Holder{Address: all[3], Kind: event.HeldByModule, Path: "lib.cache['l']", Root: "lib"},
	)
	a := n.audit(t)
	if len(a.Verdicts) != 2 {
		t.Fatalf("%+v", a.Verdicts)
	}
	for _, v := range a.Verdicts {
		switch v.Kind {
		case model.HeldByOutput:
			if v.Bytes != int64(2*mib) || v.Count != 2 || v.Change == nil || v.Change.Execution != 2 ||
				v.Fix != "%xdel _2" || !strings.Contains(v.Evidence, "In[2]") {
				t.Errorf("%+v", v)
			}
		case model.HeldAfterWindow:
			if v.Bytes != int64(2*mib) || v.Change == nil || v.Change.Execution != 1 ||
				v.Fix != "import sys\nsys.modules['lib'].cache.clear()" {
				t.Errorf("%+v", v)
			}
		default:
			t.Errorf("%+v", v)
		}
	}
}

// Student's quantiles, against published tables.
func TestStudentsQuantiles(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 2: 4.303, 10: 2.228, 15: 2.131, 16: 2.120, 20: 2.086,
		30: 2.042, 60: 2.000, 120: 1.980} {
		if got := audit.Student(freedom); got < want-0.0015 || got > want+0.0015 {
			t.Errorf("%d degrees: %f, want %f", freedom, got, want)
		}
	}
}

// TestSiteIsNamedAlike: if several stacks are one place in the code, the stack that names it does not depend on which
// block comes first.
func TestSiteIsNamedAlike(t *testing.T) {
	names := map[uint64]string{5: "first.py", 7: "", 9: "second.py"}
	for _, order := range [][]uint64{{5, 7, 9}, {9, 5, 7}, {7, 9, 5}} {
		s := audit.NewSurvivors(NewAuditor().core.Rows)
		var one *audit.Site
		for _, stack := range order {
			name := audit.SiteName{Text: "x = 1", Where: "f"}
			if names[stack] != "" {
				name.Frames = []model.Frame{{File: names[stack]}}
			}
			s.Named[audit.Named{PID: main, Stack: stack, Cell: nil}] = name
			one = s.Site(main, event.NumPy, stack, nil)
		}
		if len(one.Frames) != 1 || one.Frames[0].File != "first.py" {
			t.Errorf("%v: %+v", order, one.Frames)
		}
	}
}
