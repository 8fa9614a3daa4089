package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/model"
)

// containerFiles returns the names of the files with a memory cgroup's use and its highest use.
func containerFiles(group string) (usage, highest string) {
	for _, names := range [][2]string{
		{"memory.usage_in_bytes", "memory.max_usage_in_bytes"}, {"memory.current", "memory.peak"},
	} {
		usage, highest = filepath.Join(group, names[0]), filepath.Join(group, names[1])
		if _, err := os.Stat(highest); err == nil {
			break
		}
	}
	return usage, highest
}

// ofContainer is Python that notes what Linux says of the process's memory cgroup: its use, and its highest use.
const ofContainer = `
import json, mmap, os, time
seen = []
def note():
    seen.append([int(open(n).read()) for n in (%q, %q)])
def done():
    json.dump(seen, open(%q, "w"))
`

// cachesFile returns Python that brings a file of a size into the page cache. It reads a file that is on a disk and not
// in the cache. Without a disk, as in an emulated machine, it writes one in a file system that is nothing but cache, in
// a mount namespace of its own.
func cachesFile(t *testing.T, size int) (cell string) {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "ipytracer-container-") // often on a disk where /tmp is not
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var at unix.Statfs_t
	if err := unix.Statfs(dir, &at); err != nil {
		t.Fatal(err)
	}
	if at.Type == unix.TMPFS_MAGIC || at.Type == unix.RAMFS_MAGIC {
		return fmt.Sprintf(`import ctypes
c = ctypes.CDLL(None)
assert not c.unshare(%d) and not c.mount(b"none", b"/", None, %d, None)
assert not c.mount(b"ramfs", %q.encode(), b"ramfs", 0, None)
f = open(%q, "wb", 0)
b = bytearray(1 << 20)
for i in range(%d): z = f.write(b)`, unix.CLONE_NEWNS, unix.MS_REC|unix.MS_PRIVATE, dir, filepath.Join(dir, "file"),
			size>>20)
	}
	f, err := os.Create(filepath.Join(dir, "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range size >> 20 {
		if _, err := f.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("f = open(%q, 'rb', 0)\nb = bytearray(1 << 20)\nwhile f.readinto(b): pass", f.Name())
}

// The sizes in TestContainer, in bytes.
const (
	ofLimit = 1 << 30
	ofAnon  = 200 << 20
	ofFile  = 150 << 20
	ofShmem = 60 << 20
	ofSpike = 40 << 20
	ofSmall = 1 << 20 // of what a process gives back by itself: pages of kernel memory, of Python's arenas
)

// containerCells returns the cells of TestContainer.
func containerCells(t *testing.T) []string {
	t.Helper()
	shared := fmt.Sprintf("/dev/shm/ipytracer-container-%d", os.Getpid())
	t.Cleanup(func() { _ = os.Remove(shared) })
	cells := []string{
		fmt.Sprintf("x = b'x' * %d", ofAnon),
		cachesFile(t, ofFile),
		fmt.Sprintf("f = open(%q, 'wb', 0)\nfor i in range(%d): z = f.write(b)\nf.close()", shared, ofShmem>>20),
		"del x",
		fmt.Sprintf("y = b'y' * %d\ntime.sleep(0.1)\ny = None", ofSpike),
	}
	for i := range cells {
		// The parts at a cell's end are read at the beginning of the next one.
		cells[i] = "time.sleep(0.3)\nnote()\n" + cells[i] + "\nnote()"
	}
	return append(cells, "time.sleep(0.3)\ndone()")
}

// TestContainer: of cells of known truth (anonymous memory, page cache, tmpfs, memory given back, a spike lower than
// the highest) the container's figures are those of Linux, which the cells themselves have read, within their bound.
func TestContainer(t *testing.T) {
	together(t)
	group := memoryCgroup(t, ofLimit)
	usage, highest := containerFiles(group)
	noted, record := filepath.Join(t.TempDir(), "seen"), filepath.Join(t.TempDir(), "container.arrows")
	cells := containerCells(t)
	s := startCells(t, nil, fmt.Sprintf(ofContainer, usage, highest, noted), cells...)
	joins(t, group, s.cmd.Process.Pid)
	tr := attach(t, s.cmd.Process.Pid, "--record", record)
	if _, err := s.in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	s.says("done!\n")
	r, _ := tr.stop()
	var seen [][2]int64
	text, err := os.ReadFile(noted)
	if err = errors.Join(err, json.Unmarshal(text, &seen)); err != nil {
		t.Fatal(err)
	}
	all := topCells(r, s.cmd.Process.Pid)
	if len(all) != len(cells) || len(seen) != 2*len(cells)-2 {
		t.Fatalf("%d cells, %d notes", len(all), len(seen))
	}
	for i := range len(seen) / 2 {
		later := int64(0) // the highest use when the next cell began
		if 2*i+2 < len(seen) {
			later = seen[2*i+2][1]
		}
		checkContainer(t, i+1, all[i].Container, seen[2*i], seen[2*i+1], later)
	}
	if t.Failed() {
		return
	}
	checkParts(t, all)
	rose := func(i int) int64 { return all[i].Container.Highest - all[i].Container.Start }
	if !all[0].Container.Exact || rose(0) < ofAnon || rose(0) > ofAnon+16<<20 {
		t.Errorf("200 MiB of anonymous memory: %+v", all[0].Container)
	}
	if c := all[1].Container; !c.Exact || rose(1) < ofFile || rose(1) > ofFile+16<<20 {
		t.Errorf("150 MiB of page cache: %+v", c)
	}
	c := all[4].Container // exact if the highest use began again in front of it
	if c.Exact && c.Highest > c.Start+ofSpike+16<<20 || !c.Exact && c.Highest < c.Start+ofAnon-ofSpike ||
		c.AtLeast < c.Start+ofSpike-c.Bound-ofSmall {
		t.Errorf("a spike below the highest: %+v", c)
	}
	checkLine(t, record)
}

// checkLine checks that the report has one line about the container of TestContainer, with the cell.
func checkLine(t *testing.T, record string) {
	t.Helper()
	report, err := exec.Command(binary, "report", record).Output()
	if err != nil {
		t.Fatal(err)
	}
	line := ""
	for l := range strings.Lines(string(report)) {
		if strings.HasPrefix(strings.TrimSpace(l), "container") {
			line += l
		}
	}
	t.Log(line)
	if strings.Count(line, "\n") != 1 || !strings.Contains(line, " of 1.00 GiB (4") ||
		!strings.Contains(line, "In[3]") {
		t.Errorf("the line: %q of\n%s", line, report)
	}
}

// checkContainer compares the figures of a cell with what Linux said within it: at its beginning, at its end, and of
// the highest use before the next cell, 0 if not known.
func checkContainer(t *testing.T, cell int, c *model.Container, begin, end [2]int64, later int64) {
	t.Helper()
	if c == nil {
		t.Errorf("cell %d has no figures of the container", cell)
		return
	}
	t.Logf("cell %d: %+v; Linux said %d and %d, later %d", cell, *c, begin, end, later)
	const work = 4 << 20 // of the shell and of the tracer's cell itself, outside of the two notes
	off := c.Bound + work
	if c.Limit != ofLimit || c.Start > begin[0]+off || c.Start < begin[0]-off || c.End > end[0]+off ||
		c.End < end[0]-off {
		t.Errorf("cell %d: %+v", cell, *c)
	}
	risen := end[1] > begin[1]
	if c.AtLeast > c.Highest || c.Highest+c.Bound < max(begin[0], end[0]) || risen && c.Highest < end[1] ||
		later > 0 && c.Highest > later {
		t.Errorf("cell %d: the highest is %d to %d, and Linux said %d at its end, %d before the next", cell, c.AtLeast,
			c.Highest, end[1], later)
	}
	if risen && !c.Exact {
		t.Errorf("cell %d: the highest rose, and is not exact", cell)
	}
}

// checkParts checks the parts at the ends of the cells of TestContainer.
func checkParts(t *testing.T, all []model.Window) {
	t.Helper()
	const off = 16 << 20
	near := func(what string, got, want int64) {
		if got < want-off || got > want+off {
			t.Errorf("%s: %d MiB, want about %d", what, got>>20, want>>20)
		}
	}
	for i, of := range []struct{ anon, file, shmem int64 }{
		{ofAnon, 0, 0}, {ofAnon, ofFile, 0}, {ofAnon, ofFile, ofShmem}, {0, ofFile, ofShmem},
	} {
		p, last := all[i].Container.Parts, all[3].Container.Parts
		if p == nil || last == nil {
			t.Errorf("cell %d has no parts", i+1)
			continue
		}
		t.Logf("cell %d: %+v", i+1, *p)
		near(fmt.Sprintf("anonymous memory after cell %d", i+1), p.Anon-last.Anon, of.anon)
		near(fmt.Sprintf("page cache after cell %d", i+1), p.File, of.file)
		near(fmt.Sprintf("tmpfs after cell %d", i+1), p.Shmem, of.shmem)
	}
}

// TestContainerOutOfMemory: a cell in which the OOM killer came has the container's highest, at its limit.
func TestContainerOutOfMemory(t *testing.T) {
	together(t)
	const limit = 300 << 20
	group := memoryCgroup(t, limit)
	pid, run := startCell(t, "x = []\nfor i in range(100):\n    x.append(bytearray(20 << 20))")
	joins(t, group, pid)
	tr := attach(t, pid)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	r, _ := tr.wait(0)
	c := topCells(r, pid)[0].Container
	if c == nil || !c.Exact || c.Limit != limit || c.Highest > limit || c.Highest < limit*98/100 {
		t.Errorf("%+v", c)
	}
}

// TestContainerLeft: a process that moves from cgroup to cgroup in a cell leaves that cell without figures, the report
// says so in one sentence, and the cells around it have theirs. Removed cgroups do no harm.
func TestContainerLeft(t *testing.T) {
	together(t)
	group := memoryCgroup(t, 1<<30)
	move := fmt.Sprintf(`
import os
home, before = %q, ""
def enter(g):
    with open(os.path.join(g, "cgroup.procs"), "w") as f: f.write(str(os.getpid()))
for i in range(300):
    g = "%%s-%%d" %% (home, i)
    os.mkdir(g)
    enter(g)
    if before: os.rmdir(before)
    before = g`, group)
	s := startCells(t, nil, "", "a = 1", move, "b = 2", "enter(home); os.rmdir(before)")
	joins(t, group, s.cmd.Process.Pid)
	tr := attach(t, s.cmd.Process.Pid)
	if _, err := s.in.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	s.says("done!\n")
	r, _ := tr.stop()
	all := topCells(r, s.cmd.Process.Pid)
	if len(all) != 4 || all[1].Status != model.OK || all[3].Status != model.OK {
		t.Fatalf("%+v", all)
	}
	if all[0].Container == nil || all[0].Container.Limit != 1<<30 || all[1].Container != nil ||
		all[2].Container == nil || all[2].Container.Limit != 0 || all[3].Container != nil {
		t.Errorf("%+v, %+v, %+v, %+v", all[0].Container, all[1].Container, all[2].Container, all[3].Container)
	}
	said := 0
	for _, p := range r.Certificate.Problems {
		if strings.Contains(p, "was moved to another memory cgroup") {
			said++
		}
	}
	if said != 1 {
		t.Errorf("said %d times: %q", said, r.Certificate.Problems)
	}
}
