package gpu

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"ipytracer/internal/host/process"
)

// fake is a driver with one process.
type fake struct {
	state CUDAState
	fails map[string]error     // by call
	leave map[string]CUDAState // a failed call leaves it in
	asked []string
	after func(call string)
}

func (f *fake) step(call string, from, to CUDAState) error {
	f.asked = append(f.asked, call)
	if f.after != nil {
		defer f.after(call)
	}
	if err := f.fails[call]; err != nil {
		if left, ok := f.leave[call]; ok {
			f.state = left
		}
		return err
	}
	if f.state != from {
		return &CUDAError{Call: call, Code: CUDAIllegalState}
	}
	f.state = to
	return nil
}

func (f *fake) State() (CUDAState, error) { return f.state, f.fails["state"] }
func (f *fake) Lock(time.Duration) error  { return f.step("lock", CUDARunning, CUDALocked) }
func (f *fake) Checkpoint() error {
	return f.step("checkpoint", CUDALocked, CUDACheckpointed)
}
func (f *fake) Restore() error { return f.step("restore", CUDACheckpointed, CUDALocked) }
func (f *fake) Unlock() error  { return f.step("unlock", CUDALocked, CUDARunning) }

var errFailed = errors.New("failed")

// moveCase is a move from a state, with the state at its end.
type moveCase struct {
	name    string
	state   CUDAState
	back    bool
	fails   string // a call
	err     error
	leaves  CUDAState // after that one; -1 as it was
	regret  string    // once a call has been made
	calls   string
	after   CUDAState // -1 unknown
	problem string
}

var moveCases = []moveCase{
	{name: "out", calls: "lock checkpoint", after: CUDACheckpointed},
	{name: "out twice", state: CUDACheckpointed, after: CUDACheckpointed},
	{name: "out of locked", state: CUDALocked, after: CUDALocked, problem: "the driver says LOCKED"},
	{name: "out of failed", state: CUDAFailed, after: CUDAFailed, problem: "the driver says FAILED"},
	{name: "out of another's", state: CUDACheckpointing, after: CUDACheckpointing, problem: "CHECKPOINTING"},
	{name: "back", state: CUDACheckpointed, back: true, calls: "restore unlock", after: CUDARunning},
	{name: "back of locked", state: CUDALocked, back: true, calls: "unlock", after: CUDARunning},
	{name: "back of running", back: true, after: CUDARunning},
	{name: "back of failed", state: CUDAFailed, back: true, after: CUDAFailed, problem: "FAILED"},
	{
		name: "lock in vain", fails: "lock", err: errFailed, leaves: -1,
		calls: "lock", after: CUDARunning, problem: "failed",
	},
	{
		name: "lock fails and locks", fails: "lock", err: errFailed, leaves: CUDALocked,
		calls: "lock unlock", after: CUDARunning, problem: "failed",
	},
	{
		name:  "another's lock",
		fails: "lock", err: &CUDAError{Code: CUDAIllegalState, Name: "X"}, leaves: CUDALocked,
		calls: "lock", after: CUDALocked, problem: "X",
	},
	{
		name: "checkpoint in vain", fails: "checkpoint", err: errFailed, leaves: -1,
		calls: "lock checkpoint unlock", after: CUDARunning, problem: "failed",
	},
	{
		name: "checkpoint fails half way", fails: "checkpoint", err: errFailed, leaves: CUDACheckpointed,
		calls: "lock checkpoint restore unlock", after: CUDARunning, problem: "failed",
	},
	{
		name: "checkpoint breaks", fails: "checkpoint", err: errFailed, leaves: CUDAFailed,
		calls: "lock checkpoint", after: CUDAFailed, problem: "failed",
	},
	{
		name: "restore in vain", state: CUDACheckpointed, back: true, fails: "restore", err: errFailed, leaves: -1,
		calls: "restore", after: CUDACheckpointed, problem: "failed",
	},
	{
		name: "restore fails half way", state: CUDACheckpointed, back: true,
		fails: "restore", err: errFailed, leaves: CUDALocked,
		calls: "restore unlock", after: CUDARunning, problem: "failed",
	},
	{
		name: "unlock in vain", state: CUDALocked, back: true, fails: "unlock", err: errFailed, leaves: -1,
		calls: "unlock", after: CUDALocked, problem: "failed",
	},
	{name: "regretted at the lock", regret: "lock", calls: "lock unlock", after: CUDARunning},
	{
		name: "regretted at the checkpoint", regret: "checkpoint",
		calls: "lock checkpoint restore unlock", after: CUDARunning,
	},
	{
		name: "regretted on the way back", state: CUDACheckpointed, back: true, regret: "restore",
		calls: "restore unlock", after: CUDARunning,
	},
	{
		name: "no answer to the lock", fails: "lock", err: ErrNoAnswer, leaves: -1,
		calls: "lock", after: -1, problem: "does not answer",
	},
	{
		name: "left at the checkpoint", fails: "checkpoint", err: ErrLeft, leaves: -1,
		calls: "lock checkpoint", after: -1, problem: "not waited for",
	},
	{
		name: "left on the way back", state: CUDACheckpointed, back: true,
		fails: "restore", err: ErrLeft, leaves: -1,
		calls: "restore", after: -1, problem: "not waited for",
	},
	{
		name: "more rights", fails: "checkpoint", err: ErrGained, leaves: -1,
		calls: "lock checkpoint", after: -1, problem: "more rights",
	},
	{
		name: "gone", fails: "checkpoint", err: ErrGone, leaves: -1,
		calls: "lock checkpoint", after: -1, problem: "has ended",
	},
}

