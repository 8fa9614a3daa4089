package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cilium/ebpf/btf"

	"ipytracer/event"
)

// memoryGroups are two memory cgroups, one in the other.
type memoryGroups struct {
	outer, inner          string // folders
	limit, usage, highest string // names of files
}

func makeMemoryGroups(t *testing.T) memoryGroups {
	t.Helper()
	for _, way := range []struct {
		top string
		memoryGroups
	}{
		{"/sys/fs/cgroup/memory", memoryGroups{limit: "memory.limit_in_bytes", usage: "memory.usage_in_bytes",
			highest: "memory.max_usage_in_bytes"}},
		{"/sys/fs/cgroup", memoryGroups{limit: "memory.max", usage: "memory.current", highest: "memory.peak"}},
	} {
		g := way.memoryGroups
		g.outer = filepath.Join(way.top, fmt.Sprintf("ipytracer-ledger-%d", os.Getpid()))
		g.inner = filepath.Join(g.outer, "inner")
		_ = os.WriteFile(filepath.Join(way.top, "cgroup.subtree_control"), []byte("+memory"), 0)
		if os.Mkdir(g.outer, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(g.outer) })
		_ = os.WriteFile(filepath.Join(g.outer, "cgroup.subtree_control"), []byte("+memory"), 0)
		if os.Mkdir(g.inner, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(g.inner) })
		if _, err := os.Stat(filepath.Join(g.inner, g.limit)); err == nil {
			return g
		}
	}
	t.Skip("no memory cgroup can be made here")
	return memoryGroups{}
}

func (g memoryGroups) set(t *testing.T, folder, name, value string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(value), 0); err != nil {
		t.Fatal(err)
	}
}

// read returns what Linux says of a group; highest is 0 where it does not say (version 2 before 5.19).
func (g memoryGroups) read(t *testing.T, folder string, limit event.Bytes) event.Container {
	t.Helper()
	number := func(name string) event.Bytes {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if errors.Is(err, os.ErrNotExist) {
			return 0
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return event.Bytes(n)
	}
	info, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	return event.Container{Number: info.Sys().(*syscall.Stat_t).Ino, Usage: number(g.usage), Highest: number(g.highest),
		Limit: limit}
}

// TestContainerOfBoundary: a boundary has the figures that Linux shows of the memory cgroup with the least limit. The
// process waits at each boundary, so they are the same to the byte.
func TestContainerOfBoundary(t *testing.T) {
	for name, o := range map[string]Options{"": {}, "old kernel": {OldKernel: true}} {
		t.Run(name, func(t *testing.T) { containerOfBoundary(t, o) })
	}
}

// contained is a process in the inner one of two groups, which a ledger follows.
type contained struct {
	memoryGroups
	t     *testing.T
	l     *Ledger
	pid   int
	in    io.WriteCloser
	lines *bufio.Scanner
	end   func()
	last  event.Container
	seen  event.Bytes // the most so far
}

func startContained(t *testing.T, o Options) *contained {
	t.Helper()
	c := &contained{memoryGroups: makeMemoryGroups(t), t: t, l: load(t, o)}
	// Each number makes it take 30 MB more, and "spike" take them and give them back.
	child := exec.Command("sh", "-c", `while read n; do
			eval "x$n=\$(head -c 30000000 /dev/zero | tr '\\0' x)"
			xspike=
			echo $n
		done`)
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	c.end = sync.OnceFunc(func() {
		_ = in.Close()
		_ = child.Wait()
	})
	t.Cleanup(c.end) // before the groups are removed
	c.pid, c.in, c.lines = child.Process.Pid, in, bufio.NewScanner(out)
	c.set(t, c.inner, "cgroup.procs", strconv.Itoa(c.pid))
	if _, err := c.l.Processes.AttachProcess(0, c.pid, 0); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *contained) takes(what string) {
	c.t.Helper()
	if _, err := fmt.Fprintln(c.in, what); err != nil || !c.lines.Scan() {
		c.t.Fatal(err, c.lines.Err())
	}
}

// is compares a boundary's figures with what Linux says of a group before and after it.
func (c *contained) is(what, folder string, limit event.Bytes) {
	c.t.Helper()
	for range 10 { // Linux may charge or give back what a CPU holds in advance
		var got collected
		before := c.read(c.t, folder, limit)
		if err := c.l.Processes.Detach(c.pid); err != nil {
			c.t.Fatal(err)
		}
		poll(c.t, c.l, &got)
		c.last = got.boundaries[len(got.boundaries)-1].Container
		c.seen, c.last.Seen = max(c.seen, c.last.Seen), 0
		if c.last.Resets == 1 && c.last.Local != c.last.Highest {
			c.t.Errorf("%s: %+v, and nobody wrote to memory.peak", what, c.last)
		}
		c.last.Local, c.last.Resets = 0, 0
		if c.read(c.t, folder, limit) != before {
			continue
		}
		if before.Highest == 0 {
			before.Highest = c.last.Highest
		}
		if c.last != before {
			c.t.Errorf("%s: %+v, want %+v", what, c.last, before)
		}
		return
	}
	c.t.Errorf("%s: the group does not come to rest", what)
}

func containerOfBoundary(t *testing.T, o Options) {
	c := startContained(t, o)
	c.is("without a limit", c.inner, 0)
	c.takes("1")
	first := c.last
	c.is("risen", c.inner, 0)
	if c.last.Usage < first.Usage+29e6 || c.last.Highest < c.last.Usage {
		t.Errorf("risen by 30 MB: %+v, from %+v", c.last, first)
	}
	first, c.seen = c.last, 0
	c.takes("spike")
	c.is("a spike", c.inner, 0)
	if c.seen < first.Usage+29e6 || c.seen > c.last.Highest || c.last.Usage > first.Usage+10e6 {
		t.Errorf("a spike of 30 MB: %d was seen, behind %+v, now %+v", c.seen, first, c.last)
	}
	c.set(t, c.outer, c.limit, "536870912")
	c.is("the outer one has a limit", c.outer, 512<<20)
	c.set(t, c.inner, c.limit, "536870912")
	c.is("both have the same limit", c.inner, 512<<20)
	c.set(t, c.outer, c.limit, "400007168")
	c.takes("2")
	c.is("the outer one has the lower limit", c.outer, 400007168)
	c.end()
}

// resets are the figures of a container's memory.peak at boundaries.
type resets struct {
	*contained
	path string
}

func (r resets) look() (event.Container, uint32) {
	var got collected
	if err := r.l.Processes.Detach(r.pid); err != nil {
		r.t.Fatal(err)
	}
	poll(r.t, r.l, &got)
	at := len(got.boundaries) - 1
	return got.boundaries[at].Container, got.watched[at]
}

func (r resets) open(path string) *os.File {
	r.t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = f.Close() })
	return f
}

