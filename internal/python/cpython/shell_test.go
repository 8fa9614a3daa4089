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

	"ipytracer/internal/code/elffile/elftest"
)

// facts are those that testdata/cpython/shell.py prints about its own process.
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
	script, err := os.ReadFile("../../../testdata/cpython/shell.py")
	if err != nil {
		t.Fatal(err)
	}
	tmp := t.TempDir()
	if b.chroot { // not below its /tmp: other tests mount something there
		if tmp, err = os.MkdirTemp(b.root()+"/var/tmp", "ipytracer-test"); err != nil {
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
	if s.interp, err = NewInterpreter(bin, elftest.Bias(t, bin.Bias, s.pid, b.path()), s.mem); err != nil {
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
		args = []string{"-m", "ipykernel_launcher", "-f", inside + "/kernel.json",
			"--IPKernelApp.exec_files=['" + inside + "/shell.py']"}
	}
	cmd := &exec.Cmd{Path: exe, Args: append([]string{exe}, args...), Dir: inside, Stderr: &strings.Builder{}}
	cmd.Env = []string{"HOME=" + inside, "IPYTHONDIR=" + inside + "/.ipython", "PATH=/usr/bin:/bin",
		"PYTHONDONTWRITEBYTECODE=1", "TERM=dumb"}
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
