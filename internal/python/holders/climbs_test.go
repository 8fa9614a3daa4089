package holders

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/paths"
	"ipytracer/internal/python/holders/views"
	"ipytracer/internal/python/holders/walk"
)

// walked has a walk of a process looked at, for blocks.
func (f *fake) walked(t *testing.T, blocks []objects.Block, look func(w finished)) {
	t.Helper()
	limits := objects.Limits{Time: 10 * time.Minute}
	s, err := newSurvey(context.Background(), f.h, f.memory(), Process{}, limits)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	limits.Defaults()
	w := s.walker(context.Background(), blocks, limits)
	defer w.Free()
	w.Reserve(s.notes.Containers)
	w.Stopped = s.stopped
	found := seeking(w)
	look(finish(found))
}

// chain makes a list of nodes, each of which leads to the next one and to an array of its own. It returns the first
// node.
func (f *fake) chain(count int, link func(next, array uint64) uint64) (first uint64, blocks []objects.Block) {
	first = f.list()
	for i := range count {
		data := 0x7100_0000_0000 + uint64(i)<<13
		first = link(first, f.object("numpy.ndarray", data, 1, 0, 0, 0, 0, 0, 0))
		blocks = append(blocks, objects.Block{Address: data, Size: 4096})
	}
	return first, blocks
}

// local makes an object the first local variable of the thread that runs, and returns its frame.
func (f *fake) local(object uint64) (frame uint64) {
	thread := f.word(f.h.Interpreter + uint64(f.h.InterpThreadsHead))
	at := thread + uint64(f.h.ThreadFrame)
	frame = f.word(at)
	if f.h.FrameKind == cpython.FrameCFrame {
		f.put(at, f.alloc(64))
		f.put(f.word(at)+uint64(f.h.CFrameCurrent), frame)
	}
	if f.h.FrameHolds == 0 { // it is an object
		f.put(frame, 1)
		f.put(frame+8, f.types["frame"])
	}
	code := f.word(frame + uint64(f.h.FrameCode))
	for _, at := range []uint32{f.h.CodeName, f.h.CodeQualName, f.h.CodeFilename} {
		if at != 0 {
			f.put(code+uint64(at), f.str("work"))
		}
	}
	f.put(frame+uint64(f.h.FrameLocals), object)
	return frame
}

