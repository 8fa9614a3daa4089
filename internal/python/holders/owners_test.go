package holders

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/python/graphs"
)

// TestSharesOfGraphs compares with the definition, on random graphs: deleting a set of owners frees everything that the
// others and the root do not reach, and an object without references goes at once.
func TestSharesOfGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		nodes, groups := 1+r.IntN(12), 1+r.IntN(4)
		e := &extents{data: map[int32]uint64{}, device: map[int32]uint64{}}
		root := int32(nodes + groups)
		var all graphs.Arcs
		named := func(tail int32) int32 {
			if tail < nobody {
				return int32(nodes) - 2 - tail
			}
			return tail
		}
		for range r.IntN(3 * nodes) {
			all.Add(int32(r.IntN(nodes)), int32(r.IntN(nodes)))
		}
		for g := range groups {
			all.Add(root, int32(nodes+g))
			for range 1 + r.IntN(2) {
				all.Add(int32(-2-g), int32(r.IntN(nodes)))
			}
		}
		if r.IntN(2) == 0 {
			all.Add(root, int32(r.IntN(nodes)))
		}
		for range nodes {
			e.bytes, e.unknown, e.class = append(e.bytes, uint64(leastShare)<<r.IntN(8)), append(e.unknown, false),
				append(e.class, false)
		}
		tr := &tree{nodes: nodes, forward: graphs.New(int(root)+1, all, named, false)}
		tr.Order = tr.forward.DepthFirst(root)
		s := &sharing{tree: tr, of: e, addrs: make([]uint64, nodes)}
		for g := range groups {
			s.owners = append(s.owners, int32(nodes+g))
		}
		s.spread()
		shares := s.shares()
		for set := range 1 << groups {
			bytes, cyclic := event.Bytes(0), event.Bytes(0)
			for _, one := range shares {
				if !slices.ContainsFunc(one.Owners, func(o int32) bool { return set>>o&1 == 0 }) {
					bytes, cyclic = bytes+one.Bytes, cyclic+one.Cyclic
				}
			}
			want, waits := deleted(tr, e, root, set)
			if bytes != want || cyclic != waits {
				t.Fatalf("set %b of %d groups: %d bytes, %d of them cyclic; want %d, %d", set, groups, bytes, cyclic,
					want, waits)
			}
		}
	}
}

// deleted returns the objects that deleting a set of groups frees, by the definition, and those that only the collector
// frees.
func deleted(t *tree, e *extents, root int32, set int) (bytes, cyclic event.Bytes) {
	cut := graphs.Graph{First: slices.Clone(t.forward.First), Heads: slices.Clone(t.forward.Heads)}
	for i, to := range cut.Of(root) {
		if g := int(to) - t.nodes; g >= 0 && set>>g&1 == 1 {
			cut.Of(root)[i] = root
		}
	}
	stays, before := reached(cut, root, -1), reached(t.forward, root, -1)
	left := make([]int, t.nodes)
	gone := make([]bool, t.nodes)
	for v := range int32(len(stays)) {
		if int(v) >= t.nodes && !stays[v] {
			continue // a name that has gone
		}
		if before[v] {
			for _, to := range t.forward.Of(v) {
				if int(to) < t.nodes {
					left[to]++
				}
			}
		}
	}
	for again := true; again; {
		again = false
		for v := range int32(t.nodes) {
			if before[v] && !stays[v] && !gone[v] && left[v] == 0 {
				gone[v], again = true, true
				for _, to := range t.forward.Of(v) {
					left[to]--
				}
			}
		}
	}
	for v := range t.nodes {
		if before[v] && !stays[v] {
			bytes += event.Bytes(e.bytes[v])
			if !gone[v] {
				cyclic += event.Bytes(e.bytes[v])
			}
		}
	}
	return bytes, cyclic
}

// bigText is a text of so many bytes.
func (f *fake) bigText(n int) uint64 {
	addr := f.object("str", make([]uint64, 16+n/8)...)
	f.put(addr+uint64(f.h.StrLength), uint64(n))
	f.mem[addr+uint64(f.h.StrState)-fakeMemory] = 1<<2 | 3<<5
	return addr
}

// TestShares has memory that two names hold together, that a cycle holds, and that a cycle holds which the collector
// does not see: that goes with no name.
func TestShares(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		const size = 200_000
		number := func(n uint64) uint64 {
			tag := uint64(1)
			if f.h.Version.Minor >= 12 {
				tag = 1 << 3
			}
			return f.object("int", tag, n)
		}
		both := f.refs(f.list(f.bigText(size)), 3)
		a, b := f.list(both), f.list(both)
		alone := f.list(f.bigText(2 * size))
		shown := f.refs(f.list(both), 3)
		cycle := f.refs(f.list(0, f.bigText(3*size)), 2)
		f.put(f.word(cycle+uint64(f.h.ListItems)), cycle)
		hidden := f.refs(f.list(0, f.bigText(4*size)), 2)
		f.put(f.word(hidden+uint64(f.h.ListItems)), f.objects("numpy.ndarray", hidden))
		f.put(f.types["list"]+cpython.TypeFlags, cpython.FlagGC|cpython.FlagList)
		f.main("a", a, "b", b, "alone", alone, "cycle", cycle, "hidden", hidden, "again", shown,
			"Out", f.dict(number(7), shown), "_7", shown)
		l, err := list(context.Background(), f.h, f.memory(), everything, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		names := func(s event.Share) (out []string) {
			for _, o := range s.Owners {
				if at := l.Owners[o].Variable; at >= 0 {
					out = append(out, l.Names[at].Name)
				}
			}
			slices.Sort(out)
			return out
		}
		for _, want := range []struct {
			names  []string
			bytes  event.Bytes
			cyclic bool
		}{{[]string{"cycle"}, 3 * size, true}, {[]string{"alone"}, 2 * size, false},
			{[]string{"a", "again", "b"}, size, false}} {
			i := slices.IndexFunc(l.Shares, func(s event.Share) bool { return slices.Equal(names(s), want.names) })
			if i < 0 || l.Shares[i].Bytes < want.bytes || l.Shares[i].Bytes > want.bytes+2000 || !l.Shares[i].Exact ||
				(l.Shares[i].Cyclic == l.Shares[i].Bytes) != want.cyclic {
				t.Errorf("%v: %+v", want, l.Shares)
			}
		}
		if i := slices.IndexFunc(l.Shares, func(s event.Share) bool { return s.Bytes >= 4*size }); i >= 0 {
			t.Errorf("a share of %+v", l.Shares[i])
		}
		i := slices.IndexFunc(l.Owners, func(o event.Owner) bool { return o.Kept })
		if i < 0 || !slices.Equal(l.Owners[i].Names, []string{"again"}) || l.Owners[i].Output != "_7" ||
			l.Owners[i].Kind != event.HeldByVariable {
			t.Errorf("owners: %+v", l.Owners)
		}
	})
}
