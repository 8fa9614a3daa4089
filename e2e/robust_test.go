package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ipytracer/attribution"
	"ipytracer/event/recording"
	"ipytracer/internal/host/process"
	"ipytracer/internal/python/cpython"
	"ipytracer/internal/report/reporttest"
	"ipytracer/model"
)

// TestTinyRing: with a change ring of one page most changes are lost. Every peak is exact nevertheless, the losses are
// counted, and no unproven figure is called proven.
func TestTinyRing(t *testing.T) {
	together(t)
	r := compareTruth(t, place{driver: "run_kernel.py"}, nil, "--budget", "off", "--ring", "4")
	c := r.Certificate
	if c.Complete || c.Made == c.Delivered {
		t.Errorf("a ring of one page lost nothing: %d made, %d delivered", c.Made, c.Delivered)
	}
	lost := uint64(0)
	for _, l := range c.Lost {
		if l.Reason == "change ring full" {
			lost = l.Count
		}
	}
	if c.Made-c.Delivered != lost {
		t.Errorf("%d made, %d delivered, %d counted as lost", c.Made, c.Delivered, lost)
	}
	for _, p := range c.Meters {
		if p.Agreed != p.Compared || p.ID == "cpu.numpy" && p.Skipped == 0 {
			t.Errorf("%s: %+v", p.ID, p)
		}
	}
}

