package tracer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
)

// limitedTo returns a session's view of its own control group, and a function that sets its memory use.
func limitedTo(t *testing.T, limit int64) (fs process.FS, use func(int64)) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755),
			os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	own := fmt.Sprintf("proc/%d/", os.Getpid())
	write(own+"cgroup", "0::/small\n")
	write(own+"limits", "Max data size unlimited unlimited bytes\nMax address space unlimited unlimited bytes\n")
	write(own+"status", fmt.Sprintf("Tgid:\t%d\nPid:\t%d\nVmRSS:\t%d kB\nRssAnon:\t%d kB\n", os.Getpid(), os.Getpid(),
		limit>>10, limit>>10))
	write("proc/self/mountinfo", "41 31 0:38 / "+dir+"/v2 rw - cgroup2 cgroup2 rw\n")
	write("v2/small/memory.max", fmt.Sprint(limit))
	use = func(bytes int64) { write("v2/small/memory.current", fmt.Sprint(bytes)) }
	use(0)
	return process.FS{Root: dir + "/proc"}, use
}

// TestSessionGivesUpNearItsLimit: near the limit a session gives up attribution, once, and goes on; near it again it
// ends, with the last boundary and a finish that give the reason.
func TestSessionGivesUpNearItsLimit(t *testing.T) {
	const limit = 80 << 20
	fs, use := limitedTo(t, limit)
	k := &fakeKernel{script: []records{change(1), change(2), change(3)}}
	s := attached(t, k, Options{Holders: true})
	if why := Economize(s); why != "" || EndedEarly(s) != "" {
		t.Fatalf("without a meter: %q", why)
	}
	if err := s.allowance.begin(fs); err != nil {
		t.Fatal(err)
	}
	if !s.allowance.small {
		t.Error("tables of the usual sizes in 80 MiB")
	}
	economize := func(used int64) string {
		use(used)
		s.allowance.looked, s.allowance.collected = s.allowance.looked.Add(-latestLook),
			s.allowance.collected.Add(-latestLook)
		return Economize(s)
	}
	if why := economize(limit - 11<<20); why != "" || s.options.NoStacks {
		t.Errorf("with 11 MiB left it gives up: %q", why)
	}
	why := economize(limit - 9<<20)
	if !strings.Contains(why, "memory.max of control group /small: 80.00 MiB") || !s.options.NoStacks ||
		s.options.Holders {
		t.Errorf("with 9 MiB left: %q, %+v", why, s.options)
	}
	if again := economize(limit - 9<<20); again != "" || EndedEarly(s) != "" {
		t.Errorf("it says so again: %q, %q", again, EndedEarly(s))
	}
	if again := economize(limit - 4<<20); again != "" || EndedEarly(s) == "" {
		t.Errorf("with 4 MiB left it goes on: %q", again)
	}
	_, last := following(t, context.Background(), s, atOnce)
	if last == nil || !strings.Contains(last.Reason, "the session has ended by itself") || len(last.Unnamed) == 0 ||
		last.Unnamed[0] != why {
		t.Errorf("the end: %+v", last)
	}
	if fmt.Sprint(last.Problems) != "[]" {
		t.Errorf("problems of figures: %q", last.Problems)
	}
}

// TestTooSmall: a session that does not fit is refused, with the limit and the memory that it needs; memory that others
// use counts.
func TestTooSmall(t *testing.T) {
	for _, tt := range []struct {
		limit, used int64
		fits        bool
	}{{40 << 20, 0, false}, {8 << 30, 8<<30 - 40<<20, false}, {8 << 30, 7 << 30, true}} {
		fs, use := limitedTo(t, tt.limit)
		use(tt.used)
		a := &allowance{}
		err := a.begin(fs)
		a.close()
		var small *limit.TooSmallError
		if errors.As(err, &small) == tt.fits || !tt.fits && (small.Bound.Bytes != tt.limit || small.Needs < leastRoom) {
			t.Errorf("%+v: %v", tt, err)
		}
		if tt.fits && a.small {
			t.Errorf("%+v: small tables", tt)
		}
	}
}

// TestWaitingChangesAreLimited: where memory is scarce, the number of waiting changes is limited; the others are
// missing from the stream.
func TestWaitingChangesAreLimited(t *testing.T) {
	k := &fakeKernel{}
	s := attached(t, k, Options{})
	for _, small := range []bool{true, false} {
		s.allowance.small, s.queue.events, s.queue.next = small, nil, 0
		for i := range mostWaiting + 10 {
			change(uint64(i + 1))(&s.intake)
		}
		if got := len(s.queue.events); (got == mostWaiting) != small {
			t.Errorf("small %v: %d changes wait", small, got)
		}
	}
	s.queue.events = nil
}

// TestCalmAllowance: where no record comes and much is left, the memory is measured rarely; else as ever.
func TestCalmAllowance(t *testing.T) {
	for _, c := range []struct {
		limit int64 // 0: none
		since time.Duration
		calm  bool
		due   bool
	}{
		{8 << 30, time.Second, false, true}, {8 << 30, time.Second, true, false}, {8 << 30, calmLook, true, true},
		{80 << 20, time.Second, true, true}, {0, time.Second, false, false}, {0, latestLook, false, true},
		{0, latestLook, true, false}, {0, calmLook, true, true},
	} {
		a := &allowance{looked: time.Now().Add(-c.since), inUse: 1 << 50}
		if c.limit > 0 {
			a.last.Bound = &limit.Bound{Bytes: c.limit, Used: 70 << 20}
		}
		if got := a.isDue(c.calm); got != c.due {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
