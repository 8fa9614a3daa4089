// Package packets reads what strangers send on Unix sockets (SOCK_SEQPACKET), and closes these sockets, without ever
// being the one who closes a descriptor that they have sent along.
//
// Whoever drops the last reference to a file waits for its close, and how long that takes is up to whoever has opened
// it: a TCP connection with unsent data and SO_LINGER of 30,000 s keeps its closer for hours. Descriptors that come
// along with a packet are dropped by whoever receives it with too little room for them, or closes the socket in which
// it lies (unix_destruct_scm, net/unix/af_unix.c). So a packet is looked at first (MSG_PEEK): the kernel then says that
// descriptors ride along (MSG_CTRUNC), and drops references that are not the last. Such a packet is never received
// here.
//
// All this holds for sockets that no stranger has a descriptor of: else another one could receive what was looked at,
// change the socket's options, or keep its lock (unix_sock.iolock) while memory of its own is being read in. The peer
// cannot: a receiver locks its own socket, and a sender none (unix_dgram_sendmsg).
package packets

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ErrDescriptors says that descriptors lie in a socket, which are not received.
var ErrDescriptors = errors.New("descriptors came along")

// Refuse has sendmsg(2) with descriptors fail for who sends to a socket (SO_PASSRIGHTS, Linux 6.16), and for who
// connects to it if it listens. An older Linux has no such option.
func Refuse(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0) }

// Next receives the next packet, without waiting. n is 0 at the end, and for an empty packet. What is longer than the
// buffer is cut. It fails with [ErrDescriptors] for a packet with descriptors, which stays where it is, and with EAGAIN
// where there is none.
func Next(fd int, buffer []byte) (n int, err error) {
	if err := peek(fd, buffer); err != nil {
		return 0, err
	}
	n, _, _, _, err = recvmsg(fd, buffer, nil, 0) // the very packet: nobody else receives here
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

// Close closes a socket in no time, if no descriptors lie in it; else it fails as [Empty] does, and the socket is open
// still.
func Close(fd int) error {
	if err := Empty(fd); err != nil {
		return err
	}
	return unix.Close(fd)
}

// Empty makes a socket ready to be closed: nothing comes into it any more, and what lies in it is read. It fails with
// [ErrDescriptors] where descriptors lie in it: closing it takes as long as a stranger likes then (see [Closers]). What
// was sent before can be read at the other end.
func Empty(fd int) error {
	if err := unix.Shutdown(fd, unix.SHUT_RD); err != nil && !errors.Is(err, unix.ENOTCONN) {
		return fmt.Errorf("shut a socket down: %w", err)
	}
	// With credentials an empty packet can be told from the end.
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
