package e2e

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"ipytracer/model"
)

// scribble is a hostile notebook's code: it finds the page in which the process counts, and has a thread write into it
// at random moments, without Python's global interpreter lock.
const scribble = `import ctypes, random, threading, time
def pages():
    with open("/proc/self/maps") as maps:
        return [tuple(int(n, 16) for n in line.split()[0].split("-")) for line in maps if "bpf-map" in line]
set_word = ctypes.CDLL(None).memmove
set_word.argtypes = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
def write(fields, most, times=1):
    for first, _ in pages():
        for _ in range(times):
            field = random.choice(fields)
            least = 1 << 22 if field == 0 and most <= 1 << 24 else 0      # else frees lead below 0, which cannot be
            set_word(first + 8 * field, (least + random.randrange(most)).to_bytes(8, "little"), 8)
def while_written(cell, fields, most):
    thread = threading.Thread(target=write, args=(fields, most, random.randrange(200)))
    thread.start()
    for _ in range(random.randrange(100)):
        cell()
    thread.join()
def arrays():
    a = [np.zeros(random.randrange(1, 12000)) for _ in range(random.randrange(20))]
    assert not any(one.any() for one in a)
`

// The fields of a page (struct counts in bpf/wire_blocks.h).
const (
	plausible = "(0, 1, 3)" // current, peak, last
	anything  = "(0, 1, 2, 3)"
)

// TestCountedHostileTries: a process writes anything into its page at any moment. No figure of it is said to be exact
// but by the word of the process, none is below 0 or above what it has mapped, and once the page cannot be true, none
// is exact at all. Target and tracer go on, and no other meter is touched.
func TestCountedHostileTries(t *testing.T) {
	c := newCrowd(t)
	const cells = 20
	var v verdict
	for try := 0; try < tries(); try += atOnce * cells {
		c.begin(atOnce)
		tr := c.share()
		c.all(scribble)
		for range cells {
			c.each(func(*counting) string {
				return fmt.Sprintf("while_written(arrays, %s, %d)", plausible, 1<<c.r.IntN(24))
			})
		}
		c.all("write((0, 1, 2), 1 << 64, 100); write((2,), 1 << 64)")
		for range 3 {
			c.each(func(*counting) string { return "while_written(arrays, " + anything + ", 1 << 64)" })
		}
		r, _ := tr.stop()
		for _, s := range c.shells {
			v.add(s.judgeHostile(r, 3))
		}
		c.all("arrays()")
	}
	t.Logf("%d tries: %+v", tries(), v)
	if v.counted == 0 {
		t.Error("no page was believed")
	}
}

// share attaches a tracer, and has all shells count in its pages.
func (c *crowd) share() *trace {
	c.t.Helper()
	tr := c.attach()
	c.all("%tracer counts on")
	until(c.t, "all count in a page", func() bool {
		shared := 0
		for _, r := range c.all("import time; time.sleep(0.1); told = COUNTS.shared") {
			if string(r.Told) == "true" {
				shared++
			}
		}
		return shared == len(c.shells)
	})
	return tr
}

// judgeHostile checks the figures of a shell whose page cannot be true in the last cells.
func (s *counting) judgeHostile(r *model.Report, last int) (v verdict) {
	s.t.Helper()
	windows := topCells(r, s.pid)
	began := false
	for i, w := range windows {
		f := w.Meters["cpu.numpy"]
		began = began || f.Accuracy == model.CountedInProcess
		if !began {
			continue
		}
		v.cells++
		if f.Exact {
			v.exact++
		}
		if f.Accuracy == model.CountedInProcess {
			v.counted++
		}
		mapped := w.Meters["cpu.mapped"]
		switch {
		case f.Exact && f.Accuracy != model.CountedInProcess, f.Exact && i >= len(windows)-last,
			min(f.Start, f.End) < 0, f.Peak < max(f.Start, f.End), f.Peak > mapped.Peak+1<<20,
			!mapped.Exact, !w.Meters["cpu.resident"].Exact:
			s.t.Errorf("pid %d: cell %d of %d: %s: %+v", s.pid, i, len(windows), w.Source, w.Meters)
		}
	}
	return v
}

// takeAway is a hostile notebook's code: each way takes the page from the process in which it counts, by its address.
const takeAway = `from ctypes import c_void_p, c_size_t
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = libc.mremap.restype = c_void_p
def take_away(way):
    for first, end in pages():
        size, elsewhere = end - first, libc.mmap(None, c_size_t(end - first), 0, 34, -1, 0)
        [lambda: libc.munmap(c_void_p(first), c_size_t(size)),
         lambda: libc.mprotect(c_void_p(first), c_size_t(size), 0),
         lambda: libc.mprotect(c_void_p(first), c_size_t(size), 1),
         lambda: libc.mremap(c_void_p(first), c_size_t(size), c_size_t(size), 3, c_void_p(elsewhere)),
         lambda: libc.mmap(c_void_p(first), c_size_t(size), 3, 50, -1, 0)][way]()
`

// TestCountedUnmappedTries: a process takes its page away. It goes on, and so does the tracer, whose figures are right
// or not said to be exact. Linux refuses that for a sealed page, from 6.10 on.
func TestCountedUnmappedTries(t *testing.T) {
	c := newCrowd(t)
	if _, _, err := unix.Syscall(unix.SYS_MSEAL, 0, 0, 1); err == unix.ENOSYS {
		t.Skip("this Linux cannot seal a page")
	}
	const turns = 10
	var v verdict
	for try := 0; try < tries(); try += atOnce * turns {
		c.begin(atOnce)
		tr := c.share()
		c.all(scribble + takeAway)
		for range turns {
			c.each(func(*counting) string { return fmt.Sprintf("take_away(%d)", c.r.IntN(5)) })
			c.step()
			c.step()
		}
		r, _ := tr.stop()
		v.add(c.judge(r))
		c.all("arrays()")
	}
	t.Logf("%d tries: %+v", tries(), v)
	if v.counted == 0 {
		t.Error("nothing was counted in a page")
	}
}