func (r resets) write(f *os.File) {
	r.t.Helper()
	if _, err := f.WriteString("reset\n"); err != nil {
		r.t.Fatal(err)
	}
}

// check compares a boundary's figures with how often somebody wrote, how many descriptors Linux watches, and the least
// and the most that the container had since.
func (r resets) check(what string, writes, watched uint32, least, most event.Bytes) {
	r.t.Helper()
	got, w := r.look()
	r.t.Logf("%s: %+v, %d watched", what, got, w)
	if got.Resets != writes || w != watched || got.Local < least || got.Local > most || got.Local > got.Highest {
		r.t.Errorf("%s: %+v with %d watched; want %d writes, %d watched, %d to %d", what, got, w, writes, watched,
			least, most)
	}
}

// TestContainerReset: a boundary has the highest use since somebody wrote to memory.peak, how often that was, and how
// many descriptors Linux watches. Whoever only reads the file sees the highest use ever, as before.
func TestContainerReset(t *testing.T) {
	c := startContained(t, Options{})
	r := resets{c, filepath.Join(c.inner, "memory.peak")}
	if _, err := os.Stat(r.path); err != nil || c.l.resets.because != nil {
		t.Skip(err, c.l.resets.because) // version 1, or before 6.12
	}
	c.takes("spike") // 30 MB, once to fill and once to copy
	at, _ := r.look()
	began := at.Resets
	r.check("nobody wrote", began, 0, at.Highest, at.Highest)
	first, second := r.open(r.path), r.open(r.path)
	r.check("open, and not written to", began, 0, at.Highest, at.Highest)
	r.write(first)
	r.check("written to", began+1, 1, 0, at.Usage+2<<20)
	r.write(second)
	r.check("another one", began+2, 2, 0, at.Usage+2<<20)
	second.Close()
	r.check("closed", began+2, 1, 0, at.Usage+2<<20)
	c.takes("1")
	r.check("30 MB more", began+2, 1, at.Usage+29e6, math.MaxInt64)
	r.write(first)
	r.check("again", began+3, 1, at.Usage+29e6, at.Usage+40e6)
	if highest := c.read(t, c.inner, 0).Highest; highest < at.Highest {
		t.Errorf("a reader sees %d, and saw %d before", highest, at.Highest)
	}
	r.write(r.open(filepath.Join(c.outer, "memory.peak")))
	r.check("a write to another cgroup", began+3, 1, at.Usage+29e6, at.Usage+40e6)
	c.end()
}

// TestContainerFields: this kernel's fields are found, and all of them at places of their own where one structure has
// several. A kernel without them is one without figures.
func TestContainerFields(t *testing.T) {
	kernel, err := btf.LoadKernelSpec()
	if err != nil {
		t.Skip(err)
	}
	f := findContainer(kernel)
	if f.Known != 1 || f.Owner == 0 || f.Groups == 0 || f.State == 0 || f.Counter == 0 || f.Watermark == 0 ||
		f.Max == 0 || f.Parent == 0 || f.Number == 0 {
		t.Errorf("%+v", f)
	}
	places := map[uint32]bool{f.Usage: true, f.Watermark: true, f.Max: true, f.Parent: true}
	if len(places) != 4 {
		t.Errorf("%+v", f)
	}
	b, err := btf.NewBuilder([]btf.Type{&btf.Int{Name: "int", Size: 4}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := b.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := btf.LoadSpecFromReader(strings.NewReader(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if f := findContainer(empty); f != (kernelContainerFields{}) {
		t.Errorf("a kernel without cgroups: %+v", f)
	}
}
