package suspend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"ipytracer/internal/gpu"
	"ipytracer/internal/host/process"
)

// fake is a driver with one process.
type fake struct {
	state gpu.CUDAState
	fails map[string]error         // by call
	leave map[string]gpu.CUDAState // a failed call leaves it in
	asked []string
	after func(call string)
}

func (f *fake) step(call string, from, to gpu.CUDAState) error {
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
		return &gpu.CUDAError{Call: call, Code: gpu.CUDAIllegalState}
	}
	f.state = to
	return nil
}

func (f *fake) State() (gpu.CUDAState, error) { return f.state, f.fails["state"] }
func (f *fake) Lock(time.Duration) error      { return f.step("lock", gpu.CUDARunning, gpu.CUDALocked) }
func (f *fake) Checkpoint() error {
	return f.step("checkpoint", gpu.CUDALocked, gpu.CUDACheckpointed)
}
func (f *fake) Restore() error { return f.step("restore", gpu.CUDACheckpointed, gpu.CUDALocked) }
func (f *fake) Unlock() error  { return f.step("unlock", gpu.CUDALocked, gpu.CUDARunning) }

var errFailed = errors.New("failed")

// moveCase is a move from a state, with the state at its end.
type moveCase struct {
	name    string
	state   gpu.CUDAState
	back    bool
	fails   string // a call
	err     error
	leaves  gpu.CUDAState // after that one; -1 as it was
	regret  string        // once a call has been made
	calls   string
	after   gpu.CUDAState // -1 unknown
	problem string
}

