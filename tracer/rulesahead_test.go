package tracer

import (
	"os"
	"testing"
	"time"

	"ipytracer/internal/code/native"
	"ipytracer/internal/host/process"
)

// TestRulesAheadAreBounded: large libraries are prepared, once each, and no more than the limit, whatever a target
// maps; small ones are not.
func TestRulesAheadAreBounded(t *testing.T) {
	const many = 60
	fs := mapping(t, "libbig.so", many)
	all := &natives{fs: fs}
	i := &rulesInstrument{target: &target{pid: 7}, natives: all}
	before := descriptors(t)
	var last process.Mapping
	for range 3 {
		for m, err := range fs.Image(7).Mappings() {
			if err != nil {
				t.Fatal(err)
			}
			if i.meet(listing{}, m); len(all.ahead.modules) > maxRulesAhead {
				t.Fatalf("%d libraries are made ready", len(all.ahead.modules))
			}
			m.End = m.Start + largeCode
			i.meet(listing{}, m)
			last = m
		}
	}
	if n, opened := len(all.ahead.modules), descriptors(t)-before; n != maxRulesAhead || opened > maxRulesAhead {
		t.Errorf("%d libraries are made ready, %d descriptors", n, opened)
	}
	for m := range fs.Image(7).Mappings() {
		if module, _ := all.module(i.target, m); module != nil {
			t.Errorf("%s is a library", m.Path)
		}
		break
	}
	i.close()
	all.close()
	if left := descriptors(t) - before; left > 0 {
		t.Errorf("%d descriptors are left", left)
	}
	if all.prepare(i.target, last); len(all.ahead.modules) > maxRulesAhead {
		t.Error("one more is made ready")
	}
}

// TestRulesAhead: a walk uses the library that was prepared.
func TestRulesAhead(t *testing.T) {
	h := &fakeHost{}
	m := h.has(t, thisLibc(t))
	all := &natives{fs: process.FS{}}
	all.prepare(&target{pid: os.Getpid()}, m)
	p := all.ahead.modules[m.File]
	if p == nil {
		t.Fatal("it is not made ready")
	}
	if got, pending := all.module(&target{pid: os.Getpid()}, m); pending || got == nil || got != p.module {
		t.Errorf("%p (pending: %v), made ready %p", got, pending, p.module)
	}
	all.close()
}

// TestRulesAheadHoldNothingUp: a library with tables that are slow to read blocks nothing. Another one that a walk
// needs does not wait for its turn. The session waits for the slow library a moment in all; after that its rule is
// unknown for now. The end of the session waits for a bounded time.
func TestRulesAheadHoldNothingUp(t *testing.T) {
	h := &fakeHost{}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	slow, other := h.has(t, thisLibc(t)), h.has(t, self)
	before := descriptors(t)
	all := &natives{fs: process.FS{}, kernel: idleRules{}}
	reads, gate, over := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
	first := true
	all.ahead.ready = func(_ *native.Module, isOver func() bool) {
		if !first {
			return
		}
		first = false
		if isOver() {
			t.Error("it is over at once")
		}
		close(reads)
		<-gate
		over <- isOver()
	}
	target := &target{pid: os.Getpid()}
	all.prepare(target, slow)
	<-reads
	all.prepare(target, other)
	behind := all.ahead.modules[other.File]
	behind.asked = true
	close(behind.wanted)
	if !isClosed(behind.done, time.Minute) { // the machine may be busy: module would wait for less
		t.Fatal("the one behind it waits for its turn")
	}
	if module, pending := all.module(target, other); module == nil || pending {
		t.Errorf("the one behind it: %p, pending: %v", module, pending)
	}
	if all.ahead.waited > maxWalkWait {
		t.Errorf("waited %v for it", all.ahead.waited)
	}
	all.ahead.waited = maxWalkWait
	target.natives.code = []codeMapping{{slow, 1}}
	at := place{slow.Start + 0x1000, true}
	if r := all.rule(target, at.pc, at.leaf); r != (native.Rule{}) || target.natives.places[at].ruled {
		t.Errorf("its rule is %+v, for good", r)
	}
	p := all.ahead.modules[slow.File]
	all.close()
	if all.close(); isClosed(p.done, 0) {
		t.Error("it was not being read: nothing was tested")
	}
	close(gate)
	<-p.done
	if !<-over {
		t.Error("it reads on behind the end of the session")
	}
	if left := descriptors(t) - before; left > 0 {
		t.Errorf("%d descriptors are left", left)
	}
}

// TestRulesAheadAreNear: a file that another program or machine serves, which may take hours, is not read ahead, and is
// checked only once.
func TestRulesAheadAreNear(t *testing.T) {
	fs := mapping(t, "libbig.so", 1)
	fs.Helper = process.NewHelper(t.Context()) // no file system is mounted there: any program may serve it
	defer fs.Helper.Close()
	all := &natives{fs: fs}
	for m := range fs.Image(7).Mappings() {
		if file, err := fs.Image(7).OpenMapping(m); err != nil {
			t.Errorf("nothing was tested: %v", err)
		} else {
			_ = file.File.Close()
		}
		for range 2 {
			all.prepare(&target{pid: 7}, m)
		}
		if p, begun := all.ahead.modules[m.File]; !begun || p.done != nil {
			t.Error("it is made ready")
		}
		if _, known, pending := all.ahead.take(m.File); known || pending {
			t.Error("it is waited for")
		}
	}
	if len(all.ahead.modules) != 1 {
		t.Errorf("%d libraries", len(all.ahead.modules))
	}
	all.close()
}

// TestReadingAheadEnds: one library is not read for longer than its limit, nor all together for longer than theirs.
func TestReadingAheadEnds(t *testing.T) {
	var a rulesAhead
	a.begin()
	isOver := a.deadline()
	if isOver() {
		t.Error("it is over at once")
	}
	a.spent.Store(int64(maxReadings))
	if !isOver() {
		t.Error("it is not over, and all were read for too long")
	}
	if later := a.deadline(); !later() {
		t.Error("another one is read")
	}
}
