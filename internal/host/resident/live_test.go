package resident

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ipytracer/internal/hostile"
)

// process is a program that prints facts about itself, and goes on at a signal of the test.
type process struct {
	pid   int
	in    *os.File
	lines *bufio.Scanner
}

func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
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
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return &process{cmd.Process.Pid, in.(*os.File), bufio.NewScanner(out)}
}

func (p *process) next(t *testing.T, into any) {
	t.Helper()
	if !p.lines.Scan() {
		t.Fatal("the program ended")
	}
	if err := json.Unmarshal(p.lines.Bytes(), into); err != nil {
		t.Fatal(err)
	}
}

func (p *process) account(t *testing.T, python int) Account {
	t.Helper()
	open := func(name string) *os.File {
		f, err := os.Open(fmt.Sprintf("/proc/%d/%s", p.pid, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	a, err := Explain(Source{Smaps: open("smaps"), Memory: open("mem"), Pages: open("pagemap"), Python: python},
		Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for _, part := range a.Parts {
		sum += part.Bytes
	}
	if sum != a.Total || !a.Complete {
		t.Errorf("the parts are %d of %d bytes: %+v", sum, a.Total, a)
	}
	return a
}

func (a Account) of(k Kind) uint64 {
	for _, p := range a.Parts {
		if p.Kind == k {
			return p.Bytes
		}
	}
	return 0
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: memory of another process")
	}
}

// TestMalloc compares with glibc's own figures (mallinfo2), in the main heap and in the arena of a thread, and with the
// fall of resident memory when it trims.
func TestMalloc(t *testing.T) {
	needRoot(t)
	binary := filepath.Join(t.TempDir(), "heap")
	if out, err := exec.Command("gcc", "-O1", "-pthread", "-o", binary,
		"../../../testdata/workloads/heap.c").CombinedOutput(); err != nil {
		t.Skipf("no C compiler: %v: %s", err, out)
	}
	for _, where := range []string{"main", "thread", "beside"} {
		t.Run(where, func(t *testing.T) {
			p := start(t, binary, where)
			var said struct{ Free, Used, Mapped, Resident uint64 }
			p.next(t, &said)
			a := p.account(t, 0)
			near := func(what string, got, want, by uint64) {
				if got+by < want || got > want+by {
					t.Errorf("%s: %d, glibc says %d: %+v", what, got, want, a)
				}
			}
			// less the tops of two arenas, which are not all resident
			near("free", a.of(MallocFree), said.Free, 272<<10)
			// headers, the arena itself, the blocks that the thread's cache keeps
			near("in use", a.of(Malloc), said.Used, 256<<10)
			near("mapped", a.of(MallocBig), said.Mapped, 8<<10)
			if a.Trim == 0 {
				t.Errorf("%+v", a)
			}
			fmt.Fprintln(p.in)
			var after struct{ Resident uint64 }
			p.next(t, &after)
			fell := said.Resident - after.Resident
			near("trimmed", a.Trim, fell, 128<<10)
			t.Logf("%+v: fell by %d", a, fell)
		})
	}
}

// TestPython compares with Python's own figures of its pools and of its objects.
func TestPython(t *testing.T) {
	needRoot(t)
	const script = `
import json, sys
x = [float(i) for i in range(1_000_000)]
y = [str(i) for i in range(300_000)]
z = [[float(i)] for i in range(200_000)]
del z[::2]
text = 48 if sys.version_info >= (3, 12) else 64    # the head of a str is 40 bytes, before 48
print(json.dumps({"objects": 32 * 1_000_000 + text * 300_000 + (80 + 32) * 100_000, "free": 100_000 * 100,
                  "minor": sys.version_info.minor}), flush=True)
sys.stdin.read()
`
	p := start(t, "/usr/bin/python3", "-c", script)
	var said struct {
		Objects, Free uint64
		Minor         int
	}
	p.next(t, &said)
	a := p.account(t, said.Minor)
	if got := a.of(Objects); got < said.Objects || got > said.Objects+said.Objects/5 {
		t.Errorf("%d bytes of objects, %d were made: %+v", got, said.Objects, a)
	}
	if got := a.of(ObjectFree); got < said.Free/2 || got > 3*said.Free {
		t.Errorf("%d bytes are free, about %d were freed: %+v", got, said.Free, a)
	}
	if a.of(Files) < 2<<20 || a.of(Stack) == 0 || a.of(Other) > a.Total/10 {
		t.Errorf("%+v", a)
	}
	t.Logf("%+v", a)
}

// TestHostileHeaps: memory with any contents costs no more than the limits.
func TestHostileHeaps(t *testing.T) {
	smaps := "55550000-5555f000 rw-p 00000000 00:00 0 [heap]\nRss: 60 kB\nAnonymous: 60 kB\n" +
		"7f0000000000-7f0000100000 rw-p 00000000 00:00 0 \nRss: 1024 kB\nAnonymous: 99999 kB\n"
	for _, word := range []uint64{0, 1, 2, 8, 16, 17, 32, 33, 0x1002, 0x7f0000000020, 1 << 63, ^uint64(0)} {
		a, err := Explain(Source{Smaps: strings.NewReader(smaps), Memory: same(word), Pages: same(present), Python: 11},
			Limits{})
		sum := uint64(0)
		for _, part := range a.Parts {
			sum += part.Bytes
		}
		if err != nil || a.Total != 1084<<10 || sum != a.Total || a.Trim > a.Total {
			t.Errorf("%#x: %+v, %v", word, a, err)
		}
	}
}

// same is memory in which every word is the same.
type same uint64

func (s same) ReadAt(buf []byte, off int64) (int, error) {
	for i := range buf {
		buf[i] = byte(uint64(s) >> (8 * ((int(off) + i) % 8)))
	}
	return len(buf), nil
}

// bytesAt is memory from an address on.
type bytesAt struct {
	at   int64
	data []byte
}

func (b bytesAt) ReadAt(buf []byte, off int64) (int, error) {
	n := 0
	for n < len(buf) {
		i := off - b.at + int64(n)
		if i < 0 || i >= int64(len(b.data)) {
			break
		}
		buf[n] = b.data[i]
		n++
	}
	return n, nil
}

// FuzzExplain has any smaps and any memory.
func FuzzExplain(f *testing.F) {
	f.Add("55550000-5555f000 rw-p 00000000 00:00 0 [heap]\nRss: 60 kB\nAnonymous: 60 kB\n",
		[]byte{0, 0, 0, 0, 0, 0, 0, 0, 0x91, 2}, 11)
	f.Add("7f0000000000-7f0004000000 rw-p 00000000 00:00 0\nRss: 64 kB\n", []byte{0x30, 0, 0, 0, 0, 0x7f}, 9)
	f.Add("x", []byte{}, 0)
	for text := range hostile.Lines(256<<10, "55550000-5555f000 rw-p 00000000 00:00 0 [heap]") {
		f.Add(text, []byte{}, 11)
	}
	hostile.Fuzz(f, 64<<20, func(t *testing.T, smaps string, data []byte, python int) {
		memory := bytesAt{0x55550000, append(data, make([]byte, 4096)...)}
		a, err := Explain(Source{Smaps: strings.NewReader(smaps), Memory: memory, Pages: same(present), Python: python},
			Limits{Bytes: 8 << 20})
		if err != nil {
			return
		}
		sum := uint64(0)
		for _, part := range a.Parts {
			sum += part.Bytes
		}
		if sum != a.Total {
			t.Errorf("%d of %d: %+v", sum, a.Total, a)
		}
	})
}
