package gpu

// A [Helper] reads NVML in a process of its own, which can do nothing else. The process is this program or the one that
// it carries ([Command]), run with the hidden command [HelperCommand]. A session starts it before it gives up its
// rights. The session itself then needs no rights for NVIDIA's driver: it neither loads the library nor opens a device.
//
// The process runs as the user, without capabilities, almost from its start. Until the first question it only waits,
// and loads nothing, so it wakes no GPU that nobody uses. At a question, once the driver's devices exist, it gives up
// all rights that NVML does not need, and loads NVML. A question has a fixed size, and an answer a bounded one. The
// process ends when the other side closes its end of the socket, or ends.
//
// Running NVML in the session itself, started before the session gives up its rights, would have these drawbacks:
//   - Each query opens /dev/nvidiaN to read and write and calls stat(2), so the session, which parses hostile files,
//     would have to keep these rights.
//   - Every session would wake the machine's GPUs and hold their devices, also for notebooks that use none.
//   - Devices that are created when the driver is first used would be missed.
//   - A driver that hangs would hold up the session.
//
// The process refuses some of NVML's calls in the way that NVML knows from users who are not root: creating devices,
// linking to them, and starting nvidia-modprobe(1), which is set-user-ID.

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

	"ipytracer/internal/host/privileges"
)

// HelperCommand is the hidden command by which [StartHelper] starts the process. The command calls [ServeHelper].
const HelperCommand = "nvml-helper"

// The longest waits for an answer. Before the first answer NVML must start, and wake idle GPUs: a second or two for
// each. A session asks for it at the same time as its other work.
const (
	firstPatience = 30 * time.Second
	patience      = time.Second
)

var (
	// ErrSilent says that NVML has not answered in time. It may answer later.
	ErrSilent = errors.New("NVML does not answer: a GPU may hang")
	// ErrEnded says that the process has ended.
	ErrEnded = errors.New("the process that asks NVML has ended")
)

// Helper is the asking side's handle of the process. It is for one goroutine, except [Helper.Close].
type Helper struct {
	conn  *net.UnixConn
	asked uint32 // the number of questions so far
	owed  bool   // the last question has no answer yet
	began bool   // NVML has answered once
	dead  error  // why no question can be asked any more

	message []byte // buffer for an answer
}

// StartHelper starts the process as a user; nil stands for this program's user. The calling program must not be
// confined yet.
func StartHelper(as *privileges.User) (*Helper, error) {
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
	go func() { _ = cmd.Wait() }() // does not return while the driver holds the process
	return &Helper{conn: conn.(*net.UnixConn)}, nil
}

// arguments returns the arguments of the command for a user. [ParseHelper] parses them.
func arguments(as *privileges.User) []string {
	if as == nil {
		return nil
	}
	ids := []string{fmt.Sprint(as.UID), fmt.Sprint(as.GID)}
	for _, g := range as.Groups {
		ids = append(ids, fmt.Sprint(g))
	}
	return []string{"--user", strings.Join(ids, ",")}
}

// ParseHelper parses the arguments of the command: none, or --user and its value.
func ParseHelper(arguments []string) (*privileges.User, error) {
	switch {
	case len(arguments) == 0:
		return nil, nil
	case len(arguments) == 2 && arguments[0] == "--user":
		return ParseHelperUser(arguments[1])
	}
	return nil, fmt.Errorf("%q are no arguments of %s", arguments, HelperCommand)
}

// ParseHelperUser parses the value of the command's flag --user: the ids of the user, of the group and of further
// groups. It returns nil for "".
func ParseHelperUser(text string) (*privileges.User, error) {
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
	return &privileges.User{UID: ids[0], GID: ids[1], Groups: ids[2:]}, nil
}

// Snapshot asks NVML for a snapshot. It fails with
//   - a [*NoNVMLError] if NVML cannot be used,
//   - [ErrNoDevices] if the driver has no devices yet; the caller may ask again,
//   - [ErrSilent] if there is no answer within 30 seconds the first time, or one second later. While this answer is
//     missing, further calls fail at once.
//   - [ErrEnded] for good.
//
// Snapshot drops an answer that comes too late, and asks again.
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

// ask sends the question. The socket always has room, because only one question is sent at a time.
func (h *Helper) ask() error {
	if err := h.conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := h.conn.Write(question(h.asked))
	return err
}

// answer waits until the deadline for the answer to the last question. After the deadline it only takes an answer that
// has arrived already.
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

// end closes the connection. From now on, Snapshot fails with the returned error.
func (h *Helper) end(err error) error {
	h.dead = ErrEnded
	if err != nil {
		h.dead = fmt.Errorf("%w: %w", ErrEnded, err)
	}
	h.Close()
	return h.dead
}

// Close ends the process, as soon as the driver lets it. A call of Snapshot at that moment fails with [ErrEnded].
func (h *Helper) Close() { _ = h.conn.Close() }