// TestReplay: the report of a recording is the report that was printed live, byte for byte, in every format.
func TestReplay(t *testing.T) {
	together(t)
	w := startWorkload(t, place{driver: "run_kernel.py"}, nil)
	file := filepath.Join(t.TempDir(), "run.arrows")
	tr := attach(t, w.pid, "--record", file)
	w.run()
	_, live := tr.stop()
	for range 2 {
		replayed, err := exec.Command(binary, "report", "--format", "json", file).Output()
		if err != nil {
			t.Fatalf("%v: %s", err, said(err))
		}
		if !bytes.Equal(live, replayed) {
			t.Fatalf("live and replayed reports differ:\n%s", difference(live, replayed))
		}
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("recording: %v %v", info.Mode(), err)
	}
	validWhereverItIsCut(t, file)
	// Cut anywhere, it still opens, and the report says that it was cut.
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	beginning := func(size int) []byte {
		cut := filepath.Join(t.TempDir(), "cut.arrows")
		if err := os.WriteFile(cut, data[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(binary, "report", "--full", cut).CombinedOutput()
		if err != nil {
			t.Errorf("cut at %d: %v", size, err)
		}
		return out
	}
	const mark = 8 // bytes at the end of an Arrow stream: nothing is missing without them
	for _, at := range []int{len(data) - mark - 1, len(data) / 2, len(data) / 3} {
		if out := beginning(at); !bytes.Contains(out, []byte("the recording was cut off")) {
			t.Errorf("cut at %d, and not said:\n%s", at, out)
		}
	}
	if whole := beginning(len(data)); !bytes.Equal(beginning(len(data)-mark), whole) ||
		bytes.Contains(whole, []byte("the recording was cut off")) {
		t.Errorf("what is only not marked as ended is another report")
	}
}

// validWhereverItIsCut checks that a recording that was cut anywhere gives a valid report.
func validWhereverItIsCut(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for at := len(data); at > 0; at -= len(data)/60 + 1 {
		source, err := recording.Open(bytes.NewReader(data[:at]))
		if errors.Is(err, recording.ErrNotRecording) {
			continue // not even its head is whole
		}
		if err != nil {
			t.Fatal(err)
		}
		tracker := attribution.New()
		eachEvent(t, source, tracker.Add)
		reporttest.Report(t, tracker.Report())
	}
}

func difference(a, b []byte) string {
	la, lb := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(la), len(lb)) {
		if la[i] != lb[i] {
			return fmt.Sprintf("line %d\n- %s\n+ %s", i+1, la[i], lb[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(la), len(lb))
}

// startCell starts a process that runs one IPython cell on request.
func startCell(t *testing.T, cell string) (pid int, run func() error) {
	t.Helper()
	return startCellIn(t, "", "", cell)
}

// startPiped starts a command that ends with the test, and returns its standard input and output.
func startPiped(t *testing.T, cmd *exec.Cmd) (io.WriteCloser, io.ReadCloser) {
	t.Helper()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return in, out
}

// until waits for a condition that another process brings about.
func until(t *testing.T, what string, true_ func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for tick := time.NewTicker(5 * time.Millisecond); !true_(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatal("never happened: ", what)
		}
	}
}

// endsBy sends a signal to a process, waits until it has ended, and returns how.
func endsBy(t *testing.T, p *os.Process, sig os.Signal, ended <-chan error) error {
	t.Helper()
	began := time.Now()
	_ = p.Signal(sig)
	select {
	case err := <-ended:
		t.Logf("%v: ended after %v: %v", sig, time.Since(began), err)
		return err
	case <-time.After(patience):
		_ = p.Kill()
		t.Fatalf("%v: it does not end", sig)
		return nil
	}
}

// TestTargetKilledInACell: the report is printed nevertheless, with the cell marked incomplete.
func TestTargetKilledInACell(t *testing.T) {
	together(t)
	flag := filepath.Join(t.TempDir(), "flag")
	pid, run := startCell(t, fmt.Sprintf("x = b'x' * (64 << 20)\nopen(%q, 'w').close()\nimport time\ntime.sleep(100)",
		flag))
	tr := attach(t, pid)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	until(t, "the cell has allocated", func() bool { _, err := os.Stat(flag); return err == nil })
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r, _ := tr.wait(0)
	cells := topCells(r, pid)
	if len(cells) != 1 || cells[0].Status != model.Incomplete {
		t.Fatalf("cells: %+v", cells)
	}
	if f := cells[0].Meters["cpu.resident"]; f.Need() < 64<<20 {
		t.Errorf("resident: %+v", f)
	}
}

// TestTracerKilledInACell: the target goes on, and no probe is left in its memory or in the kernel.
func TestTracerKilledInACell(t *testing.T) {
	require(t)
	dir := t.TempDir()
	begun, done := filepath.Join(dir, "begun"), filepath.Join(dir, "done")
	pid, run := startCell(t,
		fmt.Sprintf("open(%q, 'w').close()\nimport time, os\nwhile not os.path.exists(%q): exec('1')", begun, done))
	site := compileSite(t, pid)
	before, others := site(), programs(t)
	tr := attach(t, pid)
	mine := programs(t)
	for id := range others {
		delete(mine, id)
	}
	if len(mine) < 10 {
		t.Errorf("the tracer has %d programs in the kernel", len(mine))
	}
	if err := run(); err != nil {
		t.Fatal(err)
	}
	until(t, "the cell runs", func() bool { _, err := os.Stat(begun); return err == nil })
	// The first byte of int3, and of brk 5 (UPROBES_BRK_IMM in arch/arm64/include/asm/brk-imm.h).
	if during := site(); during == before || during != 0xcc && during != 0xa0 {
		t.Errorf("while attached there is %#x at the probe's place, before %#x", during, before)
	}
	if err := tr.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-tr.ended
	until(t, "the probe is gone", func() bool { return site() == before })
	until(t, "no program is left", func() bool { return !anyLoaded(t, mine) })
	if err := os.WriteFile(done, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	until(t, "the target ends by itself", func() bool {
		st, err := process.FS{}.Proc(pid).Stat()
		return err != nil || st.Ended()
	})
}

// compileSite returns a function that reads the byte at which cells are probed in a process.
func compileSite(t *testing.T, pid int) func() byte {
	t.Helper()
	file, err := process.FS{}.Image(pid).InterpreterFile(func(f *process.MappedFile) bool {
		_, err := cpython.Open(f.File)
		return err == nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.File.Close() })
	b, err := cpython.Open(file.File)
	if err != nil {
		t.Fatal(err)
	}
	sites, err := b.Sites()
	if err != nil {
		t.Fatal(err)
	}
	bias, _ := b.Bias(file.Mapping.Start, file.Mapping.Offset)
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { memory.Close() })
	return func() byte {
		var one [1]byte
		if _, err := memory.ReadAt(one[:], int64(sites.Compile.Address+bias)); err != nil {
			t.Fatal(err)
		}
		return one[0]
	}
}

// TestAttachTwice: two tracers at once have the same figures. Their boundaries come one after another: pages that other
// threads of the process touch in between are on different sides of them.
func TestAttachTwice(t *testing.T) {
	require(t)
	w := startWorkload(t, place{driver: "run_kernel.py"}, []string{"gil_spike", "np_ones_freed"})
	one, two := attach(t, w.pid), attach(t, w.pid)
	w.run()
	r1, _ := one.stop()
	r2, _ := two.stop()
	a, b := topCells(r1, w.pid), topCells(r2, w.pid)
	if len(a) != len(b) || len(a) != 3 {
		t.Fatalf("%d and %d cells", len(a), len(b))
	}
	for i := range a {
		for _, meter := range []string{"cpu.mapped", "cpu.resident", "cpu.numpy"} {
			off := a[i].Meters[meter].Need() - b[i].Meters[meter].Need()
			if off != 0 && (meter != "cpu.resident" || off < -65536 || off > 65536) {
				t.Errorf("cell %d: %s: %+v and %+v", i, meter, a[i].Meters[meter], b[i].Meters[meter])
			}
		}
	}
}

// TestHugeSource: a cell of a gigabyte is a window like any other; its source is cut, and the tracer stays small.
func TestHugeSource(t *testing.T) {
	together(t)
	const code = "import ast, sys\nsys.stdin.readline()\nsource = '#' * (1 << 30) + '\\nx = 1'\n" +
		"compile(source, '/tmp/ipykernel_1/1.py', 'exec', ast.PyCF_ONLY_AST | 0x200)\nprint('done', flush=True)\n" +
		"sys.stdin.readline()"
	cmd := exec.Command(python(), "-c", code)
	in, out := startPiped(t, cmd)
	tr := attach(t, cmd.Process.Pid)
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("done\n"))); err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tr.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, highest, _ := strings.Cut(string(status), "VmHWM:")
	var kib int64
	if _, err := fmt.Sscanf(highest, "%d kB", &kib); err != nil {
		t.Fatalf("the tracer's memory: %v", err)
	}
	r, _ := tr.stop()
	cells := topCells(r, cmd.Process.Pid)
	if len(cells) != 1 || !cells[0].SourceTruncated || len(cells[0].Source) == 0 || len(cells[0].Source) > 1<<20 {
		t.Fatalf("%d cells; the first has %d bytes of source, cut: %v", len(cells), len(cells[0].Source),
			cells[0].SourceTruncated)
	}
	if kib > 200<<10 {
		t.Errorf("the tracer took %d KiB", kib)
	}
}