// TestLongChain: of a list of 60,000 nodes with a block each, the blocks are described in a number of steps that is
// bounded for each node, however the nodes hang together: in dicts and lists, without a name for any step, from a
// frame, and where no root leads to the list.
func TestLongChain(t *testing.T) {
	const count, perNode = 60_000, 2 * paths.MaxNamed
	inLists := func(f *fake) func(next, array uint64) uint64 {
		return func(next, array uint64) uint64 { return f.list(next, array) }
	}
	variable := func(f *fake, first uint64) { f.program([]uint64{f.str("chain"), first}, nil) }
	for _, c := range []struct {
		name         string
		link         func(f *fake) func(next, array uint64) uint64
		hold         func(f *fake, first uint64)
		kind         event.HolderKind
		begins, ends string
	}{
		{"dicts", func(f *fake) func(next, array uint64) uint64 {
			further, data := f.str("next"), f.str("data")
			return func(next, array uint64) uint64 { return f.dict(further, next, data, array) }
		}, variable, event.HeldByVariable, "chain['next']['next']", "['next']['data']"},
		{"lists", inLists, variable, event.HeldByVariable, "chain[0][0]", "[0][0][1]"},
		{"nameless", func(f *fake) func(next, array uint64) uint64 {
			f.typ("functools._lru_list_elem", 56, 0, 0) // three links of a list of its own
			return func(next, array uint64) uint64 {
				return f.object("functools._lru_list_elem", 0, 0, 0, next, array)
			}
		}, variable, event.HeldByVariable, "chain", "…"},
		{"frame", inLists, func(f *fake, first uint64) {
			f.local(first)
			f.put(f.h.Interpreter+uint64(f.h.InterpModules), f.dict(f.str("m"), f.object("module", f.dict())))
		}, event.HeldByThread, "a[0][0]", "[0][0][1]"},
		{"garbage", inLists, func(f *fake, first uint64) {
			variable(f, f.list())
			f.collect(first)
		}, event.HeldByNone, "…[0][0]", "[0][0][1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake(11)
			first, blocks := f.chain(count, c.link(f))
			c.hold(f, first)
			f.walked(t, blocks, func(w finished) {
				r := w.result()
				h, last := r.Holders[0], r.Holders[count-1] // the deepest was made first
				if !r.Complete || len(r.Holders) != count || h.Kind != c.kind || last.Kind != c.kind {
					t.Fatalf("complete %t, %+v … %+v", r.Complete, h, last)
				}
				ends := strings.HasPrefix(h.Path, c.begins) && strings.HasSuffix(h.Path, c.ends)
				if len(h.Path) > paths.MaxPath || !ends || !strings.Contains(h.Path, "…") {
					t.Errorf("path %q", h.Path)
				}
				if c.kind == event.HeldByThread && (h.Function != "work" || last.Path != "a[1]") {
					t.Errorf("in %q, and %+v", h.Function, last)
				}
				t.Logf("%d nodes, %d steps, %d put into words", len(w.Nodes), w.paths.Climbs.Steps,
					w.paths.Climbs.Worded)
				if got := w.paths.Climbs.Steps; got > perNode*count ||
					w.paths.Climbs.Worded > paths.MaxWorded+2*paths.LeastNamed*count {
					t.Error("that is too many")
				}
			})
		})
	}
}

// TestWordsAreBounded: once so many nodes were put into words, a path has its ends still.
func TestWordsAreBounded(t *testing.T) {
	f := newFake(11)
	first, blocks := f.chain(1000, func(next, array uint64) uint64 { return f.list(next, array) })
	f.program([]uint64{f.str("chain"), first}, nil)
	f.walked(t, blocks, func(w finished) {
		w.paths.Climbs.Worded = paths.MaxWorded + 1
		h := w.result().Holders[0]
		want := "chain" + strings.Repeat("[0]", paths.MaxSteps-2) + "…" + strings.Repeat("[0]",
			paths.MaxSteps-1) + "[1]"
		if h.Path != want || w.paths.Climbs.Worded > paths.MaxWorded+1+(2*paths.LeastNamed+2)*len(blocks) {
			t.Errorf("%q after %d, want %q", h.Path, w.paths.Climbs.Worded-paths.MaxWorded, want)
		}
	})
}

// plainly is [paths.Writer.Describe] as one writes it down: it goes the whole way up from a node.
func plainly(w finished, h *event.Holder, n int32) {
	root := n
	for w.Nodes[root].Parent >= 0 {
		root = w.Nodes[root].Parent
	}
	h.Kind, h.References, h.Probable = walk.Kinds[w.Nodes[n].Kind], w.References(w.Addrs[n]), w.Nodes[n].Probable
	h.Running = w.CellFrames[w.Addrs[root]]
	if l := w.paths.LabelOf(root); l.Kind == walk.LabelRoot {
		h.Root = w.Names[l.Arg]
	}
	if t := w.ObjectType(w.Addrs[n]); t != nil {
		h.Type = t.Name
	}
	var steps []string
	for at := n; at >= 0; at = w.Nodes[at].Parent {
		l, parent := w.paths.LabelOf(at), w.Nodes[at].Parent
		step, begins := w.paths.Step(at, l)
		if step != "" {
			steps = append(steps, step)
		}
		if begins && h.Function == "" {
			w.paths.DescribeFrame(h, parent)
		}
		if begins && h.Function != "" && (h.Kind == event.HeldByTraceback || h.Kind == event.HeldByThread) {
			break
		}
		if i := len(steps) - 1; begins && i >= 0 && l.Kind == walk.LabelLocal {
			steps[i] = ".f_locals[" + objects.Quote(steps[i]) + "]"
			if parent >= 0 && w.IsShape(w.Addrs[parent], objects.ShapeGenerator) {
				steps[i] = ".gi_frame" + steps[i]
			}
		}
		if parent < 0 {
			h.Output = w.paths.Output(l, steps)
		}
	}
	if most := 2 * paths.MaxSteps; len(steps) > most {
		steps = slices.Concat(steps[:paths.MaxSteps], []string{"…"}, steps[len(steps)-paths.MaxSteps+1:])
	}
	slices.Reverse(steps)
	h.Path = w.paths.Join(paths.Submodules(steps), h)
}

