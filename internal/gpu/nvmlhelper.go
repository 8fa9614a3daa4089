package gpu

// A [Helper] asks NVML in a process of its own, which can do nothing else: the program itself, or the one that it
// carries for that ([Command]), started by the hidden command [HelperCommand]. A session starts it before it gives up
// its rights, and needs no right of its own for NVIDIA's driver: it neither loads the library nor opens a device.
//
// The process is the user's, without capabilities, from its first moments on. Until it is asked for the first time it
// waits, and has loaded nothing: a GPU that nobody uses is not woken. Then, once the driver's devices are there, it
// gives up all rights that NVML does not need, and loads NVML. It takes one question, of a fixed size, and gives one
// answer, of a bounded one. It ends when the other side closes its end of the socket, or ends.
//
// NVML in the session itself, started before that gives up its rights, would let in more. Each query opens /dev/nvidiaN
// to read and write and calls stat(2), so the session, which parses files of others, would keep these rights. Every
// session would wake the machine's GPUs and hold their devices, also for notebooks that use none. Devices that are made
// when the driver is used first would be missed, and a driver that hangs would hold the session. Some calls are refused
// in the way that NVML knows from users who are not root: it makes devices, links to them, and starts
// nvidia-modprobe(1), which is set-user-ID.

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/invoker"
)

// HelperCommand is the hidden command of the program by which [StartHelper] starts the process; it calls [ServeHelper].
const HelperCommand = "nvml-helper"

// The waits for an answer. For the first one NVML starts, which wakes GPUs that nobody uses: a second or two each. A
// session asks for it beside its other work.
const (
	firstPatience = 30 * time.Second
	patience      = time.Second
)

var (
	// ErrSilent is the error when NVML has not answered in time. It may answer later.
	ErrSilent = errors.New("NVML does not answer: a GPU may hang")
	// ErrEnded is the error when the process has ended.
	ErrEnded = errors.New("the process that asks NVML has ended")
)

// Helper is the process, as whoever asks sees it. It is for one goroutine, except [Helper.Close].
type Helper struct {
	conn  *net.UnixConn
	asked uint32 // questions so far
	owed  bool   // the last one has no answer yet
	began bool   // there has been an answer of NVML's
	dead  error

	message []byte // room for an answer
}

// StartHelper starts the process, as a user, nil for the one that this program is. It must not be confined yet.
func StartHelper(as *invoker.User) (*Helper, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start a helper for NVML: %w", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "helper"), os.NewFile(uintptr(pair[1]), "helper")
	defer ours.Close() // the connection has its own descriptor
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, fmt.Errorf("start a helper for NVML: %w", err)
	}
	cmd, release, err := Command([]*os.File{theirs}, append([]string{HelperCommand}, arguments(as)...)...)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("start a helper for NVML: %w", err)
	}
	defer release()
	cmd.Env = append(os.Environ(), "GOGC=50", "GOMAXPROCS=2") // LD_LIBRARY_PATH may be where the library is
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		conn.Close()
		return nil, fmt.Errorf("start a helper for NVML: %w", err)
	}
	go func() { _ = cmd.Wait() }() // never, while the driver holds it
	return &Helper{conn: conn.(*net.UnixConn)}, nil
}

// arguments returns the arguments of the command for a user, which [ParseHelper] reads.
func arguments(as *invoker.User) []string {
	if as == nil {
		return nil
	}
	ids := []string{fmt.Sprint(as.UID), fmt.Sprint(as.GID)}
	for _, g := range as.Groups {
		ids = append(ids, fmt.Sprint(g))
	}
	return []string{"--user", strings.Join(ids, ",")}
}

// ParseHelper reads the arguments of the command: none, or --user and its value.
func ParseHelper(arguments []string) (*invoker.User, error) {
	switch {
	case len(arguments) == 0:
		return nil, nil
	case len(arguments) == 2 && arguments[0] == "--user":
		return ParseHelperUser(arguments[1])
	}
	return nil, fmt.Errorf("%q are no arguments of %s", arguments, HelperCommand)
}

// ParseHelperUser reads the value of the command's flag --user: a user's id, the group's, and those of further groups;
// "" for none.
func ParseHelperUser(text string) (*invoker.User, error) {
	if text == "" {
		return nil, nil
	}
	var ids []uint32
	for field := range strings.SplitSeq(text, ",") {
		id, err := strconv.ParseUint(field, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("%q is no id", field)
		}
		ids = append(ids, uint32(id))
	}
	if len(ids) < 2 {
		return nil, fmt.Errorf("%q has no group", text)
	}
	return &invoker.User{UID: ids[0], GID: ids[1], Groups: ids[2:]}, nil
}

// Snapshot asks NVML. It fails with a [*gpu.NoNVMLError]; with [ErrNoDevices], and can be asked again; with
// [ErrSilent], after 30 seconds the first time and one second later, and at once for as long as the answer is owed; and
// for good with [ErrEnded]. An answer that comes too late is of a time that is over: it is dropped, and NVML is asked
// anew.
func (h *Helper) Snapshot() (Snapshot, error) {
	if h.dead != nil {
		return Snapshot{}, h.dead
	}
	if h.owed {
		if _, err := h.answer(time.Now()); h.owed || h.dead != nil {
			return Snapshot{}, err
		}
	}
	wait := patience
	if !h.began {
		wait = firstPatience
	}
	h.asked++
	if err := h.ask(); err != nil {
		return Snapshot{}, h.end(err)
	}
	h.owed = true
	return h.answer(time.Now().Add(wait))
}

// ask sends the question. The socket has room for it: there is one at a time.
func (h *Helper) ask() error {
	if err := h.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := h.conn.Write(question(h.asked))
	return err
}

// answer waits for the outstanding answer until the deadline. After the deadline it takes only an answer that has come
// already.
func (h *Helper) answer(deadline time.Time) (Snapshot, error) {
	if soonest := time.Now().Add(time.Millisecond); deadline.Before(soonest) {
		deadline = soonest
	}
	if err := h.conn.SetReadDeadline(deadline); err != nil {
		return Snapshot{}, h.end(err)
	}
	if h.message == nil {
		h.message = make([]byte, maxAnswer+1)
	}
	n, err := h.conn.Read(h.message)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Snapshot{}, ErrSilent
	case err != nil || n == 0:
		return Snapshot{}, h.end(err)
	}
	h.owed = false
	a, err := parse(h.message[:n], h.asked)
	if err != nil {
		return Snapshot{}, h.end(err)
	}
	if h.began && a.Early { // NVML has devices open
		return Snapshot{}, h.end(errMessage)
	}
	err = a.err()
	h.began = h.began || err == nil
	return a.Snapshot, err
}

// end closes the connection, and keeps the error for later calls.
func (h *Helper) end(err error) error {
	h.dead = ErrEnded
	if err != nil {
		h.dead = fmt.Errorf("%w: %w", ErrEnded, err)
	}
	h.Close()
	return h.dead
}

// Close has the process end, once the driver lets it. A call that asks at that moment fails with [ErrEnded].
func (h *Helper) Close() { _ = h.conn.Close() }
