package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"ipytracer/internal/host/filecache"
	"ipytracer/internal/host/process"
)

// scene is a machine of made-up processes, with the workers that look at them.
type scene struct {
	mu      sync.Mutex
	cost    map[int]time.Duration       // processor time that a look at a process takes
	hangs   map[int]chan struct{}       // until when it takes
	ends    map[int]filecache.FileState // processes that end the worker, in a file
	silent  map[int]uint64              // their file systems that do not answer
	muted   map[int][]uint64
	asked   []int
	refused map[int][]filecache.FileState
	started int
	open    int
}

type fakeWorker struct{ *scene }

func (w fakeWorker) Close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
}

func (w fakeWorker) Ask(q, found any, _ LookLimits) (cost LookCost, err error) {
	one := q.(question)
	w.mu.Lock()
	w.asked = append(w.asked, one.PID)
	w.refused[one.PID] = one.Refused
	w.muted[one.PID] = one.Silent
	cost.Processor = w.cost[one.PID]
	hangs, file, ends := w.hangs[one.PID], w.ends[one.PID], false
	if file != (filecache.FileState{}) && !slices.Contains(one.Refused, file) {
		ends = true
	}
	w.mu.Unlock()
	if hangs != nil {
		<-hangs
		return cost, ErrLookSlow
	}
	if ends {
		cost.Note = []byte(`{"File":{"Device":7,"Inode":9}}`)
		return cost, ErrLookEnded
	}
	if fs := w.silent[one.PID]; fs != 0 {
		cost.Note, _ = json.Marshal(activity{Helper: own})
		if *found.(*findings) = (findings{Cut: true}); !slices.Contains(one.Silent, fs) {
			found.(*findings).Silent = []uint64{fs}
		}
		return cost, nil
	}
	found.(*findings).Row = &foundKernel{Row: Python{PID: one.PID}}
	return cost, nil
}

// finds starts a finder in a scene. The channel receives its findings.
func (s *scene) finds(t *testing.T) (*Finder, chan Finding) {
	found := make(chan Finding, 4096)
	f := newFinder(t.Context(), lookKernels, forAgent, func(one Finding) { found <- one })
	s.refused, s.muted = map[int][]filecache.FileState{}, map[int][]uint64{}
	f.start = func(context.Context, string) (worker, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.started++
		s.open++
		return fakeWorker{s}, nil
	}
	return f, found
}

func of(uid uint32, pid int) Candidate {
	return Candidate{process.Identity{PID: pid, StartTicks: uint64(pid)}, Holder{UID: uid}}
}

// next returns the next finding.
func next(t *testing.T, found chan Finding) Finding {
	t.Helper()
	select {
	case one := <-found:
		return one
	case <-time.After(time.Minute):
		t.Fatal("nothing is found")
		panic("unreachable")
	}
}

