package agent

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// admission says who may connect, and to whom a connection counts.
type admission struct {
	// Allow reports whether a user may connect, at a Unix socket; nil: its mode says so.
	Allow func(uid uint32) bool
	// Login returns the user to whom a user's connections count; nil: to itself.
	Login func(uid uint32) uint32

	aSecond int // connections that a peer may begin; 0: [maxASecond]
}

// peerOf returns to whom a connection counts, and whether it may be: at a Unix socket and over the loopback the user,
// elsewhere the address, of IPv6 the network of 64 bits, since one machine may have all addresses in it.
func (a *admission) peerOf(fd int, from unix.Sockaddr, users *netlink) (peer string, may bool) {
	if _, is := from.(*unix.SockaddrUnix); is {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return "", false
		}
		return a.named(cred.Uid), a.Allow == nil || a.Allow(cred.Uid)
	}
	at := addressOf(from)
	switch {
	case !at.IsValid():
		return "", true
	case at.Addr().IsLoopback():
		to, err := unix.Getsockname(fd)
		if err != nil {
			return "", false
		}
		switch uid, err := users.of(at, addressOf(to)); {
		case errors.Is(err, errClosed):
			return "", false
		case err != nil:
			return "loopback", true
		default:
			return a.named(uid), true
		}
	case at.Addr().Is6():
		if network, err := at.Addr().Prefix(64); err == nil {
			return network.String(), true
		}
	}
	return at.Addr().String(), true
}

// addressOf returns the address of a socket; it is not valid where that is none of IP. One of IPv4 in IPv6 is the
// former.
func addressOf(s unix.Sockaddr) netip.AddrPort {
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(s.Addr).Unmap(), uint16(s.Port))
	}
	return netip.AddrPort{}
}

// named returns the user to whom a user's connections count.
func (a *admission) named(uid uint32) string {
	if a.Login != nil {
		uid = a.Login(uid)
	}
	return "user " + strconv.Itoa(int(uid))
}

// netlink asks Linux who has a socket (sock_diag(7)). It is for one goroutine. The zero value is ready.
type netlink struct {
	fd   int
	open bool
	seq  uint32
}

// Sizes and numbers of sock_diag's messages (linux/inet_diag.h).
const (
	diagHeader  = 16
	diagRequest = diagHeader + 56
	diagUser    = diagHeader + 4 + 48 + 12 // where the user is in an answer
	diagFamily  = 20                       // SOCK_DIAG_BY_FAMILY
)

var (
	errDiag = errors.New("it is not known who has the socket")
	// errClosed says that nobody has the socket any more: Linux calls it root's.
	errClosed = errors.New("nobody has the socket any more")
)

// of returns the user who has the end of a TCP connection, on this machine, with the addresses of that end and the
// other.
func (n *netlink) of(end, other netip.AddrPort) (uid uint32, err error) {
	if !n.open {
		n.fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
		if err != nil {
			return 0, err
		}
		n.open = true
		wait := unix.NsecToTimeval(100e6)
		_ = unix.SetsockoptTimeval(n.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait)
	}
	n.seq++
	to := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	if err := unix.Sendto(n.fd, diagQuestion(n.seq, end, other), 0, to); err != nil {
		return 0, err
	}
	answer := make([]byte, 4096)
	for range 4 { // an answer that came too late may be before it
		size, _, err := unix.Recvfrom(n.fd, answer, 0)
		switch {
		case err != nil:
			return 0, err
		case size < diagHeader || binary.NativeEndian.Uint32(answer[8:]) != n.seq:
			continue
		case size < diagUser+8 || binary.NativeEndian.Uint16(answer[4:]) != diagFamily:
			return 0, errDiag
		case binary.NativeEndian.Uint32(answer[diagUser+4:]) == 0:
			return 0, errClosed
		}
		return binary.NativeEndian.Uint32(answer[diagUser:]), nil
	}
	return 0, errDiag
}

// diagQuestion returns a message that asks for the socket with two addresses.
func diagQuestion(seq uint32, end, other netip.AddrPort) []byte {
	m := make([]byte, diagRequest)
	binary.NativeEndian.PutUint32(m, diagRequest)
	binary.NativeEndian.PutUint16(m[4:], diagFamily)
	binary.NativeEndian.PutUint16(m[6:], unix.NLM_F_REQUEST)
	binary.NativeEndian.PutUint32(m[8:], seq)
	source, target := end.Addr(), other.Addr()
	m[diagHeader] = unix.AF_INET6
	if source.Is4() {
		m[diagHeader] = unix.AF_INET
	}
	m[diagHeader+1] = unix.IPPROTO_TCP
	binary.NativeEndian.PutUint32(m[diagHeader+4:], ^uint32(0)) // in any state
	id := m[diagHeader+8:]
	binary.BigEndian.PutUint16(id, end.Port())
	binary.BigEndian.PutUint16(id[2:], other.Port())
	copy(id[4:20], source.AsSlice())
	copy(id[20:36], target.AsSlice())
	binary.NativeEndian.PutUint64(id[40:], ^uint64(0)) // whatever its cookie
	return m
}
