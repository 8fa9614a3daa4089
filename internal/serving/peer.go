package serving

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"ipytracer/internal/host/limit"
	"ipytracer/internal/host/process"
)

// Peer is the process that connected, and that lived when it was identified.
type Peer struct {
	process.Identity
	UID, GID uint32
}

// credentials returns the credentials of the connected process, as Linux recorded them at the connect.
func credentials(conn *os.File) (cred *unix.Ucred, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	return cred, errors.Join(err, failed)
}

// Sentences for processes that cannot be traced.
var (
	errGone   = errors.New("the process that connected has ended")
	errHidden = errors.New("the process that connected is not to be seen from here (another pid namespace)")
	errOther  = errors.New("the process that connected has become another user's, or has other rights than its user")
	errOld    = errors.New("this Linux does not say for certain who connects (SO_PEERPIDFD, 6.5)")
)

// ErrOld is the error of [Supported] on Linux before 6.5.
var ErrOld = errors.New("this Linux does not say for certain which process connects to a socket " +
	"(SO_PEERPIDFD, Linux 6.5), so a session could be another process's; 'sudo tracer attach PID' works here")

// Supported fails with [ErrOld] if this machine's Linux cannot identify the process that connects.
func Supported() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("make a pair of sockets: %w", err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	pidfd, err := unix.GetsockoptInt(pair[0], unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if err == nil {
		unix.Close(pidfd)
	}
	return supported(err)
}

// supported returns the error of [Supported] for the error of getsockopt(2).
func supported(err error) error {
	switch {
	case errors.Is(err, unix.ENOPROTOOPT):
		return ErrOld
	case err != nil:
		return fmt.Errorf("ask who is at the other end of a pair of sockets: %w", err)
	}
	return nil
}

// identify returns the process that connected. The process certainly lived while its pid, its start and its user were
// read.
func identify(conn *os.File) (Peer, error) {
	cred, err := credentials(conn)
	if err != nil || cred.Pid <= 0 {
		return Peer{}, errHidden
	}
	pidfd, err := peerPidfd(conn)
	if err != nil {
		return Peer{}, err
	}
	defer unix.Close(pidfd)
	id, err := process.FS{}.Identity(int(cred.Pid))
	if err != nil {
		return Peer{}, errGone
	}
	user, err := limit.UserOf(int(cred.Pid))
	if err != nil || user.UID != cred.Uid || process.RightsOf(cred.Uid).MayLook(process.FS{}, int(cred.Pid)) != nil {
		return Peer{}, errOther
	}
	// If the process still lives, the pid was its own all the time: Linux gives a pid to another process only when the
	// first one is gone.
	if err := unix.PidfdSendSignal(pidfd, 0, nil, 0); err != nil && !errors.Is(err, unix.EPERM) { // without CAP_KILL
		return Peer{}, errGone
	}
	return Peer{Identity: id, UID: cred.Uid, GID: user.GID}, nil
}

func peerPidfd(conn *os.File) (pidfd int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, errGone
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		pidfd, failed = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	})
	switch {
	case errors.Is(failed, unix.ENOPROTOOPT):
		return -1, errOld
	case err != nil, failed != nil:
		return -1, errGone
	}
	return pidfd, nil
}