// TestCostlyUser: one user has 500 processes whose looks take 0.13 s each. The only process of another user gets the
// second look, although it is the oldest. After the burst, the first user's next look is 1.6 s later.
func TestCostlyUser(t *testing.T) {
	s := &scene{cost: map[int]time.Duration{}}
	f, found := s.finds(t)
	all := []Candidate{of(2, 10)}
	for pid := 100; pid < 600; pid++ {
		s.cost[pid] = 130 * time.Millisecond
		all = append(all, of(1, pid))
	}
	f.Look(all...)
	select {
	case <-f.idle:
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	if len(s.asked) < 16 || len(s.asked) > 19 || s.asked[0] != 599 || s.asked[1] != 10 || s.asked[2] != 598 {
		t.Errorf("looked at %v", s.asked)
	}
	if len(found) != len(s.asked) || s.started != 1 {
		t.Errorf("%d findings, %d workers", len(found), s.started)
	}
}

// TestHungProcesses: while looks at processes of several users hang, one of another user is found.
func TestHungProcesses(t *testing.T) {
	hang := make(chan struct{})
	s := &scene{hangs: map[int]chan struct{}{}}
	var all []Candidate
	for uid := range uint32(maxWorkers - 1) {
		for i := range 10 {
			pid := int(uid)*100 + i
			s.hangs[pid] = hang
			all = append(all, of(uid, pid))
		}
	}
	f, found := s.finds(t)
	f.Look(all...)
	f.Look(of(99, 5000))
	if one := next(t, found); one.PID != 5000 || one.Python == nil {
		t.Errorf("%+v", one)
	}
	close(hang)
	for range (maxWorkers - 1) * 10 {
		if one := next(t, found); !one.Cut || one.Python != nil {
			t.Errorf("%+v", one)
		}
	}
}

// TestUserOfAHangingProcessWaits: while half of the workers are busy, a user with a process that hung gets no turn, but
// other users do.
func TestUserOfAHangingProcessWaits(t *testing.T) {
	turns, now := newTurns(forAgent), time.Unix(1000, 0)
	turns.add(of(1, 10))
	c, _, _ := turns.next(now, true)
	turns.done(c.Holder, 0, true, now)
	turns.add(of(1, 11))
	turns.add(of(2, 5))
	if c, ok, _ := turns.next(now, true); !ok || c.PID != 5 {
		t.Errorf("%+v, %v", c, ok)
	}
	if c, ok, _ := turns.next(now, true); ok {
		t.Errorf("%+v", c)
	}
	if c, ok, _ := turns.next(now, false); !ok || c.PID != 11 {
		t.Errorf("%+v, %v", c, ok)
	}
}

// TestTwoSlowLooksEndAUsersList: for a list, a user's processes get no more looks after two that took too long,
// although there is time. Other users' do.
func TestTwoSlowLooksEndAUsersList(t *testing.T) {
	turns, now := newTurns(forList), time.Unix(1000, 0)
	for pid := range forList.cuts + 1 {
		turns.add(of(1, 10+pid))
	}
	for range forList.cuts {
		c, ok, _ := turns.next(now, false)
		if !ok {
			t.Fatal("nobody has a turn")
		}
		turns.done(c.Holder, 0, true, now)
	}
	turns.add(of(2, 5))
	if c, ok, _ := turns.next(now, false); !ok || c.PID != 5 {
		t.Errorf("%+v, %v", c, ok)
	}
	if c, ok, at := turns.next(now, false); ok || !at.IsZero() {
		t.Errorf("%+v, %v, %v", c, ok, at)
	}
}

// TestTurnsOfUsersByTheirTime: a user who has used up the burst has the next turn when a twentieth of a core has
// refilled it. If too many processes of a user wait, the oldest is dropped.
func TestTurnsOfUsersByTheirTime(t *testing.T) {
	turns, now := newTurns(forAgent), time.Unix(1000, 0)
	turns.add(of(1, 10))
	c, _, _ := turns.next(now, false)
	turns.done(c.Holder, forAgent.burst+100*time.Millisecond, false, now)
	turns.add(of(1, 11))
	_, ok, at := turns.next(now, false)
	if wait := at.Sub(now); ok || wait < 2*time.Second || wait > 3*time.Second {
		t.Errorf("%v, in %v", ok, wait)
	}
	if c, ok, _ := turns.next(at, false); !ok || c.PID != 11 {
		t.Errorf("%+v, %v", c, ok)
	}
	for pid := range maxWaiting {
		if left, is := turns.add(of(3, pid+1)); is {
			t.Errorf("%+v is left out", left)
		}
	}
	if left, is := turns.add(of(3, 70000)); !is || left.PID != 1 {
		t.Errorf("%+v, %v", left, is)
	}
}

// TestRefusedFiles: a file that ended a worker is not examined again for its user, but it is for other users. Another
// worker finds the next process.
func TestRefusedFiles(t *testing.T) {
	s := &scene{ends: map[int]filecache.FileState{}}
	f, found := s.finds(t)
	file := filecache.FileState{Device: 7, Inode: 9}
	s.ends[10] = file
	f.Look(of(1, 10))
	if one := next(t, found); !one.Cut {
		t.Errorf("%+v", one)
	}
	s.mu.Lock()
	s.ends[11], s.ends[12] = file, file
	s.mu.Unlock()
	f.Look(of(1, 11))
	if one := next(t, found); one.Cut || one.Python == nil || !slices.Contains(s.refused[11], file) {
		t.Errorf("%+v, refused %v", one, s.refused[11])
	}
	f.Look(of(2, 12))
	if one := next(t, found); !one.Cut || len(s.refused[12]) > 0 {
		t.Errorf("%+v, refused %v", one, s.refused[12])
	}
}

// own is a process that lives.
var own, _ = process.FS{}.Identity(os.Getpid())

// TestSilentFileSystems: a file system that does not answer is not asked again for the same user, but it is for other
// users. The processes with files on it count as not examined.
func TestSilentFileSystems(t *testing.T) {
	s := &scene{silent: map[int]uint64{10: 7, 11: 7, 12: 7}}
	f, found := s.finds(t)
	for _, c := range []struct {
		of      Candidate
		muted   []uint64
		workers int
	}{{of(1, 10), nil, 1}, {of(1, 11), []uint64{7}, 2}, {of(2, 12), nil, 3}, {of(2, 13), []uint64{7}, 4}} {
		f.Look(c.of)
		one := next(t, found)
		s.mu.Lock()
		if one.Cut != (c.of.PID != 13) || !slices.Equal(s.muted[c.of.PID], c.muted) || s.started != c.workers {
			t.Errorf("%+v: muted %v, %d workers", one, s.muted[c.of.PID], s.started)
		}
		s.mu.Unlock()
		<-f.idle
	}
}

// TestSilentFileSystemsAreKnownByUser: for each user, the file systems that helpers wait for are known until the
// helpers have ended. While many wait, only file systems that are sure to answer are asked.
func TestSilentFileSystemsAreKnownByUser(t *testing.T) {
	var w waiters
	ended := map[int]bool{}
	lives := func(id process.Identity) bool { return !ended[id.PID] }
	user := Holder{UID: 1}
	for i := range maxWaiters {
		if silent, most := w.silentFor(user, lives); len(silent) != max(0, i-1) || most {
			t.Errorf("%d: %v, %v", i, silent, most)
		}
		w.add(user, process.Identity{PID: i}, uint64(i)) // the first is not known
	}
	if silent, most := w.silentFor(user, lives); len(silent) != maxWaiters-1 || !most {
		t.Errorf("%v, %v", silent, most)
	}
	if silent, most := w.silentFor(Holder{UID: 2}, lives); len(silent) > 0 || most {
		t.Errorf("another user's: %v, %v", silent, most)
	}
	ended[3] = true
	if silent, most := w.silentFor(user, lives); slices.Contains(silent, 3) || most {
		t.Errorf("one has ended: %v, %v", silent, most)
	}
	for i := range maxWaiters {
		ended[i] = true
	}
	if w.silentFor(user, lives); len(w.byHolder) > 0 {
		t.Errorf("left: %v", w.byHolder)
	}
}

// TestNoWorker: if no worker can be started, each process gets a finding.
func TestNoWorker(t *testing.T) {
	s := &scene{}
	f, found := s.finds(t)
	f.start = func(context.Context, string) (worker, error) { return nil, ErrLooking }
	f.Look(of(1, 10))
	if one := next(t, found); !errors.Is(one.Err, ErrLooking) || !one.Cut {
		t.Errorf("%+v", one)
	}
}

// TestListIsCut: when the time is over, the list has what was found, and counts what was not examined.
func TestListIsCut(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	s := &scene{cost: map[int]time.Duration{}, hangs: map[int]chan struct{}{7: hang}}
	f, found := s.finds(t)
	all, named := []Candidate{of(2, 10), of(2, 9), of(3, 7)}, map[int]bool{10: true, 7: true}
	for pid := 100; pid < 600; pid++ {
		s.cost[pid], named[pid] = 100*time.Millisecond, pid%2 == 0
		all = append(all, of(1, pid))
	}
	f.Look(all...)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	list, err := collect(ctx, f, found, all, named)
	if err != nil || len(list.Rows) < 22 || len(list.Rows) > 27 || list.Rows[0].PID != 9 || list.Rows[1].PID != 10 ||
		list.Processes != len(all) || list.Cut < 238 || list.Cut > 242 {
		t.Errorf("%d rows, cut %d of %d, %v", len(list.Rows), list.Cut, list.Processes, err)
	}
}