// deep makes a program with ways of a length from a variable, an output, a traceback and a frame; one frame is in the
// middle of a way.
func (f *fake) deep(length int) {
	f.typ("functools._lru_list_elem", 56, 0, 0) // three links of a list of its own
	made := 0
	link := func(next, array uint64) uint64 {
		if made++; made%7 == 0 {
			return f.object("cell", f.object("functools._lru_list_elem", 0, 0, 0, next, array))
		}
		return f.list(next, array)
	}
	ways := make([]uint64, 4)
	for i := range ways {
		ways[i], _ = f.chain(length, link)
	}
	code := f.word(f.local(ways[1]) + uint64(f.h.FrameCode))
	frame := f.object("frame", make([]uint64, 60)...) // in the middle of a way
	f.put(frame+uint64(f.h.FrameCode), code)
	f.put(frame+uint64(f.h.FrameLocals), ways[0])
	if f.h.FrameHolds != 0 {
		inner := f.alloc(512)
		f.put(frame+uint64(f.h.FrameHolds), inner)
		f.put(inner+uint64(f.h.FrameCode), code)
		f.put(inner+uint64(f.h.FrameLocals), ways[0])
	}
	made = 0
	long := frame
	for range 60 {
		long = link(long, f.array())
	}
	three := f.object("int", 1|1<<3, 3)
	f.put(three+16, uint64(map[bool]int{true: 1 << 3, false: 1}[f.h.Version.Minor >= 12]))
	main := f.object("module", f.dict(f.str("deep"), long, f.str("Out"), f.dict(three, ways[2])))
	sys := f.object("module", f.dict(f.str("last_value"), ways[3]))
	f.put(f.h.Interpreter+uint64(f.h.InterpModules), f.dict(f.str("__main__"), main, f.str("sys"), sys))
}

// TestDescriptionOfLongPaths: whatever lies at the end of ways of all lengths, some with nodes between that are no
// steps, is described as if the whole way were gone.
func TestDescriptionOfLongPaths(t *testing.T) {
	const length = 700
	eachVersion(t, func(t *testing.T, f *fake) {
		f.deep(length)
		f.walked(t, nil, func(w finished) {
			w.result()
			w.paths.Climbs = paths.Climbs{}
			seen, functions, outputs, longest := map[event.HolderKind]int{}, 0, 0, 0
			for n := int32(len(w.Nodes)) - 1; n >= 0; n-- {
				var want, got event.Holder
				plainly(w, &want, n)
				w.paths.Describe(&got, n)
				if got != want {
					t.Fatalf("node %d: %+v\nwant %+v", n, got, want)
				}
				seen[got.Kind]++
				longest = max(longest, strings.Count(got.Path, "["))
				if got.Function != "" {
					functions++
				}
				if got.Output > 0 {
					outputs++
				}
			}
			for _, kind := range walk.Kinds[:walk.KindModule] {
				if seen[kind] < length {
					t.Errorf("%d nodes of %s", seen[kind], kind)
				}
			}
			if functions < 2*length || outputs < length || len(w.paths.Climbs.At) != len(w.Nodes) ||
				longest < paths.MaxSteps {
				t.Errorf("%d functions, %d outputs, %d steps, %d nodes noted of %d",
					functions, outputs, longest, len(w.paths.Climbs.At), len(w.Nodes))
			}
		})
	})
}

