package hostile

// This file makes descriptors that take hours to close.

import (
	"context"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Descriptor returns a descriptor that takes hours to close, for the process that closes it last: a connection that
// lingers (SO_LINGER) because nobody reads its data, until the other end is closed. The caller closes both ends.
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
	for data := make([]byte, 1<<16); err == nil; { // until the buffers are full
		_, err = unix.Write(fd, data)
	}
	const hours = 30_000 // seconds
	return fd, end, unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: hours})
}

// Send sends a packet with a descriptor that takes hours to close, and closes its own copy. The receiver must not close
// the descriptor before Send returns, or Send itself takes hours. To end the wait, close the returned end. Send fails
// with EPERM if the receiver refuses descriptors.
func Send(to int, packet string) (end net.Conn, err error) {
	return send(to, packet, func(fd int) { unix.Close(fd) })
}

// SendAnother is [Send] to a process that may close the descriptor at once. It closes its own copy in the background,
// because that may then be the last close.
func SendAnother(to int, packet string) (end net.Conn, err error) {
	return send(to, packet, func(fd int) { go unix.Close(fd) })
}

// send sends a packet with a slow descriptor, and closes its own copy with drop.
func send(to int, packet string, drop func(fd int)) (end net.Conn, err error) {
	fd, end, err := Descriptor()
	if err != nil {
		return end, err
	}
	err = unix.Sendmsg(to, []byte(packet), unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
	if err != nil { // nobody got the descriptor: close it at once
		_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{})
	}
	drop(fd)
	return end, err
}
