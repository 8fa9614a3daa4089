package objects

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// forged is memory with objects that no PyTorch has made.
type forged struct {
	words   map[uint64]uint64
	classes map[uint64]string
	sizes   map[uint64]uint64
	next    uint64
	reads   int
	endless func(addr uint64) uint64 // words that nobody has put
}

func newForged() *forged {
	return &forged{words: map[uint64]uint64{}, classes: map[uint64]string{}, sizes: map[uint64]uint64{}, next: 1 << 20}
}

func (f *forged) Word(addr uint64) uint64 {
	f.reads++
	if w, ok := f.words[addr]; ok || f.endless == nil {
		return w
	}
	return f.endless(addr)
}

func (f *forged) Class(table uint64) string    { return f.classes[table] }
func (f *forged) ChunkSize(addr uint64) uint64 { return f.sizes[addr] }

// object makes an object of a class, with words by their offsets.
func (f *forged) object(class string, size uint64, words map[uint64]uint64) uint64 {
	at, table := f.next, f.next+size+64
	f.next = table + 64
	f.words[at], f.classes[table], f.sizes[at] = table, class, size
	for i, w := range words {
		f.words[at+i] = w
	}
	return at
}

const (
	counted = "St19_Sp_counted_deleterIPN5torch8autograd9generated12MulBackward0E"
	product = "N5torch8autograd9generated12MulBackward0E"
	impl    = "N3c1010TensorImplE"
)

// node makes a node, and returns the pointer to it.
func (f *forged) node(class string, size uint64, words map[uint64]uint64) NodePointer {
	p := NodePointer{f.object(class, size, words), f.object(counted, 24, map[uint64]uint64{8: 1<<32 | 1})}
	f.words[p.Node+8], f.words[p.Node+16] = p.Node, p.Counts
	return p
}

// edges has a node refer to others.
func (f *forged) edges(p NodePointer, to ...NodePointer) {
	at := f.object("", 24*uint64(len(to)), nil)
	for i, n := range to {
		f.words[at+24*uint64(i)], f.words[at+24*uint64(i)+8] = n.Node, n.Counts
	}
	end := at + 24*uint64(len(to))
	f.words[p.Node+96], f.words[p.Node+104], f.words[p.Node+112] = at, end, end
}

// found has the references that were taken.
type found struct{ nodes, tensors, objects []uint64 }

func (f *found) Node(p NodePointer) { f.nodes = append(f.nodes, p.Node) }
func (f *found) Tensor(impl uint64) { f.tensors = append(f.tensors, impl) }
func (f *found) Object(obj uint64)  { f.objects = append(f.objects, obj) }

// TestEdgesAndSavedTensors: edges, saved tensors of both versions, in vectors, and nodes that others share are found.
func TestEdgesAndSavedTensors(t *testing.T) {
	const original, output = 1 << 16, 1 << 32
	for name, l := range map[string]saved{"1.13": savedLayouts[0], "2.6": savedLayouts[1]} {
		t.Run(name, func(t *testing.T) {
			f := newForged()
			g := Autograd{f}
			a, b, c := f.object(impl, 184, nil), f.object(impl, 184, nil), f.object(impl, 184, nil)
			none := f.object("N3c1019UndefinedTensorImplE", 8, nil)
			hooks := f.object("N5torch8autograd20PySavedVariableHooksE", 32,
				map[uint64]uint64{16: 7 << 20, 24: 8 << 20})
			list := f.object("", 3*l.size, nil)
			f.words[list], f.words[list+l.flags] = c, original
			f.words[list+l.size], f.words[list+l.size+l.flags] = none, 1
			f.words[list+2*l.size] = 0
			f.words[list+2*l.size+l.hooks] = hooks
			first, fn := f.node(product, 400, nil), f.node(product, 400, nil)
			const at = 400
			p := f.node(product, 1000, map[uint64]uint64{
				at: a, at + l.flags: original, at + l.size: b, at + l.size + l.flags: output,
				at + 2*l.size: 3, at + 2*l.size + 8: fn.Node, at + 2*l.size + 16: fn.Counts,
				at + 2*l.size + 24: list, at + 2*l.size + 32: list + 3*l.size, at + 2*l.size + 40: list + 3*l.size,
			})
			f.words[list] = c
			f.edges(p, first, NodePointer{}, first)
			got := &found{}
			if !g.Visit(p, got) {
				t.Error("the node is not known")
			}
			if !slices.Equal(got.nodes, []uint64{first.Node, first.Node, fn.Node}) ||
				!slices.Equal(got.tensors, []uint64{a, b, c}) ||
				!slices.Equal(got.objects, []uint64{7 << 20, 8 << 20}) {
				t.Errorf("%x, want tensors %x %x %x", got, a, b, c)
			}
			f.words[at+p.Node+l.flags] = original | 1 // saved, and never set
			f.words[p.Node+at+l.size+l.flags] = original | output
			f.words[list+l.flags] = 1 << 17
			got = &found{}
			if g.Visit(p, got); len(got.tensors) > 0 || len(got.objects) > 0 {
				t.Errorf("believed %x", got)
			}
		})
	}
}

