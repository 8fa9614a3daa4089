package cpython

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestLive starts IPython on every build, as a terminal and as a kernel, and compares the facts in its memory with
// those that it prints about itself.
func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("starts IPython")
	}
	eachBuild(t, func(t *testing.T, b build, bin *Binary) {
		if b.bare {
			t.Skip("no sqlite3 for it")
		}
		for _, app := range []string{FrontendTerminal, FrontendKernel} {
			t.Run(app, func(t *testing.T) {
				if app == FrontendKernel && strings.HasPrefix(b.name, "p") && b.name != "pbs-3.11" {
					t.Skip("the zmq module of another tree is not for this build")
				}
				s := startShell(t, b, bin, app)
				t.Run("past inputs", s.testPastInputs)
				t.Run("input list", s.testInput)
				t.Run("names", func(t *testing.T) { s.testNames(t, app) })
				t.Run("last exception", s.testLastException)
				t.Run("generators", s.testGenerators)
				t.Run("frames", s.testFrames)
				t.Run("collector", s.testCollector)
			})
		}
	})
}

// testPastInputs runs cells that IPython stores, and looks for the latest. It comes before In is made longer.
func (s *shell) testPastInputs(t *testing.T) {
	for _, text := range []string{"a = 1", "größer = 2", "b = '🐍'", "%time c = 3"} {
		s.run(t, fmt.Sprintf("shell.run_cell(%q, store_history=True)", text))
		list, n, err := s.interp.InputList()
		if err != nil {
			t.Fatal(err)
		}
		var got PastInput
		if err := s.interp.PastInputs(list, func(one PastInput) bool { got = one; return false }); err != nil {
			t.Fatal(err)
		}
		if got.Number != n-1 || got.Typed != text ||
			got.Compiled != text && (text[0] != '%' || !strings.HasPrefix(got.Compiled, "get_ipython()")) {
			t.Errorf("after %q: %+v, In has %d", text, got, n)
		}
	}
}

func (s *shell) testInput(t *testing.T) {
	for range 2 {
		addr, n, err := s.interp.InputList()
		if err != nil || addr != s.In || uint64(n) != s.Len {
			t.Fatalf("InputList() = %#x, %d, %v, want %#x, %d", addr, n, err, s.In, s.Len)
		}
		s.run(t, "In.extend(['x'] * 1000)")
	}
}

// testCollector has the collector's callbacks look whether its flag is set.
func (s *shell) testCollector(t *testing.T) {
	h, err := s.interp.Heap()
	if errors.Is(err, ErrUnsupported) && s.interp.off.FreeThreaded {
		t.Skip("who frees while it runs need not be the collector: nobody asks")
	}
	if err != nil {
		t.Fatal(err)
	}
	s.run(t, fmt.Sprintf("import ctypes, gc; flag = ctypes.c_int.from_address(%d); seen = []",
		h.Interpreter+uint64(h.InterpGC)+uint64(h.Collecting)))
	s.run(t, "gc.callbacks.append(lambda phase, info: seen.append(flag.value)); gc.collect(); gc.callbacks.pop(); "+
		"seen.append(flag.value); shown = repr(seen)")
	if got, err := s.interp.String("__main__", "shown"); got != "[1, 1, 0]" {
		t.Errorf("before, after and behind a collection it says %s, %v", got, err)
	}
}

func (s *shell) testNames(t *testing.T, app string) {
	if got := s.interp.Frontend(); got != app {
		t.Errorf("Frontend() = %q, want %q", got, app)
	}
	if got, err := s.interp.IPythonVersion(); got != s.IPython {
		t.Errorf("IPythonVersion() = %q, %v, want %q", got, err, s.IPython)
	}
	if got, err := s.interp.PythonVersion(); got != s.Python {
		t.Errorf("PythonVersion() = %q, %v, want %q", got, err, s.Python)
	}
	if got, err := s.interp.Module("sys"); got != s.Sys {
		t.Errorf("Module(sys) = %#x, %v, want %#x", got, err, s.Sys)
	}
	for name, want := range map[string]string{"latin": "é", "ucs2": "ω – x", "ucs4": "🐍x",
		"long": strings.Repeat("a", 256)} {
		if got, err := s.interp.String("__main__", name); got != want {
			t.Errorf("String(__main__, %s) = %q, %v, want %q", name, got, err, want)
		}
	}
	if _, err := s.interp.Module("no.such.module"); err == nil {
		t.Error("Module(no.such.module) was found")
	}
}

func (s *shell) testLastException(t *testing.T) {
	var before Exception
	for _, step := range []struct {
		line   string
		raises bool
	}{
		{"shell.run_cell('1/0')", true},
		{"shell.run_cell('x = 1')", false},
		{"shell.run_cell('raise KeyboardInterrupt')", true},
		{"[setattr(sys, f'more{i}', i) for i in range(500)]", false},
		{"shell.run_cell('1/0')", true},
		{"shell.run_cell('class E(Exception): pass\\nraise E')", true},
	} {
		s.run(t, step.line)
		got, err := s.interp.LastException()
		want := Exception{s.LastValue, s.LastTraceback, s.LastType}
		if err != nil || got != want {
			t.Errorf("after %q: LastException() = %+v, %v, want %+v", step.line, got, err, want)
		}
		if raised := got != before; raised != step.raises {
			t.Errorf("after %q: %+v, before %+v", step.line, got, before)
		}
		before = got
	}
}

