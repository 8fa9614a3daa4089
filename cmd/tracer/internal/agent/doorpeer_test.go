package agent

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUsersOfLoopback: over the loopback a connection counts to its user, and not to the address, which all users of a
// machine share.
func TestUsersOfLoopback(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		to := l.Addr().String()
		if address == "[::]:0" {
			to = fmt.Sprintf("127.0.0.1:%d", l.Addr().(*net.TCPAddr).Port)
		}
		client, err := net.Dial("tcp", to)
		if err != nil {
			t.Fatal(err)
		}
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		d := &admission{Login: func(uid uint32) uint32 { return uid + 7 }}
		if peer, may := peerOfConn(t, d, server); peer != fmt.Sprintf("user %d", os.Getuid()+7) || !may {
			t.Errorf("%s: %q, %v", address, peer, may)
		}
		client.Close()
		server.Close()
		l.Close()
	}
}

// TestClosedByThen: a connection that its client has closed counts to nobody, and not to root, whose Linux says it is.
func TestClosedByThen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	client.Close()
	if peer, may := peerOfConn(t, &admission{}, server); may || peer != "" {
		t.Errorf("it counts to %q", peer)
	}
}

// peerOfConn returns to whom an accepted connection counts.
func peerOfConn(t *testing.T, d *admission, c net.Conn) (peer string, may bool) {
	t.Helper()
	raw, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		from, failed := unix.Getpeername(int(fd))
		if failed != nil {
			t.Error(failed)
			return
		}
		peer, may = d.peerOf(int(fd), from, &netlink{})
	})
	if err != nil {
		t.Fatal(err)
	}
	return peer, may
}

// TestPeers: elsewhere a connection counts to its address, of IPv6 to its network.
func TestPeers(t *testing.T) {
	for at, want := range map[string]string{
		"10.1.2.3": "10.1.2.3", "::ffff:10.1.2.3": "10.1.2.3", "2001:db8::1:2": "2001:db8::/64",
		"2001:db8::ffff": "2001:db8::/64",
	} {
		from := &unix.SockaddrInet6{Port: 5, Addr: netip.MustParseAddr(at).As16()}
		if peer, may := (&admission{}).peerOf(-1, from, &netlink{}); peer != want || !may {
			t.Errorf("%s: %q, not %q", at, peer, want)
		}
	}
}
