package walk

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/python/holders/holderstest"
	"ipytracer/internal/python/holders/objects"
)

// finished is a finder whose walk is over.
type finished struct {
	*Finder
	paths *PathWriter
}

func (f finished) holders() []event.Holder {
	f.Mem.Limit += objects.PathBytes
	f.Stopped = nil
	return f.paths.Holders(f.Finder)
}

// walked has a walk of a made-up process looked at, for blocks.
func walked(t *testing.T, f *holderstest.Python, blocks []objects.Block, look func(w finished)) {
	t.Helper()
	defer objects.OnThread()()
	limits := objects.Limits{Time: 10 * time.Minute}
	limits.Defaults()
	found := Findings{Heap: f.Heap, Mem: objects.NewMemory(f.Memory(), limits.Bytes)}
	defer found.Mem.Close()
	if err := found.Count(t.Context(), limits, func() bool { return true }); err != nil {
		t.Fatal(err)
	}
	defer found.Release()
	w := found.Walker(t.Context(), blocks, limits)
	defer w.Free()
	w.Reserve(found.Notes.Containers)
	w.Stopped = found.Stopped
	look(finish(w))
}

// finish follows all roots, and then looks for garbage.
func finish(w *Walker) finished {
	finder := NewFinder(w)
	finder.SeeksArrays = true
	w.VisitFor(finder)
	Roots{Walker: w}.FollowAll(w.Modules(), true)
	return finished{finder, NewPathWriter(w, FindGarbage(w))}
}

// blocksOf are the blocks of arrays with data at these addresses.
func blocksOf(arrays []uint64) (blocks []objects.Block) {
	for _, data := range arrays {
		blocks = append(blocks, objects.Block{Address: data, Size: 4096})
	}
	return blocks
}

// TestLongChain: of a list of 60,000 nodes with a block each, the blocks are described in a number of steps that is
// bounded for each node, however the nodes hang together: in dicts and lists, without a name for any step, from a
// frame, and where no root leads to the list.
func TestLongChain(t *testing.T) {
	const count, perNode = 60_000, 2 * maxNamed
	inLists := func(f *holderstest.Python) func(next, array uint64) uint64 {
		return func(next, array uint64) uint64 { return f.List(next, array) }
	}
	variable := func(f *holderstest.Python, first uint64) { f.Program([]uint64{f.Str("chain"), first}, nil) }
	for _, c := range []struct {
		name         string
		link         func(f *holderstest.Python) func(next, array uint64) uint64
		hold         func(f *holderstest.Python, first uint64)
		kind         event.HolderKind
		begins, ends string
	}{
		{"dicts", func(f *holderstest.Python) func(next, array uint64) uint64 {
			further, data := f.Str("next"), f.Str("data")
			return func(next, array uint64) uint64 { return f.Dict(further, next, data, array) }
		}, variable, event.HeldByVariable, "chain['next']['next']", "['next']['data']"},
		{"lists", inLists, variable, event.HeldByVariable, "chain[0][0]", "[0][0][1]"},
		{"nameless", func(f *holderstest.Python) func(next, array uint64) uint64 {
			f.Type("functools._lru_list_elem", 56, 0, 0) // three links of a list of its own
			return func(next, array uint64) uint64 {
				return f.Object("functools._lru_list_elem", 0, 0, 0, next, array)
			}
		}, variable, event.HeldByVariable, "chain", "…"},
		{"frame", inLists, func(f *holderstest.Python, first uint64) {
			f.Local(first)
			f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules), f.Dict(f.Str("m"), f.Object("module", f.Dict())))
		}, event.HeldByThread, "a[0][0]", "[0][0][1]"},
		{"garbage", inLists, func(f *holderstest.Python, first uint64) {
			variable(f, f.List())
			f.Collect(first)
		}, event.HeldByNone, "…[0][0]", "[0][0][1]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := holderstest.New(11)
			first, arrays := f.Chain(count, c.link(f))
			c.hold(f, first)
			walked(t, f, blocksOf(arrays), func(w finished) {
				holders := w.holders()
				h, last := holders[0], holders[count-1] // the deepest was made first
				if w.Stopped != nil || len(holders) != count || h.Kind != c.kind || last.Kind != c.kind {
					t.Fatalf("%v, %+v … %+v", w.Stopped, h, last)
				}
				ends := strings.HasPrefix(h.Path, c.begins) && strings.HasSuffix(h.Path, c.ends)
				if len(h.Path) > MaxPath || !ends || !strings.Contains(h.Path, "…") {
					t.Errorf("path %q", h.Path)
				}
				if c.kind == event.HeldByThread && (h.Function != "work" || last.Path != "a[1]") {
					t.Errorf("in %q, and %+v", h.Function, last)
				}
				t.Logf("%d nodes, %d steps, %d put into words", len(w.Nodes), w.paths.climbs.steps,
					w.paths.climbs.worded)
				if got := w.paths.climbs.steps; got > perNode*count ||
					w.paths.climbs.worded > maxWorded+2*leastNamed*count {
					t.Error("that is too many")
				}
			})
		})
	}
}

// TestWordsAreBounded: once so many nodes were put into words, a path has its ends still.
func TestWordsAreBounded(t *testing.T) {
	f := holderstest.New(11)
	first, arrays := f.Chain(1000, func(next, array uint64) uint64 { return f.List(next, array) })
	f.Program([]uint64{f.Str("chain"), first}, nil)
	walked(t, f, blocksOf(arrays), func(w finished) {
		w.paths.climbs.worded = maxWorded + 1
		h := w.holders()[0]
		want := "chain" + strings.Repeat("[0]", MaxPathSteps-2) + "…" + strings.Repeat("[0]",
			MaxPathSteps-1) + "[1]"
		if h.Path != want || w.paths.climbs.worded > maxWorded+1+(2*leastNamed+2)*len(arrays) {
			t.Errorf("%q after %d, want %q", h.Path, w.paths.climbs.worded-maxWorded, want)
		}
	})
}

