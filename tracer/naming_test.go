package tracer

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"ipytracer/event"
	"ipytracer/tracer/ledger"
	"ipytracer/tracer/native"
	"ipytracer/tracer/process"
)

// slowFile is a file that, once it is shut, lets nobody read before the gate is open.
type slowFile struct {
	io.ReaderAt
	shut atomic.Bool
	gate chan struct{}
}

func (f *slowFile) ReadAt(p []byte, at int64) (int, error) {
	if f.shut.Load() {
		<-f.gate
	}
	return f.ReaderAt.ReadAt(p, at)
}

// TestNamesHoldNothingUp: while the symbols of a library are being read, the session goes on reading what the kernel half has; what is queued
// behind the stack comes out behind it, when it has its names.
func TestNamesHoldNothingUp(t *testing.T) {
	libc, err := os.Open(thisLibc(t))
	if err != nil {
		t.Fatal(err)
	}
	defer libc.Close()
	file := &slowFile{ReaderAt: libc, gate: make(chan struct{})}
	module, err := native.Open(file, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	file.shut.Store(true)
	k := &fakeKernel{}
	s := attached(t, k, Options{})
	stack := &event.Stack{Number: 1}
	k.script = []records{
		func(sink ledger.Sink) {
			s.queue = append(s.queue, stack)
			s.natives.naming.name(unnamedStack{stack, []codePlace{{module: module, name: "libc.so.6", vaddr: 0x100}, {frame: unknownFrame}}, []event.Frame{{Function: "f"}}})
			together(change(1))(sink)
		},
		func(sink ledger.Sink) { // it comes to this although nothing has a name yet
			close(file.gate)
			together(change(2), drawn(1, event.ProcessExit))(sink)
		},
	}
	var changes, named int
	for {
		e, err := s.Next(context.Background())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *event.Stack:
			if named++; changes > 0 || len(e.Frames) != 3 || e.Frames[0].Function != "libc.so.6+0x100" || e.Frames[0].Module != "libc.so.6" || e.Frames[2].Function != "f" {
				t.Errorf("behind %d changes: %+v", changes, e)
			}
		case *event.Change:
			changes++
		}
	}
	if changes != 2 || named != 1 {
		t.Errorf("%d changes, %d stacks", changes, named)
	}
}

// TestRulesAheadAreBounded: large libraries are made ready, once each, and no more than there is room for, whatever a target maps; small ones are not.
func TestRulesAheadAreBounded(t *testing.T) {
	const many = 60
	fs := mapping(t, "libbig.so", many)
	all := &natives{fs: fs}
	i := &rulesInstrument{target: &target{pid: 7}, natives: all}
	before := descriptors(t)
	var last process.Mapping
	for range 3 {
		for m, err := range fs.Mappings(7) {
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
	for m := range fs.Mappings(7) {
		if all.module(i.target, m) != nil {
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

// TestRulesAhead: a library that was made ready is the one that is walked through.
func TestRulesAhead(t *testing.T) {
	h := &fakeHost{}
	m := h.has(t, thisLibc(t))
	all := &natives{fs: process.FS{}}
	all.prepare(&target{pid: os.Getpid()}, m)
	p := all.ahead.modules[m.File]
	if p == nil {
		t.Fatal("it is not made ready")
	}
	if got := all.module(&target{pid: os.Getpid()}, m); got == nil || got != p.module {
		t.Errorf("%p, made ready %p", got, p.module)
	}
	all.close()
}
