package cpython

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// facts is what testdata/cpython/shell.py says about its own process.
type facts struct {
	In, Len, LastValue, LastTraceback uint64
	Sys                               uint64
	Created, Suspended, Finished      uint64 // generators
	LastType, IPython, Python         string
}

// shell is an IPython that has run testdata/cpython/shell.py.
type shell struct {
	facts
	pid    int
	interp *Interpreter
	mem    *os.File
	stdin  *os.File      // a line of Python to run in the shell's namespace
	report *bufio.Reader // one JSON line for each report() call
}

// startShell starts IPython, waits until the script has run and opens the process's memory.
func startShell(t *testing.T, b build, bin *Binary, app string) *shell {
	t.Helper()
	if b.chroot && os.Geteuid() != 0 {
		t.Skip("needs root for chroot")
	}
	script, err := os.ReadFile("../../testdata/cpython/shell.py")
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	if b.chroot {
		if tmp, err = os.MkdirTemp(b.root()+"/tmp", "ipytracer-test"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(tmp) })
	}
	if err := os.WriteFile(tmp+"/shell.py", script, 0o644); err != nil {
		t.Fatal(err)
	}
	s := &shell{}
	cmd := s.command(t, b, app, tmp)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.pid = cmd.Process.Pid
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if out := cmd.Stderr.(*strings.Builder).String(); t.Failed() && out != "" {
			t.Logf("stderr: %s", out)
		}
	})
	cmd.ExtraFiles[0].Close()
	cmd.ExtraFiles[1].Close()
	if err := s.next(); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		if out := cmd.Stderr.(*strings.Builder).String(); strings.Contains(out, "No module named") && b.ipython != "" {
			t.Skipf("no IPython for this build: %s", out)
		}
		t.Fatalf("%s did not report: %v\n%s", app, err, cmd.Stderr)
	}
	if s.mem, err = os.Open(fmt.Sprintf("/proc/%d/mem", s.pid)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.mem.Close() })
	if s.interp, err = NewInterpreter(bin, findBias(t, bin, s.pid, b.path()), s.mem); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shell) command(t *testing.T, b build, app, tmp string) *exec.Cmd {
	inside, exe := tmp, b.root()+b.exe
	if b.chroot {
		inside, exe = strings.TrimPrefix(tmp, b.root()), b.exe
	}
	args := []string{"-m", "IPython", "--simple-prompt", "--TerminalIPythonApp.exec_files=['" + inside + "/shell.py']"}
	if app == FrontendKernel {
		args = []string{"-m", "ipykernel_launcher", "-f", inside + "/kernel.json", "--IPKernelApp.exec_files=['" + inside + "/shell.py']"}
	}
	cmd := &exec.Cmd{Path: exe, Args: append([]string{exe}, args...), Dir: inside, Stderr: &strings.Builder{}}
	cmd.Env = []string{"HOME=" + inside, "IPYTHONDIR=" + inside + "/.ipython", "PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1", "TERM=dumb"}
	if b.ipython != "" {
		cmd.Env = append(cmd.Env, "PYTHONPATH="+b.ipython)
	}
	if b.elf != "" {
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+filepath.Dir(b.path()))
	}
	if b.chroot {
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: b.root()}
	}
	reports, toUs := pipe(t)
	fromUs, commands := pipe(t)
	stdin, held := pipe(t) // never written to: the terminal waits for input for ever
	t.Cleanup(func() { held.Close(); stdin.Close() })
	cmd.Stdin = stdin
	cmd.ExtraFiles = []*os.File{toUs, fromUs} // 3 and 4
	s.report, s.stdin = bufio.NewReader(reports), commands
	t.Cleanup(func() { reports.Close(); commands.Close() })
	return cmd
}

func pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// next reads the process's next report.
func (s *shell) next() error {
	line, err := s.report.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, &s.facts)
}

// run executes a line of Python in the process and reads the report that follows.
func (s *shell) run(t *testing.T, line string) {
	t.Helper()
	if _, err := fmt.Fprintln(s.stdin, line); err != nil {
		t.Fatal(err)
	}
	if err := s.next(); err != nil {
		t.Fatal(err)
	}
}

func (s *shell) word(t *testing.T, addr uint64) uint64 {
	t.Helper()
	var buf [8]byte
	if _, err := s.mem.ReadAt(buf[:], int64(addr)); err != nil {
		t.Fatalf("read %#x: %v", addr, err)
	}
	return binary.LittleEndian.Uint64(buf[:])
}

// findBias finds the load bias from an executable mapping of the file.
func findBias(t *testing.T, bin *Binary, pid int, path string) uint64 {
	t.Helper()
	want, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		var start, end, offset, inode uint64
		var perms, dev string
		if n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %d", &start, &end, &perms, &offset, &dev, &inode); n != 6 {
			continue
		}
		if inode != want.Sys().(*syscall.Stat_t).Ino || !strings.Contains(perms, "x") {
			continue
		}
		bias, ok := bin.Bias(start, offset)
		if !ok {
			t.Fatalf("no bias from %s", line)
		}
		return bias
	}
	t.Fatalf("%s is not mapped", path)
	return 0
}

func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("starts IPython")
	}
	eachBuild(t, func(t *testing.T, b build, bin *Binary) {
		for _, app := range []string{FrontendTerminal, FrontendKernel} {
			t.Run(app, func(t *testing.T) {
				if app == FrontendKernel && strings.HasPrefix(b.name, "p") && b.name != "pbs-3.11" {
					t.Skip("the zmq module of another tree is not for this build")
				}
				s := startShell(t, b, bin, app)
				t.Run("input list", s.testInput)
				t.Run("names", func(t *testing.T) { s.testNames(t, app) })
				t.Run("last exception", s.testLastException)
				t.Run("generators", s.testGenerators)
				t.Run("frames", s.testFrames)
			})
		}
	})
}

func (s *shell) testInput(t *testing.T) {
	for range 2 {
		addr, n, err := s.interp.InputList()
		if err != nil || addr != s.In || uint64(n) != s.Len {
			t.Fatalf("InputList() = %#x, %d, %v, want %#x, %d", addr, n, err, s.In, s.Len)
		}
		s.run(t, "In.extend(['x'] * 1000)")
	}
	if !s.interp.IsIPython() {
		t.Error("IsIPython() = false")
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
	for name, want := range map[string]string{"latin": "é", "ucs2": "ω – x", "ucs4": "🐍x", "long": strings.Repeat("a", 256)} {
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
			} else if s.word(t, frame+uint64(o.FrameStackTop)) == 0 || byte(s.word(t, frame+uint64(o.FrameExecuting))) != 0 {
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
	for _, th := range threads {
		names := s.frameNames(t, th.Address)
		if all := strings.Join(names, " "); strings.Contains(all, "generator_in_thread wait_in_thread") {
			return
		}
	}
	t.Error("no thread has the frames generator_in_thread, wait_in_thread")
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
	if name, err := s.interp.text(s.word(t, gen+uint64(o.GenQualName))); name != "generator_in_thread" {
		t.Errorf("gi_qualname = %q, %v", name, err)
	}
	if file, err := s.interp.text(s.word(t, code+uint64(o.CodeFilename))); !strings.HasSuffix(file, "shell.py") {
		t.Errorf("co_filename = %q, %v", file, err)
	}
	if line := uint32(s.word(t, code+uint64(o.CodeFirstLine))); line == 0 || line > 100 {
		t.Errorf("co_firstlineno = %d", line)
	}
}
