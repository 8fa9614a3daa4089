package process

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// HelperCommand is the hidden command of the program by which a [Helper] starts processes; it calls [ServeHelper].
const HelperCommand = "file-helper"

// Helper opens and reads files on file systems that may never answer, such as one that the traced process serves
// itself. A program that asks Linux for such a file hangs, and no signal reaches it, until the server ends. So a
// process of its own does that: the program itself, started again. That process has a thread for each file system that
// it waits for, and is left behind if it hangs. After a late answer, the Helper asks about that file system no more.
//
// The process also opens files that this program has given up the right to ([Helper.TakeOver]). A Helper is safe for
// concurrent use.
type Helper struct {
	mu       sync.Mutex
	ctx      context.Context // when it is done, requests are given up
	conn     *net.UnixConn   // to the process; nil: not started
	process  Identity
	dead     error                       // why no more requests can be sent
	last     uint64                      // the number of the last request
	waiting  map[uint64]chan helperReply // by number of a request
	silent   silence
	turns    turns
	hurry    time.Time     // when answers about files must have come, see Helper.Hurry; the zero time: no limit
	hurried  chan struct{} // closed by Helper.Hurry
	shared   *vainWait     // nil unless the program works for many users at once, see Helper.Share
	charge   []string      // arguments of the process: its task
	tookOver atomic.Bool   // the process opens all files that take a right
	pace     pace
}

// NewHelper returns a Helper that has started no process yet. Requests fail once ctx is done.
func NewHelper(ctx context.Context) *Helper {
	return &Helper{ctx: ctx, waiting: map[uint64]chan helperReply{}, hurried: make(chan struct{})}
}

// Until replaces the context after which requests fail, for requests from now on.
func (h *Helper) Until(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx = ctx
}

func (r *openRequest) subject() subject {
	s := subject{r.PID, ownerOf(r.PID), keyOf(r.Mapping), r.String()}
	if r.Path != "" {
		s.key = byName | uint64(s.owner)
	}
	return s
}

// keyOf returns the key of the file system of a mapping.
func keyOf(m Mapping) uint64 { return uint64(m.File.Major)<<32 | uint64(m.File.Minor) }

// unknownOwner is the user that ownerOf returns if the user is not known.
const unknownOwner = ^uint32(0)

func ownerOf(pid int) uint32 {
	status, err := (FS{}).Proc(pid).Status()
	if err != nil {
		return unknownOwner
	}
	return status.UID
}

// silence returns an error if the file system of a mapping does not answer any more.
func (h *Helper) silence(pid int, m Mapping) error {
	if h == nil {
		return nil
	}
	s := (&openRequest{PID: pid, Mapping: m}).subject()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.silent.check(&s)
}

// ask sends a request and waits for the answer. Requests about the same file system wait for each other.
func (h *Helper) ask(s *subject, r *helperRequest, pass int) (reply helperReply, err error) {
	defer h.turns.take(s.key)()
	return h.await(s, r, pass, helperPatience)
}

// await sends a request, with descriptor pass unless that is -1, and waits for the answer for at most the given time,
// or shorter (see [Helper.Share] and [Helper.Hurry]).
func (h *Helper) await(s *subject, r *helperRequest, pass int, most time.Duration) (reply helperReply, err error) {
	ctx, answer, err := h.send(s, r, pass)
	if err != nil {
		return helperReply{fd: -1}, err
	}
	began, hurried := time.Now(), h.hurried
	if s.isOfFiles() {
		most = h.patience(most)
	} else {
		hurried = nil
	}
	late := time.NewTimer(most)
	defer late.Stop()
	for {
		select {
		case reply, ok := <-answer:
			if !ok {
				return helperReply{fd: -1}, &Error{PID: s.pid, Kind: ErrNoAnswer,
					Cause: fmt.Errorf("%s: the helper has ended", s.what)}
			}
			return reply, nil
		case <-ctx.Done(): // the program is to end, and must not wait for this file system again
			_ = h.giveUp(s, r.ID, time.Since(began))
			return helperReply{fd: -1}, context.Cause(ctx)
		case <-hurried:
			hurried = nil
			late.Reset(h.patience(most - time.Since(began)))
		case <-late.C:
			return helperReply{fd: -1}, h.giveUp(s, r.ID, time.Since(began))
		}
	}
}

// send sends a request. It returns the context after which the request fails, and the channel for the answer. The
// channel is closed without an answer if the process ends.
func (h *Helper) send(s *subject, r *helperRequest, pass int) (context.Context, chan helperReply, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.silent.check(s); err != nil {
		return nil, nil, err
	}
	if h.ctx.Err() != nil {
		return nil, nil, context.Cause(h.ctx)
	}
	if err := h.start(); err != nil {
		return nil, nil, &Error{PID: s.pid, Kind: ErrNoAnswer, Cause: err}
	}
	h.last++
	r.ID = h.last
	if err := h.conn.SetWriteDeadline(time.Now().Add(helperPatience)); err != nil {
		return nil, nil, err
	}
	if err := request(h.conn, r, pass); err != nil {
		return nil, nil, &Error{PID: s.pid, Kind: ErrNoAnswer, Cause: err}
	}
	answer := make(chan helperReply, 1)
	h.waiting[r.ID] = answer
	return h.ctx, answer, nil
}

