package process

import (
	"bufio"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// asNobody makes the test binary act as the tracer of an unprivileged user and print its findings.
const asNobody = "IPYTRACER_TEST_AS_NOBODY"

func TestMain(m *testing.M) {
	if os.Getenv(asNobody) != "" {
		if err := json.NewEncoder(os.Stdout).Encode(lookAsNobody()); err != nil {
			panic(err)
		}
		return
	}
	os.Exit(m.Run())
}

// need skips a test that this machine or user cannot run, and fails it where everything is required to run.
func need(t testing.TB, ok bool, reason string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("TRACER_REQUIRE_BPF") == "1" {
		t.Fatalf("%s, and TRACER_REQUIRE_BPF=1", reason)
	}
	t.Skip(reason)
}

func needRoot(t testing.TB) {
	t.Helper()
	need(t, os.Geteuid() == 0, ErrNotPermitted.Error()+": needs root")
}

const python = "/usr/bin/python3"

func needPython(t testing.TB) {
	t.Helper()
	_, err := os.Stat(python)
	need(t, err == nil, "needs "+python)
}

// holdsInterpreter is isInterpreter for a mapped file.
func holdsInterpreter(f *MappedFile) bool { return isInterpreter(f.File) }

// isInterpreter stands in for the real test of package cpython.
func isInterpreter(r io.ReaderAt) bool {
	_, ok := evalCode(r)
	return ok
}

// evalCode returns the file offset of PyEval_EvalCode.
func evalCode(r io.ReaderAt) (offset uint64, ok bool) {
	file, err := elf.NewFile(r)
	if err != nil {
		return 0, false
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return 0, false
	}
	for _, symbol := range symbols {
		if symbol.Name != "PyEval_EvalCode" || symbol.Section == elf.SHN_UNDEF {
			continue
		}
		for _, p := range file.Progs {
			if p.Type == elf.PT_LOAD && p.Vaddr <= symbol.Value && symbol.Value < p.Vaddr+p.Filesz {
				return symbol.Value - p.Vaddr + p.Off, true
			}
		}
	}
	return 0, false
}

// program evaluates one statement for every line it reads.
const program = `
import sys
print("ready", flush=True)
for line in sys.stdin:
    exec(compile(line, "<test>", "exec"))
    print("done", flush=True)
`

// child is a process that answers.
type child struct {
	*exec.Cmd
	t     testing.TB
	stdin io.WriteCloser
	out   *bufio.Reader
}

// start runs a command that runs program, and waits until it is ready.
func start(t testing.TB, cmd *exec.Cmd) *child {
	t.Helper()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: cmd, t: t, stdin: stdin, out: bufio.NewReader(stdout)}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	c.expect("ready")
	return c
}

func startPython(t testing.TB, args ...string) *child {
	t.Helper()
	needPython(t)
	return start(t, exec.Command(python, append([]string{"-S", "-c", program}, args...)...))
}

func (c *child) expect(want string) {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil || strings.TrimSpace(line) != want {
		c.t.Fatalf("child said %q, %v; want %q", line, err, want)
	}
}

func (c *child) evaluate(code string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, code+"\n"); err != nil {
		c.t.Fatal(err)
	}
	c.expect("done")
}
