package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
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

// Bounds of what a helper closes of processes, which can take as long as they like: descriptors at a time, each on a thread.
const (
	maxClosing   = 64
	maxClosingOf = 8 // of one user
)

var errClosing = errors.New("so many descriptors of its user are being closed still that no more are taken over")

// socket takes a process's end of a pair over. What it has taken is closed in the background, by pass: after it has gone along.
func (s *HelperServer) socket(pid, descriptor int) (a *helperAnswer, data []byte, pass int) {
	var of unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &of); err != nil {
		return failure(err), nil, -1
	}
	// What is no socket now is not even taken: to close it can take a file system's word, which the process may be.
	if name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", pid, descriptor)); errors.Is(err, unix.ENOENT) {
		return failure(unix.EBADF), nil, -1
	} else if err == nil && !strings.HasPrefix(name, "socket:[") {
		return failure(errNoPair), nil, -1
	}
	if !s.closers.Begin(of.Uid) {
		return failure(errClosing), nil, -1
	}
	fd, err := s.take(pid, descriptor)
	if err == nil && !isOwnPair(fd, pid) {
		err = errNoPair
	}
	if err != nil {
		s.closers.Close(of.Uid, fd)
		return failure(err), nil, -1
	}
	// A copy goes along, which is not the last one: so nobody waits for its close.
	pass, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		s.closers.Close(of.Uid, fd)
		return failure(err), nil, -1
	}
	return &helperAnswer{Owner: of.Uid, Taken: fd}, nil, pass
}

// take takes over what a descriptor of a process is.
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
