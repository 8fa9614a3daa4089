package tracer

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"ipytracer/event"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/ledger"
	"ipytracer/tracer/internal/running"
)

// slowFile is a file that, once it is shut, blocks all reads until the gate is open.
type slowFile struct {
	io.ReaderAt
	shut    atomic.Bool
	gate    chan struct{}
	waiting chan struct{} // receives a value once a read waits at the gate
}

func (f *slowFile) ReadAt(p []byte, at int64) (int, error) {
	if f.shut.Load() {
		select {
		case f.waiting <- struct{}{}:
		default:
		}
		<-f.gate
	}
	return f.ReaderAt.ReadAt(p, at)
}

// slowLibc returns the opened C library of this program, and its file. From now on, reads of the file block until the
// gate is open.
func slowLibc(t *testing.T) (*elffile.Module, *slowFile) {
	t.Helper()
	libc, err := os.Open(thisLibc(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { libc.Close() })
	file := &slowFile{ReaderAt: libc, gate: make(chan struct{}), waiting: make(chan struct{}, 1)}
	module, err := elffile.OpenModule(file, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	file.shut.Store(true)
	return module, file
}

// TestNamesHoldNothingUp: while the symbols of a library are being read, the session keeps reading the records of the
// kernel half. Events queued behind the stack come out after it, once it has its names.
func TestNamesHoldNothingUp(t *testing.T) {
	module, file := slowLibc(t)
	k := &fakeKernel{}
	s := attached(t, k, Options{})
	stack := &event.Stack{Number: 1}
	k.script = []records{
		func(sink ledger.Sink) {
			s.queue.add(stack)
			s.code.Natives.Naming.Name(running.UnnamedStack{Event: stack,
				Places: []running.CodePlace{{Module: module, Name: "libc.so.6", VAddr: 0x100}, running.UnknownPlace},
				Rest:   []event.Frame{{Function: "f"}}})
			together(change(1))(sink)
		},
		func(sink ledger.Sink) { // called although no stack has names yet
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
			if named++; changes > 0 || len(e.Frames) != 3 || e.Frames[0].Function != "libc.so.6+0x100" ||
				e.Frames[0].Module != "libc.so.6" || e.Frames[2].Function != "f" {
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

// TestNamesThatDoNotCome: a stack that waits too long for names goes without symbols, and is counted. The session waits
// for the slow file only once. When it has been read after all, stacks get names again.
func TestNamesThatDoNotCome(t *testing.T) {
	module, file := slowLibc(t)
	var n running.Naming
	at := running.CodePlace{Module: module, Name: "libc.so.6", VAddr: 0x100}
	ask := func() *event.Stack {
		stack := &event.Stack{}
		n.Name(running.UnnamedStack{Event: stack, Places: []running.CodePlace{at, running.UnknownPlace},
			Rest: []event.Frame{{Function: "f"}}})
		return stack
	}
	first, second := ask(), ask()
	if !n.Holds(first) {
		t.Fatal("it has names")
	}
	<-file.waiting // before that, a later stack would be named as well
	n.Wait(0)
	third := ask()
	n.Wait(time.Hour) // returns at once
	for i, stack := range []*event.Stack{first, second, third} {
		if n.Holds(stack) || len(stack.Frames) != 3 || stack.Frames[0].Function != "libc.so.6+0x100" ||
			stack.Frames[1].Function != "?" || stack.Frames[2].Function != "f" {
			t.Errorf("stack %d: %+v", i, stack)
		}
	}
	if n.Passed() != 3 || n.Frames != 0 {
		t.Errorf("%d stacks have no symbols, %d frames are kept", n.Passed(), n.Frames)
	}
	before := &first.Frames[0]
	close(file.gate)
	<-n.Running
	fourth := ask()
	if n.Wait(time.Hour); len(fourth.Frames) != 3 || n.Passed() != 3 || &first.Frames[0] != before {
		t.Errorf("%+v, %d stacks have no symbols", fourth, n.Passed())
	}
}

// TestNamesAreBounded: stacks beyond the limit need no memory, however many come. Stacks in front of the same Python
// code share their frames.
func TestNamesAreBounded(t *testing.T) {
	n := running.Naming{Idle: true, Frames: running.MaxUnnamed - 1}
	python := []event.Frame{{Function: "f"}, {Function: "g"}}
	all := []*event.Stack{{}, {}, {}}
	for i, stack := range all {
		u := running.UnnamedStack{Event: stack, Places: []running.CodePlace{running.UnknownPlace, {Function: "x"}}}
		if i < 2 {
			u.Rest = python
		}
		n.Name(u)
	}
	a, b, alone := all[0].Frames, all[1].Frames, all[2].Frames
	if len(n.Todo) > 0 || n.Passed() != 3 || len(a) != 3 || &a[0] != &b[0] || a[0].Function != "?" || !a[0].Native ||
		a[2].Function != "g" || len(alone) != 1 {
		t.Errorf("%d wait, %d have no symbols: %+v, %+v", len(n.Todo), n.Passed(), a, alone)
	}
}

// TestQueueIsCompact: a queue that always holds one event keeps no memory of the events that were taken.
func TestQueueIsCompact(t *testing.T) {
	var queue eventQueue
	for i := range 10000 {
		queue.add(&event.Change{Stack: uint64(i)}, &event.Change{Stack: uint64(i)})
		for queue.waiting() > 1 { // one is held
			queue.take()
		}
		if queue.compact(); queue.rest()[0].(*event.Change).Stack != uint64(i) {
			t.Fatalf("the one that is left is another: %+v", queue.rest()[0])
		}
	}
	if cap(queue.events) > 16 {
		t.Errorf("a queue of %d has room for %d", queue.waiting(), cap(queue.events))
	}
}
