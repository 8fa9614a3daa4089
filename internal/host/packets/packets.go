// Package packets reads packets of strangers on Unix sockets (SOCK_SEQPACKET), and closes these sockets. It never
// closes a descriptor that the strangers have sent along.
//
// The process that drops the last reference to a file waits for its close, and the process that has opened the file
// decides how long that takes: a TCP connection with unsent data and SO_LINGER of 30,000 s keeps its closer for hours.
// Descriptors that come along with a packet are dropped by a process that receives it with too little room for them, or
// that closes the socket in which it lies (unix_destruct_scm, net/unix/af_unix.c). So a packet is looked at first
// (MSG_PEEK): the kernel then reports that descriptors ride along (MSG_CTRUNC), and drops references that are not the
// last. Such a packet is never received here.
//
// All this holds for sockets that no stranger has a descriptor of. Another process with a descriptor could receive the
// packet between the look and the receive, change the socket's options, or keep its lock (unix_sock.iolock) while
// memory of its own is being read in. The peer cannot: a receiver locks its own socket, and a sender none
// (unix_dgram_sendmsg).
package packets

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrDescriptors is the error for descriptors in a socket, which are not received.
var ErrDescriptors = errors.New("descriptors came along")

// Refuse makes sendmsg(2) with descriptors fail for senders to a socket (SO_PASSRIGHTS, Linux 6.16), and for programs
// that connect to it if it listens. An older Linux has no such option.
func Refuse(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0) }

// Next receives the next packet, without waiting. n is 0 at the end, and for an empty packet. A packet that is longer
// than the buffer is cut. Next fails with [ErrDescriptors] for a packet with descriptors, which stays where it is, and
// with EAGAIN where there is no packet.
func Next(fd int, buffer []byte) (n int, err error) {
	if err := peek(fd, buffer); err != nil {
		return 0, err
	}
	n, _, _, _, err = recvmsg(fd, buffer, nil, 0) // the very packet: no other process receives here
	return n, err
}

// peek looks at the next packet, which stays where it is. It fails with [ErrDescriptors] where descriptors come along.
func peek(fd int, buffer []byte) error {
	_, _, flags, _, err := recvmsg(fd, buffer, nil, unix.MSG_PEEK)
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		return ErrDescriptors
	}
	return err
}

func recvmsg(fd int, buffer, control []byte, flags int) (n, size, said int, from unix.Sockaddr, err error) {
	for {
		n, size, said, from, err = unix.Recvmsg(fd, buffer, control, flags|unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
		if !errors.Is(err, unix.EINTR) {
			return n, size, said, from, err
		}
	}
}

// Close closes a socket without waiting. If descriptors are queued in it, Close fails as [Empty] does and leaves the
// socket open.
func Close(fd int) error {
	if err := Empty(fd); err != nil {
		return err
	}
	return unix.Close(fd)
}

// Empty makes a socket ready to be closed: no packet comes into it any more, and the packets in it are read. It fails
// with [ErrDescriptors] where descriptors lie in it: closing it then takes as long as a stranger likes (see [Closers]).
// The other end can read everything that was sent before.
func Empty(fd int) error {
	if err := unix.Shutdown(fd, unix.SHUT_RD); err != nil && !errors.Is(err, unix.ENOTCONN) {
		return fmt.Errorf("shut a socket down: %w", err)
	}
	// With credentials an empty packet differs from the end.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		return fmt.Errorf("have packets come with credentials: %w", err)
	}
	// which leaves no room for descriptors
	one, control := make([]byte, 1), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	for {
		_, size, flags, _, err := recvmsg(fd, one, control, unix.MSG_PEEK)
		switch {
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOTCONN), errors.Is(err, unix.ECONNRESET), err == nil &&
			size == 0:
			return nil
		case err != nil:
			return fmt.Errorf("look into a socket: %w", err)
		case flags&unix.MSG_CTRUNC != 0:
			return ErrDescriptors
		}
		if _, _, _, _, err := recvmsg(fd, one, control, 0); err != nil {
			return fmt.Errorf("empty a socket: %w", err)
		}
	}
}
