package resident

import (
	"os"
	"testing"
	"time"
)

// TestEnded: after its context has ended, Explain returns soon: the rest is in the unexplained parts.
func TestEnded(t *testing.T) {
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
	r.stopped, used, r.deadline = false, time.Hour, time.Now()
	if !again() {
		t.Error("it is held up, and the reads go on")
	}
}
