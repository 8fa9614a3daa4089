package holders

import (
	"context"
	"testing"

	"ipytracer/event"
	"ipytracer/internal/hostile"
	"ipytracer/internal/python/holders/objects"
)

// mostOfWalk is the memory that a walk of all that it may look into takes.
const mostOfWalk = 256 << 20

// hostileHeaps are programs of well-formed objects that claim much, are many, or lead back to themselves.
var hostileHeaps = map[string]func(f *fake) (variable uint64){
	"a list of 2^40 items": func(f *fake) uint64 { return f.Object("list", 1<<40, f.Alloc(64), 1<<40) },
	"a tuple of 2^60 items": func(f *fake) uint64 {
		t := f.Tuple(f.Array())
		f.Put(t+16, 1<<60)
		return t
	},
	"a text of 2^62 characters": func(f *fake) uint64 {
		s := f.Str("text")
		f.Put(s+uint64(f.Heap.StrLength), 1<<62)
		return f.List(s, s)
	},
	"a dict of 2^40 entries": func(f *fake) uint64 {
		d := f.Dict(f.Str("key"), f.Array())
		keys := f.Word(d + 32)
		if f.Heap.Version.Minor <= 10 {
			f.Put(keys+8, 1<<40)
			f.Put(keys+32, 1<<40)
		} else {
			copy(f.Mem[keys+8-fakeMemory:], []byte{40, 43, 1})
			f.Put(keys+24, 1<<40)
		}
		return d
	},
	"a chain of 500,000 lists": func(f *fake) uint64 {
		last := f.List()
		for range 500_000 {
			last = f.List(last)
		}
		return last
	},
	"a list of 1,000,000 names of itself": func(f *fake) uint64 {
		l := f.List(make([]uint64, 1_000_000)...)
		for i := range uint64(1_000_000) {
			f.Put(f.Word(l+24)+8*i, l)
		}
		return l
	},
	"a ladder: each list has the next one twice": func(f *fake) uint64 {
		last := f.List()
		for range 100_000 {
			last = f.List(last, last)
		}
		return last
	},
	"50,000 types": func(f *fake) uint64 {
		items := make([]uint64, 0, 50_000)
		for range 50_000 {
			f.Type("a", 1<<40, 1<<20, 0)
			items = append(items, f.Object("a", 1<<40))
		}
		return f.List(items...)
	},
}

// TestHostileHeaps searches such programs for holders and lists their variables, as far as may be looked by default.
func TestHostileHeaps(t *testing.T) {
	for name, program := range hostileHeaps {
		for _, minor := range []int{10, 14} {
			f := newFake(minor)
			f.Main("x", program(f), "y", f.Array())
			memory := f.Memory()
			most := hostile.Run(t, name, mostOfWalk, func(t *testing.T) {
				r, err := find(context.Background(), f.Heap, memory, []objects.Block{{Address: f.Block, Size: 4096}},
					objects.Limits{})
				if err != nil || len(r.Holders) != 1 || r.Holders[0].Kind != event.HeldByVariable {
					t.Errorf("%+v, %v", r.Holders, err)
				}
			})
			t.Logf("3.%d, %s: holders %+v", minor, name, most)
			most = hostile.Run(t, name, mostOfWalk, func(t *testing.T) {
				mapped := []objects.Block{{Address: fakeMemory, Size: uint64(len(memory.Bytes))}}
				l, err := list(context.Background(), f.Heap, memory, mapped, objects.Limits{})
				if err != nil || len(l.Names) == 0 {
					t.Errorf("%d names, %v", len(l.Names), err)
				}
			})
			t.Logf("3.%d, %s: variables %+v", minor, name, most)
		}
	}
}
