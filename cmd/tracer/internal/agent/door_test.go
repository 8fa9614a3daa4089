package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
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
func opened(t *testing.T, d *door) net.Addr {
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

// getDoor asks on a connection of its own.
func getDoor(network, address string) (string, error) {
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
			at := opened(t, &door{Address: address, Handler: well, admission: admission{aSecond: 1 << 20}})
			hold(t, at, 3*maxConnections)
			for range 20 {
				began := time.Now()
				if text, err := getDoor(at.Network(), at.String()); err != nil || text != "ok\n" {
					t.Fatal(text, err)
				}
				if long := time.Since(began); long > 4*time.Second {
					t.Errorf("after %v", long)
				}
			}
		})
	}
}

// fakeNet is a connection of nobody.
type fakeNet struct {
	net.Conn
	n int
}

// TestCrowdedPeerGivesUpAConnection: a peer with as many connections as it may have gives up one of its own. Where
// there are too many in all, one of the peer with most goes. Of these the longest idle one goes first.
func TestCrowdedPeerGivesUpAConnection(t *testing.T) {
	g, _ := newGate(nil, admission{})
	now := time.Now()
	add := func(peer string, busy bool) (out net.Conn) {
		out = g.makeRoom(peer)
		c := &fakeNet{n: len(g.conns)}
		now = now.Add(time.Second)
		g.conns[c] = &connState{peer: peer, busy: busy, since: now}
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
	if out := add("a", false); out == nil || out.(*fakeNet).n != 2 {
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

// TestPaceOfPeers: a peer that begins connections without end has so many in a second, and others theirs.
func TestPaceOfPeers(t *testing.T) {
	g, _ := newGate(nil, admission{})
	now, got := time.Now(), 0
	for i := range 10_000 {
		if g.rate.allow("a", now.Add(time.Duration(i)*time.Microsecond)) {
			got++
		}
	}
	if got != maxASecond || !g.rate.allow("b", now) || !g.rate.allow("a", now.Add(time.Second)) {
		t.Errorf("%d connections in a second", got)
	}
}

// TestStrangersAreTurnedAwayFromAUnixSocket: at a Unix socket others than those who may are turned away, and the kernel
// says who they are.
func TestStrangersAreTurnedAwayFromAUnixSocket(t *testing.T) {
	var may atomic.Bool
	allow := func(uid uint32) bool { return may.Load() && int(uid) == os.Getuid() }
	at := opened(t, &door{Address: filepath.Join(t.TempDir(), "a", "socket"), Handler: well,
		admission: admission{Allow: allow}})
	if text, err := getDoor("unix", at.String()); err == nil {
		t.Errorf("%q for a stranger", text)
	}
	may.Store(true)
	if text, err := getDoor("unix", at.String()); err != nil || text != "ok\n" {
		t.Error(text, err)
	}
}

// TestAddressIsTaken: while another program has an address, the agent says so once, and answers as soon as it is free.
func TestAddressIsTaken(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	testTaken(t, other, func() {})
	other, err = net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	testTaken(t, other, func() { // an attempt connects to it
		for range 5 {
			if c, err := other.Accept(); err == nil {
				c.Close()
			}
		}
	})
}

// testTaken has a door wait for the address of another program, until this program has seen several attempts.
func testTaken(t *testing.T, other net.Listener, attempts func()) {
	t.Helper()
	var log lockedText
	var state doorState
	at, said := make(chan net.Addr, 1), make(chan struct{}, 2)
	d := &door{
		Address: other.Addr().String(), Handler: well, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Said: func(a string, why error) { state.Set(a, why); said <- struct{}{} }, Opened: func(a net.Addr) { at <- a },
		retry: 5 * time.Millisecond,
	}
	if err := d.Open(); err != nil {
		t.Fatalf("final: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- d.Serve(ctx) }()
	<-said
	if !strings.Contains(state.problems(), "address already in use") {
		t.Errorf("troubles: %q", state.problems())
	}
	attempts()
	if n := strings.Count(log.String(), "it is tried again"); n != 1 {
		t.Errorf("it is said %d times: %s", n, log.String())
	}
	w := httptest.NewRecorder()
	if state.Ready(w, nil); w.Code != http.StatusServiceUnavailable {
		t.Errorf("ready: %d", w.Code)
	}
	w = httptest.NewRecorder()
	state.Healthy(w, nil)
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Body.String(), "ok\nthere are no answers") {
		t.Errorf("healthy: %d, %s", w.Code, w.Body)
	}
	other.Close()
	text, err := getDoor(other.Addr().Network(), (<-at).String())
	if err != nil || text != "ok\n" || state.problems() != "" {
		t.Error(text, err, state.problems())
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
		if err := (&door{Address: address}).Open(); err == nil {
			t.Errorf("%s is listened at", address)
		}
	}
}

// TestUnixSocketAgain: the socket of an agent that was killed is replaced, and one at which another agent answers is
// not.
func TestUnixSocketAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder", "socket")
	first, err := listenAt(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenAt(path, 0o600); !isTransient(err) {
		t.Errorf("a second one: %v", err)
	}
	first.(*net.UnixListener).SetUnlinkOnClose(false)
	first.Close()
	again, err := listenAt(path, 0o600)
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