// TestStepsOfAMove: the steps in each state, and the state at the end.
func TestStepsOfAMove(t *testing.T) {
	for _, c := range moveCases {
		f := &fake{state: c.state, fails: map[string]error{c.fails: c.err}, leave: map[string]CUDAState{}}
		if c.leaves >= 0 {
			f.leave[c.fails] = c.leaves
		}
		regret := make(chan struct{})
		f.after = func(call string) {
			if call == c.regret {
				close(regret)
			}
		}
		m := Mover{Driver: f, Patience: time.Second, Regret: regret}
		move := m.Out
		if c.back {
			move = m.Back
		}
		out, err := move()
		if got := strings.Join(f.asked, " "); got != c.calls {
			t.Errorf("%s: %s, want %s", c.name, got, c.calls)
		}
		if err == nil && c.problem != "" ||
			err != nil && (c.problem == "" || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.problem)
		}
		if out.Known != (c.after >= 0) || out.Known && (out.After != c.after || out.After != f.state) ||
			out.Before != c.state {
			t.Errorf("%s: %+v, it is in %v", c.name, out, f.state)
		}
		if out.Undone != (c.regret != "" && !c.back) {
			t.Errorf("%s: undone %v", c.name, out.Undone)
		}
	}
}

func TestUndoFails(t *testing.T) {
	f := &fake{fails: map[string]error{"checkpoint": errors.New("no"), "unlock": errors.New("nor that")}}
	out, err := (&Mover{Driver: f}).Out()
	if err == nil || err.Error() != "no; and undoing it: nor that" || !out.Known || out.After != CUDALocked {
		t.Errorf("%+v %v", out, err)
	}
}

// byPID is the fake for the worker's own side.
type byPID struct{ *fake }

func (b byPID) State(int) (CUDAState, error)      { return b.fake.State() }
func (b byPID) Lock(_ int, d time.Duration) error { return b.fake.Lock(d) }
func (b byPID) Checkpoint(int) error              { return b.fake.Checkpoint() }
func (b byPID) Restore(int) error                 { return b.fake.Restore() }
func (b byPID) Unlock(int) error                  { return b.fake.Unlock() }

