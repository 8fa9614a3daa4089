package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"ipytracer/internal/code/elffile"
	"ipytracer/model"
)

// TestNative compares native stacks with libgcc's backtrace() at the same moment, frame by frame: of C++ functions that
// Python calls, with --native, and of a thread that Python does not know, with and without.
func TestNative(t *testing.T) {
	together(t)
	for _, c := range []struct{ tree, python string }{{"", ""}, {"trixie", "/usr/bin/python3.13"}} {
		for _, all := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/native=%v", filepath.Base(c.python), all), func(t *testing.T) {
				root := ""
				if c.tree != "" {
					root = filepath.Join(pythonsDir(), c.tree)
					needTree(t, root)
					enter(t, root)
				}
				checkNative(t, root, c.python, all)
			})
		}
	}
}

// callsCell allocates every size twice: the first time the tracer must unwind a copy of the stack, the second time the
// kernel can unwind it. Then it allocates many blocks at once by a new path.
const callsCell = `
import ctypes, time
calls = ctypes.CDLL(%q)
calls.calls_truth(%q.encode())
def take(size, depth):
    calls.calls_take(ctypes.c_size_t(size), depth)
for more in 0, 1:
    take(100_000 + more, 0)
    take(110_000 + more, 20)
    take(120_000 + more, 70)
    calls.calls_thread(ctypes.c_size_t(130_000 + more))
    time.sleep(.3)
for _ in range(50):
    take(150_000, 40)
`

func checkNative(t *testing.T, root, interpreter string, all bool) {
	dir := t.TempDir() // below /tmp, which is in the chroot as well
	library, truth := filepath.Join(dir, "libcalls.so"), filepath.Join(dir, "truth.jsonl")
	buildCalls(t, library)
	pid, run := startCellIn(t, root, interpreter, fmt.Sprintf(callsCell, library, truth))
	flags := []string{"--budget", "off", "--small-arrays"} // the library calls PyTraceMalloc_Track itself
	if all {
		flags = append(flags, "--native")
	}
	tr := attach(t, pid, flags...)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	until(t, "the target ends", func() bool { return syscall.Kill(pid, 0) != nil || ended(pid) })
	r, _ := tr.stop()
	checkCertificate(t, r)
	checkSums(t, r)
	bySize := map[int64][]model.Frame{}
	for _, a := range r.Windows[0].Allocations {
		if a.Meter == "cpu.numpy" {
			bySize[a.Allocated/a.Count] = a.Stack
		}
	}
	taken := readCalls(t, truth)
	if len(taken) != 58 {
		t.Fatalf("%d blocks", len(taken))
	}
	for _, block := range taken {
		// Both rounds come from the same lines, so they are one allocation; those at once are 50 of the same size.
		stack := bySize[block.size]
		if stack == nil {
			stack = bySize[block.size-block.size%1000] // the average is rounded down
		}
		thread := block.size/1000 == 130
		switch {
		case !all && !thread:
			if slices.ContainsFunc(stack, func(f model.Frame) bool { return f.Native }) || len(stack) == 0 {
				t.Errorf("%d bytes: without --native the stack is %v", block.size, stack)
			}
		case thread:
			compareNative(t, block, stack, "")
			if len(stack) == 0 {
				break
			}
			if f := stack[len(stack)-1]; !f.Native || !strings.HasPrefix(f.Module, "libc.so") {
				t.Errorf("%d bytes: the stack of a thread ends at %+v", block.size, f)
			}
		default:
			compareNative(t, block, stack, "take")
		}
	}
	for _, a := range r.Windows[0].Allocations {
		if a.Allocated == 50*150_000 && a.Count == 50 && !unknownCalls(a.Stack) {
			return
		}
	}
	t.Errorf("50 allocations at once are not one: %v", r.Certificate.Lost)
}

// buildCalls builds the library that calls through functions without frame pointers.
func buildCalls(t *testing.T, library string) {
	t.Helper()
	build := exec.Command("g++", "-O2", "-fomit-frame-pointer", "-shared", "-fPIC", "-g1", "-o", library,
		filepath.Join(workloads, "calls.cpp"))
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// compareNative compares a stack's native frames, up to the next Python function.
func compareNative(t *testing.T, want block, stack []model.Frame, python string) {
	t.Helper()
	interpreter := func(module string) bool {
		return strings.HasPrefix(module, "python3") || strings.HasPrefix(module, "libpython")
	}
	for i, w := range want.calls {
		if python != "" && interpreter(w.module) {
			if i >= len(stack) || stack[i].Native || stack[i].Function != python {
				t.Errorf("%d bytes: behind %d native frames there is no %s: %+v", want.size, i, python, stack)
			}
			return
		}
		if i >= len(stack) {
			t.Errorf("%d bytes: only %d of %d frames", want.size, len(stack), len(want.calls))
			return
		}
		f := stack[i]
		if !f.Native || f.Module != w.module || w.symbol != "" && f.Function != elffile.Demangle(w.symbol) {
			t.Errorf("%d bytes: frame %d is %+v, want %s in %s", want.size, i, f, elffile.Demangle(w.symbol), w.module)
		}
		if w.symbol != "" && (filepath.Base(f.File) != "calls.cpp" || f.Line == 0) {
			t.Errorf("%d bytes: frame %d is at %q line %d", want.size, i, f.File, f.Line)
		}
	}
	if python != "" || len(stack) != len(want.calls) {
		t.Errorf("%d bytes: %d frames, want %d", want.size, len(stack), len(want.calls))
	}
}

// block is one line of the library's truth.
type block struct {
	size  int64
	calls []call
}

type call struct{ module, symbol string }

func (c *call) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&c.module, &c.symbol})
}

func readCalls(t *testing.T, path string) (all []block) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		var b block
		if err := json.Unmarshal(lines.Bytes(), &[]any{&b.size, &b.calls}); err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	return all
}

// startCellIn is startCell for the interpreter of a chroot; "" and "" are this machine's.
func startCellIn(t *testing.T, root, interpreter, cell string) (pid int, run func() error) {
	t.Helper()
	if interpreter == "" {
		interpreter = python()
	}
	cmd := exec.Command(interpreter, "-c",
		"import sys, IPython; sys.stdin.readline(); "+
			"IPython.start_ipython(argv=['--no-banner', '--colors=NoColor', '--quick', '-c', sys.argv[1]])", cell)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &out, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Chroot: root}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("target: %s", out.String())
		}
	})
	return cmd.Process.Pid, func() error {
		_, err := io.WriteString(in, "go\n")
		return err
	}
}
