package doors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// opened serves a door until the test ends, and returns the address.
func opened(t *testing.T, d *Door) net.Addr {
	t.Helper()
	at := make(chan net.Addr, 1)
	d.Opened = func(a net.Addr) { at <- a }
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- d.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	return <-at
}

var well = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })

// get asks on a connection of its own.
func get(network, address string) (string, error) {
	dial := func(context.Context, string, string) (net.Conn, error) { return net.Dial(network, address) }
	c := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: time.Minute}
	r, err := c.Get("http://agent/")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return string(text), err
}

// hold opens connections that ask once and stay; half of them never end their request.
func hold(t *testing.T, at net.Addr, n int) {
	t.Helper()
	for i := range n {
		c, err := net.Dial(at.Network(), at.String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if i%2 == 0 {
			fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			if _, err := c.Read(make([]byte, 512)); err != nil {
				t.Fatal(i, err)
			}
			continue
		}
		fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\nX: ")
	}
}

// TestIdleConnections: connections that ask now and then, and those that never end a request, keep nobody from an
// answer, however many there are.
func TestIdleConnections(t *testing.T) {
	for name, address := range map[string]string{
		"TCP": "127.0.0.1:0", "IPv6": "[::1]:0", "Unix": filepath.Join(t.TempDir(), "folder", "socket"),
	} {
		t.Run(name, func(t *testing.T) {
			at := opened(t, &Door{Address: address, Handler: well, pace: 1 << 20})
			hold(t, at, 3*maxConnections)
			for range 20 {
				began := time.Now()
				if text, err := get(at.Network(), at.String()); err != nil || text != "ok\n" {
					t.Fatal(text, err)
				}
				if long := time.Since(began); long > 4*time.Second {
					t.Errorf("after %v", long)
				}
			}
		})
	}
}

// fake is a connection of nobody.
type fake struct {
	net.Conn
	n int
}

// TestPlaces: a peer with as many connections as it may have gives up one of its own. Where there are too many in all,
// one of the peer with most goes. Of these the longest idle one goes first.
func TestPlaces(t *testing.T) {
	g, _ := newGate(&Door{})
	now := time.Now()
	add := func(peer string, busy bool) (out net.Conn) {
		out = g.place(peer)
		c := &fake{n: len(g.conns)}
		now = now.Add(time.Second)
		g.conns[c] = &visit{peer: peer, busy: busy, since: now}
		return out
	}
	count := func(peer string) (n int) {
		for _, v := range g.conns {
			if v.peer == peer {
				n++
			}
		}
		return n
	}
	for i := range maxOfPeer {
		if out := add("a", i < 2); out != nil {
			t.Fatalf("%d goes too early", i)
		}
	}
	if out := add("a", false); out == nil || out.(*fake).n != 2 {
		t.Errorf("%v goes, and not the longest idle one", out)
	}
	if count("a") != maxOfPeer {
		t.Errorf("%d of a peer", count("a"))
	}
	for i := range maxConnections - maxOfPeer {
		if out := add(fmt.Sprint(i), true); out != nil {
			t.Fatal("there is room")
		}
	}
	if out := add("another", true); out == nil || count("a") != maxOfPeer-1 || len(g.conns) != maxConnections {
		t.Errorf("%d of the one with most, %d in all", count("a"), len(g.conns))
	}
	for c, v := range g.conns {
		v.busy = true
		_ = c
	}
	if out := add("one more", true); out == nil || count("a") != maxOfPeer-2 {
		t.Errorf("where all are busy, %d of the one with most", count("a"))
	}
}

// TestPace: a peer that begins connections without end has so many in a second, and others theirs.
func TestPace(t *testing.T) {
	g, _ := newGate(&Door{})
	now, got := time.Now(), 0
	for i := range 10_000 {
		if g.paced("a", now.Add(time.Duration(i)*time.Microsecond)) {
			got++
		}
	}
	if got != maxASecond || !g.paced("b", now) || !g.paced("a", now.Add(time.Second)) {
		t.Errorf("%d connections in a second", got)
	}
}

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
		d := &Door{Login: func(uid uint32) uint32 { return uid + 7 }}
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
	if peer, may := peerOfConn(t, &Door{}, server); may || peer != "" {
		t.Errorf("it counts to %q", peer)
	}
}