// TestWasteOfLongWays: the collector's knowledge of the nodes on a way is known at its end, however long the way is.
func TestWasteOfLongWays(t *testing.T) {
	const count = 10 * paths.MaxDirect
	for _, odd := range []int32{-1, 0, 1, count / 2, count - 1} {
		w := bare(&objects.Notes{Collector: objects.Collector{Known: true}})
		p := paths.NewWriter(w, nil)
		for n := range int32(count) {
			w.Nodes = append(w.Nodes, walk.Node{Parent: n - 1, ID: n, Kind: walk.KindNone})
			w.Notes.Noted = append(w.Notes.Noted, objects.Note{What: objects.NoteTracked | objects.NoteOld})
		}
		for flags, want := range map[uint32]event.Garbage{
			objects.NoteTracked: event.GarbageYoung,
			objects.NoteTracked | objects.NoteFrozen | objects.NoteOld: event.GarbageFrozen,
			0: event.GarbageOld,
		} {
			if odd >= 0 {
				w.Notes.Noted[odd].What = flags
			}
			p.Climbs = paths.Climbs{}
			for n := range int32(count) {
				expected := event.GarbageOld
				if odd >= 0 && n >= odd {
					expected = want
				}
				if got := paths.GarbageOf(p, n); got != expected {
					t.Fatalf("with %#x at %d: %q at %d, want %q", flags, odd, got, n, expected)
				}
			}
			if p.Climbs.Steps > 2*count+paths.MaxDirect*paths.MaxDirect {
				t.Errorf("%d steps", p.Climbs.Steps)
			}
		}
	}
}

// TestReferrersAreBounded: of an array that very many objects refer to, not one reference each is noted.
func TestReferrersAreBounded(t *testing.T) {
	f := newFake(11)
	array := f.array()
	items := slices.Repeat([]uint64{array}, 1000)
	var lists []uint64
	for range 100 {
		lists = append(lists, f.list(items...))
	}
	f.program([]uint64{f.str("x"), array, f.str("all"), f.list(lists...), f.str("other"), f.list(array)}, nil)
	f.walked(t, nil, func(w finished) {
		v := &views.Viewing{Walker: w.Walker}
		p := views.NewPlaces(w.Walker)
		p.Referrers(v, []views.Held{{Targets: []views.Target{{View: array}}}})
		if len(p.Others) != 1 || len(p.Others[array]) != views.MaxReferrers ||
			cap(p.Others[array]) > 2*views.MaxReferrers {
			t.Errorf("%d references to %d objects", len(p.Others[array]), len(p.Others))
		}
	})
}

// TestAbsurdTree: sizes with a product that does not fit are none.
func TestAbsurdTree(t *testing.T) {
	f := newFake(11)
	f.typ(objects.TreeType, 16+8*5, 0, 0)
	for _, c := range []struct {
		room, stride uint64
		known        bool
	}{{100, 2, true}, {1 << 32, 1 << 29, false}, {1 << 31, 1 << 32, false}, {1 << 24, 1 << 37, false}} {
		nodes, values := f.alloc(64)+16, f.alloc(64)+16
		f.put(nodes-8, 56*c.room)
		f.put(values-8, max(8*c.room*c.stride, 4096))
		tree := f.object(objects.TreeType, min(c.room, 50), c.room, nodes, values, c.stride)
		f.walked(t, nil, func(w finished) {
			w.Sizes = &objects.Sizes{Mapped: everything}
			_, known := objects.TreeSize(&w.Sizer, tree, w.ObjectType(tree))
			if known != c.known {
				t.Errorf("%+v: known %t", c, known)
			}
		})
	}
}