// TestNodeOfAParameter: a node that adds gradients up has the tensor that refers back to it, and a function in Python
// the object that does. A tensor that does not refer back is left over from others.
func TestNodeOfAParameter(t *testing.T) {
	for _, head := range []uint64{24, 32} {
		f := newForged()
		g := Autograd{f}
		p := f.node("N5torch8autograd14AccumulateGradE", 480, nil)
		meta := f.object("N5torch8autograd12AutogradMetaE", 192, map[uint64]uint64{64: p.Node, 72: p.Counts})
		stale, weight := f.object(impl, 184, nil), f.object(impl, 184, map[uint64]uint64{head: meta})
		f.words[p.Node+200], f.words[p.Node+392] = stale, weight
		got := &found{}
		if !g.Visit(p, got) || !slices.Equal(got.tensors, []uint64{weight}) {
			t.Errorf("%x, want %x", got, weight)
		}
		delete(f.words, p.Node+392)
		if got = new(found); g.Visit(p, got) || len(got.tensors) > 0 {
			t.Errorf("believed %x", got)
		}
		fn := f.node("N5torch8autograd6PyNodeE", 480, nil)
		obj := f.object("", 200, map[uint64]uint64{152: fn.Node})
		f.words[fn.Node+400] = obj
		if got = new(found); !g.Visit(fn, got) || !slices.Equal(got.objects, []uint64{obj}) {
			t.Errorf("%x, want %x", got, obj)
		}
		f.words[obj+152] = 0
		if got = new(found); g.Visit(fn, got) || len(got.objects) > 0 {
			t.Errorf("believed %x", got)
		}
	}
}

// TestTensorsMetadata: what autograd keeps of a tensor is read where its name is short, as libstdc++ has it since GCC
// 5.
func TestTensorsMetadata(t *testing.T) {
	f := newForged()
	g := Autograd{f}
	p, grad := f.node(product, 400, nil), f.object(impl, 184, nil)
	at := f.object("N5torch8autograd22DifferentiableViewMetaE", 320,
		map[uint64]uint64{40: grad, 48: p.Node, 56: p.Counts})
	if m, ok := g.Meta(at); ok {
		t.Errorf("a long name, or another std::string: %+v", m)
	}
	f.words[at+8] = at + 24
	if m, ok := g.Meta(at); !ok || m != (autogradMeta{Gradient: grad, Graph: p, HasGraph: true, Views: true}) {
		t.Errorf("%+v, %v", m, ok)
	}
	f.words[p.Node+8] = 0 // it does not refer to itself
	if m, ok := g.Meta(at); ok || m.HasGraph {
		t.Errorf("%+v", m)
	}
	if _, ok := g.Meta(grad); ok {
		t.Error("a tensor is none")
	}
}

