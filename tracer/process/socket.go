package process

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// socketPatience is how long it may take to take a socket over: the kernel asks nobody for it, but what is no socket has to be closed again.
const socketPatience = 2 * time.Second

var errNoPair = errors.New("it is no end of a pair of sockets (AF_UNIX, SOCK_SEQPACKET) that the process made itself")

// Socket takes over one end of a pair of connected sockets that a process has made itself, by its descriptor there (pidfd_getfd, Linux 5.6). The
// caller closes it. What else a descriptor of the process may be is refused. Once a process has not answered, it fails at once.
func (h *Helper) Socket(pid, descriptor int) (fd int, err error) {
	what := fmt.Sprintf("descriptor %d of process %d", descriptor, pid)
	r := &helperRequest{Op: "socket", Open: openRequest{PID: pid}, Handle: descriptor}
	reply, err := h.await(pid, ofSocket|uint64(pid), what, r, -1, socketPatience)
	if err == nil {
		err = reply.failed(pid, true)
	}
	if err != nil {
		return -1, err
	}
	return reply.fd, nil
}

// socket takes a process's end of a pair over.
func (s *HelperServer) socket(pid, descriptor int) (a *helperAnswer, data []byte, pass int) {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return failure(err), nil, -1
	}
	defer unix.Close(handle)
	if err := s.scope.check(pid); err != nil { // the very process that is held
		return failure(err), nil, -1
	}
	fd, err := unix.PidfdGetfd(handle, descriptor, 0)
	if err != nil {
		return failure(err), nil, -1
	}
	if !isOwnPair(fd, pid) {
		unix.Close(fd)
		return failure(errNoPair), nil, -1
	}
	return &helperAnswer{}, nil, fd
}

// isOwnPair says whether a descriptor is a connected socket whose other end the process made: whom the kernel names there is who called
// socketpair(2), or connect(2) and listen(2).
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