// TestWorkerActsOnceItsPipeIsClosed: the worker's acts once its pipe is closed, whichever program has locked the
// process.
func TestWorkerActsOnceItsPipeIsClosed(t *testing.T) {
	for _, c := range []struct {
		state    CUDAState
		aim      Aim
		requests string
		look     error
		want     CUDAState
		last     answer
	}{
		{CUDARunning, AimOut, `{"Do":"lock"}`, nil, CUDARunning, answer{}},
		{CUDARunning, AimOut, `{"Do":"lock"}{"Do":"checkpoint"}`, nil, CUDACheckpointed, answer{}},
		{CUDARunning, AimOut, `{"Do":"lock"}{"Do":"checkpoint"}{"Do":"restore"}`, nil, CUDARunning, answer{}},
		{CUDALocked, AimOut, `{"Do":"state"}`, nil, CUDALocked, answer{State: CUDALocked}},
		{CUDALocked, AimBack, `{"Do":"state"}`, nil, CUDARunning, answer{State: CUDALocked}},
		{CUDACheckpointed, AimBack, `{"Do":"restore"}`, nil, CUDARunning, answer{}},
		{CUDACheckpointed, AimBack, ``, nil, CUDACheckpointed, answer{}},
		{CUDALocked, AimBack, `{"Do":"unlock"}`, ErrGone, CUDALocked, answer{Gone: true}},
		{CUDALocked, AimBack, `{"Do":"unlock"}`, ErrGained, CUDALocked, answer{Gained: true}},
		{CUDALocked, AimBack, `{"Do":"unlock"}`, errors.New("no more files"), CUDALocked,
			answer{Text: "no more files"}},
		{CUDARunning, AimOut, `{"Do":"unlock"}`, nil, CUDARunning,
			answer{CUDA: &CUDAError{Call: "unlock", Code: CUDAIllegalState}}},
		{CUDARunning, AimOut, `{"Do":"dance"}`, nil, CUDARunning, answer{Text: `asked to "dance"`}},
	} {
		f := &fake{state: c.state}
		s := &moveServer{calls: byPID{f}, pid: 1, settle: c.aim == AimBack, look: func() error { return c.look }}
		var out bytes.Buffer
		if err := s.serve(json.NewDecoder(strings.NewReader(c.requests)), json.NewEncoder(&out)); err != nil &&
			c.look == nil {
			t.Errorf("%+v: %v", c, err)
		}
		if f.state != c.want {
			t.Errorf("%s, %s: it is in %v, want %v", c.aim, c.requests, f.state, c.want)
		}
		var last answer
		for answers := json.NewDecoder(&out); ; {
			var a answer
			if err := answers.Decode(&a); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			last = a
		}
		if fmt.Sprint(last.err()) != fmt.Sprint(c.last.err()) || last.State != c.last.State {
			t.Errorf("%s, %s: %+v, want %+v", c.aim, c.requests, last, c.last)
		}
	}
}

func TestRoomForAMove(t *testing.T) {
	group := process.Cgroup{Version: 2, Path: "/a", Limit: 1 << 30, High: process.NoLimit, Usage: 900 << 20,
		Cache: 100 << 20}
	high := group
	high.High = 850 << 20
	old := group
	old.Version, old.High = 1, process.NoLimit
	for _, c := range []struct {
		need, available int64
		groups          []process.Cgroup
		left            int64
		why             string // "" there is room
		room            int64
	}{
		{need: 1 << 30, available: 1<<30 + spare, left: process.NoLimit},
		{need: 1<<30 + 1, available: 1<<30 + spare, left: process.NoLimit, why: "the machine's memory", room: 1 << 30},
		{need: 1, available: 1, left: process.NoLimit, why: "the machine's memory"},
		{need: 224 << 20, available: 1 << 40, groups: []process.Cgroup{group}, left: process.NoLimit},
		{need: 225 << 20, available: 1 << 40, groups: []process.Cgroup{group}, left: process.NoLimit,
			why: "memory.max of control group /a", room: 224 << 20},
		{need: 225 << 20, available: 1 << 40, groups: []process.Cgroup{group, high}, left: process.NoLimit,
			why: "memory.high of control group /a", room: 50 << 20},
		{need: 225 << 20, groups: []process.Cgroup{old}, left: process.NoLimit,
			why: "memory.limit_in_bytes of control group /a", room: 224 << 20},
		{need: 2, available: 1 << 40, left: 1, why: "the limit on what the process may map (RLIMIT_DATA)", room: 1},
		{need: 1 << 50, left: process.NoLimit},
	} {
		err := room(c.need, c.available, c.groups, c.left)
		var small *RoomError
		if errors.As(err, &small) != (c.why != "") || small != nil && *small != (RoomError{c.need, c.room, c.why}) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