// TestForgedNodesAreNotBelieved: nodes with impossible fields are not believed, and reading any one takes few reads:
// lists without end, sizes beyond all memory, wild pointers, nodes and lists that lead to themselves.
func TestForgedNodesAreNotBelieved(t *testing.T) {
	const most = 300_000
	for name, c := range map[string]struct {
		spoil func(f *forged, p NodePointer)
		known bool
	}{
		"sound":                 {func(*forged, NodePointer) {}, true},
		"edges that end before": {func(f *forged, p NodePointer) { f.words[p.Node+104] = 8 }, false},
		"edges without end": {func(f *forged, p NodePointer) {
			f.words[p.Node+104], f.words[p.Node+112] = 1<<62, 1<<62
		}, false},
		"wild edges": {func(f *forged, p NodePointer) { f.words[f.words[p.Node+96]] = 0xdead_beef_0000 },
			false},
		"edges of the kernel's": {func(f *forged, p NodePointer) { f.words[p.Node+96] = 1<<63 | 1<<40 }, false},
		"an edge to itself": {func(f *forged, p NodePointer) {
			f.words[f.words[p.Node+96]], f.words[f.words[p.Node+96]+8] = p.Node, p.Counts
		}, true},
		"as many edges as there may be": {func(f *forged, p NodePointer) {
			begin := f.words[p.Node+96]
			for at := begin; at < begin+maxEdges; at += 24 {
				f.words[at], f.words[at+8] = p.Node, p.Counts
			}
			f.words[p.Node+104], f.words[p.Node+112] = begin+maxEdges, begin+maxEdges
		}, true},
		"every word is a list of itself": {func(f *forged, p NodePointer) {
			f.endless = func(addr uint64) uint64 { return addr&^7 + 8*(addr>>3&1) }
			f.sizes[p.Node] = 1 << 40
		}, true},
		"every word is a tensor": {func(f *forged, p NodePointer) {
			tensor := f.object(impl, 184, nil)
			f.endless = func(uint64) uint64 { return tensor }
			f.sizes[p.Node] = 1 << 40
		}, true},
		"vectors of nothing saved, again and again": {func(f *forged, p NodePointer) {
			for at := uint64(128); at < 800; at += 24 {
				f.words[p.Node+at], f.words[p.Node+at+8] = 1<<30, 1<<30+104*112*1000
				f.words[p.Node+at+16] = 1<<30 + 104*112*1000
			}
		}, true},
		"a size that is not known": {func(f *forged, p NodePointer) { f.sizes[p.Node] = 0 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForged()
			p, to := f.node(product, 800, nil), f.node(product, 400, nil)
			f.edges(p, to)
			c.spoil(f, p)
			f.reads = 0
			if known := (Autograd{f}).Visit(p, &found{}); known != c.known || f.reads > most {
				t.Errorf("known: %v, after %d reads", known, f.reads)
			}
		})
	}
}

// TestDamaged overwrites words of nodes with anything: each visit ends soon.
func TestDamaged(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		f := newForged()
		tensor := f.object(impl, 184, nil)
		p, to := f.node(product, 1000, map[uint64]uint64{400: tensor, 456: 1 << 16, 600: tensor, 648: 1 << 16}),
			f.node("N5torch8autograd6PyNodeE", 480, nil)
		f.edges(p, to, p)
		all := []uint64{0, 1, 1 << 63, p.Node, p.Counts, to.Node, to.Counts, tensor, 1 << 16, random.Uint64()}
		for range 1 + random.IntN(20) {
			f.words[1<<20+8*random.Uint64N((f.next-1<<20)/8)] = all[random.IntN(len(all))]
		}
		f.reads = 0
		for _, one := range []NodePointer{p, to} {
			Autograd{f}.Visit(one, &found{})
			Autograd{f}.Meta(one.Node)
			Autograd{f}.Bytes(one)
		}
		if f.reads > 200_000 {
			t.Fatalf("%d reads", f.reads)
		}
	}
}