// giveUp stops waiting for a request, marks its file system as silent, and returns the error of that.
func (h *Helper) giveUp(s *subject, id uint64, waited time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiting, id)
	h.silent.add(s)
	if s.isOfFiles() {
		h.shared.add(waited)
	}
	return h.silent.check(s)
}

// read passes answers to the requests that wait for them, until the process has ended.
func (h *Helper) read(conn *net.UnixConn) {
	for {
		answer, data, fd, err := receive(conn)
		h.mu.Lock()
		if err != nil {
			h.dead = fmt.Errorf("the helper for files has ended: %w", err)
			for id, waiting := range h.waiting {
				close(waiting)
				delete(h.waiting, id)
			}
			h.mu.Unlock()
			return
		}
		waiting := h.waiting[answer.ID]
		delete(h.waiting, answer.ID)
		h.mu.Unlock()
		if waiting != nil {
			waiting <- helperReply{answer, data, fd}
		} else if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// Mute replaces the set of silent file systems, about which no requests are sent. keys come from [Helper.Silent]. With
// most, no requests are sent about any file system that might not answer.
func (h *Helper) Mute(keys []uint64, most bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.silent = silence{most: most}
	for _, key := range keys {
		h.silent.add(&subject{key: key, what: "a file on a file system that fell silent before"})
	}
}

// Silent returns the keys of the file systems that did not answer.
func (h *Helper) Silent() []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.silent.what))
}

// Process returns the helper's process, or the zero Identity if it has not been started.
func (h *Helper) Process() Identity {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.process
}

// Share limits how long file systems that do not answer can delay this program: to two seconds, and then to a thirtieth
// of the time. It is for programs that work for several users, so that one user's file systems do not delay the others.
func (h *Helper) Share() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shared = &vainWait{at: time.Now()}
}

// Hurry limits how long this program waits for answers about files from now on: for the given time in all, and after
// that for leastPatience each. The limit also holds for requests that are waiting now. It does not hold for facts about
// processes that Linux itself has. Only the first call has an effect.
func (h *Helper) Hurry(limit time.Duration) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hurry.IsZero() {
		h.hurry = time.Now().Add(limit)
		close(h.hurried)
	}
}

// patience returns how long to wait for an answer about files: at most the given time, or shorter because of
// [Helper.Share] and [Helper.Hurry].
func (h *Helper) patience(most time.Duration) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shared != nil {
		most = min(most, sharedPatience, max(leastPatience, h.shared.left()))
	}
	if !h.hurry.IsZero() {
		most = min(most, max(leastPatience, time.Until(h.hurry)))
	}
	return most
}

// Close ends the process. If the process hangs in a file system, it ends when the file system answers.
func (h *Helper) Close() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn != nil {
		_ = h.conn.Close()
	}
}

// handedOn returns the capabilities that the helper's process inherits. A program of root need not hand on any.
func handedOn() (capabilities []uintptr) {
	if os.Geteuid() == 0 {
		return nil
	}
	own := (FS{}).ownCapabilities()
	for _, c := range []Capability{unix.CAP_SYS_PTRACE, unix.CAP_CHECKPOINT_RESTORE, unix.CAP_DAC_READ_SEARCH,
		unix.CAP_SYS_ADMIN, unix.CAP_KILL, unix.CAP_SYS_NICE} {
		if own.Has(c) {
			capabilities = append(capabilities, uintptr(c))
		}
	}
	return capabilities
}

// start starts the process, unless it has been started before.
func (h *Helper) start() error {
	if h.conn != nil || h.dead != nil {
		return h.dead
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("start a helper: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "helper"), os.NewFile(uintptr(pair[1]), "helper")
	defer ours.Close() // the connection has its own descriptor
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return fmt.Errorf("start a helper: %w", err)
	}
	cmd := exec.Command("/proc/self/exe", append([]string{HelperCommand}, h.charge...)...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = []string{"GOGC=50", "GOMAXPROCS=2"}, "/", []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, AmbientCaps: handedOn()}
	if err := cmd.Start(); err != nil {
		conn.Close()
		return fmt.Errorf("start a helper: %w", err)
	}
	h.process, _ = (FS{}).Identity(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }() // one for each helper; it never ends if the process hangs for ever
	h.conn = conn.(*net.UnixConn)
	go h.read(h.conn) // one for each helper
	return nil
}

func (h *Helper) hasTakenOver() bool { return h != nil && h.tookOver.Load() }