// peerOfConn returns to whom an accepted connection counts.
func peerOfConn(t *testing.T, d *Door, c net.Conn) (peer string, may bool) {
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
		if peer, may := (&Door{}).peerOf(-1, from, &netlink{}); peer != want || !may {
			t.Errorf("%s: %q, not %q", at, peer, want)
		}
	}
}

// TestAllowed: at a Unix socket others than those who may are turned away, and the kernel says who they are.
func TestAllowed(t *testing.T) {
	var may atomic.Bool
	at := opened(t, &Door{Address: filepath.Join(t.TempDir(), "a", "socket"), Handler: well, Allow: func(uid uint32) bool {
		return may.Load() && int(uid) == os.Getuid()
	}})
	if text, err := get("unix", at.String()); err == nil {
		t.Errorf("%q for a stranger", text)
	}
	may.Store(true)
	if text, err := get("unix", at.String()); err != nil || text != "ok\n" {
		t.Error(text, err)
	}
}

// TestTaken: while another program has an address, the agent says so once, and answers as soon as it is free.
func TestTaken(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var log lockedText
	var state State
	at := make(chan net.Addr, 1)
	d := &Door{
		Address: other.Addr().String(), Handler: well, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Said: func(a string, why error) { state.Set(a, why) }, Opened: func(a net.Addr) { at <- a },
		retry: 5 * time.Millisecond,
	}
	if err := d.Open(); err != nil {
		t.Fatalf("final: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- d.Serve(ctx) }()
	for !strings.Contains(state.troubles(), "address already in use") {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond) // several attempts
	if n := strings.Count(log.String(), "it is tried again"); n != 1 {
		t.Errorf("it is said %d times: %s", n, log.String())
	}
	w := httptest.NewRecorder()
	if state.Ready(w, nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("ready: %d", w.Code)
	}
	w = httptest.NewRecorder()
	if state.Healthy(w, nil); w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "ok\nthere are no answers") {
		t.Errorf("healthy: %d, %s", w.Code, w.Body)
	}
	other.Close()
	if text, err := get("tcp", (<-at).String()); err != nil || text != "ok\n" || state.troubles() != "" {
		t.Error(text, err, state.troubles())
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestNeverListens: an address that cannot be one is an error at once.
func TestNeverListens(t *testing.T) {
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"127.0.0.1:99999", open + "/socket", "/dev/null/x/y"} {
		if err := (&Door{Address: address}).Open(); err == nil {
			t.Errorf("%s is listened at", address)
		}
	}
}

// TestUnixSocketAgain: the socket of an agent that was killed is replaced, and one at which another agent answers is
// not.
func TestUnixSocketAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "socket")
	first, err := listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listen(path, 0o600); !passes(err) {
		t.Errorf("a second one: %v", err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	first.Close()
	again, err := listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil || st.Mode&0o777 != 0o600 {
		t.Errorf("%o, %v", st.Mode, err)
	}
}

// lockedText is a text that several goroutines write and read.
type lockedText struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestShared: whoever asks gets figures that were begun after the question, in the form that was asked for. They are
// made for many at once, and nobody is refused.
func TestShared(t *testing.T) {
	var clock, made atomic.Int64
	s := NewShared(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		made.Add(1)
		w.Header().Set("Content-Type", r.Header.Get("Accept"))
		at := clock.Load()
		time.Sleep(time.Millisecond)
		fmt.Fprint(w, at)
	}))
	const threads, each = 40, 25
	var all sync.WaitGroup
	for i := range threads {
		all.Go(func() {
			accept := []string{"", "application/openmetrics-text;version=1.0.0,*/*", protobuf}[i%3]
			for range each {
				r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
				r.Header.Set("Accept", accept)
				asked := clock.Add(1)
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				var at int64
				if _, err := fmt.Sscan(w.Body.String(), &at); err != nil || w.Code != http.StatusOK || at < asked {
					t.Errorf("status %d, figures of %d for a question at %d; %v", w.Code, at, asked, err)
				}
				if want, _ := formOf(r); w.Header().Get("Content-Type") != want {
					t.Errorf("%q, not %q", w.Header().Get("Content-Type"), want)
				}
			}
		})
	}
	all.Wait()
	if n := made.Load(); n > threads*each/2 {
		t.Errorf("figures were made %d times for %d questions", n, threads*each)
	}
}
