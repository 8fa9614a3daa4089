package resident

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// endless is a smaps without end, of mappings of a process's own making.
type endless struct{ n int }

func (e *endless) Read(p []byte) (int, error) {
	e.n++
	line := fmt.Sprintf("%x-%x rw-p 00000000 00:2e %d /%s\nRss: 4 kB\n", e.n<<12, (e.n+1)<<12, e.n,
		strings.Repeat("x", 4000))
	return copy(p, line), nil
}

// TestEndlessSmaps: a process whose mappings are many is given up in time, and their names take no room.
func TestEndlessSmaps(t *testing.T) {
	began := time.Now()
	if _, err := Explain(Source{Smaps: &endless{}}, Limits{Time: 10 * time.Millisecond}); !errors.Is(err, errLong) {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all, err := readSmaps(io.LimitReader(&endless{}, 64<<20), func() bool { return false })
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); err != nil || len(all) < 10_000 || grown > 16<<20 {
		t.Errorf("%d mappings, %v: they take %d bytes", len(all), err, grown)
	}
	runtime.KeepAlive(all)
}

// huge is a pagemap of any size, without a page.
type huge struct{ read int }

func (h *huge) ReadAt(p []byte, _ int64) (int, error) {
	h.read++
	clear(p)
	return len(p), nil
}

// TestHugeMappings: many mappings of 64 GiB take no more time than there is.
func TestHugeMappings(t *testing.T) {
	var smaps strings.Builder
	for n := range 1000 {
		fmt.Fprintf(&smaps, "%x-%x rw-p 00000000 00:00 0 [anon:x]\nRss: 4 kB\nAnonymous: 4 kB\n",
			(2*n+1)<<36, (2*n+2)<<36)
	}
	pages := &huge{}
	a, err := Explain(Source{Smaps: strings.NewReader(smaps.String()), Memory: pages, Pages: pages, Python: 11},
		Limits{Time: 20 * time.Millisecond})
	if all := 1000 * (1 << 24 / (64 << 10)); err != nil || a.Complete || a.Total != 4000<<10 || pages.read > all/10 {
		t.Errorf("%v: complete %v, %d bytes; the pages were read %d times", err, a.Complete, a.Total, pages.read)
	}
}

// TestExplainEndsWithItsContext: after its context has ended, Explain returns soon: the rest is in the unexplained
// parts.
func TestExplainEndsWithItsContext(t *testing.T) {
	open := func(name string) *os.File {
		f, err := os.Open("/proc/self/" + name)
		if err != nil {
			t.Skip(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	ended := make(chan struct{})
	close(ended)
	for _, c := range []struct {
		ended <-chan struct{}
		whole bool
	}{{nil, true}, {ended, false}} {
		a, err := Explain(Source{Smaps: open("smaps"), Memory: open("mem"), Pages: open("pagemap")},
			Limits{Time: time.Minute, Ended: c.ended})
		if err != nil {
			t.Fatal(err)
		}
		sum := uint64(0)
		for _, p := range a.Parts {
			sum += p.Bytes
		}
		if a.Complete != c.whole || sum != a.Total || a.Total == 0 {
			t.Errorf("ended: %v: complete %v, %d of %d bytes", c.ended != nil, a.Complete, sum, a.Total)
		}
	}
}

// TestTimeOfReads: reads end when their processor time is used up, and not because others had the processors.
func TestTimeOfReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 10 * time.Millisecond
		used := time.Hour // before it began
		r := newReader(Source{}, Limits{Bytes: 1, Time: most, Used: func() time.Duration { return used }})
		again := func() bool {
			r.steps = 0
			return r.over()
		}
		used += most / 2
		if time.Sleep(5 * most); again() {
			t.Error("others had the processors, and the reads have ended")
		}
		if used += most; !again() {
			t.Error("the time is used up, and the reads go on")
		}
		r.stopped, used, r.deadline = false, time.Hour, time.Now().Add(-1)
		if !again() {
			t.Error("it is held up, and the reads go on")
		}
	})
}