// plainly is [PathWriter.Describe] as one writes it down: it goes the whole way up from a node.
func plainly(w finished, h *event.Holder, n int32) {
	root := n
	for w.Nodes[root].Parent >= 0 {
		root = w.Nodes[root].Parent
	}
	h.Kind, h.References, h.Probable = Kinds[w.Nodes[n].Kind], w.References(w.Addrs[n]), w.Nodes[n].Probable
	h.Running = w.CellFrames[w.Addrs[root]]
	if l := w.paths.LabelOf(root); l.Kind == LabelRoot {
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
			w.paths.describeFrame(h, parent)
		}
		if begins && h.Function != "" && (h.Kind == event.HeldByTraceback || h.Kind == event.HeldByThread) {
			break
		}
		if i := len(steps) - 1; begins && i >= 0 && l.Kind == LabelLocal {
			steps[i] = ".f_locals[" + objects.Quote(steps[i]) + "]"
			if parent >= 0 && w.IsShape(w.Addrs[parent], objects.ShapeGenerator) {
				steps[i] = ".gi_frame" + steps[i]
			}
		}
		if parent < 0 {
			h.Output = w.paths.outputOf(l, steps)
		}
	}
	if most := 2 * MaxPathSteps; len(steps) > most {
		steps = slices.Concat(steps[:MaxPathSteps], []string{"…"}, steps[len(steps)-MaxPathSteps+1:])
	}
	slices.Reverse(steps)
	h.Path = w.paths.Join(submodules(steps), h)
}

// deep makes a program with ways of a length from a variable, an output, a traceback and a frame; one frame is in the
// middle of a way.
func deep(f *holderstest.Python, length int) {
	f.Type("functools._lru_list_elem", 56, 0, 0) // three links of a list of its own
	made := 0
	link := func(next, array uint64) uint64 {
		if made++; made%7 == 0 {
			return f.Object("cell", f.Object("functools._lru_list_elem", 0, 0, 0, next, array))
		}
		return f.List(next, array)
	}
	ways := make([]uint64, 4)
	for i := range ways {
		ways[i], _ = f.Chain(length, link)
	}
	code := f.Word(f.Local(ways[1]) + uint64(f.Heap.FrameCode))
	frame := f.Object("frame", make([]uint64, 60)...) // in the middle of a way
	f.Put(frame+uint64(f.Heap.FrameCode), code)
	f.Put(frame+uint64(f.Heap.FrameLocals), ways[0])
	if f.Heap.FrameHolds != 0 {
		inner := f.Alloc(512)
		f.Put(frame+uint64(f.Heap.FrameHolds), inner)
		f.Put(inner+uint64(f.Heap.FrameCode), code)
		f.Put(inner+uint64(f.Heap.FrameLocals), ways[0])
	}
	made = 0
	long := frame
	for range 60 {
		long = link(long, f.Array())
	}
	three := f.Object("int", 1|1<<3, 3)
	f.Put(three+16, uint64(map[bool]int{true: 1 << 3, false: 1}[f.Heap.Version.Minor >= 12]))
	main := f.Object("module", f.Dict(f.Str("deep"), long, f.Str("Out"), f.Dict(three, ways[2])))
	sys := f.Object("module", f.Dict(f.Str("last_value"), ways[3]))
	f.Put(f.Heap.Interpreter+uint64(f.Heap.InterpModules), f.Dict(f.Str("__main__"), main, f.Str("sys"), sys))
}

// TestDescriptionOfLongPaths: whatever lies at the end of ways of all lengths, some with nodes between that are no
// steps, is described as if the whole way were gone.
func TestDescriptionOfLongPaths(t *testing.T) {
	const length = 700
	holderstest.EachVersion(t, func(t *testing.T, f *holderstest.Python) {
		deep(f, length)
		walked(t, f, nil, func(w finished) {
			w.holders()
			w.paths.climbs = climbs{}
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
			for _, kind := range Kinds[:KindModule] {
				if seen[kind] < length {
					t.Errorf("%d nodes of %s", seen[kind], kind)
				}
			}
			if functions < 2*length || outputs < length || len(w.paths.climbs.nodes) != len(w.Nodes) ||
				longest < MaxPathSteps {
				t.Errorf("%d functions, %d outputs, %d steps, %d nodes noted of %d",
					functions, outputs, longest, len(w.paths.climbs.nodes), len(w.Nodes))
			}
		})
	})
}

// TestWasteOfLongWays: the collector's knowledge of the nodes on a way is known at its end, however long the way is.
func TestWasteOfLongWays(t *testing.T) {
	const count = 10 * maxDirect
	for _, odd := range []int32{-1, 0, 1, count / 2, count - 1} {
		w := bare(&objects.Notes{Collector: objects.Collector{Known: true}})
		p := NewPathWriter(w, nil)
		for n := range int32(count) {
			w.Nodes = append(w.Nodes, Node{Parent: n - 1, ID: n, Kind: KindNone})
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
			p.climbs = climbs{}
			for n := range int32(count) {
				expected := event.GarbageOld
				if odd >= 0 && n >= odd {
					expected = want
				}
				if got := garbageOf(p, n); got != expected {
					t.Fatalf("with %#x at %d: %q at %d, want %q", flags, odd, got, n, expected)
				}
			}
			if p.climbs.steps > 2*count+maxDirect*maxDirect {
				t.Errorf("%d steps", p.climbs.steps)
			}
		}
	}
}
