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

// Helper opens and reads files with a file system that may never answer, such as one that the traced process serves
// itself. A program that asks the kernel for such a file waits in it, deaf to every signal, until the server ends. So
// another process does that, the program itself started again. It has a thread for each file system that it waits for,
// and is left behind. When an answer takes too long, no more questions go to that file system.
//
// The helper also opens files that this program has given up the right to ([Helper.TakeOver]). Safe for concurrent use.
type Helper struct {
	mu      sync.Mutex
	ctx     context.Context // when it is done nothing is waited for any more
	conn    *net.UnixConn   // to the process; nil: not started
	process Identity
	dead    error  // why nothing can be asked any more
	last    uint64 // number of a request
	waiting map[uint64]chan helperReply
	silent  silence
	turns   turns
	hurry   time.Time // until then answers are waited for, and briefly after it; the zero time: as long as ever
	hurried chan struct{}
	shared  *vainly     // nil unless the program waits for many users at once
	charge  []string    // arguments of the process: its task
	all     atomic.Bool // it opens whatever takes a right
	pace    pace
}

// NewHelper makes one that starts nothing yet. Requests fail once ctx is done.
func NewHelper(ctx context.Context) *Helper {
	return &Helper{ctx: ctx, waiting: map[uint64]chan helperReply{}, hurried: make(chan struct{})}
}

// Until sets when requests that are made from now on are given up.
func (h *Helper) Until(ctx context.Context) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ctx = ctx
}

func (r *openRequest) subject() subject {
	of := subject{r.PID, ownerOf(r.PID), keyOf(r.Mapping), r.String()}
	if r.Path != "" {
		of.key = byName | uint64(of.owner)
	}
	return of
}

// keyOf returns the key of the file system of a mapping.
func keyOf(m Mapping) uint64 { return uint64(m.File.Major)<<32 | uint64(m.File.Minor) }

// ownerOf returns the user of a process; one that is nobody's if it is not known.
func ownerOf(pid int) uint32 {
	status, err := (FS{}).Proc(pid).Status()
	if err != nil {
		return ^uint32(0)
	}
	return status.UID
}

// silence is the error of a file system that does not answer any more, nil if it does.
func (h *Helper) silence(pid int, m Mapping) error {
	if h == nil {
		return nil
	}
	of := (&openRequest{PID: pid, Mapping: m}).subject()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.silent.check(&of)
}

// ask sends one request, with a descriptor unless that is -1, and waits for its answer.
func (h *Helper) ask(of *subject, r *helperRequest, pass int) (reply helperReply, err error) {
	defer h.turns.take(of.key)()
	return h.await(of, r, pass, helperPatience)
}

// await sends one request and waits for its answer.
func (h *Helper) await(of *subject, r *helperRequest, pass int, most time.Duration) (reply helperReply, err error) {
	ctx, answer, err := h.send(of, r, pass)
	if err != nil {
		return helperReply{fd: -1}, err
	}
	began, hurried := time.Now(), h.hurried
	if of.isOfFiles() {
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
				return helperReply{fd: -1}, &Error{PID: of.pid, Kind: ErrNoAnswer,
					Cause: fmt.Errorf("%s: who looks at it has ended", of.what)}
			}
			return reply, nil
		case <-ctx.Done(): // the caller wants it to end, and not to wait again
			_ = h.giveUp(of, r.ID, time.Since(began))
			return helperReply{fd: -1}, context.Cause(ctx)
		case <-hurried:
			hurried = nil
			late.Reset(h.patience(most - time.Since(began)))
		case <-late.C:
			return helperReply{fd: -1}, h.giveUp(of, r.ID, time.Since(began))
		}
	}
}

// send sends a request, and returns the channel on which its answer comes.
func (h *Helper) send(of *subject, r *helperRequest, pass int) (context.Context, chan helperReply, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.silent.check(of); err != nil {
		return nil, nil, err
	}
	if h.ctx.Err() != nil {
		return nil, nil, context.Cause(h.ctx)
	}
	if err := h.start(); err != nil {
		return nil, nil, &Error{PID: of.pid, Kind: ErrNoAnswer, Cause: err}
	}
	h.last++
	r.ID = h.last
	if err := h.conn.SetWriteDeadline(time.Now().Add(helperPatience)); err != nil {
		return nil, nil, err
	}
	if err := request(h.conn, r, pass); err != nil {
		return nil, nil, &Error{PID: of.pid, Kind: ErrNoAnswer, Cause: err}
	}
	answer := make(chan helperReply, 1)
	h.waiting[r.ID] = answer
	return h.ctx, answer, nil
}

// giveUp waits for a request no more, nor for its file system.
func (h *Helper) giveUp(of *subject, id uint64, waited time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiting, id)
	h.silent.add(of)
	if of.isOfFiles() {
		h.shared.add(waited)
	}
	return h.silent.check(of)
}

// read hands out answers until the process has ended.
func (h *Helper) read(conn *net.UnixConn) {
	for {
		answer, data, fd, err := receive(conn)
		h.mu.Lock()
		if err != nil {
			h.dead = fmt.Errorf("who looks at files has ended: %w", err)
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

// Mute has the helper ask some file systems no more, by keys of [Helper.Silent], and all others again; with most, no
// file system is asked that might not answer.
func (h *Helper) Mute(keys []uint64, most bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.silent = silence{most: most}
	for _, key := range keys {
		h.silent.add(&subject{key: key, what: "a file on a file system that fell silent before"})
	}
}

// Silent returns the file systems that are not asked any more, as they did not answer.
func (h *Helper) Silent() []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Sorted(maps.Keys(h.silent.what))
}

// Process returns the process that waits for file systems; one that is nobody's if there is none.
func (h *Helper) Process() Identity {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.process
}

// Share has file systems that do not answer hold this program up for two seconds, and for a thirtieth of the time after
// that: nobody's are to keep it from the processes of others.
func (h *Helper) Share() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.shared = &vainly{at: time.Now()}
}

// Hurry has all answers about files together take no longer than a while from now on, and then each no longer than
// leastPatience, those included that are being waited for. The first call counts. What the kernel itself says about a
// process is waited for as ever.
func (h *Helper) Hurry(while time.Duration) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hurry.IsZero() {
		h.hurry = time.Now().Add(while)
		close(h.hurried)
	}
}

// patience returns how long an answer about files is waited for that may take so long at most.
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

// Close ends the process, unless that waits for an answer: then it ends when it gets one.
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

// handedOn are the capabilities that a program of another user than root has to hand on to programs that it starts.
func handedOn() (all []uintptr) {
	if os.Geteuid() == 0 {
		return nil
	}
	own := (FS{}).ownCapabilities()
	for _, c := range []Capability{unix.CAP_SYS_PTRACE, unix.CAP_CHECKPOINT_RESTORE, unix.CAP_DAC_READ_SEARCH,
		unix.CAP_SYS_ADMIN, unix.CAP_KILL, unix.CAP_SYS_NICE} {
		if own.Has(c) {
			all = append(all, uintptr(c))
		}
	}
	return all
}

// start starts the process, once.
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
	go func() { _ = cmd.Wait() }() // one for each helper; it never ends, if the process never gets its answer
	h.conn = conn.(*net.UnixConn)
	go h.read(h.conn) // one for each helper
	return nil
}

func (h *Helper) hasTakenOver() bool { return h != nil && h.all.Load() }
