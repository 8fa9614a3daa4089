package tracer

import (
	"os"
	"testing"
	"time"

	"ipytracer/internal/code/elffile"
	"ipytracer/internal/host/process"
	"ipytracer/tracer/internal/running"
	"ipytracer/tracer/internal/tracee"
)

// TestRulesAheadAreBounded: large libraries are prepared, once each, and no more than the limit, whatever a target
// maps; small ones are not.
func TestRulesAheadAreBounded(t *testing.T) {
	const many = 60
	fs := mapping(t, "libbig.so", many)
	all := &running.Natives{FS: fs}
	target := &tracee.Target{PID: 7}
	i := running.NewRulesInstrument(target, all)
	before := descriptors(t)
	var last process.Mapping
	for range 3 {
		for m, err := range fs.Image(7).Mappings() {
			if err != nil {
				t.Fatal(err)
			}
			if i.Meet(tracee.Listing{}, m); len(all.Ahead.Modules) > running.MaxRulesAhead {
				t.Fatalf("%d libraries are made ready", len(all.Ahead.Modules))
			}
			m.End = m.Start + running.LargeCode
			i.Meet(tracee.Listing{}, m)
			last = m
		}
	}
	if n, opened := len(all.Ahead.Modules), descriptors(t)-before; n != running.MaxRulesAhead ||
		opened > running.MaxRulesAhead {
		t.Errorf("%d libraries are made ready, %d descriptors", n, opened)
	}
	for m := range fs.Image(7).Mappings() {
		if module, _ := all.Module(target, m); module != nil {
			t.Errorf("%s is a library", m.Path)
		}
		break
	}
	i.Close()
	all.Close()
	if left := descriptors(t) - before; left > 0 {
		t.Errorf("%d descriptors are left", left)
	}
	if all.Prepare(target, last); len(all.Ahead.Modules) > running.MaxRulesAhead {
		t.Error("one more is made ready")
	}
}

// TestRulesAhead: a walk uses the library that was prepared.
func TestRulesAhead(t *testing.T) {
	h := &fakeHost{}
	m := h.has(t, thisLibc(t))
	all := &running.Natives{FS: process.FS{}}
	all.Prepare(&tracee.Target{PID: os.Getpid()}, m)
	p := all.Ahead.Modules[m.File]
	if p == nil {
		t.Fatal("it is not made ready")
	}
	if got, pending := all.Module(&tracee.Target{PID: os.Getpid()}, m); pending || got == nil || got != p.Module {
		t.Errorf("%p (pending: %v), made ready %p", got, pending, p.Module)
	}
	all.Close()
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
	all := &running.Natives{FS: process.FS{}, Kernel: idleRules{}}
	reads, gate, over := make(chan struct{}), make(chan struct{}), make(chan bool, 1)
	first := true
	all.Ahead.Ready = func(_ *elffile.Module, isOver func() bool) {
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
	target := &tracee.Target{PID: os.Getpid()}
	all.Prepare(target, slow)
	<-reads
	all.Prepare(target, other)
	behind := all.Ahead.Modules[other.File]
	behind.Asked = true
	close(behind.Wanted)
	if !running.IsClosed(behind.Done, time.Minute) { // the machine may be busy: module would wait for less
		t.Fatal("the one behind it waits for its turn")
	}
	if module, pending := all.Module(target, other); module == nil || pending {
		t.Errorf("the one behind it: %p, pending: %v", module, pending)
	}
	if all.Ahead.Waited > running.MaxWalkWait {
		t.Errorf("waited %v for it", all.Ahead.Waited)
	}
	all.Ahead.Waited = running.MaxWalkWait
	target.Natives.Code = []tracee.CodeMapping{{Mapping: slow, Number: 1}}
	at := tracee.Place{PC: slow.Start + 0x1000, Leaf: true}
	if r := all.Rule(target, at.PC, at.Leaf); r != (elffile.Rule{}) || target.Natives.Places[at].Ruled {
		t.Errorf("its rule is %+v, for good", r)
	}
	p := all.Ahead.Modules[slow.File]
	all.Close()
	if all.Close(); running.IsClosed(p.Done, 0) {
		t.Error("it was not being read: nothing was tested")
	}
	close(gate)
	<-p.Done
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
	all := &running.Natives{FS: fs}
	for m := range fs.Image(7).Mappings() {
		if file, err := fs.Image(7).OpenMapping(m); err != nil {
			t.Errorf("nothing was tested: %v", err)
		} else {
			_ = file.File.Close()
		}
		for range 2 {
			all.Prepare(&tracee.Target{PID: 7}, m)
		}
		if p, begun := all.Ahead.Modules[m.File]; !begun || p.Done != nil {
			t.Error("it is made ready")
		}
		if _, known, pending := all.Ahead.Take(m.File); known || pending {
			t.Error("it is waited for")
		}
	}
	if len(all.Ahead.Modules) != 1 {
		t.Errorf("%d libraries", len(all.Ahead.Modules))
	}
	all.Close()
}

// TestReadingAheadEnds: one library is not read for longer than its limit, nor all together for longer than theirs.
func TestReadingAheadEnds(t *testing.T) {
	var a running.RulesAhead
	a.Begin()
	isOver := a.Deadline()
	if isOver() {
		t.Error("it is over at once")
	}
	a.Spent.Store(int64(running.MaxReadings))
	if !isOver() {
		t.Error("it is not over, and all were read for too long")
	}
	if later := a.Deadline(); !later() {
		t.Error("another one is read")
	}
}
