package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/packets"
)

// linePatience is how long making a line may take. Linux waits for no other process then, except if it has to close a
// descriptor that turned out to be no socket.
const linePatience = 2 * time.Second

var errNoPair = errors.New("it is no end of a pair of sockets (AF_UNIX, SOCK_SEQPACKET) that the process made itself")

// Line makes a line to a process: a pair of connected sockets. It sends the process one end, and returns the other end,
// of which no other process has a descriptor. The caller closes fd.
//
// The process must have made a pair of sockets itself. Line takes an end of that pair by the number of its descriptor
// in the process (pidfd_getfd, Linux 5.6), and sends packet and the line's end over it. It refuses any other
// descriptor. Line fails with EBADF if there is no such descriptor, with ESTALE if the descriptor is not the socket
// with this inode (0: any), and with EBUSY if it may succeed later. After a late answer, it fails at once.
func (h *Helper) Line(pid, descriptor int, inode uint64, packet string) (fd int, err error) {
	s := subject{pid: pid, key: ofSocket | uint64(pid),
		what: fmt.Sprintf("descriptor %d of process %d", descriptor, pid)}
	r := &helperRequest{Op: "line", Open: openRequest{PID: pid}, Handle: descriptor, At: inode, Name: packet}
	reply, err := h.askAbout(&s, r, true, linePatience)
	if err != nil {
		return -1, err
	}
	return reply.fd, nil
}

var errClosing = fmt.Errorf("too many descriptors of its user's processes are still being closed: %w", unix.EBUSY)

// line makes a line over an end of a process's pair. The process also has that end, and can keep its lock for as long
// as it likes. Therefore line never receives there; sending waits for no lock of a receiver (unix_dgram_sendmsg,
// net/unix/af_unix.c). pass is the asking program's end of the line.
func (s *HelperServer) line(
	pid, descriptor int, inode uint64, packet string,
) (a *helperAnswer, data []byte, pass int) {
	var dir unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &dir); err != nil {
		return outcome(err), nil, -1
	}
	owner := dir.Uid
	// Only a socket is taken: closing a file may wait for its file system's server, which may be the process.
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, descriptor))
	if errors.Is(err, unix.ENOENT) {
		return outcome(unix.EBADF), nil, -1
	}
	if err == nil && !strings.HasPrefix(name, "socket:[") {
		return outcome(errNoPair), nil, -1
	}
	if !s.closers.Begin(owner) {
		return outcome(errClosing), nil, -1
	}
	if !s.sent.hasRoom(owner, &s.closers) {
		s.closers.Close(owner) // only gives up the room of Begin
		return outcome(errUnfetched), nil, -1
	}
	pair, err := s.take(pid, descriptor)
	if err == nil && !isOwnPair(pair, pid) {
		err = errNoPair
	}
	if err == nil && inode != 0 && !isSocket(pair, inode) {
		err = unix.ESTALE
	}
	end := -1
	if err == nil {
		end, err = sendLine(pair, packet)
	}
	if err != nil {
		s.closers.Close(owner, pair)
		return outcome(err), nil, -1
	}
	s.sent.keep(owner, pair)
	s.closers.Close(owner) // only gives up the room of Begin: the pair is closed later
	return &helperAnswer{}, nil, end
}

// sendLine makes a line, sends one end with a packet over a socket without waiting, and returns the other end.
func sendLine(over int, packet string) (end int, err error) {
	line, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(line[1]) // nothing has been sent to it
	packets.Refuse(line[0])
	if err := unix.Sendmsg(over, []byte(packet), unix.UnixRights(line[1]), nil,
		unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL); err != nil {
		unix.Close(line[0])
		return -1, fmt.Errorf("send a line: %w", err)
	}
	return line[0], nil
}

func isSocket(fd int, inode uint64) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Ino == inode
}

// take returns this program's own copy of a descriptor of a process.
func (s *HelperServer) take(pid, descriptor int) (fd int, err error) {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(handle)
	if err := s.scope.mayLook(pid); err != nil { // after pidfd_open, so that it is about the same process
		return -1, err
	}
	return unix.PidfdGetfd(handle, descriptor, 0)
}

// isOwnPair reports whether a descriptor is a connected socket (AF_UNIX, SOCK_SEQPACKET) whose other end the process
// has made. Linux names the process that called socketpair(2), or else connect(2) or listen(2).
func isOwnPair(fd, pid int) bool {
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	if err != nil || domain != unix.AF_UNIX {
		return false
	}
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || kind != unix.SOCK_SEQPACKET {
		return false
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return err == nil && int(peer.Pid) == pid
}
