// Package packets reads packets of hostile processes from Unix sockets (SOCK_SEQPACKET), and closes these sockets. It
// never closes a descriptor that such a process has sent in a packet.
//
// A process that closes the last descriptor of a file has to wait, and the process that opened the file decides how
// long: closing a TCP connection with unsent data and SO_LINGER of 30,000 s takes hours. Linux closes the descriptors
// in a packet when a process receives the packet with too little room for them, or closes the socket in which the
// packet is (unix_destruct_scm, net/unix/af_unix.c). Therefore this package first peeks at a packet (MSG_PEEK). Linux
// then reports that the packet has descriptors (MSG_CTRUNC), without closing the last reference to a file. The package
// never receives such a packet.
//
// That is only safe if no hostile process has a descriptor of the socket itself. With one it could receive the packet
// between the peek and the receive, change the socket's options, or hold its lock (unix_sock.iolock) for a long time. A
// process at the other end cannot: a receiver locks only its own socket, and a sender locks none (unix_dgram_sendmsg).
package packets

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrDescriptors is the error for a packet with descriptors, which is not received.
var ErrDescriptors = errors.New("descriptors came along")

// Refuse makes sendmsg(2) with descriptors fail for whoever sends to a socket (SO_PASSRIGHTS, Linux 6.16). For a
// listening socket, it does so for the connections that the socket accepts. On an older Linux it has no effect.
func Refuse(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0) }

// Next receives the next packet without waiting. n is 0 for an empty packet, and if the other end is closed. A packet
// that is longer than the buffer is cut. Next fails with [ErrDescriptors] for a packet with descriptors, which stays in
// the socket, and with EAGAIN if there is no packet.
func Next(fd int, buffer []byte) (n int, err error) {
	if err := peek(fd, buffer); err != nil {
		return 0, err
	}
	n, _, _, _, err = recvmsg(fd, buffer, nil, 0) // the same packet, as no other process receives here
	return n, err
}

// peek copies the next packet, which stays in the socket. It fails with [ErrDescriptors] if the packet has descriptors.
func peek(fd int, buffer []byte) error {
	_, _, flags, _, err := recvmsg(fd, buffer, nil, unix.MSG_PEEK)
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		return ErrDescriptors
	}
	return err
}

// recvmsg calls recvmsg(2) without waiting, again if a signal interrupts it. n and controlSize are the numbers of bytes
// in buffer and control.
func recvmsg(
	fd int, buffer, control []byte, flags int,
) (n, controlSize, resultFlags int, from unix.Sockaddr, err error) {
	flags |= unix.MSG_DONTWAIT | unix.MSG_CMSG_CLOEXEC
	for {
		n, controlSize, resultFlags, from, err = unix.Recvmsg(fd, buffer, control, flags)
		if !errors.Is(err, unix.EINTR) {
			return n, controlSize, resultFlags, from, err
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

// Empty makes a socket ready to be closed: it stops further packets from arriving, and reads the packets that are
// there. It fails with [ErrDescriptors] if one has descriptors: closing the socket may then take very long (see
// [Closers]). The other end can still read everything that was sent to it before.
func Empty(fd int) error {
	if err := unix.Shutdown(fd, unix.SHUT_RD); err != nil && !errors.Is(err, unix.ENOTCONN) {
		return fmt.Errorf("shut a socket down: %w", err)
	}
	// Credentials come with each packet, so that an empty packet differs from the end.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		return fmt.Errorf("have packets come with credentials: %w", err)
	}
	buffer := make([]byte, 1)
	control := make([]byte, unix.CmsgSpace(unix.SizeofUcred)) // no room for descriptors
	for {
		_, size, flags, _, err := recvmsg(fd, buffer, control, unix.MSG_PEEK)
		atEnd := err == nil && size == 0
		switch {
		case atEnd, errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOTCONN), errors.Is(err, unix.ECONNRESET):
			return nil
		case err != nil:
			return fmt.Errorf("look into a socket: %w", err)
		case flags&unix.MSG_CTRUNC != 0:
			return ErrDescriptors
		}
		if _, _, _, _, err := recvmsg(fd, buffer, control, 0); err != nil {
			return fmt.Errorf("empty a socket: %w", err)
		}
	}
}