var moveCases = []moveCase{
	{name: "out", calls: "lock checkpoint", after: gpu.CUDACheckpointed},
	{name: "out twice", state: gpu.CUDACheckpointed, after: gpu.CUDACheckpointed},
	{name: "out of locked", state: gpu.CUDALocked, after: gpu.CUDALocked, problem: "the driver says LOCKED"},
	{name: "out of failed", state: gpu.CUDAFailed, after: gpu.CUDAFailed, problem: "the driver says FAILED"},
	{name: "out of another's", state: gpu.CUDACheckpointing, after: gpu.CUDACheckpointing, problem: "CHECKPOINTING"},
	{name: "back", state: gpu.CUDACheckpointed, back: true, calls: "restore unlock", after: gpu.CUDARunning},
	{name: "back of locked", state: gpu.CUDALocked, back: true, calls: "unlock", after: gpu.CUDARunning},
	{name: "back of running", back: true, after: gpu.CUDARunning},
	{name: "back of failed", state: gpu.CUDAFailed, back: true, after: gpu.CUDAFailed, problem: "FAILED"},
	{
		name: "lock in vain", fails: "lock", err: errFailed, leaves: -1,
		calls: "lock", after: gpu.CUDARunning, problem: "failed",
	},
	{
		name: "lock fails and locks", fails: "lock", err: errFailed, leaves: gpu.CUDALocked,
		calls: "lock unlock", after: gpu.CUDARunning, problem: "failed",
	},
	{
		name:  "another's lock",
		fails: "lock", err: &gpu.CUDAError{Code: gpu.CUDAIllegalState, Name: "X"}, leaves: gpu.CUDALocked,
		calls: "lock", after: gpu.CUDALocked, problem: "X",
	},
	{
		name: "checkpoint in vain", fails: "checkpoint", err: errFailed, leaves: -1,
		calls: "lock checkpoint unlock", after: gpu.CUDARunning, problem: "failed",
	},
	{
		name: "checkpoint fails half way", fails: "checkpoint", err: errFailed, leaves: gpu.CUDACheckpointed,
		calls: "lock checkpoint restore unlock", after: gpu.CUDARunning, problem: "failed",
	},
	{
		name: "checkpoint breaks", fails: "checkpoint", err: errFailed, leaves: gpu.CUDAFailed,
		calls: "lock checkpoint", after: gpu.CUDAFailed, problem: "failed",
	},
	{
		name: "restore in vain", state: gpu.CUDACheckpointed, back: true, fails: "restore", err: errFailed, leaves: -1,
		calls: "restore", after: gpu.CUDACheckpointed, problem: "failed",
	},
	{
		name: "restore fails half way", state: gpu.CUDACheckpointed, back: true,
		fails: "restore", err: errFailed, leaves: gpu.CUDALocked,
		calls: "restore unlock", after: gpu.CUDARunning, problem: "failed",
	},
	{
		name: "unlock in vain", state: gpu.CUDALocked, back: true, fails: "unlock", err: errFailed, leaves: -1,
		calls: "unlock", after: gpu.CUDALocked, problem: "failed",
	},
	{name: "regretted at the lock", regret: "lock", calls: "lock unlock", after: gpu.CUDARunning},
	{
		name: "regretted at the checkpoint", regret: "checkpoint",
		calls: "lock checkpoint restore unlock", after: gpu.CUDARunning,
	},
	{
		name: "regretted on the way back", state: gpu.CUDACheckpointed, back: true, regret: "restore",
		calls: "restore unlock", after: gpu.CUDARunning,
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
		name: "left on the way back", state: gpu.CUDACheckpointed, back: true,
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

// TestMover: the steps in each state, and the state at the end.
func TestMover(t *testing.T) {
	for _, c := range moveCases {
		f := &fake{state: c.state, fails: map[string]error{c.fails: c.err}, leave: map[string]gpu.CUDAState{}}
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
	if err == nil || err.Error() != "no; and undoing it: nor that" || !out.Known || out.After != gpu.CUDALocked {
		t.Errorf("%+v %v", out, err)
	}
}

// byPID is the fake for the worker's own side.
type byPID struct{ *fake }

func (b byPID) State(int) (gpu.CUDAState, error)  { return b.fake.State() }
func (b byPID) Lock(_ int, d time.Duration) error { return b.fake.Lock(d) }
func (b byPID) Checkpoint(int) error              { return b.fake.Checkpoint() }
func (b byPID) Restore(int) error                 { return b.fake.Restore() }
func (b byPID) Unlock(int) error                  { return b.fake.Unlock() }

// TestServe: the worker's acts once its pipe is closed, whichever program has locked the process.
func TestServe(t *testing.T) {
	for _, c := range []struct {
		state    gpu.CUDAState
		aim      Aim
		requests string
		look     error
		want     gpu.CUDAState
		last     answer
	}{
		{gpu.CUDARunning, AimOut, `{"Do":"lock"}`, nil, gpu.CUDARunning, answer{}},
		{gpu.CUDARunning, AimOut, `{"Do":"lock"}{"Do":"checkpoint"}`, nil, gpu.CUDACheckpointed, answer{}},
		{gpu.CUDARunning, AimOut, `{"Do":"lock"}{"Do":"checkpoint"}{"Do":"restore"}`, nil, gpu.CUDARunning, answer{}},
		{gpu.CUDALocked, AimOut, `{"Do":"state"}`, nil, gpu.CUDALocked, answer{State: gpu.CUDALocked}},
		{gpu.CUDALocked, AimBack, `{"Do":"state"}`, nil, gpu.CUDARunning, answer{State: gpu.CUDALocked}},
		{gpu.CUDACheckpointed, AimBack, `{"Do":"restore"}`, nil, gpu.CUDARunning, answer{}},
		{gpu.CUDACheckpointed, AimBack, ``, nil, gpu.CUDACheckpointed, answer{}},
		{gpu.CUDALocked, AimBack, `{"Do":"unlock"}`, ErrGone, gpu.CUDALocked, answer{Gone: true}},
		{gpu.CUDALocked, AimBack, `{"Do":"unlock"}`, ErrGained, gpu.CUDALocked, answer{Gained: true}},
		{gpu.CUDALocked, AimBack, `{"Do":"unlock"}`, errors.New("no more files"), gpu.CUDALocked,
			answer{Text: "no more files"}},
		{gpu.CUDARunning, AimOut, `{"Do":"unlock"}`, nil, gpu.CUDARunning,
			answer{CUDA: &gpu.CUDAError{Call: "unlock", Code: gpu.CUDAIllegalState}}},
		{gpu.CUDARunning, AimOut, `{"Do":"dance"}`, nil, gpu.CUDARunning, answer{Text: `asked to "dance"`}},
	} {
		f := &fake{state: c.state}
		s := &server{calls: byPID{f}, pid: 1, settle: c.aim == AimBack, look: func() error { return c.look }}
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

func TestRoom(t *testing.T) {
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
