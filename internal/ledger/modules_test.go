package ledger

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ipytracer/event"
)

// mapper is a process that maps code of files that the test chooses.
type mapper struct {
	t   *testing.T
	pid int
	in  io.Writer
	out *bufio.Reader
}

func startMapper(t *testing.T) *mapper {
	t.Helper()
	cmd := exec.Command("python3", "-c", `import mmap, sys
print("ready", flush=True)
kept = []
for line in sys.stdin:
    with open(line.strip(), "rb") as f:
        kept.append(mmap.mmap(f.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC))
    print("mapped", flush=True)`)
	in, out, err := piped(t, cmd)
	if err != nil {
		t.Skip(err)
	}
	m := &mapper{t, cmd.Process.Pid, in, bufio.NewReader(out)}
	m.answer()
	return m
}

func (m *mapper) answer() {
	m.t.Helper()
	if _, err := m.out.ReadString('\n'); err != nil {
		m.t.Fatal(err)
	}
}

func (m *mapper) maps(name string) {
	m.t.Helper()
	if _, err := fmt.Fprintln(m.in, name); err != nil {
		m.t.Fatal(err)
	}
	m.answer()
}

// empty returns a file of this name, 4 KiB of zeros, in a folder.
func empty(t *testing.T, folder, name string) *os.File {
	t.Helper()
	name = filepath.Join(folder, name)
	if err := os.WriteFile(name, make([]byte, 4096), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// TestForeseeModules: a NumPy that is mapped but was not foreseen moves a process back at once. Files of other names do
// not, and neither do foreseen ones.
func TestForeseeModules(t *testing.T) {
	l := load(t, Options{})
	m := startMapper(t)
	slot, err := l.Processes.AttachProcess(0, m.pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	known, other := empty(t, dir, "_multiarray_umath.known.so"), empty(t, dir, "_multiarray_tests.so")
	stranger, third := empty(t, dir, "_multiarray_umath.stranger.so"), empty(t, dir, "_multiarray_umath.third.so")
	foresee := func(files ...File) {
		t.Helper()
		if err := l.Blocks.ForeseeModules(slot, files); err != nil {
			t.Fatal(err)
		}
	}
	count := func(by, want Arrays, foreign Foreign) {
		t.Helper()
		if got, whose, err := l.Blocks.CountArrays(m.pid, by); err != nil || got != want || whose != foreign {
			t.Errorf("counted by %d, foreign %d, %v; want %d, %d", got, whose, err, want, foreign)
		}
	}
	m.maps(stranger.Name()) // no file has been foreseen yet
	foresee(known)
	count(ArraysSettling, ArraysSettling, 0)
	count(ArraysInside, ArraysInside, 0)
	m.maps(known.Name())
	m.maps(other.Name())
	var c collected
	poll(t, l, &c)
	consecutive(t, c.boundaries, 1)
	m.maps(stranger.Name())
	poll(t, l, &c)
	consecutive(t, c.boundaries, 2)
	if b := c.boundaries[1]; b.Kind != event.MeterShed || b.Unsure[event.UnknownNumPy] != 0 {
		t.Errorf("boundary %+v", b)
	}
	count(ArraysTracked, ArraysTracked, ForeignModule)
	poll(t, l, &c)
	consecutive(t, c.boundaries, 3)
	if b := c.boundaries[2]; b.Kind != event.MeterBack || b.Unsure[event.UnknownNumPy] != b.Value[event.Mapped] {
		t.Errorf("boundary %+v", b)
	}
	count(ArraysSettling, ArraysTracked, ForeignModule)
	foresee(known, stranger)
	count(ArraysSettling, ArraysSettling, 0)
	m.maps(third.Name()) // the other probes are still in place: nothing is missed
	count(ArraysInside, ArraysTracked, ForeignModule)
	poll(t, l, &c)
	consecutive(t, c.boundaries, 3)
}
