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

// linePatience is the time that making a line may take. The kernel asks nobody for it, but a descriptor that is no
// socket has to be closed again.
const linePatience = 2 * time.Second

var errNoPair = errors.New("it is no end of a pair of sockets (AF_UNIX, SOCK_SEQPACKET) that the process made itself")

// Line makes a pair of connected sockets for a process, sends it one end, and returns the other, of which no other
// process has a descriptor. The caller closes it. The end is sent, together with a packet, over a pair that the process
// has made itself, by the number of a descriptor of that pair (pidfd_getfd, Linux 5.6); all else is refused. It fails
// with EBADF where there is no such descriptor, with ESTALE where that is not the socket of this inode (0: any), and
// with EBUSY where the process is not to blame. Once a process has not answered, it fails at once.
func (h *Helper) Line(pid, descriptor int, inode uint64, said string) (fd int, err error) {
	of := subject{pid: pid, key: ofSocket | uint64(pid),
		what: fmt.Sprintf("descriptor %d of process %d", descriptor, pid)}
	r := &helperRequest{Op: "line", Open: openRequest{PID: pid}, Handle: descriptor, At: inode, Name: said}
	reply, err := h.tellOf(&of, r, true, linePatience)
	if err != nil {
		return -1, err
	}
	return reply.fd, nil
}

var errClosing = fmt.Errorf("so many descriptors of its user are being closed still that no more are taken over: %w",
	unix.EBUSY)

// line makes a line over an end of a process's pair. That end is the process's, too, which can keep it locked for as
// long as it likes: nothing is received there, and sending waits for no lock of a receiver's (unix_dgram_sendmsg,
// net/unix/af_unix.c). pass is the line's end that goes along.
func (s *HelperServer) line(pid, descriptor int, inode uint64, said string) (a *helperAnswer, data []byte, pass int) {
	var of unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &of); err != nil {
		return outcome(err), nil, -1
	}
	// A descriptor that is no socket now is not even taken: its close may wait for a file system's server, which may be
	// the process.
	if name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, descriptor)); errors.Is(err, unix.ENOENT) {
		return outcome(unix.EBADF), nil, -1
	} else if err == nil && !strings.HasPrefix(name, "socket:[") {
		return outcome(errNoPair), nil, -1
	}
	if !s.closers.Begin(of.Uid) {
		return outcome(errClosing), nil, -1
	}
	if !s.sent.hasRoom(of.Uid, &s.closers) {
		s.closers.Close(of.Uid) // nothing
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
		end, err = sendLine(pair, said)
	}
	if err != nil {
		s.closers.Close(of.Uid, pair)
		return outcome(err), nil, -1
	}
	s.sent.keep(of.Uid, pair)
	s.closers.Close(of.Uid) // nothing yet
	return &helperAnswer{}, nil, end
}

// sendLine makes a line, and sends one end over a socket. It does not wait for the receiver.
func sendLine(over int, said string) (end int, err error) {
	line, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(line[1]) // nothing has been sent to it
	packets.Refuse(line[0])
	if err := unix.Sendmsg(over, []byte(said), unix.UnixRights(line[1]), nil,
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

// take makes a descriptor of a process this program's own.
func (s *HelperServer) take(pid, descriptor int) (fd int, err error) {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(handle)
	if err := s.scope.mayLook(pid); err != nil { // the very process that is held
		return -1, err
	}
	return unix.PidfdGetfd(handle, descriptor, 0)
}

// isOwnPair reports whether a descriptor is a connected socket and the process made the other end: the kernel names the
// process there that called socketpair(2), or connect(2) and listen(2).
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
