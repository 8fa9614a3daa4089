package hostile

// This file makes descriptors that take hours to close.

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptor returns one that takes hours to close for the process that closes it last: a connection with data that
// nobody reads, which lingers (SO_LINGER), until the other end is closed. The caller closes both.
func Descriptor() (fd int, end net.Conn, err error) {
	small := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		return raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 1) })
	}}
	l, err := small.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return -1, nil, err
	}
	defer l.Close()
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return -1, nil, err
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 1)
	to := &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
	if err := unix.Connect(fd, to); err != nil {
		return -1, nil, err
	}
	if end, err = l.Accept(); err != nil {
		return -1, nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return -1, nil, err
	}
	for some := make([]byte, 1<<16); err == nil; {
		_, err = unix.Write(fd, some)
	}
	return fd, end, unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 30000})
}

// Send sends a packet together with a descriptor that takes hours to close. From then on only the receiver has that
// descriptor, and must not drop it before Send returns. Send fails with EPERM where the receiver refuses descriptors.
// Closing the other end makes the descriptor close.
func Send(to int, packet string) (end net.Conn, err error) {
	return send(to, packet, func(fd int) { unix.Close(fd) })
}

// SendAnother is [Send] to another process, which may drop the descriptor at once: then the last close is this
// process's, and lingers in the background.
func SendAnother(to int, packet string) (end net.Conn, err error) {
	return send(to, packet, func(fd int) { go unix.Close(fd) })
}

func send(to int, packet string, drop func(fd int)) (end net.Conn, err error) {
	fd, end, err := Descriptor()
	if err != nil {
		return end, err
	}
	err = unix.Sendmsg(to, []byte(packet), unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
	if err != nil {
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{})
	}
	drop(fd)
	return end, err
}
