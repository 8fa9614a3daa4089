package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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

func containerOfBoundary(t *testing.T, o Options) {
	g, l := makeMemoryGroups(t), load(t, o)
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
	ended := false
	end := func() {
		if !ended {
			_ = in.Close()
			_ = child.Wait()
			ended = true
		}
	}
	t.Cleanup(end) // before the groups are removed
	g.set(t, g.inner, "cgroup.procs", strconv.Itoa(child.Process.Pid))
	lines := bufio.NewScanner(out)
	grow := func(by string) {
		if _, err := fmt.Fprintln(in, by); err != nil || !lines.Scan() {
			t.Fatal(err, lines.Err())
		}
	}
	var last event.Container
	seen := event.Bytes(0)
	look := func(what, folder string, limit event.Bytes) {
		t.Helper()
		for range 10 { // Linux may charge or give back what a CPU holds in advance
			var c collected
			before := g.read(t, folder, limit)
			if err := l.Processes.Detach(child.Process.Pid); err != nil {
				t.Fatal(err)
			}
			poll(t, l, &c)
			last = c.boundaries[len(c.boundaries)-1].Container
			seen, last.Seen = max(seen, last.Seen), 0
			if g.read(t, folder, limit) != before {
				continue
			}
			if before.Highest == 0 {
				before.Highest = last.Highest
			}
			if last != before {
				t.Errorf("%s: %+v, want %+v", what, last, before)
			}
			return
		}
		t.Errorf("%s: the group does not come to rest", what)
	}
	if _, err := l.Processes.AttachProcess(0, child.Process.Pid, 0); err != nil {
		t.Fatal(err)
	}
	look("without a limit", g.inner, 0)
	grow("1")
	first := last
	look("risen", g.inner, 0)
	if last.Usage < first.Usage+30e6 || last.Highest < last.Usage {
		t.Errorf("risen by 30 MB: %+v, from %+v", last, first)
	}
	first, seen = last, 0
	grow("spike")
	look("a spike", g.inner, 0)
	if seen < first.Usage+30e6 || seen > last.Highest || last.Usage > first.Usage+10e6 {
		t.Errorf("a spike of 30 MB: %d was seen, behind %+v, now %+v", seen, first, last)
	}
	g.set(t, g.outer, g.limit, "536870912")
	look("the outer one has a limit", g.outer, 512<<20)
	g.set(t, g.inner, g.limit, "536870912")
	look("both have the same limit", g.inner, 512<<20)
	g.set(t, g.outer, g.limit, "400007168")
	grow("2")
	look("the outer one has the lower limit", g.outer, 400007168)
	end()
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