func (s *shell) testGenerators(t *testing.T) {
	o := s.interp.off
	for _, g := range []struct {
		addr uint64
		want GenPhase
	}{{s.Created, GenCreated}, {s.Suspended, GenSuspended}, {s.Finished, GenFinished}} {
		var got GenPhase
		switch {
		case o.GenState != 0:
			got = o.Phase(int8(s.word(t, g.addr+uint64(o.GenState))))
		default:
			frame := s.word(t, g.addr+uint64(o.GenFramePtr))
			if frame == 0 {
				got = GenFinished
				break
			}
			if owner := s.word(t, frame+uint64(o.FrameGen)); owner != g.addr {
				t.Errorf("f_gen = %#x, want %#x", owner, g.addr)
			}
			got = g.want
			if o.FrameState != 0 {
				got = o.Phase(int8(s.word(t, frame+uint64(o.FrameState))))
			} else if s.word(t, frame+uint64(o.FrameStackTop)) == 0 ||
				byte(s.word(t, frame+uint64(o.FrameExecuting))) != 0 {
				t.Error("a frame that waits has no stack top, or executes")
			}
		}
		if got != g.want {
			t.Errorf("generator at %#x is in phase %d, want %d", g.addr, got, g.want)
		}
	}
}

// testFrames finds the frames of a thread that waits below wait_in_thread, in a generator.
func (s *shell) testFrames(t *testing.T) {
	threads, err := s.interp.Threads()
	if err != nil || len(threads) < 2 {
		t.Fatalf("Threads() = %v, %v", threads, err)
	}
	var seen []string
	for range 100 { // it may still be on its way out of the call that printed that it was there
		seen = seen[:0]
		for _, th := range threads {
			all := strings.Join(s.frameNames(t, th.Address), " ")
			if strings.Contains(all, "generator_in_thread wait_in_thread") {
				return
			}
			seen = append(seen, all)
		}
	}
	t.Errorf("no thread has the frames generator_in_thread, wait_in_thread: %q", seen)
}

// frameNames returns the function names on a thread's stack, the innermost first, as far as they can be
// read: other threads run on while they are looked at.
func (s *shell) frameNames(t *testing.T, thread uint64) (names []string) {
	o := s.interp.off
	frame, err := s.interp.mem.word(thread + uint64(o.ThreadFrame))
	if o.FrameKind == FrameCFrame && err == nil {
		frame, err = s.interp.mem.word(frame + uint64(o.CFrameCurrent))
	}
	for frame != 0 && err == nil && len(names) < 100 {
		var owner, code, co uint64
		if o.FrameKind != FrameObject {
			if owner, err = s.interp.mem.word(frame + uint64(o.FrameOwner)); err != nil {
				break
			}
		}
		if byte(owner) < byte(o.OwnerSkip) {
			if code, err = s.interp.mem.word(frame + uint64(o.FrameCode)); err != nil {
				break
			}
			code &= o.CodeMask
			if co, err = s.interp.mem.word(code + uint64(o.CodeName)); err != nil {
				break
			}
			name, _ := s.interp.text(co)
			if name == "generator_in_thread" {
				s.checkGenerator(t, frame, code)
			}
			names = append(names, name)
		}
		frame, err = s.interp.mem.word(frame + uint64(o.FrameBack))
	}
	return names
}

// checkGenerator checks the way from a frame to its generator, and that the generator executes.
func (s *shell) checkGenerator(t *testing.T, frame, code uint64) {
	o := s.interp.off
	var gen uint64
	switch {
	case o.GenFrame == 0:
		gen = s.word(t, frame+uint64(o.FrameGen))
		if o.FrameState != 0 {
			if got := o.Phase(int8(s.word(t, frame+uint64(o.FrameState)))); got != GenExecuting {
				t.Errorf("phase of an executing generator's frame is %d", got)
			}
		} else if byte(s.word(t, frame+uint64(o.FrameExecuting))) == 0 {
			t.Error("an executing frame does not say so")
		}
	default:
		if owner := byte(s.word(t, frame+uint64(o.FrameOwner))); owner != byte(o.OwnerGen) {
			t.Errorf("owner of a generator's frame is %d", owner)
		}
		gen = frame - uint64(o.GenFrame)
		if got := o.Phase(int8(s.word(t, gen+uint64(o.GenState)))); got != GenExecuting {
			t.Errorf("phase of an executing generator is %d", got)
		}
	}
	if name, err := s.interp.typeName(gen); name != "generator" {
		t.Errorf("the frame's generator is a %q, %v", name, err)
	}
	if file, err := s.interp.text(s.word(t, code+uint64(o.CodeFilename))); !strings.HasSuffix(file, "shell.py") {
		t.Errorf("co_filename = %q, %v", file, err)
	}
	if line := uint32(s.word(t, code+uint64(o.CodeFirstLine))); line == 0 || line > 100 {
		t.Errorf("co_firstlineno = %d", line)
	}
	const optimized, newLocals, generator, noFree = 1, 2, 0x20, 0x40 // Include/cpython/code.h; the last until 3.10
	if flags := s.word(t, code+uint64(o.CodeFlags)) & 0xffff &^ noFree; flags != optimized|newLocals|generator {
		t.Errorf("co_flags = %#x", flags)
	}
}
