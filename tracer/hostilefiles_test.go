package tracer

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/code/cuda"
	"ipytracer/internal/code/elffile"
	"ipytracer/internal/code/elffile/elftest"
	"ipytracer/internal/code/libc"
	"ipytracer/internal/python/numpy"
	"ipytracer/tracer/internal/instruments"
	"ipytracer/tracer/internal/running"
)

// fileReaders are all that a session does with a target's files.
var fileReaders = []struct {
	name string
	read func(io.ReaderAt) string
}{
	{"interpreter", func(r io.ReaderAt) string { _, err := instruments.InterpreterFacts(r); return fmt.Sprint(err) }},
	{"inspect", func(r io.ReaderAt) string { _, err := Inspect(r); return fmt.Sprint(err) }},
	{"calls", func(r io.ReaderAt) string { _, err := libc.FindCalls(r); return fmt.Sprint(err) }},
	{"allocator", func(r io.ReaderAt) string { _, err := libc.FindFunctions(r, libc.Names()); return fmt.Sprint(err) }},
	{"allocator's names", func(r io.ReaderAt) string { _, err := libc.Defines(r); return fmt.Sprint(err) }},
	{"dynamic linker", func(r io.ReaderAt) string {
		_, err := libc.LinkOrder(strings.NewReader(""), r, 0)
		return fmt.Sprint(err)
	}},
	{"numpy", func(r io.ReaderAt) string { _, err := numpy.Find(r); return fmt.Sprint(err) }},
	{"arrow", func(r io.ReaderAt) string { _, err := libc.FindPools(r); return fmt.Sprint(err) }},
	{"needed", func(r io.ReaderAt) string { return libc.NeededArrow(r) }},
	{"defined", func(r io.ReaderAt) string { return fmt.Sprint(elffile.Defines(r, "PyEval_EvalCode")) }},
	{"driver", func(r io.ReaderAt) string { _, err := cuda.Find(r, cuda.Driver); return fmt.Sprint(err) }},
	{"torch", func(r io.ReaderAt) string { _, err := cuda.Find(r, cuda.Torch); return fmt.Sprint(err) }},
	{"stacks", func(r io.ReaderAt) string {
		room := elffile.Room{Bytes: running.MaxNativeBytes}
		m, err := elffile.OpenModule(r, nil, &room)
		if err != nil {
			return err.Error()
		}
		m.Prepare(func() bool { return false })
		place := elffile.Place{}
		for at := uint64(0x1000); at < 0x1000+1000; at++ {
			m.Rule(at)
			place = m.Place(at)
		}
		return fmt.Sprint(place)
	}},
}

// hostileFile has the test's own program read the file of this name, as a child.
const hostileFile = "IPYTRACER_TEST_HOSTILE_FILE"

// Bounds on one reader and one file: memory above what the program takes anyhow, and processor time. The largest
// figures that were seen are in docs/security-trials.md.
const (
	mostOfAFile = 128 << 20
	longestFile = 30 * time.Second // also under the race detector, on a busy machine
	addressable = 3 << 30
)

// TestHostileFiles: every reader of a target's files has an answer to each hostile one, within bounds of memory and of
// processor time.
func TestHostileFiles(t *testing.T) {
	if path := os.Getenv(hostileFile); path != "" {
		readHostile(t, path)
		return
	}
	for _, attack := range elftest.Attacks() {
		t.Run(attack.Name, func(t *testing.T) {
			path := attack.Write(t, t.TempDir(), "libc10.so")
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestHostileFiles$", "-test.v")
			cmd.Env = append(os.Environ(), hostileFile+"="+path)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v", err)
			}
			t.Logf("%s", out)
		})
	}
}

// readHostile reads one file with all readers.
func readHostile(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	limit := unix.Rlimit{Cur: addressable, Max: addressable}
	if err := unix.Setrlimit(unix.RLIMIT_AS, &limit); err != nil {
		t.Fatal(err)
	}
	for _, reader := range fileReaders {
		debug.FreeOSMemory()
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak begins anew
			t.Fatal(err)
		}
		before, began := memoryOf(t, "VmRSS"), spentTime(t)
		answer := reader.read(f)
		took, grew := spentTime(t)-began, memoryOf(t, "VmHWM")-before
		t.Logf("%s: %d MiB, %v: %.150s", reader.name, grew>>20, took.Round(time.Millisecond), answer)
		if grew > mostOfAFile || took > longestFile {
			t.Errorf("%s: %d MiB, %v", reader.name, grew>>20, took)
		}
	}
	runtime.KeepAlive(f)
}

// memoryOf returns a figure of this process's memory, in bytes.
func memoryOf(t *testing.T, key string) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "\n"+key+":")
	line, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseInt(strings.Fields(line)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

func spentTime(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
