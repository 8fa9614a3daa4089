package holders

import (
	"context"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"ipytracer/internal/python/holders/objects"
	"ipytracer/internal/python/holders/walk"
)

// TestReplay: a walk that takes a survey's noted steps finds the same as one that reads the memory itself.
func TestReplay(t *testing.T) {
	eachVersion(t, func(t *testing.T, f *fake) {
		from := f.memory()
		s, err := newSurvey(context.Background(), f.h, from, Process{}, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		blocks := []objects.Block{{Address: f.block, Size: 4096}}
		noted := s.walker(context.Background(), blocks, s.limits())
		first := finish(walk.NewFinder(noted))
		if len(s.notes.Steps) == 0 {
			t.Fatal("no steps were noted")
		}
		direct := walk.NewWalker(context.Background(), f.h, s.mem, blocks, s.limits())
		direct.Beliefs.Believed, direct.ByAddr, direct.Metatype, direct.Notes = s.believed, s.types, s.metatype,
			&objects.Notes{}
		second := finish(walk.NewFinder(direct))
		if a, b := first.result(), second.result(); !reflect.DeepEqual(a.Holders, b.Holders) {
			t.Errorf("noted: %+v\nread: %+v", a.Holders, b.Holders)
		}
		seen := map[uint64]bool{}
		for _, addr := range noted.Addrs {
			seen[addr] = true
		}
		for n, addr := range direct.Addrs {
			if !seen[addr] && direct.Nodes[n].Kind != walk.KindCycle {
				t.Errorf("the object at %#x was not reached", addr)
			}
		}
	})
}

func (s *Survey) limits() (l objects.Limits) {
	l.Defaults()
	return l
}

func TestTableOfSteps(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var all objects.Index
	var addrs []uint64
	for range 20_000 {
		addr := r.Uint64N(objects.UserSpace) &^ 7
		if n, ok := all.Get(addr, addrs); ok && addrs[n] != addr {
			t.Fatalf("%#x is not %#x", addr, addrs[n])
		} else if !ok {
			addrs = append(addrs, addr)
			all.Put(addr, int32(len(addrs)-1), addrs)
		}
	}
	for i, addr := range addrs {
		if n, ok := all.Get(addr, addrs); !ok || int(n) != i {
			t.Fatalf("%#x: %d, %t; want %d", addr, n, ok, i)
		}
		if _, ok := all.Get(addr+objects.UserSpace, addrs); ok {
			t.Fatalf("%#x was never put", addr+objects.UserSpace)
		}
	}
}

// TestSecondLookAtAProcessThatRan: a second look is for a process that has run.
func TestSecondLookAtAProcessThatRan(t *testing.T) {
	f := newFake(11)
	for _, c := range []struct {
		used []time.Duration
		want bool
	}{
		{[]time.Duration{time.Second, time.Second + standing - 1}, true},
		{[]time.Duration{time.Second, time.Second + standing}, false},
		{[]time.Duration{-1, -1}, false},
		{[]time.Duration{time.Second, -1}, false},
	} {
		at := 0
		s, err := newSurvey(context.Background(), f.h, f.memory(),
			Process{Used: func() time.Duration { return c.used[at] }}, objects.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		at = 1
		if got := s.stood(); got != c.want {
			t.Errorf("%v: %t", c.used, got)
		}
		s.Close()
	}
}
