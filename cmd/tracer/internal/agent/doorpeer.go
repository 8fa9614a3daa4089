package agent

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// admission says who may connect, and who is charged for a connection.
type admission struct {
	// Allow reports whether a user may connect at a Unix socket; nil: the socket's mode decides.
	Allow func(uid uint32) bool
	// Login returns the user who is charged for the connections of a user; nil: the same user.
	Login func(uid uint32) uint32

	aSecond int // connections that a peer may begin; 0: [maxASecond]
}

// peerOf returns who is charged for a connection, and whether it is allowed. At a Unix socket and over the loopback
// that is a user, elsewhere an address. Of an IPv6 address it is the network of 64 bits, all of which one machine may
// have.
func (a *admission) peerOf(fd int, from unix.Sockaddr, users *netlink) (peer string, allowed bool) {
	if _, isUnix := from.(*unix.SockaddrUnix); isUnix {
		cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil {
			return "", false
		}
		return a.accountName(cred.Uid), a.Allow == nil || a.Allow(cred.Uid)
	}
	remote := addressOf(from)
	switch {
	case !remote.IsValid():
		return "", true
	case remote.Addr().IsLoopback():
		return a.loopbackPeer(fd, remote, users)
	case remote.Addr().Is6():
		if network, err := remote.Addr().Prefix(64); err == nil {
			return network.String(), true
		}
	}
	return remote.Addr().String(), true
}

// loopbackPeer is [admission.peerOf] for a connection from this machine.
func (a *admission) loopbackPeer(fd int, remote netip.AddrPort, users *netlink) (peer string, allowed bool) {
	local, err := unix.Getsockname(fd)
	if err != nil {
		return "", false
	}
	uid, err := users.userOf(remote, addressOf(local))
	switch {
	case errors.Is(err, errClosed):
		return "", false
	case err != nil:
		return "loopback", true
	}
	return a.accountName(uid), true
}

// addressOf returns the address of an IP socket; an invalid one for another socket. An IPv4 address mapped to IPv6
// becomes the IPv4 address.
func addressOf(s unix.Sockaddr) netip.AddrPort {
	switch s := s.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(s.Addr), uint16(s.Port))
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(s.Addr).Unmap(), uint16(s.Port))
	}
	return netip.AddrPort{}
}

// accountName returns the peer that is charged for the connections of a user.
func (a *admission) accountName(uid uint32) string {
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
	// errClosed says that no process has the socket any more. Linux then names root as its user.
	errClosed = errors.New("nobody has the socket any more")
)

// userOf returns the user who has this machine's socket of a TCP connection, by the addresses of that socket's end and
// of the other end.
func (n *netlink) userOf(end, other netip.AddrPort) (uid uint32, err error) {
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
	kernelAddress := &unix.SockaddrNetlink{Family: unix.AF_NETLINK}
	if err := unix.Sendto(n.fd, diagQuestion(n.seq, end, other), 0, kernelAddress); err != nil {
		return 0, err
	}
	answer := make([]byte, 4096)
	for range 4 { // late answers to earlier questions may come first
		size, _, err := unix.Recvfrom(n.fd, answer, 0)
		switch {
		case err != nil:
			return 0, err
		case size < diagHeader || binary.NativeEndian.Uint32(answer[8:]) != n.seq:
			continue
		case size < diagUser+8 || binary.NativeEndian.Uint16(answer[4:]) != diagFamily:
			return 0, errDiag
		case binary.NativeEndian.Uint32(answer[diagUser+4:]) == 0: // the socket's inode
			return 0, errClosed
		}
		return binary.NativeEndian.Uint32(answer[diagUser:]), nil
	}
	return 0, errDiag
}

// diagQuestion returns the message that asks for the socket between two addresses.
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
	binary.NativeEndian.PutUint64(id[40:], ^uint64(0)) // with any cookie
	return m
}
